//! Nodes whose interfaces are on a model of RDMA devices.
#![allow(clippy::unwrap_used)]

mod hosts;

use hosts::{Host, Memory, Pair, address};
use lnet_core::{EventKind, MdOptions};
use lnet_dlc::request::{AddLocalNi, LndNumbers, LndTunables, LocalNi, NiTunables};
use lnet_dlc::{Backend, Request};
use o2iblnd::OnDemandPaging;
use o2iblnd::device::model::ModelNet;

#[test]
fn two_nodes_ping_each_other_until_the_cable_is_cut() {
    let pair = Pair::new();
    assert_eq!((pair.a.ping(pair.b.nid), pair.b.ping(pair.a.nid)), (Ok(()), Ok(())));
    pair.net.cut(address(2), true);
    assert!(pair.a.ping(pair.b.nid).is_err());
    pair.net.cut(address(2), false);
    assert_eq!(pair.a.ping(pair.b.nid), Ok(()));
}

/// Lengths around the borders between the forms of a message and between bounce buffers and registered memory.
const LENGTHS: [usize; 11] =
    [1, 8, 3975, 3976, 3977, 4096, 16 << 10, (16 << 10) - 1, 100_001, (1 << 20) - 1, 1 << 20];

#[test]
fn puts_of_all_lengths_arrive_byte_for_byte() {
    let pair = Pair::new();
    for (index, len) in LENGTHS.into_iter().enumerate() {
        for (pieces_a, pieces_b) in [(1, 1), (3, 1), (1, 3), (200, 7)] {
            let (from, to) =
                (Memory::pattern(len, index).in_pieces(pieces_a), Memory::empty(len).in_pieces(pieces_b));
            pair.b.offer(index as u64, &to, MdOptions::OP_PUT);
            pair.a.put(pair.b.nid, index as u64, &from);
            assert_eq!(pair.b.wait_for(EventKind::Put).status, Ok(()), "{len}");
            assert_eq!(to.bytes(), from.bytes(), "{len} {pieces_a} {pieces_b}");
            assert_eq!(pair.a.wait_for_end().status, Ok(()));
        }
    }
}

#[test]
fn gets_of_all_lengths_bring_every_byte() {
    let pair = Pair::new();
    for (index, len) in LENGTHS.into_iter().enumerate() {
        for (pieces_a, pieces_b) in [(1, 1), (3, 1), (1, 3), (200, 7)] {
            let (to, from) =
                (Memory::empty(len).in_pieces(pieces_a), Memory::pattern(len, index).in_pieces(pieces_b));
            pair.b.offer(index as u64, &from, MdOptions::OP_GET);
            pair.a.get(pair.b.nid, index as u64, &to);
            assert_eq!(pair.a.wait_for(EventKind::Reply).status, Ok(()), "{len}");
            assert_eq!(to.bytes(), from.bytes(), "{len} {pieces_a} {pieces_b}");
            assert_eq!(pair.b.wait_for_end().status, Ok(()));
        }
    }
}

#[test]
fn a_get_into_longer_memory_brings_what_there_is() {
    let pair = Pair::new();
    for len in [0, 1, 48, 4000, 20_000, 100_000] {
        let (to, from) = (Memory::empty(200_000), Memory::pattern(len.max(1), len));
        pair.b.offer(1, &from, MdOptions(MdOptions::OP_GET.0 | MdOptions::TRUNCATE.0));
        pair.a.get(pair.b.nid, 1, &to);
        assert_eq!(pair.a.wait_for(EventKind::Reply).mlength as usize, len.max(1));
        assert_eq!(to.bytes()[..len.max(1)], from.bytes()[..]);
        assert!(to.bytes()[len.max(1)..].iter().all(|byte| *byte == 0));
        pair.b.wait_for_end();
    }
}

#[test]
fn a_put_that_is_cut_off_arrives_as_far_as_it_is_wanted() {
    let pair = Pair::new();
    for (len, wanted) in [(5000, 100), (100_000, 70_000), (100_000, 1), (4096, 0)] {
        let (from, to) = (Memory::pattern(len, len).in_pieces(2), Memory::empty(wanted));
        pair.b.offer(1, &to, MdOptions(MdOptions::OP_PUT.0 | MdOptions::TRUNCATE.0));
        pair.a.put(pair.b.nid, 1, &from);
        let event = pair.b.wait_for(EventKind::Put);
        assert_eq!((event.status, event.mlength as usize), (Ok(()), wanted));
        assert_eq!(to.bytes(), from.bytes()[..wanted]);
        assert_eq!(pair.a.wait_for_end().status, Ok(()));
    }
}

#[test]
fn many_messages_at_once_all_arrive() {
    let pair = Pair::new();
    let sinks: Vec<_> = (0..200).map(|i| Memory::empty(1 + i * 97)).collect();
    let sources: Vec<_> = (0..200).map(|i| Memory::pattern(1 + i * 97, i)).collect();
    for (bits, sink) in sinks.iter().enumerate() {
        pair.b.offer(bits as u64, sink, MdOptions::OP_PUT);
    }
    for (bits, source) in sources.iter().enumerate() {
        pair.a.put(pair.b.nid, bits as u64, source);
    }
    for _ in 0..200 {
        assert_eq!(pair.b.wait_for(EventKind::Put).status, Ok(()));
    }
    for (source, sink) in sources.iter().zip(&sinks) {
        assert_eq!(source.bytes(), sink.bytes());
    }
    (0..200).for_each(|_| assert_eq!(pair.a.wait_for_end().status, Ok(())));
}

#[test]
fn an_interface_has_the_numbers_that_it_was_added_with() {
    let net = ModelNet::default();
    let host = Host::new(&net, 1, |_| ());
    let backend: &dyn Backend = &*host.node;
    let add = |interface: u8, hiw: u32| {
        let numbers = LndNumbers::new([("peercredits_hiw", hiw), ("ntx", 1024)]);
        let lnd = LndTunables { conns_per_peer: Some(2), numbers };
        let (net, interface) = ("o2ib1".parse().unwrap(), Some(address(interface).to_string()));
        let tunables = NiTunables { peer_credits: Some(32), ..NiTunables::default() };
        backend.call(Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None }))
    };
    add(2, 20).unwrap();
    let ni: Box<LocalNi> = backend.ask(Request::GetLocalNi(2)).unwrap();
    let numbers = ni.lnd.numbers;
    assert_eq!((ni.lnd.conns_per_peer, numbers.get("peercredits_hiw")), (Some(2), Some(20)));
    assert_eq!((numbers.get("ntx"), numbers.get("concurrent_sends")), (Some(1024), Some(32)));
    let refused = add(3, 255).unwrap_err();
    assert_eq!(refused.text(), "127.0.0.3@o2ib1: not started (peercredits_hiw 255 is not within 0 to 254)");
}

/// How programs' memory is registered where no more than 64 KiB may be locked at a time: the setting, whether the device pages on demand,
/// and whether 1 MiB then moves without a bounce buffer, which needs locked memory too.
#[test]
fn memory_that_cannot_be_locked_is_paged_on_demand_where_the_device_and_the_setting_allow_it() {
    for (paging, device_pages, works) in [
        (OnDemandPaging::Fallback, true, true),
        (OnDemandPaging::Always, true, true),
        (OnDemandPaging::Never, true, false),
        (OnDemandPaging::Fallback, false, false),
        (OnDemandPaging::Always, false, false),
    ] {
        let pair = Pair::with(|config| config.on_demand_paging = paging);
        pair.net.limit_pinned(64 << 10, device_pages);
        let (from, to) = (Memory::pattern(1 << 20, 1), Memory::empty(1 << 20));
        pair.b.offer(1, &to, MdOptions::OP_PUT);
        pair.a.put(pair.b.nid, 1, &from);
        let end = pair.a.wait_for_end();
        assert_eq!(end.status.is_ok(), works, "{paging:?} {device_pages}");
        if works {
            pair.b.wait_for(EventKind::Put);
            assert_eq!(to.bytes(), from.bytes());
        }
    }
}
