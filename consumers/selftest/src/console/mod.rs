//! A console: the nodes of its session, the tests that they run, and the results (lnet-selftest 12).
//!
//! [`Console`] is state: commands, replies and time are its input; RPCs to send and answers are its output.
//! Sockets, LNet and the clock belong to [`host`]. From below: [`name`], [`distribution`], [`test_spec`] and [`call`] are
//! the parts of commands; [`rates`] evaluates replies; `nodes`, `groups` and `batches` are the parts of a session;
//! `transaction` is RPCs to several nodes at once.

mod batches;
pub mod call;
pub mod distribution;
mod groups;
pub mod host;
pub mod name;
mod nodes;
pub mod rates;
pub mod refusal;
pub mod rpc;
pub mod socket;
mod state;
pub mod test_spec;
mod transaction;

pub use call::{Call, Command, Counters, Response};
pub use distribution::Distribution;
pub use name::Name;
pub use refusal::Refusal;
pub use rpc::{RpcBody, RpcId, RpcReply, RpcRequest};
pub use state::{Action, CommandId, Console, JoinReply};
pub use test_spec::{Brw, Check, Direction, TestSpec};
