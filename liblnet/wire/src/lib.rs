//! Encoding and decoding of the data that LNet nodes exchange: network addresses and their strings, the message header, the
//! ping information. No I/O, and no allocation where none is needed. Every decoder here accepts arbitrary bytes: it
//! returns an error, and never panics.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod byte_order;
mod errno;
pub mod expression;
pub mod header;
mod ip_prefix;
pub mod ip_range;
pub mod latency;
pub mod lnd_table;
pub mod nid;
mod nid_interval;
mod nid_pattern;
pub mod nid_range;
#[cfg(feature = "serde")]
mod nid_serde;
pub mod nid_text;
pub mod ping_info;
mod reachability;
mod selector;
pub mod text;

pub use errno::Errno;
pub use expression::Expression;
pub use header::{Body, Header, HeaderError, MessageType, WireHandle};
pub use ip_prefix::IpPrefix;
pub use ip_range::IpRange;
pub use nid::{NetId, NetType, Nid, Pid, ProcessId};
pub use nid_pattern::NidPattern;
pub use nid_range::NidList;
pub use nid_text::{AnyNid, RawNet, RawNid};
pub use ping_info::{Features, NiStatus, PingEntry, PingInfo};
pub use reachability::Reachability;
pub use selector::Selector;
pub use text::TextError;

/// Maximum payload of one message in bytes: 1 MiB (`LNET_MTU`).
pub const MAX_PAYLOAD: u32 = 1 << 20;
/// Number of portals, which are numbered 0..64 (`MAX_PORTALS`).
pub const MAX_PORTALS: u32 = 64;
/// The portal that LNet reserves for its own pings and pushes.
pub const RESERVED_PORTAL: u32 = 0;
/// Match bits of every ping (GET) and push (PUT) on the reserved portal.
pub const PING_MATCH_BITS: u64 = 1 << 63;
