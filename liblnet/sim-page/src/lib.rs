//! Two simulated nodes with two rails, for the page of the documentation's site.
//!
//! The page is the one that nodes serve beside their metrics (`liblnet/metrics/src/page/page.html`). On the site it gets its events from
//! this library, which is compiled to WebAssembly: [`Show`] is the world, [`exports`] are the functions that the page's script calls
//! (`liblnet/sim-page/page/simulator.js`). The script tells the time; nothing here reads a clock of the machine.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod exports;
mod node;
mod show;

pub use show::{RAILS, Show};
