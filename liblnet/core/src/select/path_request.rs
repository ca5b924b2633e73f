//! The inputs of a selection.

use super::numa::Numa;
use crate::model::{GatewayTerms, Net, Nets, Routes};
use lnet_wire::{NetId, Nid};

/// The local nets, and the routes to others, which all paths consist of.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// The local nets.
    pub nets: &'a Nets,
    /// The routes.
    pub routes: &'a Routes,
}

impl<'a> Paths<'a> {
    /// The local nets on which there is a gateway to a net.
    pub(super) fn nets_towards(self, net: NetId) -> impl Iterator<Item = &'a Net> {
        let leads_there = move |local: &&Net| {
            let mut routes = self.routes.to(net);
            routes.any(|route| route.gateway.peer_now().net(local.id()).is_some())
        };
        self.nets.iter().filter(leads_there)
    }
}

/// The properties of a message that its path depends on.
#[derive(Clone, Copy, Debug)]
pub struct PathRequest<'a> {
    /// The source NID that the caller asked for; `None` leaves it to selection.
    pub source: Option<Nid>,
    /// The NID that the caller named.
    pub destination: Nid,
    /// Whether the queued bytes of peers count before their credits (snd-035); the kernel does not compare them.
    pub compare_queued_bytes: bool,
    /// Whether the message is a request to the reserved portal. Such a request is sent from any interface, and does not bind
    /// a peer to that interface (PS-30).
    pub reserved: bool,
    /// Whether any path is unresponsive or suspect.
    pub any_suspect: bool,
    /// The paths on which the message has failed, local NID first; `None` if it was not sent before.
    pub failed: Option<&'a [(Nid, Nid)]>,
    /// Whether an unresponsive path is better than one on which the message has failed.
    pub tries_unresponsive: bool,
    /// The NUMA distances of interfaces from the memory; `None` where all are equal.
    pub numa: Option<&'a Numa<'a>>,
    /// Whether the message is from another node: its destination is not changed (2.2).
    pub forwarded: bool,
    /// The conditions for the use of a gateway.
    pub gateway_terms: GatewayTerms,
    /// Whether the message may use a gateway only if this node and the peer have no net in common: it may have been sent
    /// without one, and only the peer itself could recognise the copy.
    pub direct_only: bool,
    /// Whether the message can only be sent with its origin, so that no gateway is used that has turned out not to accept
    /// origins.
    pub needs_origin: bool,
    /// The net on which a forwarded message has arrived: no gateway on it is used (RT-12).
    pub came_by: Option<NetId>,
}

impl PathRequest<'_> {
    /// The properties of a message that may take any path to `destination`, and that was not sent before.
    #[inline(always)]
    pub(crate) fn unbound(destination: Nid, any_suspect: bool) -> Self {
        Self {
            source: None,
            destination,
            compare_queued_bytes: false,
            reserved: false,
            numa: None,
            any_suspect,
            failed: None,
            tries_unresponsive: false,
            forwarded: false,
            gateway_terms: GatewayTerms::default(),
            direct_only: false,
            needs_origin: false,
            came_by: None,
        }
    }

    /// Whether path states can differ.
    pub(super) const fn looks_at_pairs(&self) -> bool {
        self.any_suspect || self.failed.is_some()
    }
}
