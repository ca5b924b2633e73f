//! The sockets of the connecting thread.

use crate::handshake;
use crate::peer::Peer;
use lnd_common::permit::Permit;
use lnet_core::Time;
use lnet_wire::Nid;
use socket2::Socket;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub(super) enum Handshake {
    Listener(Socket, SocketAddr),
    Passive(Passive),
    Active(Active),
}

/// An inbound connection whose handshake is not complete.
pub(super) struct Passive {
    pub(super) socket: Socket,
    pub(super) source: SocketAddr,
    pub(super) permit: Permit,
    pub(super) machine: handshake::Passive,
    pub(super) since: Time,
    pub(super) deadline: Time,
}

/// A connect that has not brought a connection yet.
pub(super) struct Active {
    pub(super) socket: Socket,
    pub(super) peer: Arc<Peer>,
    pub(super) machine: handshake::Active,
    /// Bytes of connection request and HELLO, until they have been sent.
    pub(super) opening: Option<Vec<u8>>,
    /// Whether the local port is a privileged one.
    pub(super) privileged: bool,
    pub(super) since: Time,
    pub(super) deadline: Time,
    /// Time of the next check whether the peer is unresponsive.
    pub(super) next_check: Time,
}

impl Handshake {
    pub(super) const fn socket(&self) -> &Socket {
        match self {
            Self::Listener(socket, _) => socket,
            Self::Passive(passive) => &passive.socket,
            Self::Active(active) => &active.socket,
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        match self {
            Self::Listener(..) => None,
            Self::Passive(passive) => Some(passive.deadline),
            Self::Active(active) => Some(active.deadline.min(active.next_check)),
        }
    }

    /// Whether the entry is an inbound connection to this address of the node.
    pub(super) fn is_inbound_at(&self, address: IpAddr) -> bool {
        let Self::Passive(passive) = self else { return false };
        let local = passive.socket.local_addr().ok().and_then(|local| local.as_socket());
        local.is_some_and(|local| local.ip().to_canonical() == address)
    }

    /// Whether the entry belongs to the NI `nid`.
    pub(super) fn is_of(&self, nid: Nid) -> bool {
        match self {
            Self::Listener(..) => false,
            Self::Passive(passive) => passive.machine.target() == Some(nid),
            Self::Active(active) => active.peer.ni.local.nid == nid,
        }
    }
}
