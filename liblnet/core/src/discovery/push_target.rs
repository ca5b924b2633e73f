//! Where pushes of other nodes go. Each place takes one; the thread posts it again. While none is there pushes
//! wait, since the reserved portal is lazy (core-behaviour 5.1).

use super::step::Input;
use crate::core::Core;
use crate::event::Event;
use crate::memory::{MdOptions, MdSpec, Room};
use crate::model::USUAL_ROOM;
use crate::sync::lock;
use crate::topology::{Peer, PeerNi};
use lnet_log::LogClass;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

/// Pushes that may arrive before the thread has to look.
const PLACES: usize = 4;

/// The places, by their numbers.
#[derive(Debug)]
pub(crate) struct PushTarget {
    places: Vec<Option<Room>>,
    /// Bytes of each that is posted from now on: as many as any block had, rounded up.
    room: u32,
}

impl Default for PushTarget {
    fn default() -> Self {
        Self { places: vec![None; PLACES], room: USUAL_ROOM }
    }
}

impl Core {
    /// Posts the places that are free. A failure is logged, and tried again next time. Pushes that wait may take them
    /// at once; each of those wakes the thread, so that a flood of them does not keep anybody here.
    pub(crate) fn post_push_targets(&self) {
        let places = lock(&self.discovery.push_target).places.len();
        for _ in 0..places {
            let (place, room) = {
                let target = &mut *lock(&self.discovery.push_target);
                let Some(place) = target.places.iter().position(Option::is_none) else { return };
                (place, target.places[place].insert(Room::new(target.room)).clone())
            };
            if let Err(errno) = self.post_push_target(place, &room) {
                lock(&self.discovery.push_target).places[place] = None;
                self.env.log(
                    LogClass::PingTargetFailed,
                    "push buffer",
                    format_args!("push buffer: cannot be posted ({errno}); pushes of peers are missed"),
                );
                return;
            }
        }
    }

    fn post_push_target(&self, place: usize, room: &Room) -> Result<(), Errno> {
        let spec = MdSpec {
            start: room.address(),
            length: room.len(),
            threshold: 1,
            max_size: 0,
            options: MdOptions(MdOptions::OP_PUT.0 | MdOptions::TRUNCATE.0),
            user_ptr: place,
            eq: Some(self.discovery_eq()?),
        };
        // The latest comes first: it is the largest.
        self.post_reserved(spec, room.memory(), true, Arc::new(room.clone())).map(drop)
    }

    /// A push is in its place, or will never be.
    pub(crate) fn push_arrived(&self, place: usize, event: &Event, status: Result<(), Errno>) {
        let room = lock(&self.discovery.push_target).places.get_mut(place).and_then(Option::take);
        let peer_ni = event.source.nid.filter(|nid| self.may_speak_for(event.sender, *nid));
        let peer_ni = peer_ni.and_then(|nid| self.topology.peer_ni(nid));
        if let (Some(room), Some(peer_ni), Some(own)) = (room, peer_ni, event.target.nid) {
            let between = (own, peer_ni.nid());
            let heard = status.ok().and_then(|()| self.decode(&room, event.mlength, peer_ni.nid()));
            match heard {
                Some(heard) => self.pushed(heard, &peer_ni, between),
                None => self.tell(&peer_ni.peer().record, Input::BadPush { between }),
            }
        }
        self.discovery.wakeup.notify();
    }

    fn pushed(&self, heard: ReceivedPingInfo, peer_ni: &PeerNi, between: (Nid, Nid)) {
        self.grow_push_target(heard.claimed_len);
        let peer = self.peer_who_says(&heard.info, peer_ni.nid()).unwrap_or_else(|| peer_ni.peer());
        let said: Vec<Nid> = heard.info.entries.iter().map(|entry| entry.nid).collect();
        let wary = self.is_wary();
        self.tell(&peer.record, Input::Pushed { heard: Box::new(heard), between, wary });
        if self.discovery.local_state().discovers() {
            self.question_others(&peer, &said);
        }
    }

    /// Has the others asked that are known by NIDs that `peer` says are its own. It may not be believed at once, and what
    /// it is asked then may get lost; but it will not tell again what has been confirmed.
    fn question_others(&self, peer: &Peer, said: &[Nid]) {
        for other in said.iter().filter_map(|nid| self.topology.peer_ni(*nid)).map(|peer_ni| peer_ni.peer()) {
            if !Arc::ptr_eq(&other.record, &peer.record) && !other.is_configured() {
                self.tell(&other.record, Input::Questioned);
            }
        }
    }

    /// Who pushes is who it says it is, if what it says has the NID that it pushes from: that may still be known as
    /// another's, whose configurations are counted otherwise (DISC-14). Nobody else is this node.
    fn peer_who_says(&self, said: &PingInfo, source: Nid) -> Option<Arc<Peer>> {
        let first =
            said.entries.first().filter(|_| said.entries.iter().any(|entry| entry.nid == source))?.nid;
        Some(self.topology.peer_ni(first)?.peer()).filter(|peer| {
            peer.primary == first && self.topology.is_own(first) == self.topology.is_own(source)
        })
    }

    /// Whether what `sender` hands over may be from `nid`: only routers hand over what others say.
    fn may_speak_for(&self, sender: Option<Nid>, nid: Nid) -> bool {
        sender.is_some_and(|sender| {
            let gateway = || {
                self.topology.peer_ni(sender).is_some_and(|sender| self.topology.is_gateway(&sender.peer()))
            };
            let may = sender == nid || gateway();
            if !may {
                self.env.log(
                    LogClass::PushRejected,
                    sender,
                    format_args!(
                        "push from {sender} in the name of {nid} rejected (the sender is no router); ignored"
                    ),
                );
            }
            may
        })
    }

    /// There are places with room for so much from now on, as far as that is believed; smaller ones stay behind
    /// them. Rounded up, so that even a peer that grows and grows does not make many.
    pub(crate) fn grow_push_target(&self, len: usize) {
        let most = self.discovery.local_state().most_room;
        let target = &mut *lock(&self.discovery.push_target);
        if len > target.room as usize && target.room < most {
            target.room = u32::try_from(len.next_power_of_two()).unwrap_or(u32::MAX).min(most);
            target.places.extend([const { None }; PLACES]);
        }
    }
}
