//! Tests that a stop without abort ends, whatever is queued (motr-net 10, trap 16). Buffers that wait for a peer get some
//! seconds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code, unreachable_pub)]
mod support {
    pub mod machine;
}

use lnet as _;
use m0net::net::queue::Queue;
use m0net::net::types::tm_state;
use support::machine::{Event, TestMachine};

/// Receive buffers end at once; a buffer that is offered without a deadline ends after the grace time, as cancelled.
#[test]
fn a_stop_without_abort_ends_though_buffers_wait_for_ever() {
    let mut machine = TestMachine::start("0@lo:12345:30:*");
    let (receives, offered) = (machine.buffer(4096), machine.buffer(4096));
    machine.receive(receives, 4096, 1);
    machine.bytes(offered, 4096);
    machine.offer(offered, Queue::PassiveBulkSend, None);
    machine.stop(false);
    let mut ended = vec![];
    loop {
        match machine.events.recv().unwrap() {
            Event::State(state, status) => {
                assert_eq!((state, status), (tm_state::STOPPED, 0));
                break;
            }
            Event::Buffer { index, status, queued, .. } => {
                assert_eq!((status, queued), (-libc::ECANCELED, false));
                ended.push(index);
            }
        }
    }
    assert_eq!(ended, [receives, offered]);
}
