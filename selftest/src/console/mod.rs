//! A console: who is in a session, which tests they run, what came of it (lnet-selftest 12).
//!
//! [`Console`] is state: it is told of commands, replies and time, and says which RPCs to send and what to answer.
//! What it knows nothing of (sockets, LNet, the clock) is [`host`]'s. From below: [`name`], [`distribution`],
//! [`test_spec`] and [`call`] are what commands are made of; [`rates`] is what is made of replies; `nodes`, `groups`
//! and `batches` are what a session has; `transaction` is RPCs to several nodes at once.

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

pub use call::{Answer, Call, Command, Counters};
pub use distribution::Distribution;
pub use name::Name;
pub use refusal::Refusal;
pub use rpc::{RpcBody, RpcId, RpcReply, RpcRequest};
pub use state::{Action, CommandId, Console, JoinReply};
pub use test_spec::{Brw, Check, Direction, TestSpec};
