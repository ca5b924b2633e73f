//! Arbitrary headers arrive at a router: each message is forwarded, delivered or dropped, and all buffers and credits return.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::topology::Route;
use lnet_core::{MessageOrigin, Provenance};
use lnet_wire::{Body, Header, Nid, Pid, WireHandle};
use proptest::prelude::*;
use std::num::NonZeroU64;
use support::{FakeDriver, OnSend, Rig, on_net, tcp};

const MAX_LENGTH: u32 = 1 << 20;

/// A router between `tcp` and `tcp1`, with a route to `tcp2`.
fn router() -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).credits(64, 8).nids([tcp(1), on_net(1, 1)]).build();
    rig.core.admin().change_router(|router| router.switched(true).with_buffers([Some(3); 3])).unwrap();
    let gateway = on_net(1, 9);
    let net = on_net(2, 1).net();
    rig.core
        .admin()
        .add_route(Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 })
        .unwrap();
    rig.driver.finish();
    rig
}

/// A NID of this node, of its gateway, of a net without a route, or the loopback.
fn odd_nid() -> impl Strategy<Value = Nid> {
    prop::sample::select(vec![tcp(1), on_net(1, 1), on_net(1, 9), on_net(7, 7), Nid::LOOPBACK])
}

/// A NID, mostly of other nodes on the router's nets and behind its route.
fn nid() -> impl Strategy<Value = Nid> {
    let known = vec![tcp(2), tcp(3), on_net(1, 5), on_net(1, 6), on_net(2, 5)];
    prop_oneof![5 => prop::sample::select(known), 1 => odd_nid()]
}

fn body() -> impl Strategy<Value = Body> {
    let handle = || {
        any::<(u64, u64)>()
            .prop_map(|(interface_cookie, object_cookie)| WireHandle { interface_cookie, object_cookie })
    };
    let bits = any::<(u64, u32, u32)>();
    prop_oneof![
        (handle(), bits, any::<bool>(), any::<u64>()).prop_map(
            |(handle, (match_bits, portal, offset), acks, hdr_data)| {
                Body::Put { ack: acks.then_some(handle), match_bits, hdr_data, portal, offset }
            }
        ),
        (handle(), bits, any::<u32>()).prop_map(|(reply, (match_bits, portal, offset), sink_length)| {
            Body::Get { reply, match_bits, portal, offset, sink_length }
        }),
        (handle(), bits).prop_map(|(handle, (match_bits, accepted, _))| Body::Ack {
            handle,
            match_bits,
            accepted
        }),
        handle().prop_map(|handle| Body::Reply { handle }),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let length = prop_oneof![3 => Just(0), 3 => 1..5000_u32, 2 => MAX_LENGTH - 1..=MAX_LENGTH, 1 => MAX_LENGTH + 1..u32::MAX];
    (nid(), nid(), length, body(), any::<(u32, u32)>()).prop_map(
        |(dest_nid, src_nid, payload_length, body, (dest_pid, src_pid))| Header {
            dest_nid,
            src_nid,
            dest_pid: Pid(dest_pid),
            src_pid: Pid(src_pid),
            payload_length,
            body,
        },
    )
}

proptest! {
    #[test]
    fn a_router_loses_neither_buffers_nor_credits_whatever_arrives(
        arrivals in prop::collection::vec((header(), nid(), any::<bool>()), 1..40),
        ends_early in prop::collection::vec(any::<bool>(), 40),
    ) {
        let rig = router();
        let free = rig.core.admin().router_buffers(0);
        let mut deferred = 0;
        for ((header, neighbour, names), ends) in arrivals.iter().zip(ends_early) {
            let hop = names.then_some(MessageOrigin { node: NonZeroU64::MIN, id: NonZeroU64::MIN });
            match rig.arrives_as(*neighbour, header, &Provenance { hop, carried: None, ..Provenance::default() }) {
                RxAction::Deliver(message) => {
                    prop_assert!(message.payload_len() as u64 <= u64::from(MAX_LENGTH));
                    rig.core.data_path().received(message, if ends { Ok(()) } else { Err(lnet_core::Errno::Io) });
                }
                RxAction::Defer => deferred += 1,
                _ => {}
            }
        }
        // Forwarded messages complete, and waiting ones get their buffers.
        while rig.driver.finish() > 0 || deferred > 0 {
            let resumed = rig.driver.resumed();
            if resumed.is_empty() && rig.messages() == 0 {
                break;
            }
            for action in resumed {
                deferred -= 1;
                if let RxAction::Deliver(message) = action {
                    rig.core.data_path().received(message, Ok(()));
                }
            }
        }
        prop_assert_eq!(deferred, 0);
        prop_assert_eq!(rig.messages(), 0);
        let now = rig.core.admin().router_buffers(0);
        prop_assert_eq!(now.map(|pools| pools.map(|pool| pool.credits)), free.map(|pools| pools.map(|pool| pool.credits)));
        for ni in &rig.nis {
            prop_assert_eq!(ni.credits().0, 64);
        }
        for peer_ni in rig.core.peer_nis() {
            prop_assert_eq!(peer_ni.credits().0, 8);
        }
    }
}
