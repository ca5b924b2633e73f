//! The base of queues, for descriptors with owners of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The LNet of the workspace, whose functions the crate calls.
use lnet as _;

use liblnet::raw::{MdOwner, Queue};
use liblnet::{Node, sys};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The time that a handler gives a poll to return too early.
const TOO_EARLY: Duration = Duration::from_millis(50);

/// An owner whose handler tells that it runs, and returns late.
struct Late {
    begun: Sender<()>,
    poll_returned: Mutex<Receiver<()>>,
    was_early: Arc<AtomicBool>,
}

impl MdOwner for Late {
    fn on_event(&mut self, _: &sys::lnet_event) {
        self.begun.send(()).unwrap();
        let early = self.poll_returned.get_mut().unwrap().recv_timeout(TOO_EARLY).is_ok();
        self.was_early.store(early, Ordering::SeqCst);
    }
}

/// Fails if a thread learns of an event before the handler has stored it: it would find nothing there, and sleep for ever.
#[test]
fn a_poll_returns_after_the_handler_of_its_event_on_another_thread() {
    let node = Node::start().unwrap();
    let queue = Queue::new(8).unwrap();
    let (begun, has_begun) = channel();
    let (returned, poll_returned) = channel();
    let was_early = Arc::new(AtomicBool::new(false));
    let owner = Late { begun, poll_returned: Mutex::new(poll_returned), was_early: Arc::clone(&was_early) };
    let md = sys::lnet_md {
        start: std::ptr::null_mut(),
        length: 0,
        threshold: 1,
        max_size: 0,
        options: 0,
        user_ptr: std::ptr::null_mut(),
        eq_handle: queue.handle(),
        bulk_handle: sys::lnet_handle_md { cookie: sys::COOKIE_NONE },
    };
    // SAFETY: LNetMDBind takes the descriptor by value and writes to `handle`, a variable of `post`, before it returns.
    let bind = |md, handle: *mut _| unsafe { sys::LNetMDBind(md, sys::LNET_UNLINK, handle) };
    // SAFETY: the descriptor has no memory, so nothing needs to outlive the call; `bind` makes one descriptor, of the `md` that it is given.
    let handle = unsafe { queue.post(owner, md, bind) }.unwrap();
    let to = node.ids()[0];
    // A message of a node to itself is delivered on the thread that sends it.
    let sender = thread::spawn(move || {
        let id = sys::lnet_process_id { nid: to.nid.to_u64(), pid: to.pid };
        sys::LNetPut(sys::LNET_NID_ANY, handle, sys::LNET_NOACK_REQ, id, 40, 1, 0, 0)
    });
    has_begun.recv().unwrap();
    assert_eq!(queue.poll(-1), Ok(true));
    // The handler has gone if the poll has waited for it.
    let _ = returned.send(());
    assert_eq!(sender.join().unwrap(), 0);
    assert!(!was_early.load(Ordering::SeqCst));
    queue.close();
}
