//! Bulk data: transfers between the memory of the server and of the client (PR-22, PR-55, PR-76).

use super::descriptors::DescriptorGuard;
use super::environment::Environment;
use super::incoming_request::{IncomingRequest, ReplyRoute};
use crate::Errno;
use crate::lnet::{Ack, Event, EventHandler, EventKind, Md, MdSpec, Nid, ProcessId, Region, RegionSlice};
use crate::message::BulkBits;
use crate::message::header::MAX_MESSAGE_LEN;
use lnet_api::sync::{Condition, lock};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most bytes of one MD.
const MAX_MD_LEN: usize = MAX_MESSAGE_LEN;

/// The interval at which a thread that waits for a transfer checks whether the client still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Sends data to the client.
    Put,
    /// Fetches data from the client.
    Get,
}

/// The bulk transfers of one request.
pub(crate) struct BulkTransfer<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) request: &'a IncomingRequest,
    /// Called when a transfer is tried again by another path: the client may have to send its request again, and must not get an
    /// early reply meanwhile.
    pub(crate) on_fallback: &'a dyn Fn(),
}

/// The state of a transfer, for the thread that waits for it.
#[derive(Default)]
struct BulkProgress {
    state: Mutex<BulkState>,
    changed: Condition,
}

#[derive(Default)]
struct BulkState {
    /// The number of MDs that have not had their last event.
    live: usize,
    failed: Option<Errno>,
    /// The match bits of MDs that have failed and have to be unlinked.
    to_unlink: Vec<u64>,
    /// The match bits of MDs that were transferred.
    transferred: Vec<u64>,
}

struct MdEvents {
    progress: Arc<BulkProgress>,
    bits: u64,
    len: u32,
    _descriptor: DescriptorGuard,
}

/// The local NI that a transfer leaves from, and the process that it goes to.
#[derive(Clone, Copy)]
struct Path {
    from: Option<Nid>,
    to: ProcessId,
}

/// The match bits and the bytes of each MD: 1 MiB each, but the last that has any. MDs of the client's beyond that get
/// nothing. `EPROTO`: the client has announced fewer, or none.
fn split(mbits: u64, len: usize) -> Result<impl Iterator<Item = (u64, Range<usize>)>, Errno> {
    let bits = BulkBits::ending_at(mbits);
    if mbits == 0 || len.div_ceil(MAX_MD_LEN) > bits.count() as usize {
        return Err(Errno::Protocol);
    }
    let starts = (0..).step_by(MAX_MD_LEN).map(move |start: usize| start.min(len));
    Ok(bits.range().zip(starts).map(move |(bits, start)| (bits, start..len.min(start + MAX_MD_LEN))))
}

impl BulkTransfer<'_> {
    /// Writes all of `from` to the client's memory; returns when it is there, or nothing is in progress any more.
    pub(crate) fn put(&self, from: &Arc<Region>) -> Result<(), Errno> {
        self.run(Operation::Put, from)
    }

    /// Reads `len` bytes of the client's memory.
    pub(crate) fn get(&self, len: usize) -> Result<RegionSlice, Errno> {
        // Checked before memory is allocated.
        drop(split(self.request.route().mbits, len)?);
        let region = Arc::new(Region::zeroed(len));
        self.get_into(&region)?;
        // SAFETY: every descriptor over it has had its last event.
        Ok(unsafe { RegionSlice::new(region, 0..len) })
    }

    /// Fills `into` from the client's memory; returns when it is there, or nothing is in progress any more.
    pub(crate) fn get_into(&self, into: &Arc<Region>) -> Result<(), Errno> {
        self.run(Operation::Get, into)
    }

    /// Transfers by the path of the request first; if that fails, by any other, provided that the service permits it.
    fn run(&self, operation: Operation, region: &Arc<Region>) -> Result<(), Errno> {
        let Self { env, request, on_fallback } = self;
        let (mut is_fallback, mut transferred) = (false, HashSet::new());
        loop {
            let route = request.route();
            let path = match is_fallback {
                false => Path { from: Some(route.self_nid), to: route.source },
                true => Path { from: None, to: request.arrived.peer },
            };
            let may_fall_back = env.config.reply_fallback && !is_fallback;
            let progress = Arc::new(BulkProgress::default());
            let mds = progress.start(env, &route, path, operation, region, &transferred)?;
            let outcome = self.wait(&progress, route, &mds, may_fall_back);
            if let Err(errno) = outcome {
                env.counters.bulk_failed.add_one();
                let xid = request.arrived.xid.0;
                log::debug!("service {}: bulk transfer of request x{xid} failed ({errno})", env.name());
            }
            match outcome {
                // The client has sent its request again: its memory has other match bits now, and nothing is attached with the
                // former ones.
                Err(_) if request.route().mbits != route.mbits => transferred.clear(),
                // snd-070: as replies do. What was transferred is not sent again: its MD has been unlinked.
                Err(errno)
                    if may_fall_back
                        && errno != Errno::Io
                        && !env.descriptors.is_unlinked()
                        && env.now() < request.deadline() =>
                {
                    is_fallback = true;
                    // The failed transfer may have used up the MDs that the client has attached. Then only its next
                    // transmission helps, which early replies would delay.
                    on_fallback();
                    transferred.extend(lock(&progress.state).transferred.drain(..));
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits until all MDs have had their last event. If one fails the others are unlinked; if the transfer `may_fall_back`, only
    /// the failed one is. If the client gives up, or has attached other memory, all are unlinked.
    fn wait(
        &self,
        progress: &BulkProgress,
        route: ReplyRoute,
        mds: &HashMap<u64, Md>,
        may_fall_back: bool,
    ) -> Result<(), Errno> {
        let Self { env, request, .. } = self;
        env.node.progress(|| {
            let state = lock(&progress.state);
            state.live == 0 || state.failed.is_some()
        });
        let mut state = lock(&progress.state);
        while state.live > 0 && (may_fall_back || state.failed.is_none()) {
            let (now, deadline) = (env.now(), request.deadline());
            if now >= deadline || request.route().mbits != route.mbits {
                state.failed.get_or_insert(Errno::TimedOut);
                break;
            }
            if let Some(md) = state.to_unlink.pop().and_then(|bits| mds.get(&bits)) {
                drop(state);
                env.node.unlink(*md);
                state = lock(&progress.state);
                continue;
            }
            let until = deadline.min(now + POLL_INTERVAL);
            state = progress.changed.wait_until(&*env.clock, state, Some(until));
        }
        if state.live > 0 {
            drop(state);
            mds.values().for_each(|md| env.node.unlink(*md));
            // LNet ends the transfers in progress. If it did not, the memory would stay with its descriptors.
            let until = env.now() + env.config.stop_timeout;
            state = lock(&progress.state);
            while state.live > 0 && env.now() < until {
                state = progress.changed.wait_until(&*env.clock, state, Some(until));
            }
        }
        state.failed.map_or(Ok(()), Err)
    }
}

impl BulkProgress {
    /// Starts the transfer of all MDs except those that were `transferred`; returns their handles.
    fn start(
        self: &Arc<Self>,
        env: &Environment,
        route: &ReplyRoute,
        path: Path,
        operation: Operation,
        region: &Arc<Region>,
        transferred: &HashSet<u64>,
    ) -> Result<HashMap<u64, Md>, Errno> {
        let mut mds = HashMap::new();
        let portal = env.config.bulk_portal.0;
        let remaining = split(route.mbits, region.len())?.filter(|(bits, _)| !transferred.contains(bits));
        for (bits, range) in remaining {
            let descriptor = env.descriptors.add();
            let id = descriptor.id();
            let len = range.len() as u32;
            let handler = MdEvents { progress: Arc::clone(self), bits, len, _descriptor: descriptor };
            let spec = MdSpec { range, ..MdSpec::active(Arc::clone(region), 2) };
            lock(&self.state).live += 1;
            let md = match env.node.bind(spec, Arc::new(handler)) {
                Ok(md) => md,
                Err(errno) => {
                    self.on_unlinked(bits, Err(errno));
                    break;
                }
            };
            env.descriptors.set_md(id, md);
            mds.insert(bits, md);
            let sent = match operation {
                Operation::Put => env.node.put(path.from, md, Ack::Wanted, path.to, portal, bits, 0, 0),
                Operation::Get => env.node.get(path.from, md, path.to, portal, bits, 0),
            };
            if let Err(errno) = sent {
                self.on_failed(bits, errno);
            }
        }
        Ok(mds)
    }

    /// Records the failure of an MD; its last event comes when it is unlinked.
    fn on_failed(&self, bits: u64, errno: Errno) {
        let mut state = lock(&self.state);
        state.failed.get_or_insert(errno);
        state.to_unlink.push(bits);
        self.changed.notify_all();
    }

    /// Records the last event of an MD, or that it could not be made.
    fn on_unlinked(&self, bits: u64, outcome: Result<(), Errno>) {
        let mut state = lock(&self.state);
        state.live -= 1;
        match outcome {
            Ok(()) => state.transferred.push(bits),
            Err(errno) => _ = state.failed.get_or_insert(errno),
        }
        if state.live == 0 || outcome.is_err() {
            self.changed.notify_all();
        }
    }
}

impl EventHandler for MdEvents {
    fn on_event(&self, event: &Event) {
        let is_final = matches!(event.kind, EventKind::Ack | EventKind::Reply);
        let outcome = match event.status {
            Err(errno) => Err(errno),
            // Truncated.
            Ok(()) if is_final && event.mlength != self.len => Err(Errno::Io),
            // The MD was unlinked before its transfer.
            Ok(()) if event.kind == EventKind::Unlink => Err(Errno::TimedOut),
            Ok(()) => Ok(()),
        };
        match (event.unlinked, outcome) {
            (true, outcome) => self.progress.on_unlinked(self.bits, outcome),
            (false, Err(errno)) => self.progress.on_failed(self.bits, errno),
            (false, Ok(())) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_transfer_is_split_into_mds() {
        const MIB: usize = 1 << 20;
        let split_all = |mbits, len| split(mbits, len).map(Vec::from_iter);
        for (name, mbits, len, want) in [
            ("a byte", 6400, 1, Ok(vec![(6400, 0..1)])),
            ("nothing", 6400, 0, Ok(vec![(6400, 0..0)])),
            ("one MD", 6400, MIB, Ok(vec![(6400, 0..MIB)])),
            ("one byte more", 6401, MIB + 1, Ok(vec![(6400, 0..MIB), (6401, MIB..MIB + 1)])),
            ("less than was announced", 6401, 5, Ok(vec![(6400, 0..5), (6401, 5..5)])),
            ("more than was announced", 6400, MIB + 1, Err(Errno::Protocol)),
            ("none announced", 0, 1, Err(Errno::Protocol)),
        ] {
            assert_eq!(split_all(mbits, len), want, "{name}");
        }
        let all = split_all(6463, 64 * MIB).unwrap();
        assert_eq!((all.len(), all.last()), (64, Some(&(6463, 63 * MIB..64 * MIB))));
        assert_eq!(split_all(6463, 64 * MIB + 1), Err(Errno::Protocol));
    }
}
