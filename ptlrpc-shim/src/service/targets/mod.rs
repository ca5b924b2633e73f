//! Targets, and the clients that are connected to them.
//!
//! A target may be served at several portals: then several services have the same [`Targets`].

mod export;
pub(crate) mod tables;
mod target;

pub use export::Export;
pub use tables::Targets;
pub use target::Target;
