//! Requests of a client, from the first transmission to the reply.
//!
//! | file | holds |
//! |---|---|
//! | `spec` | the parameters of a request |
//! | `reply` | the reply of the service |
//! | `decisions` | decisions about a request: pure |
//! | `request_message`, `connect` | the messages: pure |
//! | `transmission` | one transmission, and its events (PR-30, PR-50 to PR-52) |
//! | `rpc` | a request and its phases |
//! | `rpc_table` | the requests that one thread has in progress |

pub(crate) mod connect;
mod decisions;
mod reply;
mod request_message;
mod rpc;
mod rpc_table;
mod spec;
mod transmission;

pub use reply::Reply;
pub(crate) use rpc::{Purpose, Rpc, RpcContext};
pub(crate) use rpc_table::RpcTable;
pub use spec::{Bulk, Direction, Request};
pub(crate) use transmission::{RequestEvents, RequestSender};
