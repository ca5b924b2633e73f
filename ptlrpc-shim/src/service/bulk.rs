//! Bulk data: the server writes to and reads from memory of the client's (PR-22, PR-55, PR-76).

use super::flights::Flight;
use super::request::{Admitted, Route};
use super::server::Core;
use crate::errno::Errno;
use crate::lnet::{Ack, Event, EventHandler, EventKind, Md, MdSpec, Nid, ProcessId, Region, RegionSlice};
use crate::message::BulkBits;
use crate::message::header::MAX_MESSAGE_LEN;
use crate::sync::{lock, wait_until};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The most bytes of one MD.
const FRAGMENT: usize = MAX_MESSAGE_LEN;

/// How often a transfer that is not done is asked whether the client still waits for it.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// To the client.
    Put,
    /// From the client.
    Get,
}

/// A transfer, for the thread that waits for it.
#[derive(Default)]
struct Transfer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// MDs that have not had their last event.
    left: usize,
    failed: Option<Errno>,
    /// The bits of fragments that have failed and have to be unlinked.
    stuck: Vec<u64>,
    /// And of those that are there.
    there: Vec<u64>,
}

struct FragmentSink {
    transfer: Arc<Transfer>,
    bits: u64,
    len: u32,
    _flight: Flight,
}

/// Writes all of `from` to the client's memory; returns when it is there, or nothing is under way any more.
pub(super) fn put(core: &Core, admitted: &Admitted, from: &Arc<Region>) -> Result<(), Errno> {
    transfer(core, admitted, Direction::Put, from)
}

/// Reads `len` bytes of the client's memory.
pub(super) fn get(core: &Core, admitted: &Admitted, len: usize) -> Result<RegionSlice, Errno> {
    // What is wrong is to be found before the client's word costs memory.
    drop(fragments(admitted.route().mbits, len)?);
    let region = Arc::new(Region::zeroed(len));
    get_into(core, admitted, &region)?;
    // SAFETY: every descriptor over it has had its last event.
    Ok(unsafe { RegionSlice::new(region, 0..len) })
}

/// Fills `into` from the client's memory; returns when it is there, or nothing is under way any more.
pub(super) fn get_into(core: &Core, admitted: &Admitted, into: &Arc<Region>) -> Result<(), Errno> {
    transfer(core, admitted, Direction::Get, into)
}

/// The match bits and bytes of each MD: 1 MiB each but the last that has any. Those that the client has beyond that get
/// nothing. `EPROTO`: it has not announced as many, or none at all.
fn fragments(mbits: u64, len: usize) -> Result<impl Iterator<Item = (u64, Range<usize>)>, Errno> {
    let bits = BulkBits::ending_at(mbits);
    if mbits == 0 || len.div_ceil(FRAGMENT) > bits.count() as usize {
        return Err(Errno::PROTOCOL);
    }
    let starts = (0..).step_by(FRAGMENT).map(move |start: usize| start.min(len));
    Ok(bits.range().zip(starts).map(move |(bits, start)| (bits, start..len.min(start + FRAGMENT))))
}

fn transfer(
    core: &Core,
    admitted: &Admitted,
    direction: Direction,
    region: &Arc<Region>,
) -> Result<(), Errno> {
    let (mut falls_back, mut there) = (false, HashSet::new());
    loop {
        let route = admitted.route();
        let way = match falls_back {
            false => Way { from: Some(route.self_nid), to: route.source },
            true => Way { from: None, to: admitted.arrived.peer },
        };
        let may_fall_back = core.config.reply_fallback && !falls_back;
        let transfer = Arc::new(Transfer::default());
        let mds = transfer.begin(core, (route, way), direction, region, &there)?;
        let done = transfer.wait(core, admitted, route, &mds, may_fall_back);
        if let Err(errno) = done {
            core.tally.bulk_failed.one();
            log::debug!("{}: bulk transfer of {:?}: {errno}", core.config.name, admitted.arrived.xid);
        }
        match done {
            // The client has sent its request again: its memory has other bits now, and nothing waits at the old ones.
            Err(_) if admitted.route().mbits != route.mbits => there.clear(),
            // snd-070: as replies do. What is there already is not sent again: nothing waits for it any more.
            Err(errno)
                if may_fall_back
                    && errno != Errno::IO
                    && !core.flights.are_given_up()
                    && Instant::now() < admitted.deadline() =>
            {
                falls_back = true;
                // What has failed may have used up the memory that the client offers. Then only its next sending helps, for
                // which it is not to be kept waiting.
                core.house.forget(admitted);
                there.extend(lock(&transfer.state).there.drain(..));
            }
            done => return done,
        }
    }
}

/// By which interface, and to which.
#[derive(Clone, Copy)]
struct Way {
    from: Option<Nid>,
    to: ProcessId,
}

impl Transfer {
    /// Has all fragments on their way but those that are there already; their descriptors.
    fn begin(
        self: &Arc<Self>,
        core: &Core,
        (route, way): (Route, Way),
        direction: Direction,
        region: &Arc<Region>,
        there: &HashSet<u64>,
    ) -> Result<HashMap<u64, Md>, Errno> {
        let mut mds = HashMap::new();
        let portal = core.config.bulk_portal.0;
        for (bits, range) in fragments(route.mbits, region.len())?.filter(|(bits, _)| !there.contains(bits)) {
            let flight = core.flights.begin();
            let id = flight.id();
            let len = range.len() as u32;
            let sink = FragmentSink { transfer: Arc::clone(self), bits, len, _flight: flight };
            let spec = MdSpec { range, ..MdSpec::active(Arc::clone(region), 2) };
            lock(&self.state).left += 1;
            let md = match core.node.bind(&spec, Arc::new(sink)) {
                Ok(md) => md,
                Err(errno) => {
                    self.gone(bits, Err(errno));
                    break;
                }
            };
            core.flights.name(id, md);
            mds.insert(bits, md);
            let sent = match direction {
                Direction::Put => core.node.put(way.from, md, Ack::Wanted, way.to, portal, bits, 0, 0),
                Direction::Get => core.node.get(way.from, md, way.to, portal, bits, 0),
            };
            if let Err(errno) = sent {
                self.failed(bits, errno);
            }
        }
        Ok(mds)
    }

    /// A fragment has failed; its last event comes when it is unlinked.
    fn failed(&self, bits: u64, errno: Errno) {
        let mut state = lock(&self.state);
        state.failed.get_or_insert(errno);
        state.stuck.push(bits);
        self.changed.notify_all();
    }

    /// A descriptor has had its last event, or never was.
    fn gone(&self, bits: u64, how: Result<(), Errno>) {
        let mut state = lock(&self.state);
        state.left -= 1;
        match how {
            Ok(()) => state.there.push(bits),
            Err(errno) => _ = state.failed.get_or_insert(errno),
        }
        if state.left == 0 || how.is_err() {
            self.changed.notify_all();
        }
    }

    /// Waits until all is done. If something fails the rest is unlinked and waited for, but where it `goes_on`: then only what
    /// has failed is. If the client gives up, or offers other memory, all is.
    fn wait(
        &self,
        core: &Core,
        admitted: &Admitted,
        route: Route,
        mds: &HashMap<u64, Md>,
        goes_on: bool,
    ) -> Result<(), Errno> {
        core.node.progress(|| {
            let state = lock(&self.state);
            state.left == 0 || state.failed.is_some()
        });
        let mut state = lock(&self.state);
        while state.left > 0 && (goes_on || state.failed.is_none()) {
            let (now, deadline) = (Instant::now(), admitted.deadline());
            if now >= deadline || admitted.route().mbits != route.mbits {
                state.failed.get_or_insert(Errno::TIMED_OUT);
                break;
            }
            if let Some(md) = state.stuck.pop().and_then(|bits| mds.get(&bits)) {
                drop(state);
                core.node.unlink(*md);
                state = lock(&self.state);
                continue;
            }
            state =
                wait_until(&crate::clock::SystemClock, &self.changed, state, Some(deadline.min(now + LOOK)));
        }
        if state.left > 0 {
            drop(state);
            mds.values().for_each(|md| core.node.unlink(*md));
            // LNet ends what is under way. Should it not, nobody gets the memory, which LNet's descriptors keep.
            let until = Instant::now() + core.config.stop_timeout;
            state = lock(&self.state);
            while state.left > 0 && Instant::now() < until {
                state = wait_until(&crate::clock::SystemClock, &self.changed, state, Some(until));
            }
        }
        state.failed.map_or(Ok(()), Err)
    }
}

impl EventHandler for FragmentSink {
    fn on_event(&self, event: &Event) {
        let is_answer = matches!(event.kind, EventKind::Ack | EventKind::Reply);
        let how = match event.status {
            Err(errno) => Err(errno),
            // A part is no more than nothing.
            Ok(()) if is_answer && event.mlength != self.len => Err(Errno::IO),
            // Unlinked before it was done.
            Ok(()) if event.kind == EventKind::Unlink => Err(Errno::TIMED_OUT),
            Ok(()) => Ok(()),
        };
        match (event.unlinked, how) {
            (true, how) => self.transfer.gone(self.bits, how),
            (false, Err(errno)) => self.transfer.failed(self.bits, errno),
            (false, Ok(())) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_transfer_is_cut() {
        const MIB: usize = 1 << 20;
        let cut = |mbits, len| fragments(mbits, len).map(Vec::from_iter);
        for (name, mbits, len, want) in [
            ("a byte", 6400, 1, Ok(vec![(6400, 0..1)])),
            ("nothing", 6400, 0, Ok(vec![(6400, 0..0)])),
            ("one MD", 6400, MIB, Ok(vec![(6400, 0..MIB)])),
            ("one byte more", 6401, MIB + 1, Ok(vec![(6400, 0..MIB), (6401, MIB..MIB + 1)])),
            ("less than there is room", 6401, 5, Ok(vec![(6400, 0..5), (6401, 5..5)])),
            ("more than there is room", 6400, MIB + 1, Err(Errno::PROTOCOL)),
            ("none announced", 0, 1, Err(Errno::PROTOCOL)),
        ] {
            assert_eq!(cut(mbits, len), want, "{name}");
        }
        let all = cut(6463, 64 * MIB).unwrap();
        assert_eq!((all.len(), all.last()), (64, Some(&(6463, 63 * MIB..64 * MIB))));
        assert_eq!(cut(6463, 64 * MIB + 1), Err(Errno::PROTOCOL));
    }
}
