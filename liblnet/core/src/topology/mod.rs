//! Who is where: this node's nets and NIs, other nodes' peers and peer NIs, routes.

pub(crate) mod peer_config;
mod peer_table;
mod route;

pub use crate::model::{
    Distance, Net, NetUsage, Nets, Ni, NiConfig, NiTunables, Peer, PeerNi, PeerState, Preferred,
};
pub(crate) use crate::model::{LastUse, PeerNet};
pub(crate) use peer_table::PeerTable;
pub use route::{Route, Routes};
