//! Routes: the gateways to nets that this node is not on. Stored, checked and shown; messages do not use them yet.

use super::Nets;
use lnet_wire::{Errno, NetId, Nid};

/// A route to a net that this node is not on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The net.
    pub net: NetId,
    /// The NID of the gateway by which it was added.
    pub gateway: Nid,
    /// The number of hops; `None`: not given (RT-2).
    pub hops: Option<u32>,
    /// Smaller is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity.
    pub health_sensitivity: u32,
}

/// All routes, in the order in which they were added. Immutable: a change makes a new value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes(Vec<Route>);

impl Routes {
    /// In the order in which they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Route> {
        self.0.iter()
    }

    /// Whether there is a route to `net`.
    pub fn lead_to(&self, net: NetId) -> bool {
        self.0.iter().any(|route| route.net == net)
    }

    /// The routes with `route` at the end, if it is valid on a node with these nets (RT-1): [`Errno::Invalid`],
    /// [`Errno::Exists`] (the net is local, or the gateway has a route to it), [`Errno::HostUnreachable`] (the
    /// gateway is on no local net).
    pub fn with(&self, route: Route, nets: &Nets) -> Result<Self, Errno> {
        let hops_make_sense = route.hops.is_none_or(|hops| (1..=255).contains(&hops));
        let loops =
            route.gateway.is_loopback() || route.net == NetId::LOOPBACK || route.gateway.net() == route.net;
        if loops || !hops_make_sense {
            return Err(Errno::Invalid);
        }
        let known = self.0.iter().any(|its| its.net == route.net && its.gateway == route.gateway);
        if known || nets.net(route.net).is_some() {
            return Err(Errno::Exists);
        }
        if nets.net(route.gateway.net()).is_none() {
            return Err(Errno::HostUnreachable);
        }
        let mut routes = self.0.clone();
        routes.push(route);
        Ok(Self(routes))
    }

    /// The routes without those to `net` (`None`: any) whose gateway satisfies `is_gateway`. [`Errno::NotFound`]
    /// without a route to that net; an unknown gateway is no error (RT-3).
    pub fn without(&self, net: Option<NetId>, is_gateway: impl Fn(Nid) -> bool) -> Result<Self, Errno> {
        let concerns = |route: &Route| net.is_none_or(|net| route.net == net);
        if !self.0.iter().any(concerns) {
            return Err(Errno::NotFound);
        }
        let keep = |route: &&Route| !(concerns(route) && is_gateway(route.gateway));
        Ok(Self(self.0.iter().filter(keep).copied().collect()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Ni, NiTunables};
    use super::*;
    use std::sync::Arc;

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
        let ni = Ni::new(
            "10.0.0.1@tcp".parse().unwrap(),
            NiTunables::default().into(),
            std::num::NonZeroUsize::MIN,
        );
        Nets::default().with(Arc::new(ni.unwrap())).unwrap()
    }

    #[test]
    fn routes_that_make_no_sense_are_refused() {
        let nets = on_tcp();
        let routes = Routes::default().with(route("tcp1", "10.0.0.2@tcp"), &nets).unwrap();
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
            assert_eq!(routes.with(added, &nets).map(|routes| routes.iter().count()), expected, "{added:?}");
        }
    }

    #[test]
    fn routes_are_deleted_by_net_and_by_gateway() {
        let nets = on_tcp();
        let routes = ["tcp1", "tcp2"].iter().fold(Routes::default(), |routes, net| {
            let one = routes.with(route(net, "10.0.0.2@tcp"), &nets).unwrap();
            one.with(route(net, "10.0.0.3@tcp"), &nets).unwrap()
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
        assert_eq!(left(Some("tcp1"), "10.0.0.9@tcp"), Ok(4));
        assert_eq!(left(Some("tcp9"), "10.0.0.2@tcp"), Err(Errno::NotFound));
    }
}
