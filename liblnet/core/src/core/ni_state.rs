//! Interfaces that the machine, or their own node, says do not work (HE-4): nothing waits until messages on them fail.

use super::Core;
use crate::health::{Cause, NiState};
use crate::model::message::Message;
use crate::model::{Ni, PeerNi};
use crate::select;
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::sync::Arc;

/// With more peer NIs on its net an interface that works again is used without having tried each.
const MOST_TRIED: usize = 256;

impl Core {
    /// Notes whether an interface of this node works, as its driver or the machine says, and tells peers of it
    /// (HE-4, dyn-050). `why` is what is wrong with it, for the log (dbg-110), or `None` if it works. Any thread may
    /// call, event handlers too. An unknown NID changes nothing, nor does another reason.
    ///
    /// What is under way by an interface that does not work any more, and by what it alone leads to, goes by another,
    /// if there is one.
    pub fn set_ni_fatal(&self, nid: Nid, why: Option<&str>) {
        let fatal = why.is_some();
        let Some(ni) =
            self.topology.with_nets(|nets| nets.ni(nid).filter(|ni| ni.is_fatal() != fatal).cloned())
        else {
            return;
        };
        let before = NiState::of(&ni);
        ni.set_fatal(fatal);
        let now = NiState::of(&ni);
        let cause = why.unwrap_or("recovered");
        self.env.log(LogClass::NiState, nid, format_args!("NI {nid}: {before} -> {now} ({cause})"));
        self.health.reachability_may_change_for_all(&self.topology);
        self.discovery.schedule_republish();
        if fatal {
            self.leave(&ni);
        } else {
            self.health.hurry_paths_from(nid, self.env.now());
            self.neighbours_of(&ni)
                .iter()
                .for_each(|peer_ni| self.health.hurry_paths_to(peer_ni.nid(), self.env.now()));
        }
    }

    /// Whatever else can be used is used instead of this interface, and of what it alone leads to.
    fn leave(&self, ni: &Arc<Ni>) {
        let nets = self.nets();
        let peer_nis = self.peers_on_net_of(ni);
        for peer_ni in &peer_nis {
            // When it works again pings say which of the paths do that never have, before messages have to find out.
            let may_be_tried = peer_nis.len() <= MOST_TRIED && !peer_ni.was_heard_by(ni);
            if may_be_tried && self.may_abandon(ni, peer_ni) {
                self.health.note_unresponsive(&self.env, &self.topology, ni, peer_ni);
            }
            self.abort_tx(ni, peer_ni, Cause::LocalAborted);
        }
        for peer_ni in self.neighbours_of(ni) {
            let others = nets.net(ni.nid().net()).into_iter().flat_map(|net| net.nis());
            let others = others.filter(|other| !other.is_fatal());
            for other in others.filter(|other| !other.is_neighbour(peer_ni.nid())) {
                if self.may_abandon(other, &peer_ni) {
                    self.health.note_unresponsive(&self.env, &self.topology, other, &peer_ni);
                    self.abort_tx(other, &peer_ni, Cause::NetworkTimeout);
                }
            }
        }
        self.move_waiting(ni);
    }

    /// A peer says that one of its interfaces does not work, or works again.
    pub(crate) fn set_reported_down(&self, peer_ni: &Arc<PeerNi>, down: bool) {
        if peer_ni.is_reported_down() == down {
            return;
        }
        peer_ni.set_reported_down(down);
        self.health.reachability_may_change(peer_ni.nid());
        if !down {
            return self.health.hurry_paths_to(peer_ni.nid(), self.env.now());
        }
        let nets = self.nets();
        let nis = nets.net(peer_ni.nid().net()).into_iter().flat_map(|net| net.nis());
        nis.for_each(|ni| self.abort_tx(ni, peer_ni, Cause::RemoteDropped));
        let its = |message: &Message| {
            message.peer_ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, peer_ni)) && message.source.is_none()
        };
        self.move_waiting_for_peers(its);
    }

    /// A driver says that a path is unresponsive. Whether all messages to the peer could take another path.
    pub(super) fn note_path_unresponsive(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        if self.health.path_is_unresponsive(&self.env, &self.topology, ni, peer_ni) {
            self.move_waiting_for_peers(|message| {
                message.source.is_none()
                    && message.peer_ni.as_ref().is_some_and(|its| its.nid() == peer_ni.nid())
                    && message.ni.as_ref().is_some_and(|its| its.nid() == ni.nid())
            });
        }
        // Also where the others are known to be unresponsive: who waits for the last one waits for as long as its driver
        // tries, and one that was given up may have come back before that is known.
        self.topology.with_nets(|nets| select::may_try_other_path(nets, peer_ni, ni.nid()))
    }

    /// Has the driver give back what is under way between these two, if it can go by another way.
    fn abort_tx(&self, ni: &Ni, peer_ni: &PeerNi, cause: Cause) {
        if self.may_abandon(ni, peer_ni)
            && let Some(lnd) = ni.lnd()
        {
            lnd.abort_tx(Some(peer_ni.nid()), cause);
        }
    }

    /// Whether all messages between these two could take another path.
    fn may_abandon(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        peer_ni.peer_now().is_multi_rail() && self.topology.has_other_path(ni, peer_ni, false)
    }

    fn peers_on_net_of(&self, ni: &Ni) -> Vec<Arc<PeerNi>> {
        let all = self.topology.peers().all().into_iter();
        all.filter(|peer_ni| peer_ni.nid().net() == ni.nid().net()).collect()
    }

    /// The peer NIs on the same link as an interface, as far as that is known.
    fn neighbours_of(&self, ni: &Ni) -> Vec<Arc<PeerNi>> {
        self.peers_on_net_of(ni).into_iter().filter(|peer_ni| ni.is_neighbour(peer_ni.nid())).collect()
    }
}
