//! Support for the tests of the core: a driver that treats messages as a test says, a clock that the test sets, and a
//! node that runs on both.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod fake_client;
mod fake_driver;
mod rig;
pub mod routes;

pub use fake_client::{Asked, FakeClient, reply_memory};
pub use fake_driver::{FakeDriver, FakeNi, OnSend, THIS_NODE};
pub use rig::{BITS, COOKIE, EventSummary, PORTAL, Rig, RigBuilder, header_from, put_body, target};

pub use lnet_core::ManualClock;
use lnet_core::{Cause, Delivery, Errno, SendFailure};
use lnet_wire::{NetId, NetType, Nid};
use std::num::NonZeroU64;

/// Parses a NID.
pub fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

/// The NID `0.0.0.ADDRESS@tcp`.
pub const fn tcp(address: u32) -> Nid {
    on_net(0, address)
}

/// The NID `0.0.0.ADDRESS@tcpNET`.
pub const fn on_net(net: u16, address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, net), address)
}

/// The ID of a message or of a node.
pub fn number(id: u64) -> NonZeroU64 {
    NonZeroU64::new(id).unwrap()
}

/// The failure of a message whose connection broke while it was being sent.
pub const BROKEN: SendFailure =
    SendFailure { errno: Errno::Io, cause: Cause::RemoteError, delivery: Delivery::Deduplicated };

/// A failure before any byte was sent.
pub const fn not_sent(errno: Errno, cause: Cause) -> SendFailure {
    SendFailure { errno, cause, delivery: Delivery::NotSent }
}
