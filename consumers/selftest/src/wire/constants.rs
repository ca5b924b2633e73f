//! Numbers of the protocol (selftest 1).

/// Bytes of every message.
pub const MESSAGE_LEN: usize = 160;
/// The first word of every message, in the order of its sender.
pub const MAGIC: u32 = 0xeeb0_f00d;
/// The version of messages.
pub const VERSION: u32 = 1;
/// The portal of the requests of tests.
pub const PORTAL_TESTS: u32 = 50;
/// The portal of the requests of the framework.
pub const PORTAL_FRAMEWORK: u32 = 51;
/// The portal of replies and bulk data.
pub const PORTAL_REPLIES: u32 = 52;
/// The bytes of a page: brw counts and fills pages of this size, independent of the machine's (selftest 8.2).
pub const PAGE: u32 = 4096;
/// The most bytes of bulk data.
pub const MAX_BULK: u32 = 1 << 20;
/// The most RPCs in flight of one test on one node to one destination.
pub const MAX_CONCURRENCY: u32 = 1024;
/// The most destinations that a message may name.
pub const MAX_DESTINATIONS: u32 = 256 * DESTINATIONS_PER_PAGE;
/// The most destinations of a list that all nodes read in the same way: those of its first page. Longer lists make some kernel nodes
/// crash (selftest 5.6).
pub const SAFE_DESTINATIONS: u32 = DESTINATIONS_PER_PAGE;
/// The number of destinations in a page of their list.
pub const DESTINATIONS_PER_PAGE: u32 = 341;
/// Bytes of one destination in the list.
pub const DESTINATION_LEN: usize = 12;
/// The number of bytes of a name, including the terminating NUL.
pub const NAME_LEN: usize = 32;
/// The word that brw writes into bulk data, in the order of the sender.
pub const BRW_PATTERN: u64 = 0xeeb0_eeb1_eeb2_eeb3;
/// The word that brw leaves in memory before data arrives.
pub const BRW_POISON: u64 = 0xbeef_beef_beef_beef;
/// The magic of pings.
pub const PING_MAGIC: u32 = 0xbabe_face;
/// The PID of all nodes that a console names.
pub const LST_PID: u32 = lnet_wire::Pid::LUSTRE.0;
