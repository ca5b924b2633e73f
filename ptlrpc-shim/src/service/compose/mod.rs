//! The service put together: what a request goes through, from its arrival to its reply, and the threads that do it.
//!
//! Arrival (an event, `core`) → `intake` → queue → `serve` → reply. What event handlers may not do, and what has its time,
//! the `timer_thread` does.

mod core;
mod intake;
mod serve;
mod service;
mod thread_group;
mod timer_thread;
mod worker;

pub use service::Service;
