//! Support that the system tests share. Each test file uses its own part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod conversation;
pub mod difference;
pub mod live_node;
pub mod machines;
pub mod netns;
#[path = "../../lnds/socklnd/tests/support/mod.rs"]
pub mod nodes;
pub mod pcap;
pub mod player;
pub mod programs;
pub mod rails;
pub mod scene;
pub mod script;
pub mod streams;
