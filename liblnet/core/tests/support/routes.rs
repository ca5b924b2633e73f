//! A node with routes to `tcp1`.

use super::{FakeDriver, OnSend, Rig, on_net, tcp};
use lnet_core::OutgoingMessage;
use lnet_core::topology::Route;
use lnet_wire::{NetId, Nid};

/// A NID on `tcp1`, where the node has no interface.
pub fn far(address: u32) -> Nid {
    on_net(1, address)
}

pub fn far_net() -> NetId {
    far(1).net()
}

pub const fn route(net: NetId, gateway: Nid) -> Route {
    Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 }
}

/// A node with these routes, whose driver keeps the messages that it is to send.
pub fn rig(routes: &[Route]) -> Rig {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).build();
    routes.iter().for_each(|route| rig.core.admin().add_route(*route).unwrap());
    rig
}

/// The next hop and the destination of each message sent since the last call.
pub fn hops(rig: &Rig) -> Vec<(Nid, Nid)> {
    let hop = |message: &OutgoingMessage| (message.next_hop().nid, message.header().dest_nid);
    rig.driver.nis().iter().flat_map(|ni| ni.map_kept(hop)).collect()
}

/// The gateways that a number of PUTs take, in order.
pub fn gateways_of(rig: &Rig, puts: usize) -> Vec<Nid> {
    let md = rig.bind(-1);
    let one = |_| {
        rig.put(md, far(5));
        let hops = hops(rig);
        rig.driver.finish();
        assert_eq!(hops.len(), 1);
        hops[0].0
    };
    (0..puts).map(one).collect()
}
