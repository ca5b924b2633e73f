#![allow(clippy::unwrap_used)]
use super::*;
use crate::nid_text::tests::any_nid;
use proptest::prelude::*;

prop_compose! {
    fn any_handle()(interface_cookie: u64, object_cookie: u64) -> WireHandle {
        WireHandle { interface_cookie, object_cookie }
    }
}

fn any_body() -> impl Strategy<Value = Body> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>());
    (0..5, any_handle(), numbers).prop_map(
        |(kind, handle, (match_bits, hdr_data, portal, offset, length))| match kind {
            0 => Body::Ack { handle, match_bits, accepted: length },
            1 => Body::Put { ack: Some(handle), match_bits, hdr_data, portal, offset },
            2 => Body::Put { ack: None, match_bits, hdr_data, portal, offset },
            3 => Body::Get { reply: handle, match_bits, portal, offset, sink_length: length },
            _ => Body::Reply { handle },
        },
    )
}

prop_compose! {
    fn any_header()(
        dest_nid in any_nid(), src_nid in any_nid(), dest_pid: u32, src_pid: u32, payload_length: u32,
        body in any_body(),
    ) -> Header {
        Header { dest_nid, src_nid, dest_pid: Pid(dest_pid), src_pid: Pid(src_pid), payload_length, body }
    }
}

proptest! {
    #[test]
    fn a_header_reads_back_from_either_form(header in any_header()) {
        prop_assert_eq!(Header::decode_long(&header.encode_long()), Ok(header));
        let fits = header.dest_nid.to_u64().is_some() && header.src_nid.to_u64().is_some();
        match header.encode() {
            Some(short) => prop_assert_eq!(Header::decode(&short), Ok(header)),
            None => prop_assert!(!fits),
        }
    }

    #[test]
    fn any_bytes_that_are_a_header_keep_their_meaning_when_written_again(
        short in prop::array::uniform(any::<u8>()), long in prop::array::uniform(any::<u8>()), kind in 0u8..6,
        plausible: bool,
    ) {
        let (mut short, mut long): ([u8; HEADER_LEN], [u8; LONG_HEADER_LEN]) = (short, long);
        if plausible {
            short[24..28].copy_from_slice(&[kind, 0, 0, 0]);
            (short[6], short[7], short[14], short[15]) = (2, 0, 5, 0);
            long[48..52].copy_from_slice(&[kind, 0, 0, 0]);
            (long[0], long[20]) = (12, 0);
        }
        if let Ok(header) = Header::decode(&short) {
            prop_assert_eq!(header.encode().map(|bytes| Header::decode(&bytes)), Some(Ok(header)));
        }
        if let Ok(header) = Header::decode_long(&long) {
            prop_assert_eq!(Header::decode_long(&header.encode_long()), Ok(header));
        }
    }
}

#[test]
fn a_header_of_another_type_or_for_nobody_is_refused() {
    let good = Header {
        dest_nid: Nid::LOOPBACK,
        src_nid: Nid::LOOPBACK,
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: 0,
        body: Body::Reply { handle: WireHandle { interface_cookie: 1, object_cookie: 2 } },
    };
    let damaged = |at: usize, with: &[u8]| {
        let mut bytes = good.encode().unwrap();
        bytes[at..at + with.len()].copy_from_slice(with);
        Header::decode(&bytes)
    };
    assert_eq!(damaged(0, &[]), Ok(good));
    assert_eq!(damaged(24, &[4]), Err(HeaderError::UnknownType(4)));
    assert_eq!(damaged(0, &[0xff; 8]), Err(HeaderError::NidNotConcrete("destination")));
    assert_eq!(damaged(15, &[1]), Err(HeaderError::NidNotConcrete("source")));
    let mut long = good.encode_long();
    long[20] = 13;
    assert_eq!(Header::decode_long(&long), Err(HeaderError::NidNotConcrete("source")));
}
