//! The features of client and server, which they exchange when they connect (`obd_connect_data`).

use super::flags::flags;
use lnet_wire::byte_order::{ByteOrder, array};

/// The number of modifying requests of a client that may be in flight at once, and so of its slots, where client and server have no
/// preference (`maxmodrpcs`).
pub(crate) const DEFAULT_SLOTS: u16 = 8;

/// The data that a client requests, or a server grants. Unused fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectData {
    /// Flags that tell which of the other fields are valid, and which features are supported.
    pub flags: ConnectFlags,
    /// The version of the sender's software.
    pub version: u32,
    /// Bytes that the client may write without a reservation.
    pub grant: u32,
    /// The number of the target.
    pub index: u32,
    /// The most bytes of a bulk transfer.
    pub brw_size: u32,
    /// Bits of inodes that can be locked.
    pub ibits: u64,
    /// The size of a block for grants, as a power of two.
    pub grant_blkbits: u8,
    /// The size of an inode, as a power of two.
    pub inobits: u8,
    /// KiB that every extent costs beside its data.
    pub tax_kb: u16,
    /// The most blocks of an extent.
    pub max_blks: u32,
    /// The first transaction to be replayed.
    pub transno: u64,
    /// The group of the client.
    pub group: u32,
    /// The supported checksums of bulk data.
    pub cksum_types: u32,
    /// The most bytes of extended attributes.
    pub max_easize: u32,
    /// The incarnation of the target.
    pub instance: u32,
    /// The most bytes of an object.
    pub maxbytes: u64,
    /// The number of modifying requests that may be in flight at once.
    pub maxmodrpcs: u16,
}

flags! {
    /// Features: `connect_flags` in the lower half, `connect_flags2` in the upper one.
    pub struct ConnectFlags(u128) {
        /// The version is valid.
        VERSION = 0x20;
        /// Adaptive timeouts.
        AT = 0x100_0000;
        /// All of the protocol of 2.0.
        FULL20 = 0x10_0000_0000;
        /// The target supports imperative recovery.
        IMP_RECOV = 0x100_0000_0000;
        /// The client need not ping.
        PINGLESS = 0x4_0000_0000_0000;
        /// Bulk transfers have separate match bits (PR-22).
        BULK_MBITS = 0x2000_0000_0000_0000;
        /// `connect_flags2` is valid.
        FLAGS2 = 0x8000_0000_0000_0000;
        /// Replies have the match bits of `pb_mbits` (PR-21). Includes [`ConnectFlags::FLAGS2`], without which
        /// it is not valid.
        REP_MBITS = 0x10_0000 << 64 | Self::FLAGS2.0;
    }
}

impl ConnectData {
    /// Bytes of connect data that is sent.
    pub const LEN: usize = 192;
    /// Bytes of the longest connect data that a client expects of a server, which may be of a later version.
    pub const MAX_LEN: usize = Self::LEN + 128;

    /// Reads connect data of any version, which may be shorter or longer. Missing or incomplete fields are 0, unknown ones are
    /// ignored.
    pub fn decode(bytes: &[u8], order: ByteOrder) -> Self {
        let u16_at = |offset| order.u16(bytes, offset);
        let u32_at = |offset| order.u32(bytes, offset);
        let u64_at = |offset| order.u64(bytes, offset);
        let [grant_blkbits] = array(bytes, 32);
        let [inobits] = array(bytes, 33);
        Self {
            flags: ConnectFlags(u128::from(u64_at(80)) << 64 | u128::from(u64_at(0))),
            version: u32_at(8),
            grant: u32_at(12),
            index: u32_at(16),
            brw_size: u32_at(20),
            ibits: u64_at(24),
            grant_blkbits,
            inobits,
            tax_kb: u16_at(34),
            max_blks: u32_at(36),
            transno: u64_at(40),
            group: u32_at(48),
            cksum_types: u32_at(52),
            max_easize: u32_at(56),
            instance: u32_at(60),
            maxbytes: u64_at(64),
            maxmodrpcs: u16_at(72),
        }
    }

    /// Encodes the data for sending, in this machine's byte order.
    pub fn encode(&self) -> [u8; Self::LEN] {
        self.encode_in(ByteOrder::NATIVE)
    }

    /// The data in a byte order of the caller's choice: for tests.
    pub fn encode_in(&self, order: ByteOrder) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        for (offset, value) in [
            (8, self.version),
            (12, self.grant),
            (16, self.index),
            (20, self.brw_size),
            (36, self.max_blks),
            (48, self.group),
            (52, self.cksum_types),
            (56, self.max_easize),
            (60, self.instance),
        ] {
            order.put_u32(&mut out, offset, value);
        }
        for (offset, value) in [
            (0, self.flags.0 as u64),
            (24, self.ibits),
            (40, self.transno),
            (64, self.maxbytes),
            (80, (self.flags.0 >> 64) as u64),
        ] {
            order.put_u64(&mut out, offset, value);
        }
        out[32] = self.grant_blkbits;
        out[33] = self.inobits;
        order.put_u16(&mut out, 34, self.tax_kb);
        order.put_u16(&mut out, 72, self.maxmodrpcs);
        out
    }
}

#[cfg(test)]
#[path = "connect_data_tests.rs"]
mod tests;
