//! Who is where: this node's nets and NIs, other nodes' peers and peer NIs.

mod net;
mod ni;
mod peer;

pub use net::{Distance, Net, Nets};
pub use ni::{Ni, NiTunables};
pub(crate) use peer::PeerTable;
pub use peer::{Peer, PeerNi};
