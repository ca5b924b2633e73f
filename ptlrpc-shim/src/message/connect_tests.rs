#![allow(clippy::unwrap_used)]
use super::*;
use crate::message::{ConnectFlags, Opcode, Service, size_of_message};
use proptest::prelude::*;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

fn sample() -> ConnectRequest {
    let data = ConnectData { flags: ConnectFlags::VERSION, version: 0x020f_0800, ..ConnectData::default() };
    ConnectRequest {
        target: "target".parse().unwrap(),
        client: "client".parse().unwrap(),
        handle: ExportCookie(7),
        data,
    }
}

fn body() -> Body {
    Body { conn_cnt: 1, ..Body::request(Service::OBD, Opcode::OST_CONNECT) }
}

#[test]
fn sizes_are_those_of_the_buffers() {
    assert_eq!(size_of_message(&ConnectRequest::LENGTHS), Some(ConnectRequest::LEN));
    assert_eq!(size_of_message(&ConnectReply::LENGTHS), Some(ConnectReply::LEN));
    assert_eq!(size_of_message(&[184, 192 + 128]), Some(ConnectReply::MAX_LEN));
}

#[test]
fn names_are_at_most_38_bytes_without_nul() {
    for (text, want) in [
        (&b""[..], Ok(())),
        (b"lustre-OST0000", Ok(())),
        (&[b'x'; 38], Ok(())),
        (&[b'x'; 39], Err(NameError::TooLong(39))),
        (&[b'x'; 4000], Err(NameError::TooLong(4000))),
        (b"a\0b", Err(NameError::Nul)),
        (b"a\0", Err(NameError::Nul)),
        (&[0xff, 0xfe], Ok(())),
    ] {
        let name = Name::new(text);
        assert_eq!(name.map(|_| ()), want, "{text:?}");
        assert!(name.is_err() || name.unwrap().as_bytes() == text, "{text:?}");
    }
    assert_eq!(Name::new(b"OST\n\x1b[2J").unwrap().to_string(), "OST\\n\\x1b[2J");
}

/// The lengths of the buffers after the body, the first bytes of each, and the result of reading.
type Case<'a> = (&'a str, &'a [u32], &'a [&'a [u8]], Result<(), BadMessage>);

#[test]
fn incomplete_connect_requests_are_refused() {
    let handle = &[7, 0, 0, 0, 0, 0, 0, 0][..];
    let full = [b'x'; 39];
    let cases: [Case<'_>; 12] = [
        ("everything", &[39, 39, 8, 192, 0], &[b"t", b"c", handle], Ok(())),
        ("no policy", &[39, 39, 8, 192], &[b"t", b"c", handle], Ok(())),
        ("a policy", &[39, 39, 8, 192, 30], &[b"t", b"c", handle], Ok(())),
        ("no data", &[39, 39, 8], &[b"t", b"c", handle], Err(BadMessage::Missing(4))),
        ("short data", &[39, 39, 8, 0], &[b"t", b"c", handle], Ok(())),
        ("a short handle", &[39, 39, 7, 192, 0], &[b"t", b"c"], Err(BadMessage::Missing(3))),
        ("no handle", &[39, 39], &[b"t", b"c"], Err(BadMessage::Missing(3))),
        ("no client", &[39], &[b"t"], Err(BadMessage::Missing(2))),
        ("nothing", &[], &[], Err(BadMessage::Missing(1))),
        ("a target that does not end", &[39, 39, 8, 192], &[&full, b"c", handle], Err(BadMessage::Name(1))),
        ("a client of no bytes", &[39, 0, 8, 192], &[b"t", b"", handle], Err(BadMessage::Name(2))),
        ("names in longer buffers", &[400, 40, 8, 192], &[b"t", b"c", handle], Ok(())),
    ];
    for (name, lengths, buffers, want) in cases {
        let lengths = [&[184], lengths].concat();
        let mut bytes = vec![0; 1000];
        let mut message = MessageMut::new_in(ByteOrder::Little, &mut bytes, &lengths).unwrap();
        for (index, buffer) in buffers.iter().enumerate() {
            message.fill(index + 1, buffer);
        }
        let got = ConnectRequest::read(&message.as_message());
        let summary = |request: ConnectRequest| {
            assert_eq!(
                (request.target.as_bytes(), request.client.as_bytes()),
                (&b"t"[..], &b"c"[..]),
                "{name}"
            );
            assert_eq!(request.handle, ExportCookie(7), "{name}");
        };
        assert_eq!(got.map(summary), want, "{name}");
    }
}

#[test]
fn a_name_of_39_bytes_is_refused_even_if_it_is_terminated() {
    let mut bytes = vec![0; 1000];
    let mut message = MessageMut::new(&mut bytes, &[184, 40, 39, 8, 192]).unwrap();
    message.fill(1, &[b'x'; 39]);
    assert_eq!(ConnectRequest::read(&message.as_message()), Err(BadMessage::Name(1)));
}

#[test]
fn a_reply_without_data_is_refused_and_one_with_more_is_read() {
    let mut bytes = [0; ConnectReply::MAX_LEN];
    let message = MessageMut::new(&mut bytes, &[184]).unwrap();
    assert_eq!(ConnectReply::read(&message.as_message()), Err(BadMessage::Missing(1)));

    let mut message = MessageMut::new(&mut bytes, &[184, 320]).unwrap();
    message.fill(1, &[&sample().data.encode()[..], &[0xee; 128]].concat());
    assert_eq!(ConnectReply::read(&message.as_message()), Ok(ConnectReply { data: sample().data }));
}

#[test]
fn the_memory_must_be_large_enough() {
    let error = |len: usize| sample().build(&mut vec![0; len], &body()).err();
    assert_eq!(error(519), Some(LayoutError::TooSmall { needed: 520, got: 519 }));
    assert_eq!(error(520), None);
}

fn names() -> impl Strategy<Value = Name> {
    prop::collection::vec(1_u8.., 0..39).prop_map(|text| Name::new(&text).unwrap())
}

proptest! {
    #[test]
    fn a_connect_request_is_read_in_either_byte_order(
        target in names(), client in names(), handle: u64, data in prop::collection::vec(any::<u8>(), 192),
    ) {
        let data = ConnectData::decode(&data, ByteOrder::Little);
        let request = ConnectRequest { target, client, handle: ExportCookie(handle), data };
        let reply = ConnectReply { data };
        for order in ORDERS {
            let mut bytes = [0xee; ConnectRequest::LEN];
            request.build_in(order, &mut bytes, &body()).unwrap();
            let message = Message::parse(&bytes).unwrap();
            prop_assert_eq!(message.order(), order);
            prop_assert_eq!(message.body(), Ok(body()));
            prop_assert_eq!(ConnectRequest::read(&message), Ok(request));

            let mut bytes = [0xee; ConnectReply::LEN];
            reply.build_in(order, &mut bytes, &Body::reply_to(&body())).unwrap();
            let message = Message::parse(&bytes).unwrap();
            prop_assert_eq!(message.order(), order);
            prop_assert_eq!(message.body(), Ok(Body::reply_to(&body())));
            prop_assert_eq!(ConnectReply::read(&message), Ok(reply));
        }
    }

    #[test]
    fn no_buffers_make_the_reader_panic(
        lengths in prop::collection::vec(0_u32..250, 0..8), order in prop::sample::select(&ORDERS[..]), byte: u8,
        rest in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        let lengths = [&[184][..], &lengths].concat();
        let mut bytes = vec![0; size_of_message(&lengths).unwrap()];
        MessageMut::new_in(order, &mut bytes, &lengths).unwrap();
        let buffers = bytes.len() - lengths.iter().map(|len| len.next_multiple_of(8) as usize).sum::<usize>();
        for (index, to) in bytes[buffers..].iter_mut().enumerate() {
            *to = rest.get(index).copied().unwrap_or(byte);
        }
        let message = Message::parse(&bytes).unwrap();
        let _ = (ConnectRequest::read(&message), ConnectReply::read(&message));
    }
}
