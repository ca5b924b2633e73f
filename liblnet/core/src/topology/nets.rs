//! The local nets: the NIs of this node, and the nets and NIDs that it leads to.

use super::{PathTables, Topology};
use crate::environment::ConfigGuard;
use crate::model::{AddressFamily, Distance, Net, Nets, Ni, NiTunables, Onward, PeerNi};
use crate::select::{self, Paths};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The way of messages to a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayTo {
    /// The NID is one of this node.
    ThisNode,
    /// The NID is on a net that this node is on or has a route to.
    Onward(Onward),
    /// This node is neither on the net of the NID nor has a route to it.
    Nowhere,
}

impl Topology {
    /// The local NI with this NID.
    pub(crate) fn ni(&self, nid: Nid) -> Option<Arc<Ni>> {
        self.with_nets(|nets| nets.ni(nid).cloned())
    }

    /// Whether this node is on `net`.
    pub(crate) fn is_on_net(&self, net: NetId) -> bool {
        self.with_nets(|nets| nets.net(net).is_some())
    }

    /// Whether this node is on `net`, or has a route to it.
    pub(crate) fn leads_to(&self, net: NetId) -> bool {
        self.with_paths(|paths| paths.nets.net(net).is_some() || paths.routes.lead_to(net))
    }

    /// Whether this node is on the net of this NID, and reaches it from there, or has a route to the net.
    pub(crate) fn leads_to_nid(&self, nid: Nid) -> bool {
        self.with_paths(|paths| match paths.nets.net(nid.net()) {
            None => paths.routes.lead_to(nid.net()),
            Some(net) => {
                net.reaches(AddressFamily::of(nid))
                    || self.peer_ni(nid).is_some_and(|peer_ni| net.can_reach(&peer_ni))
            }
        })
    }

    /// Whether this node is on the net of this NID, and none of its interfaces there reaches the NID.
    pub(crate) fn lacks_family_of(&self, nid: Nid) -> bool {
        self.is_on_net(nid.net()) && !self.leads_to_nid(nid)
    }

    /// The way of messages to `nid` from this node.
    pub(crate) fn way_to(&self, nid: Nid) -> WayTo {
        self.with_paths(|paths| match paths.nets.net(nid.net()) {
            Some(net) if net.nis().iter().any(|ni| ni.nid() == nid) => WayTo::ThisNode,
            Some(_) => WayTo::Onward(Onward::ToDestination),
            None if paths.routes.lead_to(nid.net()) => WayTo::Onward(Onward::ToRouter),
            None => WayTo::Nowhere,
        })
    }

    /// The way of messages from another node to `nid`, and the peer NI with that NID, if it is known and they are to be sent on.
    #[inline(always)]
    pub(crate) fn way_onward(&self, nid: Nid) -> (WayTo, Option<Arc<PeerNi>>) {
        let revision = self.peers.revision().get();
        let Some(peer_ni) = self.peer_ni(nid) else { return (self.way_to(nid), None) };
        if let Some(onward) = peer_ni.routing().onward_at(revision) {
            return (WayTo::Onward(onward), Some(peer_ni));
        }
        match self.way_to(nid) {
            WayTo::Onward(onward) => {
                peer_ni.routing().note_onward_at(revision, onward);
                (WayTo::Onward(onward), Some(peer_ni))
            }
            way => (way, None),
        }
    }

    /// The distance of a NID (`LNetDist`): to a net that this node is not on, by the route with the fewest hops.
    /// [`Errno::HostUnreachable`] without a path.
    pub(crate) fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        self.with_paths(|Paths { nets, routes }| {
            nets.distance(nid).or_else(|errno| routes.distance(nid, nets).ok_or(errno))
        })
    }

    /// Whether `nid` is the NID of a local NI.
    pub(crate) fn is_own(&self, nid: Nid) -> bool {
        self.with_nets(|nets| nets.ni(nid).is_some())
    }

    /// The credits that a peer NI with this NID gets; `None` on a net that this node is not on.
    pub(crate) fn peer_credits(&self, nid: Nid) -> Option<u32> {
        let of_net = |net: &Net| net.nis().first().map(|ni| ni.tunables().peer_credits);
        self.with_nets(|nets| nets.net(nid.net()).and_then(of_net))
    }

    /// The initial credits of a peer NI. On a net that this node is not on the peer NI cannot be used; its credits are set
    /// when this node joins the net.
    pub(crate) fn first_peer_credits(&self, nid: Nid) -> u32 {
        self.peer_credits(nid).unwrap_or_else(|| NiTunables::default().peer_credits)
    }

    /// Replaces the nets; returns the previous ones.
    pub(crate) fn replace_nets(&self, _: &ConfigGuard<'_>, nets: Arc<Nets>) -> Arc<Nets> {
        let rails = nets.nis().filter(|ni| !ni.nid().is_loopback()).count();
        self.single_rail.store(rails <= 1, Ordering::Relaxed);
        // A new interface may have another priority than those on its net, until the rules are renewed.
        nets.iter()
            .filter(|net| select::do_rules_distinguish_local(net))
            .for_each(|net| net.usage().set_nis_differ(true));
        let before = self.tables.load_full();
        self.tables.store(Arc::new(PathTables { nets, routes: Arc::clone(&before.routes) }));
        self.peers.revision().note_change();
        self.peers.forget_ready_paths();
        Arc::clone(&before.nets)
    }

    /// Replaces the nets by those before them, to whose interfaces the rules are applied.
    pub(crate) fn restore_nets(&self, guard: &ConfigGuard<'_>, before: Arc<Nets>) {
        self.replace_nets(guard, Arc::clone(&before));
        before.iter().for_each(|net| net.usage().set_nis_differ(select::do_rules_distinguish_local(net)));
    }

    /// Whether this node has at most one interface beside the loopback.
    pub(crate) fn is_single_rail(&self) -> bool {
        self.single_rail.load(Ordering::Relaxed)
    }
}
