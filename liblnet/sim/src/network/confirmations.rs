//! Confirmations of gateways for messages that they were to forward, and reports of connections that have ended.

use super::*;
use lnet_core::{Confirmation, MessageOrigin};
use std::num::NonZeroU64;

/// Time until TCP tries again after a failure.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// A confirmation under way.
#[derive(Clone, Copy)]
pub(crate) struct InFlightConfirmation {
    pub(super) from: InterfaceId,
    pub(super) to: Nid,
    pub(super) named: MessageOrigin,
    pub(super) confirmation: Confirmation,
}

/// A report to a driver about messages that it has sent: a delivery ACK, a gateway's confirmation, or the end of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub(crate) number: u64,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
}

impl Notice {
    /// The node that gets the report.
    pub const fn receiver(&self) -> NodeId {
        self.to
    }
}

/// A confirmation that has arrived.
pub(crate) struct Confirmed {
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) node: NodeId,
    pub(crate) from: Nid,
    pub(crate) id: NonZeroU64,
    pub(crate) confirmation: Confirmation,
}

impl Network {
    /// Gives this incarnation of a node the number by which others know it.
    pub(crate) fn identify(&mut self, node: NodeId, incarnations: u32) {
        let id = NonZeroU64::MIN.saturating_add(u64::from(node.0) << 32 | u64::from(incarnations));
        self.identities.insert(node, id);
    }

    /// Returns the node-independent name of message `number` of a node.
    pub(crate) fn origin(&self, node: NodeId, number: u64) -> Option<MessageOrigin> {
        let node = *self.identities.get(&node).filter(|_| self.deduplicates())?;
        Some(MessageOrigin { node, id: NonZeroU64::new(number)? })
    }

    /// Sends a confirmation.
    pub(crate) fn confirm(
        &mut self,
        from: InterfaceId,
        to: Nid,
        named: MessageOrigin,
        confirmation: Confirmation,
    ) {
        self.numbers += 1;
        let number = self.numbers;
        self.confirmations.insert(number, InFlightConfirmation { from, to, named, confirmation });
        let at = self.now() + self.latency_to(from, to);
        self.events.plan(at, |_| SimEvent::Confirmation(number));
    }

    /// Returns the notices under way, the first from each node to each other.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let mut notices: Vec<Notice> = Vec::new();
        for (number, due) in self.events.notices() {
            let Some((from, to)) = self.ends_of_notice(due) else { continue };
            if notices.iter().all(|other| (other.from, other.to) != (from, to)) {
                notices.push(Notice { number, from, to });
            }
        }
        notices
    }

    /// Returns the nodes of a notice; `None` if it comes too late.
    fn ends_of_notice(&self, due: SimEvent) -> Option<(NodeId, NodeId)> {
        match due {
            SimEvent::Ack(number) => {
                let unfinished = self.unfinished.get(&number)?;
                Some((unfinished.key?.to.node, unfinished.from.node))
            }
            SimEvent::Confirmation(number) => {
                let InFlightConfirmation { from, to, .. } = self.confirmations.get(&number)?;
                Some((from.node, self.owner(*to)?))
            }
            SimEvent::ConnectionsEnded(place, peer) => {
                Some((self.owner(peer).unwrap_or(place.node), place.node))
            }
            _ => None,
        }
    }

    /// Takes a confirmation that arrives, if there is still a connection for it.
    pub(crate) fn take_confirmation(&mut self, number: u64) -> Option<Confirmed> {
        let InFlightConfirmation { from, to, named, confirmation } = *self.confirmations.get(&number)?;
        let place = self.by_nid.get(&to).copied();
        let connected = place.is_some_and(|to| {
            self.identities.get(&to.node) == Some(&named.node)
                && (0..LANES).any(|lane| self.connected.contains(&LinkKey { from, to, lane }.connection()))
        });
        let Some(place) = place.filter(|_| connected) else {
            self.confirmations.remove(&number);
            return None;
        };
        if !self.is_open_from(from, place) {
            let at = self.now() + TRY_AGAIN;
            self.events.plan(at, |_| SimEvent::Confirmation(number));
            return None;
        }
        self.confirmations.remove(&number);
        let nid = self.interface(from)?.nid;
        let (_, upcalls) = self.interface(place)?.plugged.as_ref()?;
        let upcalls = Arc::clone(upcalls);
        Some(Confirmed { upcalls, node: place.node, from: nid, id: named.id, confirmation })
    }

    /// Returns the node that gets the result of a confirmation.
    pub(super) fn receiver_of_confirmation(&self, number: u64) -> Option<NodeId> {
        let confirmation = self.confirmations.get(&number)?;
        self.owner(confirmation.to)
    }

    /// Reports the end of a connection to both of its ends, or to the ends that can be reached.
    pub(super) fn forget_connection(&mut self, key: LinkKey) {
        if !self.connected.remove(&key.connection()) {
            return;
        }
        for key in [key, key.back()] {
            if self.is_open_from(key.to, key.from)
                || self.interface(key.to).is_none_or(|it| it.plugged.is_none())
            {
                self.tell_end(key);
            } else {
                self.untold_ends.push(key);
            }
        }
    }

    /// Reports ended connections to ends that could not be reached before: their TCP probes the connections.
    pub(super) fn tell_ends(&mut self) {
        let untold = std::mem::take(&mut self.untold_ends);
        let (reached, untold): (Vec<_>, Vec<_>) =
            untold.into_iter().partition(|key| self.is_open_from(key.to, key.from));
        self.untold_ends = untold;
        reached.into_iter().for_each(|key| self.tell_end(key));
    }

    fn tell_end(&mut self, key: LinkKey) {
        let Some(peer) = self.interface(key.to).map(|it| it.nid) else { return };
        let now = self.now();
        self.events.plan(now, |_| SimEvent::ConnectionsEnded(key.from, peer));
    }

    /// Forgets the connections of these ends, and reports that.
    pub(super) fn forget_connections(&mut self, gone: impl Fn(&LinkKey) -> bool) {
        let ended: Vec<LinkKey> =
            self.connected.iter().filter(|key| gone(key) || gone(&key.back())).copied().collect();
        ended.into_iter().for_each(|key| self.forget_connection(key));
    }

    /// Returns the core that must learn that its connections to a peer NI have ended.
    pub(crate) fn whose_connections(&self, from: InterfaceId) -> Option<(Arc<Ni>, Arc<dyn Upcalls>)> {
        let (ni, upcalls) = self.interface(from)?.plugged.as_ref()?;
        Some((Arc::clone(ni), Arc::clone(upcalls)))
    }
}

/// Maximum number of connections between two interfaces.
const LANES: u8 = 8;
