//! The RDMA WRITEs that move a payload into the memory that the peer described (wire-o2ib 8.4, 8.5).

use crate::device::{Segment, Write};
use crate::proto::Descriptor;

/// The WRITEs cannot be posted as one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritable {
    /// The peer's memory is shorter than the payload.
    TooShort,
    /// The payload is in more pieces than the connection's work requests can take.
    TooManyPieces,
}

/// The limits of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainLimits {
    /// The WRITEs.
    pub(crate) writes: usize,
    /// The pieces of one WRITE.
    pub(crate) pieces: usize,
}

/// The WRITEs for the pieces `from`. Every byte is written, also where the pieces end within a fragment of the peer.
pub(crate) fn writes(
    from: &[Segment],
    to: &Descriptor,
    limits: ChainLimits,
) -> Result<Vec<Write>, Unwritable> {
    let mut writes: Vec<Write> = Vec::new();
    let mut fragments = to.fragments.iter();
    // The rest of the current fragment.
    let (mut address, mut room) = (0, 0);
    let mut begins = true;
    for segment in from {
        let mut segment = *segment;
        while segment.len > 0 {
            while room == 0 {
                let fragment = fragments.next().ok_or(Unwritable::TooShort)?;
                (address, room) = (fragment.address, fragment.bytes);
                begins = true;
            }
            let len = segment.len.min(room);
            let piece = Segment { len, ..segment };
            let continues =
                !begins && writes.last().is_some_and(|write| write.from.len() < limits.pieces.max(1));
            if !continues && writes.len() == limits.writes {
                return Err(Unwritable::TooManyPieces);
            }
            match writes.last_mut().filter(|_| continues) {
                Some(write) => write.from.push(piece),
                None => writes.push(Write { from: vec![piece], to: address, rkey: to.rkey }),
            }
            begins = false;
            segment =
                Segment { address: segment.address + u64::from(len), len: segment.len - len, ..segment };
            (address, room) = (address.wrapping_add(len.into()), room - len);
        }
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Fragment, Fragments};
    use proptest::prelude::*;

    fn segment(address: u64, len: u32) -> Segment {
        Segment { address, len, lkey: address as u32 }
    }

    fn descriptor(fragments: &[(u64, u32)]) -> Descriptor {
        let fragments =
            fragments.iter().map(|(address, bytes)| Fragment { bytes: *bytes, address: *address });
        Descriptor { rkey: 9, fragments: Fragments::new(&fragments.collect::<Vec<_>>()).unwrap() }
    }

    const LIMITS: ChainLimits = ChainLimits { writes: 257, pieces: 2 };

    #[test]
    fn data_that_end_within_a_fragment_are_written_to_the_last_byte() {
        // wire-o2ib 8.4: the kernel drops the last WRITE of the first two.
        for (fragments, len, expected) in [
            (&[(1000, 272)][..], 48, &[(1000, 48)][..]),
            (&[(1000, 17), (2000, 13), (3000, 242)], 48, &[(1000, 17), (2000, 13), (3000, 18)]),
            (&[(1000, 20)], 20, &[(1000, 20)]),
            (&[(1000, 20), (2000, 5)], 0, &[]),
        ] {
            let writes = writes(&[segment(50, len)], &descriptor(fragments), LIMITS).unwrap();
            let got: Vec<_> = writes.iter().map(|w| (w.to, w.from.iter().map(|s| s.len).sum())).collect();
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let pieces = [segment(0, 5), segment(10, 5), segment(20, 5)];
        let limits = |writes| ChainLimits { writes, pieces: 2 };
        assert_eq!(writes(&pieces, &descriptor(&[(0, 14)]), LIMITS), Err(Unwritable::TooShort));
        assert_eq!(writes(&pieces, &descriptor(&[(0, 15)]), limits(1)), Err(Unwritable::TooManyPieces));
        assert_eq!(writes(&pieces, &descriptor(&[(0, 15)]), limits(2)).unwrap().len(), 2);
    }

    proptest! {
        #[test]
        fn every_byte_goes_where_the_reference_model_puts_it(
            from in prop::collection::vec(0_u32..9, 0..9), to in prop::collection::vec(1_u32..9, 1..9), pieces in 1_usize..4,
        ) {
            let from: Vec<_> = from.iter().enumerate().map(|(i, len)| segment(100 * i as u64, *len)).collect();
            let to: Vec<_> = to.iter().enumerate().map(|(i, len)| (1000 * i as u64, *len)).collect();
            let bytes = |runs: &[(u64, u32)]| -> Vec<u64> {
                runs.iter().flat_map(|(at, len)| *at..at + u64::from(*len)).collect()
            };
            let sources = bytes(&from.iter().map(|s| (s.address, s.len)).collect::<Vec<_>>());
            let sinks = bytes(&to);
            let limits = ChainLimits { writes: 257, pieces };
            match writes(&from, &descriptor(&to), limits) {
                Err(error) => {
                    prop_assert_eq!(error, Unwritable::TooShort);
                    prop_assert!(sources.len() > sinks.len());
                }
                Ok(writes) => {
                    let got: Vec<(u64, u64)> = writes.iter().flat_map(|write| {
                        assert!(write.from.len() <= pieces && !write.from.is_empty());
                        let read = bytes(&write.from.iter().map(|s| (s.address, s.len)).collect::<Vec<_>>());
                        read.into_iter().zip(write.to..)
                    }).collect();
                    prop_assert_eq!(got, sources.into_iter().zip(sinks).collect::<Vec<_>>());
                }
            }
        }
    }
}
