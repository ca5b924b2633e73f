//! Two nodes of this process whose net is shared memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod hosts;

use hosts::{Host, Memory, PORTAL, add, own_net};
use lnet_core::{EventKind, MdOptions};
use lnet_node::StartConfig;
use lnet_wire::{NetType, Nid};
use std::iter::zip;

/// The KiB of a ring: the least, which every long message fills many times, and the default.
const RINGS: [u32; 2] = [32, 256];
/// Lengths around the borders between records.
const LENGTHS: [usize; 10] = [0, 1, 8, 4096, 16_287, 16_288, 16_289, 16_288 + 16_384, 100_001, 1 << 20];

#[test]
fn two_nodes_find_each_other_on_the_net_of_their_host() {
    let (a, b) = (Host::new(256), Host::new(256));
    assert_eq!(a.nid.net().kind(), NetType::SHM);
    assert!(a.nid != b.nid && a.nid.net() == b.nid.net() && a.nid.net().number() > 0);
    assert_eq!((a.ping(b.nid), b.ping(a.nid), a.ping(b.nid)), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn a_node_that_ends_is_told_at_once_and_its_successor_is_reached() {
    let net = own_net();
    let [a, mut b] = [(); 2].map(|()| Host::with(&StartConfig::default(), &[(&net, None)]));
    let nid = b.nid;
    for _ in 0..3 {
        assert_eq!((a.ping(nid), b.ping(a.nid)), (Ok(()), Ok(())));
        drop(b);
        assert!(a.ping(nid).is_err());
        b = Host::with(&StartConfig::default(), &[(&net, None)]);
        assert_eq!(b.nid, nid);
    }
}

#[test]
fn puts_and_gets_of_all_lengths_arrive_byte_for_byte() {
    for ring in RINGS {
        let (a, b) = (Host::new(ring), Host::new(ring));
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            for (one, other) in [(&a, &b), (&b, &a)] {
                let (from, to) = (Memory::pattern(len, seed), Memory::empty(len));
                other.offer(1, &to, MdOptions::OP_PUT);
                one.put(other.nid, 1, &from);
                assert_eq!(other.wait_for(EventKind::Put).status, Ok(()), "{len}");
                assert_eq!(to.bytes(), from.bytes(), "{len}");
                assert_eq!(one.wait_for_end().status, Ok(()));
                let to = Memory::empty(len);
                other.offer(2, &from, MdOptions::OP_GET);
                one.get(other.nid, 2, &to);
                assert_eq!(one.wait_for(EventKind::Reply).status, Ok(()), "{len}");
                assert_eq!(to.bytes(), from.bytes(), "{len}");
                assert_eq!(other.wait_for_end().status, Ok(()));
            }
        }
    }
}

#[test]
fn many_messages_that_do_not_fit_into_the_ring_all_arrive() {
    for ring in RINGS {
        let (a, b) = (Host::new(ring), Host::new(ring));
        let sinks: Vec<_> = (0..200).map(|i| Memory::empty(1 + i * 397)).collect();
        let sources: Vec<_> = (0..200).map(|i| Memory::pattern(1 + i * 397, i)).collect();
        for (bits, sink) in sinks.iter().enumerate() {
            b.offer(bits as u64, sink, MdOptions::OP_PUT);
        }
        for (bits, source) in sources.iter().enumerate() {
            a.put(b.nid, bits as u64, source);
        }
        for _ in 0..200 {
            assert_eq!(b.wait_for(EventKind::Put).status, Ok(()));
        }
        for (source, sink) in zip(&sources, &sinks) {
            assert_eq!(source.bytes(), sink.bytes());
        }
        (0..200).for_each(|_| assert_eq!(a.wait_for_end().status, Ok(())));
    }
}

/// More than the driver keeps of one connection: the rest waits in the ring, and in the sender.
#[test]
fn messages_that_wait_for_a_buffer_arrive_when_there_is_one() {
    const COUNT: usize = 40;
    const LEN: usize = 100_000;
    let (a, b) = (Host::new(256), Host::new(256));
    b.node.core().data_path().set_lazy_portal(PORTAL).unwrap();
    let sources: Vec<_> = (0..COUNT).map(|seed| Memory::pattern(LEN, seed)).collect();
    for (bits, source) in sources.iter().enumerate() {
        a.put(b.nid, bits as u64, source);
    }
    for (bits, source) in sources.iter().enumerate() {
        let sink = Memory::empty(LEN);
        b.offer(bits as u64, &sink, MdOptions::OP_PUT);
        assert_eq!(b.wait_for(EventKind::Put).status, Ok(()));
        assert_eq!(sink.bytes(), source.bytes(), "{bits}");
    }
    (0..COUNT).for_each(|_| assert_eq!(a.wait_for_end().status, Ok(())));
}

#[test]
fn a_node_that_is_not_there_is_told_at_once() {
    let a = Host::new(256);
    assert!(a.ping(Nid::new(a.nid.net(), a.nid.to_u64().unwrap() as u32 ^ 1)).is_err());
}

#[test]
fn an_interface_has_the_number_and_the_net_that_it_was_asked_for() {
    let a = Host::new(256);
    let net = own_net();
    add(&a.node, &net, Some("1000")).unwrap();
    let nid = a.node.core().nets().nis().map(|ni| ni.nid()).last().unwrap();
    assert_eq!(nid.net().to_string(), net);
    let b = Host::new(256);
    assert_eq!(
        add(&b.node, &net, Some("1000")).unwrap_err(),
        format!("{nid}: not started (another node has this NID)")
    );
    for name in ["0", "1025", "eth0"] {
        assert_eq!(
            add(&b.node, "shm", Some(name)).unwrap_err(),
            format!("interface {name}: not usable (it is no number from 1 to 1024)")
        );
    }
    drop(a);
    add(&b.node, &net, Some("1000")).unwrap();
}
