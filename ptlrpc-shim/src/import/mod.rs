//! Imports: the targets that this process uses, as state and decisions. Messages are sent by [`request`](crate::request) and
//! [`client`](crate::client).
//!
//! | file | holds |
//! |---|---|
//! | `config` | the target of an import, and its servers |
//! | `connect_state` | the states of a connection, and the choice of the next attempt: pure |
//! | `slots` | slots for modifying requests: pure |
//! | `unreplied` | the requests without a reply |
//! | `connections` | servers by UUID, and their LNet peers |
//! | `session` | the state that all users of an import share |

mod config;
pub(crate) mod connect_state;
mod connections;
mod session;
mod slots;
mod unreplied;

pub use config::ImportConfig;
pub use connect_state::ImportState;
pub use connections::Connection;
pub(crate) use connections::Connections;
pub(crate) use session::{ReplyTimes, Session, SessionAction, TransmissionFacts};
pub(crate) use slots::Tag;
