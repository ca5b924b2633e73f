//! Tests of the routes that are accepted, and of those that are deleted.

use super::*;
use crate::environment::ConfigLock;
use lnet_wire::Errno;

fn route(net: &str, gateway: &str) -> Route {
    Route {
        net: net.parse().unwrap(),
        gateway: gateway.parse().unwrap(),
        hops: None,
        priority: 0,
        health_sensitivity: 1,
    }
}

fn on_tcp() -> Nets {
    let ni =
        Ni::new("10.0.0.1@tcp".parse().unwrap(), NiTunables::default().into(), std::num::NonZeroUsize::MIN);
    Nets::default().with(Arc::new(ni.unwrap())).unwrap()
}

/// The routes with one more, whose gateway is a peer with that NID alone.
fn added(routes: &Routes, route: Route, nets: &Nets) -> Result<Routes, Errno> {
    routes.with(route, nets, || PeerTable::new().get_or_add(route.gateway, 8))
}

#[test]
fn routes_that_make_no_sense_are_refused() {
    let nets = on_tcp();
    let routes = added(&Routes::default(), route("tcp1", "10.0.0.2@tcp"), &nets).unwrap();
    let table = [
        (route("tcp1", "10.0.0.2@tcp"), Err(Errno::Exists)),
        (route("tcp", "10.0.0.2@tcp"), Err(Errno::Invalid)),
        (route("tcp", "10.0.0.2@tcp1"), Err(Errno::Exists)),
        (route("tcp1", "10.0.0.2@tcp9"), Err(Errno::HostUnreachable)),
        (route("tcp1", "0@lo"), Err(Errno::Invalid)),
        (route("lo", "10.0.0.2@tcp"), Err(Errno::Invalid)),
        (Route { hops: Some(0), ..route("tcp2", "10.0.0.2@tcp") }, Err(Errno::Invalid)),
        (Route { hops: Some(256), ..route("tcp2", "10.0.0.2@tcp") }, Err(Errno::Invalid)),
        (Route { hops: Some(255), ..route("tcp2", "10.0.0.2@tcp") }, Ok(2)),
        (route("tcp1", "10.0.0.3@tcp"), Ok(2)),
    ];
    for (added, expected) in table {
        let got = self::added(&routes, added, &nets);
        assert_eq!(got.map(|routes| routes.iter().count()), expected, "{added:?}");
    }
}

#[test]
fn routes_are_deleted_by_net_and_by_gateway() {
    let nets = on_tcp();
    let routes = ["tcp1", "tcp2"].iter().fold(Routes::default(), |routes, net| {
        let one = added(&routes, route(net, "10.0.0.2@tcp"), &nets).unwrap();
        added(&one, route(net, "10.0.0.3@tcp"), &nets).unwrap()
    });
    let gateway = |text: &str| {
        let nid: Nid = text.parse().unwrap();
        move |its: Nid| its == nid
    };
    let left = |net: Option<&str>, of: &str| {
        let net = net.map(|net| net.parse().unwrap());
        routes.without(net, gateway(of)).map(|routes| routes.iter().count())
    };
    assert_eq!(left(Some("tcp1"), "10.0.0.2@tcp"), Ok(3));
    assert_eq!(left(None, "10.0.0.2@tcp"), Ok(2));
    assert_eq!(left(Some("tcp1"), "10.0.0.9@tcp"), Err(Errno::NotFound));
    assert_eq!(left(None, "10.0.0.9@tcp"), Err(Errno::NotFound));
    assert_eq!(left(Some("tcp9"), "10.0.0.2@tcp"), Err(Errno::NotFound));
}

/// RT-4: fails if a node keeps two routes over one gateway, or keeps the worse one.
#[test]
fn of_two_routes_whose_gateways_turn_out_to_be_one_peer_the_better_one_stays() {
    let nets = on_tcp();
    let to = |net, gateway, priority, hops| Route { priority, hops, ..route(net, gateway) };
    let (eight, nine) = ("10.0.0.8@tcp", "10.0.0.9@tcp");
    let table = [
        ([to("tcp1", eight, 0, None), to("tcp1", nine, 0, None)], eight),
        ([to("tcp1", eight, 1, Some(1)), to("tcp1", nine, 0, Some(9))], nine),
        ([to("tcp1", eight, 0, Some(3)), to("tcp1", nine, 0, Some(2))], nine),
        ([to("tcp1", eight, 0, None), to("tcp1", nine, 0, Some(1))], eight),
    ];
    for (two, stays) in table {
        let peers = PeerTable::new();
        let others = [to("tcp2", nine, 0, None), to("tcp1", "10.0.0.7@tcp", 5, None)];
        let all = two.into_iter().chain(others);
        let routes = all.fold(Routes::default(), |routes, one| {
            routes.with(one, &nets, || peers.get_or_add(one.gateway, 8)).unwrap()
        });
        assert!(routes.without_duplicates().is_none());
        let peer = peers.get(eight.parse().unwrap()).unwrap().peer();
        peers.attach(&ConfigLock::default().lock(), &peer, nine.parse().unwrap(), 8);
        let (left, gone) = routes.without_duplicates().unwrap();
        let stays = two.into_iter().find(|route| route.gateway.to_string() == stays);
        assert_eq!(
            left.iter().copied().collect::<Vec<_>>(),
            stays.into_iter().chain(others).collect::<Vec<_>>()
        );
        assert_eq!(gone, two.into_iter().filter(|route| Some(*route) != stays).collect::<Vec<_>>());
    }
}
