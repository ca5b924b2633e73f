//! One engine with a peer that the test plays, byte by byte.

mod big_endian;
mod completions;
mod credits;
mod fragments;
pub(crate) mod heard;
pub(crate) mod peer_memory;
mod refusals;
mod requests;
pub(crate) mod script;
mod violations;
