//! The memory of a load: the bytes of a message tell the operation and the offset that they belong to.

use lnet_core::MdMemory;
use std::ops::Range;
use std::sync::OnceLock;

/// Messages and places in memory are whole multiples of this.
pub const WORD: u32 = 8;
/// The longest piece of memory that belongs to one.
const MAX_PIECE: usize = 2 << 20;
/// Bytes by which one's differ from another's.
const SHIFTS: usize = 1 << 20;

/// Memory that a node reads and writes by address, too.
pub struct Bytes {
    bytes: Box<[u8]>,
    address: usize,
}

impl Bytes {
    pub fn new(len: u32) -> Self {
        let mut bytes = vec![0; len as usize].into_boxed_slice();
        let address = bytes.as_mut_ptr() as usize;
        Self { bytes, address }
    }

    pub const fn address(&self) -> usize {
        self.address
    }

    pub const fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// The first `len` bytes, in the form that an MD takes.
    pub const fn first(&self, len: u32) -> MdMemory {
        MdMemory::contiguous(self.address, len)
    }

    /// Fills the first bytes with the data of `key`.
    pub fn fill(&mut self, key: u64, len: u32) {
        let len = len as usize;
        self.bytes[..len].copy_from_slice(belonging(key, 0..len));
        self.bytes[..size_of::<u64>()].copy_from_slice(&key.to_le_bytes());
    }

    /// Overwrites the first bytes with data that no key has.
    pub fn wipe(&mut self, len: u32) {
        self.bytes[..len as usize].fill(0);
    }

    /// Whether the `len` bytes from `offset` on are the data of `key` from `theirs` on.
    pub fn is_of(&self, offset: u32, key: u64, theirs: u32, len: u32) -> bool {
        let [offset, theirs, len] = [offset, theirs, len].map(|it| it as usize);
        let Some(bytes) = self.bytes.get(offset..offset + len) else { return false };
        // The key itself is at the beginning.
        let named = if theirs == 0 { len.min(size_of::<u64>()) } else { 0 };
        theirs + len <= MAX_PIECE
            && bytes[..named] == key.to_le_bytes()[..named]
            && bytes[named..] == *belonging(key, theirs + named..theirs + len)
    }
}

fn belonging(key: u64, place: Range<usize>) -> &'static [u8] {
    static NOISE: OnceLock<Box<[u8]>> = OnceLock::new();
    let noise = NOISE.get_or_init(|| {
        let mut random = fastrand::Rng::with_seed(0);
        (0..(MAX_PIECE + SHIFTS) / size_of::<u64>()).flat_map(|_| random.u64(..).to_le_bytes()).collect()
    });
    let shift = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SHIFTS;
    &noise[shift + place.start..shift + place.end]
}

#[test]
fn bytes_of_another_message_or_offset_are_detected() {
    let mut bytes = Bytes::new(64);
    bytes.fill(7, 64);
    assert!(bytes.is_of(0, 7, 0, 64) && bytes.is_of(16, 7, 16, 48) && bytes.is_of(0, 7, 0, 8));
    assert!(!bytes.is_of(0, 8, 0, 64) && !bytes.is_of(16, 7, 0, 8) && !bytes.is_of(0, 7, 0, 72));
    bytes.bytes[63] ^= 1;
    assert!(!bytes.is_of(0, 7, 0, 64) && bytes.is_of(0, 7, 0, 56));
}
