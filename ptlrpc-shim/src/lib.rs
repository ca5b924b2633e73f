//! RPCs of the Lustre file system, on the LNet C API alone.
//!
//! A **service** listens at a portal and replies to requests. A **client** has an **import** for each target that it uses:
//! the servers that may have the target, and the state of the connection. An RPC is a request and its reply, which are
//! matched by XID; bulk data is transferred beside them, by the service.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`lnet`], with [`Errno`], [`clock`] | the calls into LNet, and memory that is shared with it: the crate `lnet-api` | |
//! | `wakeup` | waking threads | those |
//! | [`message`] | the wire format: pure | those |
//! | `timeouts`, `recent_max` | adaptive timeouts: pure | those |
//! | `import` | targets as state and decisions: connecting, failing, reconnecting | `message`, `timeouts` |
//! | [`request`] | requests of a client, from the first transmission to the reply | `import` |
//! | [`client`] | the client side: imports, sets of requests, the thread `ptlrpcd` | `request`, `import` |
//! | [`service`] | the server side: the arrival of requests, and the threads that serve them | `message`, `lnet` |
//! | `c` | the C API: `include/ptlrpc/ptlrpc.h` | `client`, `service` |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub use lnet_api as lnet;
pub use lnet_api::{Errno, clock};

mod c;
pub mod client;
mod import;
pub mod message;
mod recent_max;
pub mod request;
pub mod service;
mod timeouts;
mod wakeup;
