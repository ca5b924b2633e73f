//! The memory that requests arrive in (PR-31 to PR-33).
//!
//! A buffer is open: LNet puts requests into it, until there is less room than the longest needs. Then its requests
//! have it; when the last of them is over it is idle, and the housekeeper opens it again.

use super::config::ServiceConfig;
use super::counts::{Dropped, Tally};
use super::flights::{Flight, Flights};
use super::housekeeper::House;
use super::incoming::{Arrived, Queue};
use crate::errno::Errno;
use crate::lnet::{
    Event, EventHandler, EventKind, MatchCriteria, MdSpec, Node, Region, RegionOwner, RegionSlice,
};
use crate::message::Xid;
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The buffers of a service.
pub(super) struct Pool {
    state: Mutex<State>,
    wanted: usize,
    limit: usize,
    house: Arc<House>,
    pub(super) flights: Arc<Flights>,
}

#[derive(Default)]
struct State {
    idle: Vec<Arc<Region>>,
    levels: Levels,
    is_closed: bool,
}

/// How many buffers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Levels {
    /// LNet may put requests into them.
    open: usize,
    /// Nobody has them.
    idle: usize,
    all: usize,
}

/// A buffer that is open, or has requests in it.
pub(super) struct PostedBuffer {
    region: Arc<Region>,
    pool: Arc<Pool>,
}

struct RequestSink {
    buffer: Arc<PostedBuffer>,
    queue: Arc<Queue>,
    tally: Arc<Tally>,
    _flight: Flight,
}

/// What to do about the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    OpenIdle,
    OpenNew,
    GiveUpIdle,
    Nothing,
}

/// As many as wanted are kept open; when few are left there are more of them for a while, up to the limit.
fn step(levels: Levels, wanted: usize, limit: usize) -> Step {
    let few = wanted.div_ceil(4);
    match levels {
        Levels { open, idle, .. } if open < wanted && idle > 0 => Step::OpenIdle,
        Levels { all, .. } if all < wanted => Step::OpenNew,
        Levels { open, all, .. } if open < few && all < limit => Step::OpenNew,
        Levels { idle, all, .. } if idle > 0 && all > wanted => Step::GiveUpIdle,
        _ => Step::Nothing,
    }
}

impl Pool {
    pub(super) fn new(config: &ServiceConfig, house: Arc<House>) -> Self {
        Self {
            state: Mutex::default(),
            wanted: config.buffers,
            limit: config.buffers_limit,
            house,
            flights: Arc::default(),
        }
    }

    /// Opens buffers, as many as there should be. Calls LNet.
    pub(super) fn replenish(
        self: &Arc<Self>,
        node: &Node,
        config: &ServiceConfig,
        queue: &Arc<Queue>,
        tally: &Arc<Tally>,
    ) -> Result<(), Errno> {
        while let Some(region) = self.next_region(config.buffer_size) {
            let buffer = Arc::new(PostedBuffer { region: Arc::clone(&region), pool: Arc::clone(self) });
            let flight = self.flights.begin();
            let id = flight.id();
            let sink =
                RequestSink { buffer, queue: Arc::clone(queue), tally: Arc::clone(tally), _flight: flight };
            let spec = MdSpec {
                threshold: None,
                puts: true,
                max_size: Some(config.max_request),
                ..MdSpec::active(region, 1)
            };
            let anything = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
            match node.attach(config.request_portal.0, anything, spec, Arc::new(sink)) {
                Ok(md) => {
                    tally.buffers_posted.one();
                    self.flights.name(id, md);
                    // Who has closed the pool meanwhile could not unlink it.
                    if lock(&self.state).is_closed {
                        node.unlink(md);
                    }
                }
                Err(errno) => {
                    lock(&self.state).levels.open -= 1;
                    return Err(errno);
                }
            }
        }
        Ok(())
    }

    /// No buffer is opened after this.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.idle.clear();
        state.levels.idle = 0;
    }

    fn next_region(&self, size: usize) -> Option<Arc<Region>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            match step(state.levels, self.wanted, self.limit) {
                Step::OpenIdle => {
                    state.levels.idle -= 1;
                    state.levels.open += 1;
                    return state.idle.pop();
                }
                Step::OpenNew => {
                    state.levels.all += 1;
                    state.levels.open += 1;
                    return Some(Arc::new(Region::zeroed(size)));
                }
                Step::GiveUpIdle => {
                    state.levels.idle -= 1;
                    state.levels.all -= 1;
                    state.idle.pop();
                }
                Step::Nothing => return None,
            }
        }
    }

    /// A buffer is not open any more.
    fn ended(&self) {
        lock(&self.state).levels.open -= 1;
        self.house.replenish();
    }
}

impl RegionOwner for PostedBuffer {
    fn region(&self) -> &Region {
        &self.region
    }
}

impl Drop for PostedBuffer {
    /// The last of its requests is over, and LNet has done with it. Runs on any thread, in event handlers too.
    fn drop(&mut self) {
        let mut state = lock(&self.pool.state);
        if !state.is_closed {
            state.idle.push(Arc::clone(&self.region));
            state.levels.idle += 1;
        }
        drop(state);
        self.pool.house.replenish();
    }
}

impl EventHandler for RequestSink {
    fn on_event(&self, event: &Event) {
        if event.kind == EventKind::Put && event.status.is_ok() {
            self.arrive(event);
        }
        if event.unlinked {
            self.buffer.pool.ended();
        }
    }
}

impl RequestSink {
    fn arrive(&self, event: &Event) {
        self.tally.arrived.one();
        let (Some(peer), Some(source), Some(target)) = (event.initiator, event.source, event.target) else {
            return self.tally.dropped(Dropped::Unreadable);
        };
        let (start, len) = (event.offset as usize, event.mlength as usize);
        // SAFETY: a message that LNet has put there, in a descriptor of which each message has its own bytes; they are
        // used again only when the buffer is opened again, which is when no part of it is left.
        let bytes = unsafe { RegionSlice::new(Arc::clone(&self.buffer), start..start.saturating_add(len)) };
        let arrived = Arrived {
            bytes,
            xid: Xid(event.match_bits),
            at: Instant::now(),
            peer,
            source,
            self_nid: target.nid,
        };
        if !self.queue.arrive(arrived) {
            self.tally.dropped(Dropped::Stopping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_opened_as_they_are_needed() {
        // Open, idle, all; of 8 wanted and 20 at most.
        for (open, idle, all, want) in [
            (0, 0, 0, Step::OpenNew),
            (7, 0, 7, Step::OpenNew),
            (8, 0, 8, Step::Nothing),
            (7, 0, 8, Step::Nothing),
            (7, 1, 8, Step::OpenIdle),
            (2, 0, 8, Step::Nothing),
            (1, 0, 8, Step::OpenNew),
            (1, 1, 8, Step::OpenIdle),
            (0, 0, 19, Step::OpenNew),
            (0, 0, 20, Step::Nothing),
            (8, 1, 12, Step::GiveUpIdle),
            (8, 0, 12, Step::Nothing),
        ] {
            assert_eq!(step(Levels { open, idle, all }, 8, 20), want, "{open} {idle} {all}");
        }
        assert_eq!(step(Levels { open: 0, idle: 0, all: 1 }, 1, 1), Step::Nothing);
        assert_eq!(step(Levels { open: 0, idle: 0, all: 1 }, 1, 2), Step::OpenNew);
    }
}
