//! Support for tests with captured traffic.
#![allow(dead_code, missing_docs, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../tests/support/pcap.rs"]
pub mod pcap;
pub mod roce;
