//! Imports: the targets that this process uses, as state and decisions. What is sent is in [`request`](crate::request) and
//! [`client`](crate::client).
//!
//! | file | holds |
//! |---|---|
//! | `config` | which target, and how it is reached |
//! | `connect_state` | the states of a connection, and when to connect to which server: pure |
//! | `slots` | slots for modifying requests: pure |
//! | `unreplied` | the requests without a reply |
//! | `connections` | servers by UUID, and the LNet peers that they are |
//! | `session` | what all users of an import share |

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
pub(crate) use session::{Session, SessionAction};
pub(crate) use slots::Tag;
