//! Processes that break the rules: it costs them their connection, and other nodes are served.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod hosts;

use hosts::{FOR_EVER, Host, own_net};
use lnet_node::StartConfig;
use lnet_os::descriptor_passing::send_with;
use lnet_os::local_socket::{connect_local, receive_local};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Producer, size_in_words};
use lnet_wire::{Body, Header, Nid, Pid};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// The words of the smallest ring.
const WORDS: usize = 4096;
const HEAD: usize = 0;
const TAIL: usize = 8;

/// A node, and another that keeps the rules.
struct Rig {
    node: Host,
    good: Host,
}

impl Rig {
    fn new() -> Self {
        let net = own_net();
        let [node, good] = [(); 2].map(|()| Host::with(&StartConfig::default(), &[(&net, None)]));
        Self { node, good }
    }

    /// The NID of a process that is not there.
    fn own_nid(&self) -> Nid {
        Nid::new(self.node.nid.net(), 7)
    }

    fn connect(&self) -> OwnedFd {
        connect_local(format!("lnet-shm/{}", self.node.nid).as_bytes()).unwrap()
    }

    fn hello(&self) -> Vec<u8> {
        let (from, to) = (self.own_nid().to_wire20(), self.node.nid.to_wire20());
        [&b"lnet-shm"[..], &1_u32.to_ne_bytes(), &from, &to, &9_u64.to_ne_bytes()].concat()
    }

    /// A connection that is up, with the ring to the node and that from it.
    fn up(&self) -> (OwnedFd, SharedMemory, SharedMemory) {
        let (socket, to, from) = (self.connect(), ring(WORDS), ring(WORDS));
        send_with(&socket, &self.hello(), &[to.file(), from.file()]).unwrap();
        assert_eq!(receive(&socket), 60);
        (socket, to, from)
    }

    /// Fails if the node does not serve one that keeps the rules.
    fn check(&self) {
        assert_eq!((self.good.ping(self.node.nid), self.node.ping(self.good.nid)), (Ok(()), Ok(())));
    }
}

fn ring(words: usize) -> SharedMemory {
    SharedMemory::create(c"test", size_in_words(words).unwrap() * 8).unwrap()
}

/// Waits for a packet; 0 is the end of the connection.
fn receive(socket: &OwnedFd) -> usize {
    let timeout = Timespec::try_from(FOR_EVER).unwrap();
    assert!(poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).unwrap() > 0, "nothing came");
    match receive_local(socket, &mut [0; 100]) {
        Ok(len) => len,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Waits for the end of a connection, and leaves out wake-ups.
fn is_ended(socket: &OwnedFd) -> bool {
    while receive(socket) > 0 {}
    true
}

/// Wakes the node.
fn wake(socket: &OwnedFd) {
    // The node may have ended the connection.
    _ = send_with(socket, &[0], &[]);
}

#[test]
fn a_process_without_a_right_hello_is_refused() {
    let rig = Rig::new();
    let (small, large) = (ring(WORDS), SharedMemory::create(c"test", 16 << 20).unwrap());
    let odd = SharedMemory::create(c"test", 40_000).unwrap();
    let open = memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&open, small.len() as u64).unwrap();
    let good = rig.hello();
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let own = [&good[..12], &rig.node.nid.to_wire20(), &good[32..]].concat();
    let (ring, open) = (small.file(), open.as_fd());
    let cases: [(&str, Vec<u8>, &[BorrowedFd<'_>]); 11] = [
        ("garbage", vec![7; 60], &[ring, ring]),
        ("short", good[..59].to_vec(), &[ring, ring]),
        ("another version", changed(8), &[ring, ring]),
        ("to another NID", changed(39), &[ring, ring]),
        ("from this NID", own, &[ring, ring]),
        ("no files", good.clone(), &[]),
        ("one file", good.clone(), &[ring]),
        ("three files", good.clone(), &[ring, ring, ring]),
        ("a file whose size may change", good.clone(), &[ring, open]),
        ("a file that is no ring", good.clone(), &[odd.file(), ring]),
        ("a ring that is too large", good.clone(), &[large.file(), ring]),
    ];
    for (name, bytes, files) in cases {
        let socket = rig.connect();
        send_with(&socket, &bytes, files).unwrap();
        assert!(is_ended(&socket), "{name}");
        rig.check();
    }
}

#[test]
fn a_peer_that_breaks_the_rules_of_rings_or_messages_loses_its_connection() {
    let rig = Rig::new();
    let header = |dest_nid, payload_length| {
        let body = Body::Put { ack: None, match_bits: 1, hdr_data: 0, portal: 60, offset: 0 };
        let src_nid = rig.own_nid();
        let (dest_pid, src_pid) = (Pid::LUSTRE, Pid::LUSTRE);
        Header { dest_nid, src_nid, dest_pid, src_pid, payload_length, body }.encode_long().to_vec()
    };
    let record = |kind: u32, body: Vec<u8>| {
        move |to: SharedMemory, _: SharedMemory| {
            let mut producer = Producer::new(to).unwrap();
            producer.push(kind, &body).unwrap();
            _ = producer.publish();
        }
    };
    type Deed<'a> = Box<dyn FnOnce(SharedMemory, SharedMemory) + 'a>;
    let to = rig.node.nid;
    let cases: [(&str, Deed<'_>); 8] = [
        ("an unknown kind", Box::new(record(9, header(to, 0)))),
        ("no header", Box::new(record(1, vec![1; 20]))),
        ("a part of no message", Box::new(record(2, vec![1; 20]))),
        ("too much payload", Box::new(record(1, header(to, (1 << 20) + 1)))),
        ("more than it says", Box::new(record(1, [header(to, 1), vec![1; 2]].concat()))),
        ("for another node", Box::new(record(1, header(Nid::new(to.net(), 8), 0)))),
        ("an impossible head", Box::new(|to, _| to[HEAD].store(u64::MAX, Ordering::SeqCst))),
        ("an impossible tail", Box::new(|_, from| from[TAIL].store(5000, Ordering::SeqCst))),
    ];
    for (name, deed) in cases {
        let (socket, to, from) = rig.up();
        // The node sends to the peer, so that it looks at the tail.
        let memory = hosts::Memory::empty(100);
        rig.node.put_without_ack(rig.own_nid(), 1, &memory);
        deed(to, from);
        wake(&socket);
        assert!(is_ended(&socket), "{name}");
        assert!(rig.node.wait_for_end().status.is_err(), "{name}");
        rig.check();
    }
}

#[test]
fn whatever_is_in_a_peers_rings_other_nodes_are_served() {
    let rig = Rig::new();
    let word = prop_oneof![
        0..200_u64,
        (1..3_u64, 0..200_u64).prop_map(|(kind, len)| kind << 32 | len),
        any::<u64>()
    ];
    let position = prop_oneof![0..5000_u64, any::<u64>()];
    let input = (prop::collection::vec(word, 0..100), position.clone(), position, 0..70_usize);
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&input, |(words, head, tail, packet)| {
            let (socket, to, from) = rig.up();
            for (at, word) in words.iter().enumerate() {
                to[32 + at].store(*word, Ordering::Relaxed);
            }
            from[TAIL].store(tail, Ordering::Relaxed);
            to[HEAD].store(head, Ordering::SeqCst);
            _ = send_with(&socket, &vec![1; packet.max(1)], &[to.file()]);
            wake(&socket);
            rig.check();
            Ok(())
        })
        .unwrap();
}
