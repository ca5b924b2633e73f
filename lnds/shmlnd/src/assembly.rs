//! Messages as records of a ring: the first record of a message begins with its LNet header, the others continue its payload.

use lnet_wire::MAX_PAYLOAD;
use lnet_wire::header::{Header, HeaderError, LONG_HEADER_LEN};

/// The kind of the first record of a message.
pub(crate) const FIRST: u32 = 1;
/// The kind of the others.
pub(crate) const MORE: u32 = 2;

/// A message that has arrived.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) header: Header,
    /// The header and the payload.
    pub(crate) bytes: Vec<u8>,
}

impl Whole {
    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(LONG_HEADER_LEN..).unwrap_or_default()
    }
}

/// The reason why a record does not continue a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misplaced {
    #[error("a record of the unknown kind {0}")]
    Kind(u32),
    #[error("a message within another one")]
    Within,
    #[error("a part of no message")]
    Outside,
    #[error("a header of {0} bytes")]
    Short(usize),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("a payload of {0} bytes, more than 1 MiB")]
    Payload(u32),
    #[error("more bytes than its header says, or none")]
    Length,
}

/// The message that is arriving, whose records the caller adds to `bytes`.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    pub(crate) bytes: Vec<u8>,
    header: Option<Header>,
}

impl Assembly {
    /// Takes note of a record that the caller has added to `bytes`, which had `before` bytes. Returns the message if it is complete.
    pub(crate) fn added(&mut self, kind: u32, before: usize) -> Result<Option<Whole>, Misplaced> {
        let header = match (kind, self.header) {
            (FIRST, None) => {
                let Some(head) = self.bytes.first_chunk::<LONG_HEADER_LEN>() else {
                    return Err(Misplaced::Short(self.bytes.len()));
                };
                let header = Header::decode_long(head)?;
                if header.payload_length > MAX_PAYLOAD {
                    return Err(Misplaced::Payload(header.payload_length));
                }
                self.bytes.reserve_exact(header.payload_length as usize);
                header
            }
            (MORE, Some(_)) if self.bytes.len() == before => return Err(Misplaced::Length),
            (MORE, Some(header)) => header,
            (FIRST, Some(_)) => return Err(Misplaced::Within),
            (MORE, None) => return Err(Misplaced::Outside),
            _ => return Err(Misplaced::Kind(kind)),
        };
        let len = LONG_HEADER_LEN + header.payload_length as usize;
        if self.bytes.len() > len {
            return Err(Misplaced::Length);
        }
        let is_whole = self.bytes.len() == len;
        self.header = (!is_whole).then_some(header);
        Ok(is_whole.then(|| Whole { header, bytes: std::mem::take(&mut self.bytes) }))
    }
}

/// The part of a message's bytes, header and payload, that is its next record: from `offset` on.
pub(crate) fn next_record(payload_len: usize, offset: usize, max_body: usize) -> (u32, usize) {
    let kind = if offset == 0 { FIRST } else { MORE };
    (kind, (LONG_HEADER_LEN + payload_len - offset).min(max_body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::{Body, Nid, Pid};
    use proptest::prelude::*;

    fn header(payload_length: u32) -> Header {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        Header {
            dest_nid: nid("1@shm7"),
            src_nid: nid("2@shm7"),
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length,
            body: Body::Put { ack: None, match_bits: 1, hdr_data: 2, portal: 3, offset: 4 },
        }
    }

    fn add(assembly: &mut Assembly, kind: u32, bytes: &[u8]) -> Result<Option<Whole>, Misplaced> {
        let before = assembly.bytes.len();
        assembly.bytes.extend_from_slice(bytes);
        assembly.added(kind, before)
    }

    proptest! {
        #[test]
        fn messages_of_any_length_arrive_in_records_of_any_length(
            lens in prop::collection::vec(0_u32..3000, 1..6), max_body in LONG_HEADER_LEN..1500,
        ) {
            let mut assembly = Assembly::default();
            for len in lens {
                let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
                let bytes = [&header(len).encode_long()[..], &payload].concat();
                let mut offset = 0;
                let whole = loop {
                    let (kind, body) = next_record(payload.len(), offset, max_body);
                    let got = add(&mut assembly, kind, &bytes[offset..offset + body]).unwrap();
                    offset += body;
                    prop_assert_eq!(got.is_some(), offset == bytes.len());
                    if let Some(whole) = got {
                        break whole;
                    }
                };
                prop_assert_eq!((whole.header, whole.payload()), (header(len), &payload[..]));
            }
        }

        /// Whatever the records are, no more is kept than the longest message and one record.
        #[test]
        fn hostile_records_cost_an_error_at_most(records in prop::collection::vec((0..4_u32, 0..400_usize, any::<u8>()), 0..40)) {
            let mut assembly = Assembly::default();
            for (kind, len, byte) in records {
                let mut bytes = vec![byte; len];
                if byte % 2 == 0 && len >= LONG_HEADER_LEN {
                    bytes[..LONG_HEADER_LEN].copy_from_slice(&header(len as u32).encode_long());
                }
                if add(&mut assembly, kind, &bytes).is_err() {
                    return Ok(());
                }
                prop_assert!(assembly.bytes.len() <= LONG_HEADER_LEN + MAX_PAYLOAD as usize);
            }
        }
    }

    #[test]
    fn records_that_do_not_make_messages_are_refused() {
        let one = header(1).encode_long();
        let too_long = header(MAX_PAYLOAD + 1).encode_long();
        for (records, expected) in [
            (vec![(9, &one[..])], Misplaced::Kind(9)),
            (vec![(MORE, &one[..])], Misplaced::Outside),
            (vec![(FIRST, &one[..95])], Misplaced::Short(95)),
            (vec![(FIRST, &[0xff; 96][..])], Misplaced::Header(HeaderError::NidNotConcrete("destination"))),
            (vec![(FIRST, &too_long[..])], Misplaced::Payload(MAX_PAYLOAD + 1)),
            (vec![(FIRST, &one[..]), (FIRST, &one[..])], Misplaced::Within),
            (vec![(FIRST, &one[..]), (MORE, b"")], Misplaced::Length),
            (vec![(FIRST, &one[..]), (MORE, b"12")], Misplaced::Length),
        ] {
            let mut assembly = Assembly::default();
            let results: Vec<_> =
                records.iter().map(|(kind, bytes)| add(&mut assembly, *kind, bytes)).collect();
            assert_eq!(results.into_iter().find_map(Result::err), Some(expected));
        }
    }
}
