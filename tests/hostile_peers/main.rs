//! Hostile peers connect to a node. The node closes their connections and counts them; the traffic of other peers continues
//! undisturbed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod corrupted_captures;
mod exhaustion;
mod hostile;
mod malformed;
#[path = "../support/mod.rs"]
mod support;
mod truncated;
