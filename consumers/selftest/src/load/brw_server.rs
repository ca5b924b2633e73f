//! The server of brw (selftest 8.1).

use super::pattern;
use crate::rpc::{BulkTransfer, Response};
use crate::wire::{
    BrwRefusal, BrwRequest, Check, Features, IncomingBrw, IncomingRequest, MAX_BULK, Reply, Rw, Status,
};
use lnet_api::Region;
use lnet_api::sync::lock;
use std::sync::{Arc, Mutex, OnceLock};

/// Answers transfers, for any client.
#[derive(Default)]
pub(crate) struct BrwServer {
    /// The data that reads send, by the kind of check. Filled once and never changed.
    sources: [OnceLock<Arc<Region>>; 3],
    sinks: Arc<Sinks>,
}

impl BrwServer {
    pub(crate) fn handle(&self, request: &IncomingRequest, brw: &IncomingBrw) -> Response {
        let features = request.features;
        let transfer = match brw.transfer {
            Ok(transfer) => transfer,
            Err(BrwRefusal::Invalid) => return status(features, Status::INVALID),
            Err(BrwRefusal::UnknownFeatures) => return status(Features::KNOWN, Status::PROTOCOL),
        };
        match transfer.rw {
            Rw::Read => Response::Bulk {
                transfer: BulkTransfer::Put {
                    bits: brw.bulk_bits,
                    region: self.source(&transfer),
                    length: transfer.length.bytes() as usize,
                },
                then: Box::new(move |_| status(features, Status::OK)),
            },
            Rw::Write => self.write(request, brw.bulk_bits, transfer),
        }
    }

    fn write(&self, request: &IncomingRequest, bits: u64, transfer: BrwRequest) -> Response {
        let (features, order) = (request.features, request.order);
        let sinks = Arc::clone(&self.sinks);
        let mut region = sinks.take(transfer.length.bytes() as usize);
        if let Some(region) = Arc::get_mut(&mut region) {
            pattern::poison(region.bytes_mut(), transfer.check);
        }
        Response::Bulk {
            transfer: BulkTransfer::Get { bits, region },
            then: Box::new(move |mut region| {
                let data = Arc::get_mut(&mut region).map(Region::bytes_mut);
                let is_intact = data.is_some_and(|data| pattern::is_intact(data, transfer.check, order));
                sinks.give_back(region);
                status(features, if is_intact { Status::OK } else { Status::BAD_MESSAGE })
            }),
        }
    }

    /// Returns memory with the pattern, at least as long as the transfer. If the pattern does not depend on the length all
    /// transfers share the memory.
    fn source(&self, transfer: &BrwRequest) -> Arc<Region> {
        let filled = |length: u32| {
            let mut region = Region::zeroed(length as usize);
            pattern::fill(region.bytes_mut(), transfer.check);
            Arc::new(region)
        };
        match transfer.check {
            Check::Simple if !transfer.length.is_whole_pages() => filled(transfer.length.bytes()),
            check => Arc::clone(self.sources[check as usize].get_or_init(|| filled(MAX_BULK))),
        }
    }
}

fn status(features: Features, status: Status) -> Response {
    Response::reply(features, &Reply::Brw(status))
}

/// Memory that writes fetch into, kept for the next of the same length.
#[derive(Default)]
struct Sinks(Mutex<Vec<Arc<Region>>>);

/// The most bytes that are kept.
const MAX_KEPT: usize = 32 << 20;

impl Sinks {
    fn take(&self, length: usize) -> Arc<Region> {
        let mut kept = lock(&self.0);
        match kept.iter().rposition(|region| region.len() == length) {
            Some(at) => kept.swap_remove(at),
            None => {
                drop(kept);
                Arc::new(Region::zeroed(length))
            }
        }
    }

    fn give_back(&self, region: Arc<Region>) {
        let mut kept = lock(&self.0);
        if kept.iter().map(|it| it.len()).sum::<usize>() + region.len() > MAX_KEPT || kept.len() >= 64 {
            kept.clear();
        }
        kept.push(region);
    }
}
