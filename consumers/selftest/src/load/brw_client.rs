//! A client of brw (selftest 8.3).

use super::pattern;
use crate::rpc::{Bulk, KeptSource, RpcEngine};
use crate::wire::{BrwParameters, BrwRequest, IncomingReply, Request, Rw};
use lnet_api::Region;
use std::ops::Range;
use std::sync::Arc;

/// The state that all RPC loops of a test share.
#[derive(Clone, Debug)]
pub(crate) struct BrwClient {
    parameters: BrwParameters,
    /// The data that writes send, filled once and never changed.
    source: Option<Arc<Region>>,
}

/// The memory of one RPC loop.
#[derive(Debug, Default)]
pub(crate) struct BrwMemory {
    /// The memory that reads arrive in.
    sink: Option<Arc<Region>>,
    /// The memory that writes send, with its descriptor.
    source: Option<KeptSource>,
}

impl BrwMemory {
    /// Drops the descriptor after an RPC that has failed.
    pub(crate) fn forget_source(&mut self) {
        self.source = None;
    }
}

impl BrwClient {
    pub(crate) fn new(parameters: BrwParameters) -> Self {
        let mut this = Self { parameters, source: None };
        if parameters.rw() == Rw::Write {
            let mut region = this.region();
            pattern::fill(&mut region.bytes_mut()[this.range()], parameters.check());
            this.source = Some(Arc::new(region));
        }
        this
    }

    /// Bytes of memory that each RPC loop needs.
    pub(crate) fn memory_per_loop(parameters: &BrwParameters) -> u64 {
        match parameters.rw() {
            Rw::Read => parameters.length().bytes().into(),
            Rw::Write => 0,
        }
    }

    pub(crate) fn prepare(&self, memory: &mut BrwMemory, engine: &RpcEngine) -> (Request, Bulk) {
        let parameters = &self.parameters;
        let bulk = match &self.source {
            Some(source) => {
                let keep = || engine.keep_source(Arc::clone(source), self.range());
                Bulk::Kept(memory.source.get_or_insert_with(keep).descriptor())
            }
            None => {
                let sink = memory.sink.get_or_insert_with(|| Arc::new(self.region()));
                if let Some(region) = Arc::get_mut(sink) {
                    pattern::poison(&mut region.bytes_mut()[self.range()], parameters.check());
                }
                Bulk::Sink(Arc::clone(sink), self.range())
            }
        };
        let (rw, check, length) = (parameters.rw(), parameters.check(), parameters.length());
        (Request::Brw(BrwRequest { rw, check, length }), bulk)
    }

    /// Whether the RPC was good: its status, and the data of a read.
    pub(crate) fn is_good(&self, memory: &mut BrwMemory, reply: &IncomingReply) -> bool {
        if !reply.reply.status().is_ok() {
            return false;
        }
        let Some(sink) = &mut memory.sink else { return true };
        let data = Arc::get_mut(sink).map(|region| &region.bytes_mut()[self.range()]);
        data.is_some_and(|data| pattern::is_intact(data, self.parameters.check(), reply.order))
    }

    fn region(&self) -> Region {
        Region::zeroed(self.range().end)
    }

    /// The part of the region that holds the data.
    fn range(&self) -> Range<usize> {
        let offset = self.parameters.offset() as usize;
        offset..offset + self.parameters.length().bytes() as usize
    }
}
