//! The transport over LNet (motr-net 3).
//!
//! | file | holds |
//! |---|---|
//! | `address`, `match_bits`, `buffer_descriptor` | what is on the wire, and addresses as text: pure |
//! | `completion` | what an event of LNet means for a buffer: pure |
//! | `fragments` | conversion of vectors to fragments that LNet can transfer: pure |
//! | `address_table` | the addresses in use |
//! | `event_ring` | events between LNet's threads and the thread that delivers them |
//! | `budget`, `limits` | the bounded resources of a domain; the functions by which the program sets their limits |
//! | `machine` | the state of a transfer machine |
//! | `waker` | waiting of a machine's thread, and waking it |
//! | `end_point` | end points |
//! | `operation` | operations in LNet, started by adding a buffer to a queue |
//! | `debug` | log lines that the program switches on |
//! | `delivery` | delivery of events |
//! | `timeouts` | operations whose deadline has passed |
//! | `event_thread` | the thread of a transfer machine |
//! | `domain`, `transport` | domains; the table of functions, and functions for this transport alone |

pub mod address;
pub mod address_table;
pub mod budget;
pub mod buffer_descriptor;
pub mod completion;
pub mod debug;
mod delivery;
pub mod domain;
mod end_point;
pub mod event_ring;
mod event_thread;
pub mod fragments;
pub mod limits;
mod machine;
pub mod match_bits;
mod operation;
mod timeouts;
pub mod transport;
mod waker;
