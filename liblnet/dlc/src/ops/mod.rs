//! The operations of the DLC API (dlc 6.4), in Rust: what `lnetctl` and the C functions
//! `lustre_lnet_*` call. There is one for each query that LNet answers (dbg-080).
//!
//! Every operation takes the node that it applies to, records errors and output in the [`Report`](crate::Report),
//! and returns the code that the C function returns. Arguments are texts where C has texts, so that
//! missing and malformed ones are detected, and the errors worded, in one place. An operation that fails shows
//! nothing.

pub mod counters;
pub mod diagnosis;
pub mod discovery;
pub(crate) mod error_text;
pub mod events;
pub mod explain;
#[cfg(test)]
mod fake;
pub mod fault;
pub mod global;
mod health;
mod latency;
pub mod lnet;
pub mod net;
pub mod peer;
pub mod ping;
pub mod policy;
pub mod program;
pub mod recovery;
pub mod route;
pub mod routing;
pub mod sample;
pub mod selection;
pub mod service_id;
pub mod stats;
pub mod tunables;
mod udsp_info;
