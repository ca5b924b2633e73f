//! Confirmations of a router of this library: what it tells the node from which a message came, and which origin it passes on.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::topology::Route;
use lnet_core::{
    CarriedOrigin, Cause, Confirmation, Delivery, Errno, MessageOrigin, OutgoingMessage, Provenance,
    SendFailure,
};
use lnet_wire::{Header, Nid};
use std::num::NonZeroU64;
use support::routes::far;
use support::{BROKEN, FakeDriver, OnSend, Rig, header_from, number, on_net, put_body, tcp};

/// A router between `tcp` and `tcp1` whose driver keeps the messages that it is to send.
fn router() -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep).naming()).nids([tcp(1), far(1)]).build();
    rig.core.admin().change_router(|router| router.switched(true)).unwrap();
    // The neighbour is a gateway, so that messages of other nodes may come by it.
    let (net, gateway) = (on_net(4, 1).net(), tcp(2));
    rig.core
        .admin()
        .add_route(Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 })
        .unwrap();
    rig
}

const HOP: MessageOrigin = MessageOrigin { node: NonZeroU64::MIN, id: NonZeroU64::MIN };

fn put_for(destination: Nid) -> Header {
    Header { dest_nid: destination, ..header_from(tcp(2), put_body(None), 0) }
}

/// Delivers a PUT for `destination` from `tcp(2)` to the router.
fn passes(rig: &Rig, destination: Nid, carried: Option<CarriedOrigin>) {
    let provenance = Provenance { hop: Some(HOP), carried, ..Provenance::default() };
    match rig.arrives_as(tcp(2), &put_for(destination), &provenance) {
        RxAction::Deliver(message) => rig.core.data_path().received(message, Ok(())),
        RxAction::Discard => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gateway_confirms_a_message_when_the_next_node_has_it() {
    let carried =
        CarriedOrigin { origin: MessageOrigin { node: number(7), id: number(70) }, may_have_arrived: true };
    let first = CarriedOrigin { origin: HOP, may_have_arrived: false };
    for (brought, sent_with) in [(None, first), (Some(carried), carried)] {
        let rig = router();
        passes(&rig, far(5), brought);
        let origins = rig.driver.ni(1).map_kept(OutgoingMessage::carried_origin);
        assert_eq!(origins, [Some(sent_with)]);
        assert_eq!(rig.driver.ni(0).confirmations(), []);
        rig.driver.finish();
        assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, Confirmation::Delivered)]);
        assert_eq!(rig.messages(), 0);
    }
}

#[test]
fn a_gateway_returns_what_it_cannot_forward() {
    let not_sent = SendFailure { errno: Errno::Io, cause: Cause::LocalError, delivery: Delivery::NotSent };
    let unknown = SendFailure { errno: Errno::Io, cause: Cause::RemoteError, delivery: Delivery::Unknown };
    for (failure, confirmation) in [
        (not_sent, Confirmation::NotDelivered),
        (BROKEN, Confirmation::Unknown),
        (unknown, Confirmation::Withheld),
    ] {
        let rig = router();
        passes(&rig, far(5), None);
        rig.driver.ni(1).finish(Err(failure));
        assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, confirmation)]);
        assert_eq!(rig.messages(), 0);
    }
    let rig = router();
    passes(&rig, on_net(7, 5), None);
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, Confirmation::NotDelivered)]);
    rig.core.admin().change_router(|router| router.switched(false).stopped()).unwrap();
    passes(&rig, far(5), None);
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, Confirmation::NotDelivered)]);
}

#[test]
fn a_gateway_before_another_keeps_its_buffer_until_that_has_confirmed() {
    let rig = router();
    let behind = on_net(2, 5);
    let route = Route { net: behind.net(), gateway: far(9), hops: None, priority: 0, health_sensitivity: 1 };
    rig.core.admin().add_route(route).unwrap();
    passes(&rig, behind, None);
    rig.driver.finish();
    assert_eq!((rig.driver.ni(0).confirmations(), rig.messages()), (vec![], 1));
    rig.driver.ni(1).confirmed(far(9), number(1), Confirmation::Delivered);
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, Confirmation::Delivered)]);
    // If the connection loses the message when it ends, the sender sends it again, perhaps by a better path.
    passes(&rig, behind, None);
    rig.driver.finish();
    rig.driver.ni(1).connections_ended(far(9));
    assert_eq!(rig.driver.ni(0).confirmations(), [(tcp(2), HOP, Confirmation::Unknown)]);
    assert_eq!((rig.driver.ni(1).kept(), rig.messages()), (0, 0));
}

/// Fails if a router passes a false origin on unmarked: the destination believes its gateways.
#[test]
fn a_gateway_marks_origins_that_it_does_not_believe() {
    const REFUSED: u64 = 1 << 63;
    let route =
        Route { net: on_net(2, 1).net(), gateway: tcp(8), hops: None, priority: 0, health_sensitivity: 1 };
    for (from, source, named, passed_on) in
        [(tcp(20), tcp(20), 7, 7 | REFUSED), (tcp(20), tcp(20), 90, 90), (tcp(8), on_net(2, 5), 7, 7)]
    {
        let rig = router();
        rig.core.admin().add_route(route).unwrap();
        let header = Header { src_nid: source, ..put_for(far(5)) };
        let origin = MessageOrigin { node: number(named), id: number(70) };
        let carried = Some(CarriedOrigin { origin, may_have_arrived: false });
        let hop = Some(MessageOrigin { node: number(90), id: number(70) });
        match rig.arrives_as(from, &header, &Provenance { hop, carried, ..Provenance::default() }) {
            RxAction::Deliver(message) => rig.core.data_path().received(message, Ok(())),
            action => panic!("{from} names {named}: {action:?}"),
        }
        let origin_of =
            |message: &OutgoingMessage| message.carried_origin().map(|carried| carried.origin.node.get());
        let sent: Vec<_> = rig.driver.nis().iter().flat_map(|ni| ni.map_kept(origin_of)).collect();
        assert_eq!(sent, [Some(passed_on)], "{from} names {named}");
    }
}
