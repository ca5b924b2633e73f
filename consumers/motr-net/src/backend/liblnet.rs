//! LNet, used through its C API alone.

use super::{
    Access, Backend, Descriptor, EventKind, EventQueue, Fragment, Handle, LnetEvent, Operation, ProcessId,
    Target,
};
use crate::Errno;
use lnet_api::sys;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_long, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The PID that messages are delivered to (`M0_NET_LNET_PID`).
pub const PID: u32 = 12345;

/// A reference on LNet, which is up as long as there is a reference.
#[derive(Debug)]
pub struct Liblnet(());

impl Liblnet {
    /// Starts LNet, or takes a reference on it if it is up.
    pub fn start() -> Result<Arc<Self>, Errno> {
        Errno::check(sys::LNetNIInit(PID))?;
        Ok(Arc::new(Self(())))
    }
}

impl Drop for Liblnet {
    fn drop(&mut self) {
        sys::LNetNIFini();
    }
}

impl Backend for Liblnet {
    fn local_processes(&self) -> Vec<ProcessId> {
        let process = |index| {
            let mut id = sys::lnet_process_id { nid: 0, pid: 0 };
            let rc = sys::LNetGetId(index, &mut id);
            (rc == 0).then_some(ProcessId { nid: id.nid, pid: id.pid })
        };
        (0..).map_while(process).collect()
    }

    fn claim(&self, portal: u32, match_bits: u64, ignore_bits: u64) -> Result<(), Errno> {
        Errno::check(sys::LNetClaimBits(portal, match_bits, ignore_bits)).map(|_| ())
    }

    fn release(&self, portal: u32, match_bits: u64, ignore_bits: u64) {
        // Without a node there are no claims.
        sys::LNetReleaseBits(portal, match_bits, ignore_bits);
    }

    fn open(&self) -> Result<Box<dyn EventQueue>, Errno> {
        let mut eq = sys::lnet_handle_eq { cookie: sys::COOKIE_NONE };
        // The handler gets every event. The one that the queue keeps ends a wait.
        // SAFETY: `handle_event` is there for ever, and the descriptors of this queue are those of `Queue`.
        Errno::check(unsafe { sys::LNetEQAlloc(1, Some(handle_event), &raw mut eq) })?;
        let handled = Arc::new(AtomicU64::new(0));
        let waker = Box::new(Context { handled: Arc::clone(&handled), operation: None });
        Ok(Box::new(Queue { eq, handled, taken: AtomicU64::new(0), waker: Box::into_raw(waker) }))
    }
}

/// The event queue of a transfer machine.
#[derive(Debug)]
struct Queue {
    eq: sys::lnet_handle_eq,
    /// The number of events that `handle_event` is done with.
    handled: Arc<AtomicU64>,
    /// The number of the last event that ended a wait.
    taken: AtomicU64,
    /// The context of the descriptors of `wake`, owned by this queue.
    waker: *mut Context,
}

// SAFETY: `waker` is only handed to LNet, and read by `handle_event`, which takes a context without an operation as constant.
unsafe impl Send for Queue {}
// SAFETY: the same; every other field is made for several threads.
unsafe impl Sync for Queue {}

/// The context of a descriptor, which is its `user_ptr`.
struct Context {
    handled: Arc<AtomicU64>,
    /// The operation of the descriptor; `None`: the descriptor serves `wake`, and the queue owns the context.
    operation: Option<Active>,
}

struct Active {
    /// The operation, which is borrowed by one event at a time: the events of a descriptor come one after the other.
    operation: RefCell<Box<dyn Operation>>,
    /// Whether the operation could not be started, so that its last event is not reported.
    failed: Cell<bool>,
}

/// # Safety
/// The event is one of LNet's, of a descriptor that a [`Queue`] has made.
unsafe extern "C" fn handle_event(event: *mut sys::lnet_event) {
    // SAFETY: LNet lends the event for the time of this call. The context is that of the descriptor, and stays until the last event of that;
    // one without an operation is its queue's, and constant.
    let (event, context) = unsafe { (&*event, &*(*event).md.user_ptr.cast::<Context>()) };
    let handled = Arc::clone(&context.handled);
    if let Some(active) = &context.operation {
        if !active.failed.get() {
            active.operation.borrow_mut().on_event(&from_c(event));
        }
        if event.unlinked != 0 {
            // SAFETY: the box that `Queue::give` gave to this descriptor; after the last event nobody has it.
            drop(unsafe { Box::from_raw(event.md.user_ptr.cast::<Context>()) });
        }
    }
    handled.fetch_add(1, Ordering::Release);
}

fn from_c(event: &sys::lnet_event) -> LnetEvent {
    LnetEvent {
        kind: EventKind::from_c(event.r#type),
        status: event.status,
        unlinked: event.unlinked != 0,
        len: event.mlength,
        offset: event.offset,
        source: ProcessId { nid: event.source.nid, pid: event.source.pid },
        header_data: event.hdr_data,
    }
}

impl Queue {
    /// Makes a descriptor by `make`, which owns the operation until its last event. Without `context`, the context is that of
    /// an operation.
    fn descriptor(
        &self,
        descriptor: &Descriptor<'_>,
        access: Option<Access>,
        context: *mut Context,
    ) -> sys::lnet_md {
        let access = match access {
            Some(Access::Put) => sys::LNET_MD_OP_PUT,
            Some(Access::Get) => sys::LNET_MD_OP_GET,
            None => 0,
        };
        let max_size = if descriptor.max_size.is_some() { sys::LNET_MD_MAX_SIZE } else { 0 };
        let fragments: &[Fragment] = descriptor.fragments;
        sys::lnet_md {
            start: fragments.as_ptr().cast_mut().cast(),
            length: fragments.len().try_into().unwrap_or(u32::MAX),
            threshold: descriptor.threshold.try_into().unwrap_or(c_int::MAX),
            max_size: descriptor.max_size.unwrap_or(0).try_into().unwrap_or(c_int::MAX),
            options: access | max_size | sys::LNET_MD_IOVEC,
            user_ptr: context.cast::<c_void>(),
            eq_handle: self.eq,
            bulk_handle: sys::lnet_handle_md { cookie: sys::COOKIE_NONE },
        }
    }

    /// Gives an operation to a descriptor that `make` makes; returns the descriptor and its context. The memory stays valid,
    /// as the caller of the queue promised.
    fn give(
        &self,
        descriptor: &Descriptor<'_>,
        access: Option<Access>,
        operation: Box<dyn Operation>,
        make: impl FnOnce(sys::lnet_md, &mut sys::lnet_handle_md) -> c_int,
    ) -> Result<(sys::lnet_handle_md, *const Context), Errno> {
        let active = Active { operation: RefCell::new(operation), failed: Cell::new(false) };
        let context = Context { handled: Arc::clone(&self.handled), operation: Some(active) };
        let context = Box::into_raw(Box::new(context));
        let mut handle = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        match Errno::check(make(self.descriptor(descriptor, access, context), &mut handle)) {
            Ok(_) => Ok((handle, context)),
            Err(errno) => {
                // SAFETY: the box of above; there is no descriptor that has it.
                drop(unsafe { Box::from_raw(context) });
                Err(errno)
            }
        }
    }

    /// Binds a descriptor and starts its operation.
    fn start(
        &self,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
        start: impl FnOnce(sys::lnet_handle_md) -> c_int,
    ) -> Result<Handle, Errno> {
        let bind = |md, handle: &mut _| {
            // SAFETY: the fragments are there during the call; the memory as the caller promised, and the context until the last event.
            unsafe { sys::LNetMDBind(md, sys::LNET_UNLINK, handle) }
        };
        let (handle, context) = self.give(descriptor, None, operation, bind)?;
        match Errno::check(start(handle)) {
            Ok(_) => Ok(Handle(handle.cookie)),
            Err(errno) => {
                // SAFETY: nothing was started, so no event, and least of all the last one, comes before that of the call below.
                if let Some(active) = unsafe { &(*context).operation } {
                    active.failed.set(true);
                }
                sys::LNetMDUnlink(handle);
                Err(errno)
            }
        }
    }
}

impl EventQueue for Queue {
    unsafe fn attach(
        &self,
        portal: u32,
        match_bits: u64,
        access: Access,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno> {
        let anyone = sys::lnet_process_id { nid: sys::LNET_NID_ANY, pid: sys::LNET_PID_ANY };
        let mut me = sys::lnet_handle_me { cookie: sys::COOKIE_NONE };
        let (unlink, position) = (sys::LNET_UNLINK, sys::LNET_INS_AFTER);
        Errno::check(sys::LNetMEAttach(portal, anyone, match_bits, 0, unlink, position, &mut me))?;
        let attach = |md, handle: &mut _| {
            // SAFETY: the fragments are there during the call; the memory as the caller promised, and the context until the last event.
            unsafe { sys::LNetMDAttach(me, md, sys::LNET_UNLINK, handle) }
        };
        let attached = self.give(descriptor, Some(access), operation, attach);
        if attached.is_err() {
            sys::LNetMEUnlink(me);
        }
        attached.map(|(handle, _)| Handle(handle.cookie))
    }

    unsafe fn put(
        &self,
        from: Option<u64>,
        to: Target,
        header_data: u64,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno> {
        let (from, target) = (from.unwrap_or(sys::LNET_NID_ANY), process_to_c(to.process));
        self.start(descriptor, operation, |md| {
            let ack = sys::LNET_NOACK_REQ;
            sys::LNetPut(from, md, ack, target, to.portal, to.match_bits, 0, header_data)
        })
    }

    unsafe fn get(
        &self,
        from: Option<u64>,
        to: Target,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno> {
        let (from, target) = (from.unwrap_or(sys::LNET_NID_ANY), process_to_c(to.process));
        self.start(descriptor, operation, |md| sys::LNetGet(from, md, target, to.portal, to.match_bits, 0))
    }

    fn unlink(&self, handle: Handle) {
        sys::LNetMDUnlink(sys::lnet_handle_md { cookie: handle.0 });
    }

    fn wait(&self, timeout: Duration) {
        // LNet keeps an event before it calls the handler. While fewer events are handled than the number of the last one
        // that was taken out, the handler of one of them is running. If as many are handled, an event that is not handled has
        // others behind it, and one of those is still in the queue.
        while self.handled.load(Ordering::Acquire) < self.taken.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let (mut eq, mut which) = (self.eq, 0);
        let mut event = MaybeUninit::<sys::lnet_event>::uninit();
        // Rounded up, so that a short wait is not a busy one.
        let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
        let milliseconds = c_long::try_from(milliseconds).unwrap_or(c_long::MAX);
        // SAFETY: one queue, this one's; the event and its place, which outlive the call, are there to be written.
        let got =
            unsafe { sys::LNetEQPoll(&raw mut eq, 1, milliseconds, event.as_mut_ptr(), &raw mut which) };
        if got == 1 || got == -libc::EOVERFLOW {
            // SAFETY: these two say that an event was written.
            let number = unsafe { ptr::addr_of!((*event.as_ptr()).sequence).read() };
            self.taken.fetch_max(number, Ordering::Relaxed);
            while self.handled.load(Ordering::Acquire) < self.taken.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        } else if got < 0 {
            // LNet does not allow this thread to wait.
            std::thread::sleep(timeout.min(Duration::from_millis(10)));
        }
    }

    fn wake(&self) {
        let nothing = Descriptor { fragments: &[], threshold: 1, max_size: None };
        let md = sys::lnet_md { start: ptr::null_mut(), ..self.descriptor(&nothing, None, self.waker) };
        let mut handle = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        // SAFETY: a descriptor without memory; its context lives as long as this queue.
        if unsafe { sys::LNetMDBind(md, sys::LNET_UNLINK, &raw mut handle) } == 0 {
            // The event of the unlink ends the wait.
            sys::LNetMDUnlink(handle);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        sys::LNetEQFree(self.eq);
        // SAFETY: the box of `open`, which no descriptor has any more.
        drop(unsafe { Box::from_raw(self.waker) });
    }
}

fn process_to_c(id: ProcessId) -> sys::lnet_process_id {
    sys::lnet_process_id { nid: id.nid, pid: id.pid }
}
