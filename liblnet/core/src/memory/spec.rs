//! The description of an MD by its caller: the content of `struct lnet_md`.

use super::handle::EqHandle;

/// The option bits of an MD, with the C API's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdOptions(pub u32);

impl MdOptions {
    /// PUTs may match the MD.
    pub const OP_PUT: Self = Self(0x001);
    /// GETs may match the MD.
    pub const OP_GET: Self = Self(0x002);
    /// The initiator determines the offset in the MD.
    pub const MANAGE_REMOTE: Self = Self(0x004);
    /// A message that is too long is truncated, not dropped.
    pub const TRUNCATE: Self = Self(0x010);
    /// No ACK is sent for a PUT to the MD, even if it was requested.
    pub const ACK_DISABLE: Self = Self(0x020);
    /// `start` is an array of `struct iovec`.
    pub const IOVEC: Self = Self(0x040);
    /// `max_size` is valid.
    pub const MAX_SIZE: Self = Self(0x080);
    /// `start` is an array of `lnet_kiov_t`.
    pub const KIOV: Self = Self(0x100);
    /// `bulk_handle` is valid.
    pub const BULK_HANDLE: Self = Self(0x200);

    /// The responses to requests with the MD have a deadline.
    pub const TRACK_RESPONSE: Self = Self(0x400);
    /// The responses to requests with the MD have no deadline.
    pub const NO_TRACK_RESPONSE: Self = Self(0x800);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The description of an MD by its creator. Every event carries a copy, in which only `threshold` changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdSpec {
    /// The caller's pointer (to bytes, or to fragments), never dereferenced, returned in events (TRAP-10).
    pub start: usize,
    /// The number of bytes, or of fragments with [`MdOptions::IOVEC`] or [`MdOptions::KIOV`].
    pub length: u32,
    /// The number of operations that may still start; negative: unlimited.
    pub threshold: i32,
    /// With [`MdOptions::MAX_SIZE`], the length of the longest message, and the free space below which the MD is exhausted.
    pub max_size: i32,
    /// The option bits.
    pub options: MdOptions,
    /// The caller's value, returned in events.
    pub user_ptr: usize,
    /// The queue for the MD's events, if any.
    pub eq: Option<EqHandle>,
}

impl MdSpec {
    /// The description of an MD without memory, options and a queue, on which no operation may start.
    pub const EMPTY: Self =
        Self { start: 0, length: 0, threshold: 0, max_size: 0, options: MdOptions(0), user_ptr: 0, eq: None };
}
