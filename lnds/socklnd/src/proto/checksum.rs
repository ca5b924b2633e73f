//! The message checksum (wire-tcp 3.3): CRC-32 without the usual inversion at the end.

/// A checksum being computed over parts: frame header (its checksum field as 0), LNet header, payload.
#[derive(Clone, Debug)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Starts a checksum over nothing.
    pub fn new() -> Self {
        Self(crc32fast::Hasher::new())
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the value over everything added; on the wire 0 means "none".
    pub fn value(&self) -> u32 {
        !self.0.clone().finalize()
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(bytes: &[u8]) -> u32 {
        bytes.iter().fold(0xffff_ffff, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        })
    }

    #[test]
    fn the_check_value_is_that_of_the_specification() {
        let mut sum = Checksum::new();
        sum.update(b"123456789");
        assert_eq!(sum.value(), 0x340b_c6d9);
    }

    proptest! {
        #[test]
        fn parts_give_what_the_whole_gives(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
            let cut = cut.min(bytes.len());
            let mut sum = Checksum::new();
            sum.update(&bytes[..cut]);
            sum.update(&bytes[cut..]);
            prop_assert_eq!(sum.value(), naive(&bytes));
        }
    }
}
