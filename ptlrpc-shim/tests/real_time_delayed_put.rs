//! A descriptor that is unlinked while a PUT to it is delayed. LNet delays messages by real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/exclusive.rs"]
mod exclusive;
#[path = "support/faults.rs"]
mod faults;
#[path = "support/md.rs"]
mod md;

use faults::DelayRule;
use lnet as _;
use md::{attach_buffer, forward_events, local_process};
use ptlrpc::lnet::{Ack, EventKind, MdSpec, Node, Region};
use std::sync::Arc;

/// ptlrpc 10, test 16: fails if a delayed PUT writes to an unlinked descriptor.
#[test]
fn a_delayed_put_does_not_write_to_an_unlinked_descriptor() {
    let _exclusive = exclusive::exclusive();
    let node = Node::start().unwrap();
    let mut buffer = Arc::new(Region::zeroed(16));
    let (handler, arrived) = forward_events();
    let target = attach_buffer(&node, &buffer, 8, handler);
    let (handler, sent) = forward_events();
    let md = node.bind(MdSpec::active(Arc::new(Region::copy_of(b"eight by")), 1), handler).unwrap();
    let delay = DelayRule::by_seconds(1, 7);
    node.put(None, md, Ack::No, local_process(), 7, 5, 0, 9).unwrap();
    assert!(sent.try_recv().is_err(), "it is delayed");
    node.unlink(target);
    let event = arrived.try_recv().unwrap();
    assert_eq!((event.kind, event.unlinked), (EventKind::Unlink, true));
    // The PUT arrives now.
    assert_eq!(sent.recv().map(|event| (event.kind, event.unlinked)), Ok((EventKind::Send, true)));
    drop((delay, node));
    assert!(arrived.recv().is_err(), "that was the last event");
    assert_eq!(Arc::get_mut(&mut buffer).unwrap().bytes_mut(), [0; 16]);
}
