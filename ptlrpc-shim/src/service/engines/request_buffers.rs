//! The buffers that requests arrive in (PR-31 to PR-33).
//!
//! LNet puts requests into an attached buffer until less space is left than the longest request takes. Then the buffer is
//! unlinked; when the last of its requests has ended it is idle, and can be attached again.

use super::descriptors::{DescriptorGuard, DescriptorSet};
use super::environment::Environment;
use crate::Errno;
use crate::clock::{Clock, Time};
use crate::lnet::{
    Event, EventHandler, EventKind, MatchCriteria, MdSpec, Nid, Node, ProcessId, Region, RegionOwner,
    RegionSlice,
};
use crate::message::Xid;
use crate::service::counters::{Counters, Dropped};
use lnet_api::sync::lock;
use std::sync::{Arc, Mutex};

/// A request that has arrived.
#[derive(Debug)]
pub(crate) struct ArrivedRequest {
    pub(crate) bytes: RegionSlice<RequestBuffer>,
    pub(crate) xid: Xid,
    pub(crate) at: Time,
    /// The client, by its primary NID.
    pub(crate) peer: ProcessId,
    /// The NI that the request was sent from.
    pub(crate) source: ProcessId,
    /// The local NI that the request was sent to.
    pub(crate) self_nid: Nid,
}

/// The user of the buffers. Called on any thread, in event handlers too.
pub(crate) trait BufferUser: Send + Sync {
    /// Takes a request that has arrived. False: the service is ending, and drops it.
    fn on_request(&self, request: ArrivedRequest) -> bool;

    /// Requests a call of [`RequestBuffers::replenish`].
    fn on_buffers_needed(&self);
}

/// The request buffers of a service.
pub(crate) struct RequestBuffers {
    state: Mutex<BufferState>,
    user: Arc<dyn BufferUser>,
    descriptors: Arc<DescriptorSet>,
}

#[derive(Default)]
struct BufferState {
    idle: Vec<Arc<Region>>,
    levels: Levels,
    is_closed: bool,
}

/// The numbers of buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Levels {
    /// Buffers that LNet puts requests into.
    attached: usize,
    /// Buffers that are not in use.
    idle: usize,
    all: usize,
}

/// A buffer that is attached, or has requests in it.
pub(crate) struct RequestBuffer {
    region: Arc<Region>,
    buffers: Arc<RequestBuffers>,
}

struct RequestEvents {
    buffer: Arc<RequestBuffer>,
    clock: Arc<dyn Clock>,
    counters: Arc<Counters>,
    _descriptor: DescriptorGuard,
}

/// The next step towards enough buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferStep {
    AttachIdle,
    AttachNew,
    FreeIdle,
    Nothing,
}

/// Keeps `wanted` buffers attached. If few of them are left there are more for a while, up to `limit`.
fn next_step(levels: Levels, wanted: usize, limit: usize) -> BufferStep {
    let few = wanted.div_ceil(4);
    match levels {
        Levels { attached, idle, .. } if attached < wanted && idle > 0 => BufferStep::AttachIdle,
        Levels { all, .. } if all < wanted => BufferStep::AttachNew,
        Levels { attached, all, .. } if attached < few && all < limit => BufferStep::AttachNew,
        Levels { idle, all, .. } if idle > 0 && all > wanted => BufferStep::FreeIdle,
        _ => BufferStep::Nothing,
    }
}

impl RequestBuffers {
    pub(crate) fn new(user: Arc<dyn BufferUser>) -> Self {
        Self { state: Mutex::default(), user, descriptors: Arc::default() }
    }

    /// Attaches as many buffers as there should be. Calls LNet.
    pub(crate) fn replenish(self: &Arc<Self>, env: &Environment) -> Result<(), Errno> {
        while let Some(region) = self.next_region(env) {
            let buffer = Arc::new(RequestBuffer { region: Arc::clone(&region), buffers: Arc::clone(self) });
            let descriptor = self.descriptors.add();
            let id = descriptor.id();
            let handler = RequestEvents {
                buffer,
                clock: Arc::clone(&env.clock),
                counters: Arc::clone(&env.counters),
                _descriptor: descriptor,
            };
            let spec = MdSpec {
                threshold: None,
                puts: true,
                max_size: Some(env.config.max_request),
                ..MdSpec::active(region, 1)
            };
            let anything = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
            match env.node.attach(env.config.request_portal.0, anything, spec, Arc::new(handler)) {
                Ok(md) => {
                    env.counters.buffers_posted.add_one();
                    self.descriptors.set_md(id, md);
                    // If `close` was called meanwhile, it could not unlink this buffer.
                    if lock(&self.state).is_closed {
                        env.node.unlink(md);
                    }
                }
                Err(errno) => {
                    lock(&self.state).levels.attached -= 1;
                    return Err(errno);
                }
            }
        }
        Ok(())
    }

    /// Attaches no more buffers from now on.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.idle.clear();
        state.levels.idle = 0;
    }

    /// Unlinks the buffers that are attached. Calls LNet.
    pub(crate) fn unlink_all(&self, node: &Node) {
        self.descriptors.unlink_all(node);
    }

    /// The descriptors of attached buffers.
    pub(crate) const fn descriptors(&self) -> &Arc<DescriptorSet> {
        &self.descriptors
    }

    fn next_region(&self, env: &Environment) -> Option<Arc<Region>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            match next_step(state.levels, env.config.buffers, env.config.buffers_limit) {
                BufferStep::AttachIdle => {
                    state.levels.idle -= 1;
                    state.levels.attached += 1;
                    return state.idle.pop();
                }
                BufferStep::AttachNew => {
                    state.levels.all += 1;
                    state.levels.attached += 1;
                    return Some(Arc::new(Region::zeroed(env.config.buffer_size)));
                }
                BufferStep::FreeIdle => {
                    state.levels.idle -= 1;
                    state.levels.all -= 1;
                    state.idle.pop();
                }
                BufferStep::Nothing => return None,
            }
        }
    }

    fn on_unlinked(&self) {
        lock(&self.state).levels.attached -= 1;
        self.user.on_buffers_needed();
    }
}

impl RegionOwner for RequestBuffer {
    fn region(&self) -> &Region {
        &self.region
    }
}

impl Drop for RequestBuffer {
    /// Returns the memory to the idle buffers: the buffer is unlinked, and its last request has ended. Runs on any thread, in
    /// event handlers too.
    fn drop(&mut self) {
        let mut state = lock(&self.buffers.state);
        if !state.is_closed {
            state.idle.push(Arc::clone(&self.region));
            state.levels.idle += 1;
        }
        drop(state);
        self.buffers.user.on_buffers_needed();
    }
}

impl EventHandler for RequestEvents {
    fn on_event(&self, event: &Event) {
        if event.kind == EventKind::Put && event.status.is_ok() {
            self.on_put(event);
        }
        if event.unlinked {
            self.buffer.buffers.on_unlinked();
        }
    }
}

impl RequestEvents {
    fn on_put(&self, event: &Event) {
        self.counters.arrived.add_one();
        let (Some(peer), Some(source), Some(target)) = (event.initiator(), event.source(), event.target())
        else {
            return self.counters.dropped(Dropped::Malformed);
        };
        let (start, len) = (event.offset as usize, event.mlength as usize);
        // SAFETY: a message that LNet has put there, in a descriptor of which each message has its own bytes; they are
        // used again only after the buffer was attached again, which is after the last slice of it was dropped.
        let bytes = unsafe { RegionSlice::new(Arc::clone(&self.buffer), start..start.saturating_add(len)) };
        let request = ArrivedRequest {
            bytes,
            xid: Xid(event.match_bits),
            at: self.clock.now(),
            peer,
            source,
            self_nid: target.nid,
        };
        if !self.buffer.buffers.user.on_request(request) {
            self.counters.dropped(Dropped::Stopping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_attached_as_they_are_needed() {
        // Attached, idle, all; of 8 wanted and 20 at most.
        for (attached, idle, all, want) in [
            (0, 0, 0, BufferStep::AttachNew),
            (7, 0, 7, BufferStep::AttachNew),
            (8, 0, 8, BufferStep::Nothing),
            (7, 0, 8, BufferStep::Nothing),
            (7, 1, 8, BufferStep::AttachIdle),
            (2, 0, 8, BufferStep::Nothing),
            (1, 0, 8, BufferStep::AttachNew),
            (1, 1, 8, BufferStep::AttachIdle),
            (0, 0, 19, BufferStep::AttachNew),
            (0, 0, 20, BufferStep::Nothing),
            (8, 1, 12, BufferStep::FreeIdle),
            (8, 0, 12, BufferStep::Nothing),
        ] {
            assert_eq!(next_step(Levels { attached, idle, all }, 8, 20), want, "{attached} {idle} {all}");
        }
        assert_eq!(next_step(Levels { attached: 0, idle: 0, all: 1 }, 1, 1), BufferStep::Nothing);
        assert_eq!(next_step(Levels { attached: 0, idle: 0, all: 1 }, 1, 2), BufferStep::AttachNew);
    }
}
