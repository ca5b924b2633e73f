//! A selected path, and the turns of its candidates (PS-31).

use super::hop::Hop;
use super::other_paths::is_avoided;
use super::path_request::Paths;
use crate::model::{ActiveRoute, Nets, Ni, Partners, Peer, PeerNet, PeerNi, RouteState, TurnClock};
use lnet_wire::Nid;
use std::sync::Arc;

/// The path of a message.
#[derive(Clone, Debug)]
pub struct ChosenPath {
    /// The local NI.
    pub ni: Arc<Ni>,
    /// The peer NI that the message is sent to: the destination, or a gateway; `None` over the loopback.
    pub peer_ni: Option<Arc<PeerNi>>,
    /// The part of the path behind its gateway; `None` without a gateway.
    routed: Option<Routed>,
    /// The result of [`latest_use_of_others`].
    latest_use_of_others: u64,
    /// Whether the peer NI of the destination is to be bound to the local NI.
    sticks: bool,
    choice: Choice,
}

/// The ends of a path that a request takes.
pub(crate) struct PathEnds {
    /// The local NI.
    pub(crate) ni: Arc<Ni>,
    /// The peer NI that the request is sent to: the destination, or a gateway; `None` over the loopback.
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    /// The NID of the destination.
    pub(crate) destination: Nid,
    /// Whether the request is sent to a gateway.
    pub(crate) is_routed: bool,
}

/// The parts of a path that were selected, and not given or fixed before: only these have turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Both ends.
    BothEnds,
    /// The local end: the NI, and behind gateways its net too. The NID of the destination was named.
    LocalEnd,
    /// Neither end; behind gateways the gateway and its NI.
    Neither,
}

/// The rest of a path behind its gateway.
#[derive(Clone, Debug)]
struct Routed {
    route: Arc<ActiveRoute>,
    /// The state of the route when it was selected.
    state: RouteState,
    destination: Arc<PeerNi>,
}

impl ChosenPath {
    pub(super) fn loopback(ni: &Arc<Ni>) -> Self {
        Self {
            ni: Arc::clone(ni),
            peer_ni: None,
            routed: None,
            latest_use_of_others: 0,
            sticks: false,
            choice: Choice::Neither,
        }
    }

    #[inline(always)]
    pub(super) fn direct(
        nets: &Nets,
        peer: &Peer,
        ni: &Arc<Ni>,
        peer_ni: Arc<PeerNi>,
        choice: Choice,
    ) -> Self {
        Self {
            latest_use_of_others: latest_use_of_others(nets, peer, ni),
            ni: Arc::clone(ni),
            peer_ni: Some(peer_ni),
            routed: None,
            sticks: false,
            choice,
        }
    }

    /// The same path, with the peer NI of the destination to be bound to the local NI, if `sticks`.
    pub(super) fn sticking(self, sticks: bool) -> Self {
        Self { sticks, ..self }
    }

    pub(super) fn over(nets: &Nets, hop: Hop, destination: &Arc<PeerNi>, choice: Choice) -> Self {
        let Hop { ni, peer_ni, route, route_state } = hop;
        Self {
            latest_use_of_others: match peer_ni.is_alone() && peer_ni.nid().net() == ni.nid().net() {
                true => ni.latest_use_of_others(),
                false => latest_use_of_others(nets, &peer_ni.peer_now(), &ni),
            },
            ni,
            peer_ni: Some(peer_ni),
            routed: Some(Routed { route, state: route_state, destination: Arc::clone(destination) }),
            sticks: false,
            choice,
        }
    }

    /// The NID for the header.
    pub fn destination(&self) -> Nid {
        self.destination_ni().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid())
    }

    /// The NID that the message is sent to: that of the destination, or of a gateway.
    pub fn next_hop(&self) -> Nid {
        self.peer_ni.as_ref().map_or(Nid::LOOPBACK, |peer_ni| peer_ni.nid())
    }

    /// The route of the path; `None` for a path without a gateway.
    pub fn route(&self) -> Option<&Arc<ActiveRoute>> {
        self.routed.as_ref().map(|routed| &routed.route)
    }

    fn destination_ni(&self) -> Option<&Arc<PeerNi>> {
        self.routed.as_ref().map(|routed| &routed.destination).or(self.peer_ni.as_ref())
    }

    /// Whether the path is selected only because there is no better one.
    pub(crate) fn is_last_resort(&self) -> bool {
        self.routed.as_ref().is_some_and(|routed| routed.state != RouteState::Up)
            || self.peer_ni.as_ref().is_some_and(|peer_ni| is_avoided(&self.ni, peer_ni))
    }

    /// Whether the path is late: something is in flight on it, and nothing is received.
    pub(crate) fn is_late(&self) -> bool {
        self.peer_ni.as_ref().is_some_and(|peer_ni| peer_ni.is_late_from(&self.ni))
    }

    /// Whether the path is dead: no message gets through on it, as far as is known.
    pub fn is_dead(&self) -> bool {
        self.routed.as_ref().is_some_and(|routed| routed.state >= RouteState::NoResponse)
            || self.peer_ni.as_ref().is_some_and(|peer_ni| is_avoided(&self.ni, peer_ni))
    }

    /// Commits the selection: its candidates come last among equals next time (PS-31), and a peer that is not
    /// multi-rail is bound to the local NI (PS-30).
    pub(crate) fn commit(&self) {
        if let Some(peer_ni) = &self.peer_ni {
            self.commit_by(peer_ni, None);
        }
    }

    /// [`ChosenPath::commit`] of a path to this peer.
    #[inline]
    pub(super) fn commit_to(&self, peer: &Peer) {
        match &self.peer_ni {
            Some(peer_ni) if self.routed.is_none() => self.commit_by(peer_ni, Some(peer)),
            _ => self.commit(),
        }
    }

    /// Commits a path whose next hop is `peer_ni`, of `peer` if that is known.
    #[inline(always)]
    fn commit_by(&self, peer_ni: &PeerNi, peer: Option<&Peer>) {
        self.ni.note_use(self.latest_use_of_others);
        note_use_of_peer_ni(peer_ni, peer);
        if let Some(Routed { route, destination, .. }) = &self.routed {
            route.note_use();
            destination.note_sent();
            note_use_of_peer_ni(destination, None);
        }
        if let Some(destination) = self.destination_ni().filter(|_| self.sticks) {
            destination.set_sticky(Some(self.ni.nid()));
        }
    }
}

impl ChosenPath {
    /// Counts a message in the turns of its candidates, where rules count messages (cfg-145): of those that were selected
    /// among others.
    pub(crate) fn note_turns(&self, paths: Paths<'_>, clock: &TurnClock) {
        let (Some(peer_ni), Some(destination)) = (&self.peer_ni, self.destination_ni()) else { return };
        let chose_remote = self.choice == Choice::BothEnds;
        let chose_local = chose_remote || self.choice == Choice::LocalEnd;
        if chose_local && let Some(net) = paths.nets.net(self.ni.nid().net()) {
            let chose_net = match &self.routed {
                Some(routed) => paths.nets_towards(routed.route.route.net).nth(1).is_some(),
                None => chose_remote && share_several(paths.nets, &peer_ni.peer_now()),
            };
            if chose_net {
                net.usage().turn().note_message(clock);
            }
            if net.nis().len() > 1 {
                self.ni.turn().note_message(clock);
            }
        }
        if chose_remote {
            note_peer_ni(destination, true, clock);
        }
        if self.routed.is_some() && peer_ni.peer_now().is_multi_rail() {
            note_peer_ni(peer_ni, chose_local, clock);
        }
        let local = self.ni.nid();
        let note_pair = |partners: &Partners| chose_local && partners.note_message_by(local, clock);
        let is_partner = destination.criteria().with_partners(note_pair).unwrap_or(false);
        if let Some(route) = self.route() {
            let gateway = route.route.gateway;
            destination.criteria().with_partners(|partners| partners.note_message_over(gateway, clock));
            // The partners of the gateway count if the destination has none.
            if !is_partner {
                peer_ni.criteria().with_partners(note_pair);
            }
        }
    }
}

/// Counts a message in the turn of a peer NI and, if its net was selected too, of the net.
fn note_peer_ni(peer_ni: &PeerNi, chose_net: bool, clock: &TurnClock) {
    let peer = &**peer_ni.peer_now();
    let Some(net) = peer.net(peer_ni.nid().net()) else { return };
    if net.nis.len() > 1 {
        peer_ni.criteria().turn().note_message(clock);
    }
    if chose_net && peer.nets.len() > 1 {
        net.usage.turn().note_message(clock);
    }
}

/// Whether a peer can be sent to on several nets.
fn share_several(nets: &Nets, peer: &Peer) -> bool {
    peer.nets.iter().filter(|net| nets.net(net.id).is_some()).nth(1).is_some()
}

impl From<ChosenPath> for PathEnds {
    #[inline(always)]
    fn from(chosen: ChosenPath) -> Self {
        let (destination, is_routed) = (chosen.destination(), chosen.routed.is_some());
        Self { ni: chosen.ni, peer_ni: chosen.peer_ni, destination, is_routed }
    }
}

/// Records the use of a path by a response: among equals the last used comes last, whatever used it (PS-31).
pub(crate) fn answered(nets: &Nets, ni: &Ni, peer_ni: &PeerNi) {
    let peer = &**peer_ni.peer_now();
    ni.note_use(latest_use_of_others(nets, peer, ni));
    note_use_of_peer_ni(peer_ni, Some(peer));
}

/// Does what [`answered`] does if all NIDs of the peer are on the net of `ni`, for which the nets of this node are not needed.
#[inline(always)]
pub(crate) fn answered_on_only_net(ni: &Ni, peer_ni: &PeerNi) -> bool {
    let is_only = peer_ni.nid().net() == ni.nid().net();
    if !(peer_ni.is_alone() && peer_ni.last_use().get() > 0) {
        match peer_ni.latest_use_of_few() {
            None => return answered_on_only_net_of(&peer_ni.peer_now(), ni, peer_ni),
            Some(latest_use) if is_only => latest_use.note(peer_ni.last_use()),
            Some(_) => {}
        }
    }
    if is_only {
        ni.note_turn();
    }
    is_only
}

/// Does what [`answered_on_only_net`] does, for a peer NI of `peer`.
#[inline(never)]
fn answered_on_only_net_of(peer: &Peer, ni: &Ni, peer_ni: &PeerNi) -> bool {
    let is_only = matches!(&peer.nets[..], [only] if only.id == ni.nid().net());
    if is_only {
        ni.note_turn();
        note_use_of_peer_ni(peer_ni, Some(peer));
    }
    is_only
}

/// The latest use of the local NIs that are selected in turn with this one: all on the nets of the peer.
#[inline(always)]
fn latest_use_of_others(nets: &Nets, peer: &Peer, ni: &Ni) -> u64 {
    let latest = |net: &PeerNet| match net.id == ni.nid().net() {
        true => ni.latest_use_of_others(),
        false => nets.net(net.id).map_or(0, |net| net.usage().latest_ni_use().get()),
    };
    match &peer.nets[..] {
        [only] => latest(only),
        several => several.iter().map(latest).max().unwrap_or(0),
    }
}

/// Records the use of a peer NI, of `peer` if that is known: among equals it comes last next time.
#[inline(always)]
fn note_use_of_peer_ni(peer_ni: &PeerNi, peer: Option<&Peer>) {
    // A peer NI that is the only one of its peer is not compared: no message writes to memory that other threads read.
    if peer_ni.is_alone() && peer_ni.last_use().get() > 0 {
        return;
    }
    let note = |peer: &Peer| {
        if let Some(net) = peer.net(peer_ni.nid().net()) {
            net.note_use(peer_ni.criteria(), &peer.latest_use);
        }
    };
    match peer {
        Some(peer) => note(peer),
        None => note(&peer_ni.peer_now()),
    }
}
