//! A test node: its session, the batches in it, and their tests (selftest 5, 6, 9, 10).
//!
//! | file | holds | uses |
//! |---|---|---|
//! | `part` | a node's part in a test, as sessions know it; counts of errors | |
//! | `session` | sessions and batches: plain state | `part` |
//! | `sessions` | the session of a node, and the requests of consoles for it: pure decisions | `session` |
//! | `client` | a test as a client: its RPC loops | `part` |
//! | `join` | the request to join a console's group | |
//! | `config` | the configuration, also from the environment | |
//! | `dispatch` | the handler of each request | those |
//! | `node` | the node, which uses all of these | all |

mod client;
mod config;
mod dispatch;
mod join;
mod node;
mod part;
mod session;
mod sessions;

pub use config::{BadVariable, NodeConfig};
pub use join::JoinHandler;
pub use node::{NodeStatus, TestNode};
