//! The base of [`EventQueue`](crate::EventQueue), for crates with memory descriptors of their own: an event queue whose handler owns what
//! each descriptor needs.

use crate::Errno;
use crate::live_mds::{LiveMd, LiveMds};
use crate::sys;
use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Owns what a descriptor needs until its last event, such as its memory.
pub trait MdOwner: Send {
    /// Handles an event of the descriptor, one at a time, on a thread of LNet or one that is inside an LNet call. The owner is dropped
    /// after the last event, in which `unlinked` is set. A panic ends the process.
    fn on_event(&mut self, event: &sys::lnet_event);
}

/// An event queue whose descriptors have owners of this type. Dropped without [`Queue::close`] it stays, until the network goes down.
pub struct Queue<O> {
    eq: sys::lnet_handle_eq,
    live_mds: Arc<LiveMds>,
    owners: PhantomData<fn(O)>,
}

/// The owner and the count of a descriptor: its `user_ptr`.
struct Context<O> {
    owner: O,
    live: LiveMd,
}

thread_local! {
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in [`MdOwner::on_event`], where LNet must not be called.
pub fn in_handler() -> bool {
    IN_HANDLER.get()
}

/// The event handler of a queue.
///
/// # Safety
/// `event` is one of LNet's, of a descriptor that [`Queue::post`] of a queue with owners of this type has made.
unsafe extern "C" fn handle<O: MdOwner>(event: *mut sys::lnet_event) {
    // SAFETY: LNet lends it for as long as this runs.
    let event = unsafe { &*event };
    let context: *mut Context<O> = event.md.user_ptr.cast();
    // A call of LNet in a handler may have run this one.
    let outer = IN_HANDLER.replace(true);
    // SAFETY: it is there until the last event, and the events of a descriptor come one after the other: nobody else is here.
    let Context { owner, live } = unsafe { &mut *context };
    owner.on_event(event);
    live.count_handled();
    if event.unlinked != 0 {
        // SAFETY: a box that `post` gave away, and this is the last event.
        drop(unsafe { Box::from_raw(context) });
    }
    IN_HANDLER.set(outer);
}

impl<O: MdOwner> Queue<O> {
    /// Makes a queue, while the network is up. It keeps `events` of its events, only so that they end [`Queue::poll`].
    pub fn new(events: u32) -> Result<Self, Errno> {
        let mut eq = sys::lnet_handle_eq { cookie: sys::COOKIE_NONE };
        // SAFETY: `handle` is there for ever, and every descriptor of this queue is made by `post`.
        Errno::check(unsafe { sys::LNetEQAlloc(events as c_uint, Some(handle::<O>), &raw mut eq) })?;
        Ok(Self { eq, live_mds: Arc::default(), owners: PhantomData })
    }

    /// The handle, for calls of the C API.
    pub const fn handle(&self) -> sys::lnet_handle_eq {
        self.eq
    }

    /// Makes a descriptor by a call of `make`, which is `LNetMDAttach` or `LNetMDBind`. Its queue and its `user_ptr` are set here. After an
    /// error the owner is dropped and there is no event.
    ///
    /// # Safety
    /// The memory that `md` describes stays valid until `owner` is dropped, and until the last event only LNet and `owner` access it. `make`
    /// makes at most one descriptor, of the `md` that it is given.
    pub unsafe fn post(
        &self,
        owner: O,
        md: sys::lnet_md,
        make: impl FnOnce(sys::lnet_md, *mut sys::lnet_handle_md) -> c_int,
    ) -> Result<sys::lnet_handle_md, Errno> {
        let context = Box::into_raw(Box::new(Context { owner, live: self.live_mds.add() }));
        let md = sys::lnet_md { eq_handle: self.eq, user_ptr: context.cast(), ..md };
        let mut handle = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        match Errno::check(make(md, &raw mut handle)) {
            Ok(_) => Ok(handle),
            Err(errno) => {
                // SAFETY: the box of above; there is no descriptor that uses it.
                drop(unsafe { Box::from_raw(context) });
                Err(errno)
            }
        }
    }

    /// Lets LNet make progress on the calling thread until there is an event, at most for this time in milliseconds; a negative time is
    /// without limit. Returns whether there was one: when the queue has no further one, all have been handled. [`Errno::Busy`] in a
    /// handler, unless the time is 0.
    pub fn poll(&self, timeout_ms: c_long) -> Result<bool, Errno> {
        poll_handles(&mut [self.eq], timeout_ms, |_| Some(&self.live_mds))
    }

    /// Waits for the last events of all descriptors, which their owners have unlinked, and frees the queue. If the network goes down
    /// before, what the descriptors own is leaked. Must not be called from a handler.
    pub fn close(&self) {
        self.live_mds.wait_until_none(|| {
            let mut id = sys::lnet_process_id { nid: 0, pid: 0 };
            Errno::check(sys::LNetGetId(0, &mut id)) == Err(Errno::NetworkDown)
        });
        sys::LNetEQFree(self.eq);
    }
}

impl<O> fmt::Debug for Queue<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({:?})", self.eq)
    }
}

/// Does the same as [`Queue::poll`] for several queues.
pub(crate) fn poll_any<O>(queues: &[&Queue<O>], timeout_ms: c_long) -> Result<bool, Errno> {
    let mut eqs: Vec<_> = queues.iter().map(|queue| queue.eq).collect();
    poll_handles(&mut eqs, timeout_ms, |which| queues.get(which).map(|queue| &*queue.live_mds))
}

/// Polls the queues with these handles; `live_mds` has the descriptors of each, by its index.
fn poll_handles<'a>(
    eqs: &mut [sys::lnet_handle_eq],
    timeout_ms: c_long,
    live_mds: impl Fn(usize) -> Option<&'a LiveMds>,
) -> Result<bool, Errno> {
    let count = eqs.len().try_into().map_err(|_| Errno::Invalid)?;
    let mut event = MaybeUninit::<sys::lnet_event>::uninit();
    let mut which = 0;
    // SAFETY: that many handles, in memory of this function; the event is written to memory of this function for one.
    let polled =
        unsafe { sys::LNetEQPoll(eqs.as_mut_ptr(), count, timeout_ms, event.as_mut_ptr(), &raw mut which) };
    match Errno::check(polled) {
        Ok(0) => return Ok(false),
        // The handler had the earlier events, too.
        Ok(_) | Err(Errno::Overflow) => {}
        Err(errno) => return Err(errno),
    }
    // SAFETY: `event` is a variable of this function, whole since LNetEQPoll returned 1 or -EOVERFLOW, with which it writes an event.
    let sequence = unsafe { (&raw const (*event.as_ptr()).sequence).read() };
    // LNet stores an event before it calls the handler. Without an event more, nothing would wake this thread once the handler has returned.
    if let Some(live_mds) = usize::try_from(which).ok().and_then(live_mds)
        && !in_handler()
    {
        live_mds.wait_until_handled(sequence);
    }
    Ok(true)
}
