//! Credits among programs that share a node, with a driver that keeps messages until the test ends them.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::credit::Credits;
use lnet_core::memory::{ClientMemory, ThenReply};
use lnet_core::{Errno, EventKind, MdHandle, MdMemory, MdOptions, MdSpec, OutgoingMessage};
use lnet_wire::Pid;
use std::sync::Arc;
use support::{FakeDriver, OnSend, Rig, tcp};

/// The memory of a program with this PID.
struct Program(u32);

impl ClientMemory for Program {
    fn pid(&self) -> Pid {
        Pid(self.0)
    }

    fn is_in_place(&self) -> bool {
        true
    }

    fn fetch(&self, _: u32, _: u32, then: ThenReply) {
        then(Err(Errno::Io));
    }
}

/// A node with two credits for each peer, and three in all.
fn rig() -> Rig {
    Rig::builder(FakeDriver::new(OnSend::Keep)).credits(3, 2).build()
}

/// An MD of the program with this PID, whose memory is at that address. The driver never reads it.
fn bind(rig: &Rig, pid: u32) -> MdHandle {
    let (options, eq) = (MdOptions(0), Some(rig.eq));
    let spec =
        MdSpec { start: pid as usize, length: 8, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
    let path = rig.core.data_path();
    path.md_bind_for(spec, MdMemory::contiguous(pid as usize, 8), false, Arc::new(Program(pid))).unwrap()
}

/// The PIDs of the programs whose messages the driver gets one after the other, when each is ended.
fn order(rig: &Rig) -> Vec<u32> {
    let ni = rig.driver.ni(0);
    let sender = |message: &OutgoingMessage| message.payload().next().map_or(0, |range| range.address as u32);
    let first = || ni.map_kept(sender).first().copied();
    std::iter::from_fn(|| first().filter(|_| ni.finish_one())).collect()
}

/// Fails if a program waits for a peer's credits until all messages are sent that another program has begun before.
#[test]
fn programs_get_the_credits_of_a_peer_in_turn() {
    let rig = rig();
    let (one, other) = (bind(&rig, 1), bind(&rig, 2));
    (0..6).for_each(|_| rig.put(one, tcp(2)));
    (0..3).for_each(|_| rig.put(other, tcp(2)));
    assert_eq!(order(&rig), [1, 1, 1, 2, 1, 2, 1, 2, 1]);
}

/// The same for the credits of an interface: the messages that have their peer's wait for these.
#[test]
fn programs_get_the_credits_of_an_interface_in_turn() {
    let rig = rig();
    let (one, other) = (bind(&rig, 1), bind(&rig, 2));
    [2, 2, 3, 3, 4, 4].into_iter().for_each(|to| rig.put(one, tcp(to)));
    rig.put(other, tcp(5));
    rig.put(other, tcp(5));
    assert_eq!(order(&rig), [1, 1, 1, 1, 2, 1, 2, 1]);
}

/// Fails if messages of a program that has died stay in the node until their deadline, or if others end with them.
#[test]
fn messages_whose_md_is_unlinked_end_before_their_turn_if_the_node_is_told() {
    let rig = rig();
    let (dead, living) = (bind(&rig, 1), bind(&rig, 2));
    (0..100).for_each(|_| rig.put(dead, tcp(2)));
    rig.put(living, tcp(2));
    rig.core.data_path().md_unlink(dead).unwrap();
    assert_eq!(rig.messages(), 101);
    rig.core.data_path().end_given_up();
    assert_eq!(rig.messages(), 3);
    let cancelled = (EventKind::Send, Err(Errno::Cancelled), false);
    assert_eq!(rig.take_events(), vec![cancelled; 98]);
    assert_eq!(order(&rig), [1, 1, 2]);
    assert_eq!(rig.ni().credits(), Credits(3));
}
