//! The network layer for any transport (motr-net 1, 2, 5, 6), which C programs call.
//!
//! The headers in `consumers/motr-net/include/net` document each function. The transport is a table of functions, which may be a program's own.
//!
//! | file | holds |
//! |---|---|
//! | `types` | the structures, as C sees them |
//! | `queue` | the six queues |
//! | `registry` | the transports that a program can choose from |
//! | `domain` | domains |
//! | `transfer_mc` | transfer machines: from init to fini |
//! | `tm_queues` | the queues of transfer machines |
//! | `tm_event` | the events of transfer machines |
//! | `end_point` | end points |
//! | `buffer` | registration of buffers, their addition to queues and removal |
//! | `buffer_event` | the events of buffers |
//! | `callback` | the count of callbacks that are running |
//! | `delivery` | events that the program fetches |
//! | `statistics` | the statistics of each queue |
//! | `descriptor` | descriptors of passive buffers, as bytes |
//! | `pool` | buffer pools |
//! | `provision` | filling receive queues from pools |
//! | `provision_thread` | the thread of a domain that fills receive queues when a pool is no longer empty |
//! | `end_point_text` | the strict form of an address |
//! | `guard` | locks of these structures |
//!
//! **Contract of the C functions.** The contract is that of the types of their arguments: [`crate::object::Object`] for a shared
//! structure, and those of `lnet_api::c_pointer` for results and strings. Callbacks and the functions of a transport keep the
//! contract of the headers. Violations that are cheap to detect are detected: the function returns `EINVAL` if it has an error
//! number, else the process ends with a message ([`crate::contract`]).
#![allow(non_camel_case_types)]
#![allow(missing_docs, reason = "the headers document the functions of C")]

pub mod buffer;
pub mod buffer_event;
pub(crate) mod callback;
pub mod delivery;
pub mod descriptor;
pub mod domain;
pub mod end_point;
pub mod end_point_text;
pub(crate) mod guard;
pub mod pool;
pub mod provision;
mod provision_thread;
pub mod queue;
pub mod registry;
mod statistics;
pub mod tm_event;
pub(crate) mod tm_queues;
pub mod transfer_mc;
pub mod types;
