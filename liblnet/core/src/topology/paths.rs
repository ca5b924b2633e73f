//! The paths of messages: whether others exist, and whether those in use are to be avoided.

use super::Topology;
use crate::model::message::OutgoingMessage;
use crate::model::{ActiveRoute, GatewayTerms, Ni, Peer, PeerNi};
use crate::select::{self, Paths};
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

impl Topology {
    /// Whether another path than this one may work, for a message to the reserved portal if `reserved`.
    pub(crate) fn has_other_path(&self, ni: &Ni, peer_ni: &PeerNi, reserved: bool) -> bool {
        self.with_nets(|nets| select::has_other_path(nets, peer_ni, ni, reserved))
    }

    /// Whether messages to the peer of this peer NI, which is multi-rail, could take a path that is responsive and not suspect.
    pub(crate) fn has_proven_path(&self, peer_ni: &PeerNi) -> bool {
        self.with_nets(|nets| select::has_proven_path(nets, &peer_ni.peer_now()))
    }

    /// Whether this message, which has a path, could take another one that may work.
    pub(crate) fn may_change_path(&self, message: &OutgoingMessage) -> bool {
        let path = message.ni.as_ref().zip(message.peer_ni.as_ref());
        message.is_returnable()
            || message.source().is_none()
                && path.is_some_and(|(ni, peer_ni)| {
                    self.has_other_path(ni, peer_ni, message.leaves_by_any())
                        || message.leaves_by_any() && self.may_leave_by_another(ni, peer_ni)
                        || match message.is_routed() {
                            true => self.may_leave_gateway(message.header.dest_nid, peer_ni),
                            false => !message.may_be_with_peer() && self.is_routed_too(peer_ni),
                        }
                })
    }

    /// Whether a message that may leave by any interface to a peer that is not multi-rail may try another one, whatever is known
    /// of the path from there: before the peer has responded, nothing else shows which of its paths work.
    fn may_leave_by_another(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        !peer_ni.peer_now().is_multi_rail()
            && self.with_nets(|nets| select::may_try_other_path(nets, peer_ni, ni.nid(), true))
    }

    /// Whether this node reaches one of the NIDs `to` on a net that it is on, or a route to the net of one is up whose gateway responds on
    /// some path.
    pub(crate) fn can_reach(&self, to: &[Nid], terms: GatewayTerms) -> bool {
        let routed = |net: NetId| {
            self.with_paths(|Paths { nets, routes }| {
                let works = |route: &Arc<ActiveRoute>| select::is_route_up(route, nets, terms);
                nets.net(net).is_none() && routes.to(net).any(works)
            })
        };
        to.iter().any(|nid| self.is_on_net(nid.net()) && self.leads_to_nid(*nid) || routed(nid.net()))
    }

    /// Whether any route to `net` has a responsive path to its gateway, as far as is known.
    pub(crate) fn has_usable_route(&self, net: NetId, terms: GatewayTerms) -> bool {
        self.with_paths(|Paths { nets, routes }| {
            routes.to(net).any(|route| select::is_route_usable(route, nets, terms))
        })
    }

    /// Whether a message for `destination` without a given source could avoid the gateway `gateway`.
    fn may_leave_gateway(&self, destination: Nid, gateway: &PeerNi) -> bool {
        let (gateway, net) = (gateway.peer_now(), destination.net());
        let peer = self.peer(destination);
        self.with_paths(|paths| match &peer {
            Some(peer) => select::is_reached_without(paths, peer, net, &gateway),
            None => select::has_other_gateway(paths, net, &gateway),
        })
    }

    /// Whether `gateway` is the gateway of a route, and all messages over it could take another path.
    pub(crate) fn has_substitute_gateways(&self, gateway: &PeerNi) -> bool {
        let gateway = &**gateway.peer_now();
        let tables = self.tables.load();
        let its = tables.routes.active().iter().filter(|route| gateway.nids.contains(&route.route.gateway));
        let mut nets = its.map(|route| route.route.net).peekable();
        nets.peek().is_some()
            && self.with_paths(|paths| {
                nets.all(|net| {
                    select::has_other_gateway(paths, net, gateway) || self.all_leave(paths, net, gateway)
                })
            })
    }

    /// Whether there are peers on `net`, all of which can be reached without `gateway`, the only gateway to the net.
    fn all_leave(&self, paths: Paths<'_>, net: NetId, gateway: &Peer) -> bool {
        let all = self.peers.peers();
        let is_there =
            |peer: &&Arc<Peer>| peer.net(net).is_some() && peer.discovery.id() != gateway.discovery.id();
        let mut there = all.iter().filter(is_there).peekable();
        there.peek().is_some() && there.all(|peer| select::is_reached_without(paths, peer, net, gateway))
    }

    /// Whether a route leads to a net of this peer that this node is not on.
    fn is_routed_too(&self, peer_ni: &PeerNi) -> bool {
        self.has_routes() && self.with_paths(|paths| select::is_routed_too(paths, &peer_ni.peer_now()))
    }

    /// Whether the path of a message should be avoided, and another one exists.
    #[inline(always)]
    pub(crate) fn needs_other_path(&self, message: &OutgoingMessage) -> bool {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return false };
        (select::is_avoided(ni, peer_ni) || peer_ni.is_late_from(ni)) && self.may_change_path(message)
    }

    /// Whether the path of a message is avoided for another reason than that the peer reports its NI as down: a ping that comes
    /// from there probes whether the NI works again, and its REPLY must not take another path.
    pub(crate) fn is_broken_path(&self, message: &OutgoingMessage) -> bool {
        let ends = message.ni.as_ref().zip(message.peer_ni.as_ref());
        ends.is_some_and(|(ni, peer_ni)| {
            ni.is_fatal() || peer_ni.unresponsive().has(ni.nid()) || peer_ni.is_late_from(ni)
        })
    }

    /// Whether no other path to the peer exists, in whatever state.
    pub(crate) fn is_only_path(&self, (local, peer): (Nid, Nid)) -> bool {
        self.peer_ni(peer)
            .is_none_or(|peer_ni| self.with_nets(|nets| select::is_only_path(nets, &peer_ni, local)))
    }

    /// Records the use of a path by a response: see [`select::answered`].
    #[inline(always)]
    pub(crate) fn note_answered(&self, ni: &Ni, peer_ni: &PeerNi) {
        // Of a single pair of interfaces only the first use changes anything.
        let is_used = || ni.last_use().get() > 0 && peer_ni.last_use().get() > 0;
        if self.is_single_rail() && peer_ni.is_alone() && is_used() {
            return;
        }
        if !select::answered_on_only_net(ni, peer_ni) {
            self.with_nets(|nets| select::answered(nets, ni, peer_ni));
        }
    }
}
