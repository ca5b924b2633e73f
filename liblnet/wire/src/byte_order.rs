//! Reading and writing fixed-size integers at fixed offsets.
//!
//! LNet mixes orders: its header is always little-endian, driver handshakes are in the sender's order and
//! are detected by their magic, large NIDs are always big-endian.

/// The byte order in which a peer wrote an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first; the order that this node always sends.
    Little,
    /// The most significant byte comes first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// The order in which `bytes` spell `magic`, if either does.
    pub fn detect(bytes: [u8; 4], magic: u32) -> Option<Self> {
        if u32::from_le_bytes(bytes) == magic {
            Some(Self::Little)
        } else if u32::from_be_bytes(bytes) == magic {
            Some(Self::Big)
        } else {
            None
        }
    }

    /// Reads a 16-bit integer at `offset`. The caller has checked the length.
    #[inline]
    pub fn u16(self, bytes: &[u8], offset: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(array(bytes, offset)),
            Self::Big => u16::from_be_bytes(array(bytes, offset)),
        }
    }

    /// Reads a 32-bit integer at `offset`. The caller has checked the length.
    #[inline]
    pub fn u32(self, bytes: &[u8], offset: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(array(bytes, offset)),
            Self::Big => u32::from_be_bytes(array(bytes, offset)),
        }
    }

    /// Reads a 64-bit integer at `offset`. The caller has checked the length.
    #[inline]
    pub fn u64(self, bytes: &[u8], offset: usize) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(array(bytes, offset)),
            Self::Big => u64::from_be_bytes(array(bytes, offset)),
        }
    }

    /// Writes `value` at `offset`. The caller has checked the length.
    #[inline]
    pub fn put_u16(self, bytes: &mut [u8], offset: usize, value: u16) {
        let value = match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        };
        bytes[offset..offset + 2].copy_from_slice(&value);
    }

    /// Writes `value` at `offset`. The caller has checked the length.
    #[inline]
    pub fn put_u32(self, bytes: &mut [u8], offset: usize, value: u32) {
        let value = match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        };
        bytes[offset..offset + 4].copy_from_slice(&value);
    }

    /// Writes `value` at `offset`. The caller has checked the length.
    #[inline]
    pub fn put_u64(self, bytes: &mut [u8], offset: usize, value: u64) {
        let value = match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        };
        bytes[offset..offset + 8].copy_from_slice(&value);
    }
}

/// Writes `value` little-endian at `offset`.
#[inline]
pub fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    ByteOrder::Little.put_u32(bytes, offset, value);
}

/// Writes `value` little-endian at `offset`.
#[inline]
pub fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    ByteOrder::Little.put_u64(bytes, offset, value);
}

/// Returns the `N` bytes at `offset`; zeros where `bytes` is too short, so that no length can make this panic.
pub fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(from) = bytes.get(offset..offset + N) {
        out.copy_from_slice(from);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_size_are_written_and_read_in_either_order() {
        let mut bytes = [0xee; 16];
        for (order, want) in [
            (ByteOrder::Little, [0xee, 2, 1, 6, 5, 4, 3, 14, 13, 12, 11, 10, 9, 8, 7, 0xee]),
            (ByteOrder::Big, [0xee, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xee]),
        ] {
            order.put_u16(&mut bytes, 1, 0x0102);
            order.put_u32(&mut bytes, 3, 0x0304_0506);
            order.put_u64(&mut bytes, 7, 0x0708_090a_0b0c_0d0e);
            assert_eq!(bytes, want, "{order:?}");
            let read = (order.u16(&bytes, 1), order.u32(&bytes, 3), order.u64(&bytes, 7));
            assert_eq!(read, (0x0102, 0x0304_0506, 0x0708_090a_0b0c_0d0e), "{order:?}");
        }
    }

    #[test]
    fn the_native_order_is_that_of_this_machine() {
        assert_eq!(ByteOrder::detect(0x0102_0304_u32.to_ne_bytes(), 0x0102_0304), Some(ByteOrder::NATIVE));
    }
}
