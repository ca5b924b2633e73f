//! Reading and writing fixed-size integers at fixed offsets.
//!
//! LNet mixes orders: its header is always little-endian, driver handshakes are in the sender's order and
//! are detected by their magic, large NIDs are always big-endian.

/// The byte order in which a peer wrote an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first; what we always send.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
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

    /// A 32-bit integer at `offset`. The caller has checked the length.
    pub fn u32(self, bytes: &[u8], offset: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(array(bytes, offset)),
            Self::Big => u32::from_be_bytes(array(bytes, offset)),
        }
    }

    /// A 64-bit integer at `offset`. The caller has checked the length.
    pub fn u64(self, bytes: &[u8], offset: usize) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(array(bytes, offset)),
            Self::Big => u64::from_be_bytes(array(bytes, offset)),
        }
    }
}

/// Writes `value` little-endian at `offset`.
pub fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes `value` little-endian at `offset`.
pub fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

/// The `N` bytes at `offset`; zeros where `bytes` is too short, so that no length can make this panic.
pub fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(from) = bytes.get(offset..offset + N) {
        out.copy_from_slice(from);
    }
    out
}
