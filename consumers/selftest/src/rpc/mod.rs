//! RPCs of LNet selftest (selftest 4): outgoing and incoming requests, and their bulk data.
//!
//! | file | holds | uses |
//! |---|---|---|
//! | `counters`, `match_bits`, `config` | counters; match bits of replies and bulk data; the configuration | |
//! | `outgoing_state` | an outgoing RPC as a state machine: pure | |
//! | `buffer_counts` | the number of request buffers to be posted: pure | |
//! | `workers` | threads, and the tasks that they run | |
//! | `shared` | the state that all RPCs of an engine share | those |
//! | `outgoing`, `kept_source` | outgoing RPCs: descriptors, messages, events; memory of several of them | those |
//! | `handler` | the interface of the code that handles requests | |
//! | `incoming`, `request_buffer` | incoming RPCs, and the buffers that requests arrive in | those |
//! | `engine` | the engine, which uses all of these, and its timer | all |
//!
//! **Locks.** None is held while LNet, a handler or a completion is called. All are leaves.
//!
//! **Threads.** Events only change state and queue tasks. Requests to the framework are handled on one thread, one at a time; all
//! others on as many threads as the machine has processors. Completions of outgoing RPCs run there, too, and must not block.

mod buffer_counts;
mod config;
mod counters;
mod engine;
mod handler;
mod incoming;
mod kept_source;
mod match_bits;
mod outgoing;
mod outgoing_state;
mod request_buffer;
mod shared;
mod workers;

pub use config::RpcConfig;
pub use engine::RpcEngine;
pub use handler::{BulkDone, BulkTransfer, RequestHandler, Response, Sender};
pub use kept_source::{KeptSource, SourceDescriptor};
pub use outgoing::{Bulk, Call, CallHandle, RpcOutcome};
