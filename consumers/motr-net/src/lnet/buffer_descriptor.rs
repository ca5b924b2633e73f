//! The network buffer descriptor: 48 bytes that identify a passive buffer to the side that transfers its data (motr-net 3.7).
//!
//! A program receives it from another node, so it may have any content.

use super::address::Tmid;
use super::match_bits;
use crate::Errno;

/// The number of bytes of a descriptor.
pub const LEN: usize = 48;

/// The role of the passive side of a transfer; the active side has the opposite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passive {
    /// The passive buffer is filled (queue type 2).
    Receives,
    /// The passive buffer is read (queue type 3).
    Sends,
}

/// The content of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferDescriptor {
    /// The match bits of the buffer.
    pub match_bits: u64,
    /// The NID of the buffer's transfer machine.
    pub nid: u64,
    /// The process id of the transfer machine.
    pub pid: u32,
    /// The portal of the transfer machine.
    pub portal: u32,
    /// The identifier of the transfer machine, as in the match bits.
    pub tmid: Tmid,
    /// The role of the buffer.
    pub passive: Passive,
    /// The size in bytes: of the whole buffer if it receives, of its data if it sends.
    pub size: u64,
}

impl BufferDescriptor {
    /// The descriptor as bytes; all numbers are little-endian.
    pub fn to_bytes(&self) -> [u8; LEN] {
        let kind = match self.passive {
            Passive::Receives => 2,
            Passive::Sends => 3,
        };
        let words = [
            self.match_bits,
            self.nid,
            join(self.pid, self.portal),
            join(self.tmid.number(), kind),
            self.size,
        ];
        let mut bytes = [0; LEN];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words.into_iter().chain([checksum(words)])) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a descriptor for the active side, which wants to transfer in the direction opposite to `passive`, from or into
    /// `bytes_here` bytes.
    ///
    /// Errors, in the order of the checks: `EINVAL` length, checksum; `EPERM` the buffer is for the other direction; `EINVAL`
    /// unknown kind; `EFBIG` too many bytes; `EINVAL` match bits.
    pub fn read(bytes: &[u8], passive: Passive, bytes_here: u64) -> Result<Self, Errno> {
        let bytes: &[u8; LEN] = bytes.try_into().map_err(|_| Errno::Invalid)?;
        let mut words = [0; LEN / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [match_bits, nid, process, machine, size, sum] = words;
        if sum != checksum([match_bits, nid, process, machine, size]) {
            return Err(Errno::Invalid);
        }
        let stated = match machine >> 32 {
            2 => Passive::Receives,
            3 => Passive::Sends,
            _ => return Err(Errno::Invalid),
        };
        if stated != passive {
            return Err(Errno::NotPermitted);
        }
        let fits = match passive {
            Passive::Receives => bytes_here <= size,
            Passive::Sends => bytes_here >= size,
        };
        if !fits {
            return Err(Errno::FileTooBig);
        }
        let tmid = Tmid::new(machine as u32).ok_or(Errno::Invalid)?;
        match match_bits::parse_buffer(match_bits) {
            Some((named, _)) if named == tmid => {}
            _ => return Err(Errno::Invalid),
        }
        let (pid, portal) = (process as u32, (process >> 32) as u32);
        Ok(Self { match_bits, nid, pid, portal, tmid, passive, size })
    }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn checksum(words: [u64; 5]) -> u64 {
    words.into_iter().fold(0, |sum, word| sum ^ word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example(passive: Passive) -> BufferDescriptor {
        BufferDescriptor {
            match_bits: 0x0650_0000_0000_0007,
            nid: 0x0002_0000_0a00_0001,
            pid: 12345,
            portal: 30,
            tmid: Tmid::new(101).unwrap(),
            passive,
            size: 8192,
        }
    }

    #[test]
    fn the_bytes_are_as_documented() {
        let bytes = example(Passive::Sends).to_bytes();
        let expected: [u8; LEN] = [
            7, 0, 0, 0, 0, 0, 0x50, 6, 1, 0, 0, 10, 0, 0, 2, 0, 0x39, 0x30, 0, 0, 30, 0, 0, 0, 101, 0, 0, 0,
            3, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0x5a, 0x10, 0, 10, 29, 0, 0x52, 6,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn each_check_has_its_error() {
        let (sends, receives) = (example(Passive::Sends), example(Passive::Receives));
        let bits = |match_bits| BufferDescriptor { match_bits, ..sends }.to_bytes().to_vec();
        let kind = |kind: u8| {
            let mut bytes = sends.to_bytes().to_vec();
            bytes[28] = kind;
            bytes[44] ^= kind ^ 3;
            bytes
        };
        for (bytes, wanted, here, expected) in [
            (sends.to_bytes().to_vec(), Passive::Sends, 8192, Ok(sends)),
            (sends.to_bytes().to_vec(), Passive::Sends, 1 << 20, Ok(sends)),
            (sends.to_bytes().to_vec(), Passive::Sends, 8191, Err(Errno::FileTooBig)),
            (sends.to_bytes().to_vec(), Passive::Receives, 1, Err(Errno::NotPermitted)),
            (receives.to_bytes().to_vec(), Passive::Receives, 8192, Ok(receives)),
            (receives.to_bytes().to_vec(), Passive::Receives, 8193, Err(Errno::FileTooBig)),
            (receives.to_bytes().to_vec(), Passive::Sends, 8192, Err(Errno::NotPermitted)),
            (sends.to_bytes()[..47].to_vec(), Passive::Sends, 8192, Err(Errno::Invalid)),
            ([&sends.to_bytes()[..], &[0]].concat(), Passive::Sends, 8192, Err(Errno::Invalid)),
            (vec![], Passive::Sends, 8192, Err(Errno::Invalid)),
            (kind(4), Passive::Sends, 8192, Err(Errno::Invalid)),
            (kind(0), Passive::Sends, 8192, Err(Errno::Invalid)),
            (bits(0x0650_0000_0000_0000), Passive::Sends, 8192, Err(Errno::Invalid)),
            (bits(0x0660_0000_0000_0007), Passive::Sends, 8192, Err(Errno::Invalid)),
        ] {
            assert_eq!(BufferDescriptor::read(&bytes, wanted, here), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let bytes = example(Passive::Receives).to_bytes();
        for bit in 0..LEN * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                BufferDescriptor::read(&bytes, Passive::Receives, 1),
                Err(Errno::Invalid),
                "bit {bit}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_what_was_written(mut words in any::<[u64; 5]>(), fix in any::<bool>()) {
            if fix {
                words[3] = words[0] >> 52 | 2 << 32;
            }
            let bytes: Vec<u8> =
                words.into_iter().chain([checksum(words)]).flat_map(u64::to_le_bytes).collect();
            if let Ok(read) = BufferDescriptor::read(&bytes, Passive::Receives, 0) {
                prop_assert_eq!(&read.to_bytes()[..], &bytes[..]);
            }
        }
    }
}
