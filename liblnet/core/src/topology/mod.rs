//! Who is where: this node's nets and NIs, other nodes' peers and peer NIs, routes.

mod last_use;
mod net;
mod ni;
mod peer;
pub(crate) mod peer_config;
mod peer_table;
mod route;

pub(crate) use last_use::LastUse;
pub use net::{Distance, Net, NetUsage, Nets};
pub use ni::{Ni, NiConfig, NiTunables};
pub(crate) use peer::PeerNet;
pub use peer::{Peer, PeerNi, PeerState, Preferred};
pub(crate) use peer_table::PeerTable;
pub use route::{Route, Routes};
