//! The data model: nets, NIs, peers, peer NIs and messages, and the interface of a driver (LND). Plain data with
//! methods about itself; the model does not depend on the engines.

mod discovery_progress;
mod discovery_result;
mod discovery_state;
mod exchange;
mod failure;
mod failure_counts;
mod last_use;
pub mod lnd;
pub mod message;
mod net;
mod net_usage;
mod ni;
mod path_state;
mod peer;
mod peer_ni;
mod peer_ni_criteria;
mod peer_state;
mod priority;
mod provenance;
mod reachability;
mod recovery_state;
mod request;
mod route;
mod router_buffer;
mod state;
mod use_order;

pub(crate) use discovery_progress::{LocalState, MIN_REPLY_LEN, Progress};
pub use discovery_result::{Difference, Failure, Step};
pub(crate) use discovery_state::{DiscoveryState, Inner};
pub use failure::{Cause, Delivery, SendFailure};
pub use failure_counts::{CauseCounters, CauseCounts, HealthTotals};
pub(crate) use last_use::LastUse;
#[cfg(all(test, not(loom)))]
pub(crate) use last_use::LatestUse;
pub use lnet_wire::Reachability;
pub use message::Message;
pub(crate) use message::{MessagePool, PreviousHop, answer_to};
pub use net::{Distance, Net, Nets};
pub use net_usage::NetUsage;
pub use ni::{Ni, NiConfig, NiTunables};
pub use peer::Peer;
pub(crate) use peer::PeerNet;
pub(crate) use peer_ni::Criteria;
pub use peer_ni::{PeerNi, Preferred};
pub use peer_state::PeerState;
pub use priority::LOWEST_PRIORITY;
pub use provenance::{CarriedOrigin, Confirmation, MessageOrigin, Provenance};
pub use recovery_state::Recovery;
pub(crate) use recovery_state::{RecoveryState, Turn, wait_before};
pub use request::Target;
pub(crate) use request::{Outgoing, SendRequest};
pub use route::{ActiveRoute, GatewayTerms, Route, RouteState, Routes};
pub(crate) use router_buffer::{BufferPlace, Onward, RouterBuffer};
pub use state::{NiState, PeerNiState};
