//! Pictures of clusters: their bytes, their layout, and what a browser and Graphviz make of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod clusters;
mod files;
mod layout;
