//! The running service: the steps of a request from its arrival to its reply, and the threads that carry them out.
//!
//! Arrival (an event, `core`) → `intake` → queue → `serve` → reply. The `timer_thread` does the work that event handlers must not
//! do, and work that is due at a time.

mod core;
mod intake;
mod serve;
mod service;
mod thread_group;
mod timer_thread;
mod worker;

pub use service::Service;
