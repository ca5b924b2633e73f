//! The server side of RPCs: requests are received, replies are sent.
//!
//! | folder or file | holds | uses |
//! |---|---|---|
//! | `config`, `counters` | the configuration; counters of events so far | |
//! | `rules` | decisions, pure: admission (PR-70), connecting (PR-10, PR-11), duplicates, early replies (PR-72, PR-74) | those |
//! | `engines` | parts that hold state or call LNet: request buffers (PR-31 to PR-33), queues (PR-53), requests, replies (PR-21, PR-40, PR-41), difficult replies (PR-75), bulk data (PR-22, PR-55, PR-76) | `rules` |
//! | `targets` | targets, and the clients that are connected to them | `engines` |
//! | `handler`, `service_request` | the interface that a program implements, and its view of a request | `engines`, `targets` |
//! | `compose` | the running service, and its threads (PR-71) | all |
//!
//! **Locks.** None is held while LNet or the program is called. Under the lock of the tables of `targets` that of one export may
//! be taken, under that of a request that of the queue of requests or that of the timer queue; no other lock is taken under a lock.

mod compose;
mod config;
mod counters;
mod engines;
mod handler;
mod rules;
mod service_request;
mod targets;

pub use compose::Service;
pub use config::{Adaptive, ServiceConfig};
pub use counters::{Counts, Dropped};
pub use engines::difficult_reply::ReplyDone;
pub use handler::{Handler, Reply, Response};
pub use service_request::ServiceRequest;
pub use targets::{Export, Target, Targets};
