//! The page for browsers at `/`: one embedded file, and what it is sent as long as it is open.
//!
//! The file is HTML with its style and its script, loads nothing from anywhere, and reads `/events` alone. Everything that it shows is in
//! the metrics, too, under the keys of `lnetctl net show -v 5` and `peer show -v 5`; besides them it has the history of the node.

mod changes;
mod feed;
#[cfg(unix)]
mod response;
mod snapshot;

pub use feed::{Feed, Update};
#[cfg(unix)]
pub(crate) use response::response;
