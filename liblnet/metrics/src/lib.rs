//! The metrics of LNet nodes: the table of all metrics ([`rows`]), the text formats of Prometheus and OpenMetrics ([`exposition`]),
//! the health of a node ([`health`]), the page for browsers, and the HTTP server that serves them ([`MetricsServer`]).
//!
//! `lnetd`, programs with a node of their own, `lnetctl exporter` and `lnetctl stats --prometheus` share all of this.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod config;
mod expected_peers;
pub mod health;
pub mod http;
mod nodes;
mod page;
mod row;
mod server;
mod service;
mod streams;
mod table;
mod text;

pub use config::{Address, MetricsConfig, NotAnAddress, VARIABLES, parse_nids};
pub use nodes::{NamedNode, Nodes, SharedBackend};
pub use row::{Kind, Number, Row, Unit};
pub use server::{MetricsListener, MetricsServer};
pub use table::{lustre_rows, rows};
pub use text::{Format, NodeSample, exposition};
