//! The metrics of LNet nodes: the table of all metrics ([`rows`]), the text formats of Prometheus and OpenMetrics ([`exposition`]),
//! the health of a node ([`health`]), the page for browsers, and the HTTP server that serves them ([`MetricsServer`]).
//!
//! `lnetd`, programs with a node of their own, `lnetctl exporter` and `lnetctl stats --prometheus` share all of this. On targets that are no Unix there is no server: a simulated
//! node of the documentation's site has the page only.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

#[cfg(unix)]
mod config;
#[cfg(unix)]
mod expected_peers;
pub mod health;
#[cfg(unix)]
pub mod http;
mod nodes;
mod page;
mod row;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod service;
#[cfg(unix)]
mod streams;
mod table;
mod text;

#[cfg(unix)]
pub use config::{Address, MetricsConfig, NotAnAddress, VARIABLES, parse_nids};
pub use nodes::{NamedNode, Nodes, SharedBackend};
pub use page::{Feed, Update};
pub use row::{Kind, Number, Row, Unit};
#[cfg(unix)]
pub use server::{MetricsListener, MetricsServer};
pub use table::{lustre_rows, rows};
pub use text::{Format, NodeSample, exposition};
