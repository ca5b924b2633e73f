#![allow(clippy::unwrap_used)]
use super::*;
use crate::message::{LayoutError, MessageMut};
use proptest::prelude::*;
use proptest::sample::select;

/// Bytes that begin with a header of these lengths, valid or not.
fn raw(order: ByteOrder, lengths: &[u32], len: usize) -> Vec<u8> {
    let mut bytes = vec![0; (FIXED_LEN + 4 * lengths.len()).max(len)];
    order.put_u32(&mut bytes, AT_COUNT, lengths.len() as u32);
    order.put_u32(&mut bytes, AT_MAGIC, MAGIC);
    for (index, length) in lengths.iter().enumerate() {
        order.put_u32(&mut bytes, FIXED_LEN + 4 * index, *length);
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn sizes_are_those_of_the_specification() {
    for (name, lengths, want) in [
        ("body only", &[184][..], Some(224)),
        ("body of version 2", &[152], Some(192)),
        ("connect request", &[184, 39, 39, 8, 192, 0], Some(520)),
        ("connect reply", &[184, 192], Some(416)),
        ("the longest connect reply", &[184, 320], Some(544)),
        ("empty buffers", &[0, 0, 0], Some(48)),
        ("one byte", &[1], Some(48)),
        ("no buffer", &[], None),
        ("32 buffers", &[0; 32], Some(160)),
        ("33 buffers", &[0; 33], None),
        ("as long as LNet carries", &[184, (1 << 20) - 224], Some(1 << 20)),
        ("longer by one byte", &[184, (1 << 20) - 223], None),
        ("longer by one buffer", &[(1 << 20) - 48, 8, 1], None),
        ("beyond 32 bits", &[u32::MAX, u32::MAX, u32::MAX], None),
    ] {
        assert_eq!(size_of_message(lengths), want, "{name}");
    }
    assert_eq!(BODY_ONLY_LEN, 224);
}

#[test]
fn the_magic_tells_the_byte_order_of_header_and_lengths() {
    for (order, magic) in
        [(ByteOrder::Little, [0xd3, 0x0b, 0xd0, 0x0b]), (ByteOrder::Big, [0x0b, 0xd0, 0x0b, 0xd3])]
    {
        let mut bytes = raw(order, &[3, 9, 0], 80);
        assert_eq!(bytes[AT_MAGIC..AT_MAGIC + 4], magic, "{order:?}");
        order.put_u32(&mut bytes, AT_REPSIZE, 0x0102_0304);
        order.put_u32(&mut bytes, AT_CKSUM, 0x0506_0708);
        order.put_u32(&mut bytes, AT_FLAGS, 0x8000_0001);
        bytes[48..51].copy_from_slice(b"abc");
        bytes[56..65].copy_from_slice(b"defghijkl");
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.order(), order);
        assert_eq!((message.repsize(), message.cksum()), (0x0102_0304, 0x0506_0708), "{order:?}");
        assert_eq!(message.flags(), MessageFlags(0x8000_0001), "{order:?}");
        assert!(message.flags().contains(MessageFlags::AT_SUPPORT), "{order:?}");
        let buffers = [0, 1, 2, 3, usize::MAX].map(|index| message.buffer(index));
        assert_eq!(buffers, [Some(&b"abc"[..]), Some(b"defghijkl"), Some(b""), None, None], "{order:?}");
        assert_eq!((message.buffer_count(), message.as_bytes().len()), (3, 72), "{order:?}");
    }
}

#[test]
fn invalid_headers_are_refused() {
    use BadMessage as E;
    let order = ByteOrder::NATIVE;
    let edit = |offset, value| {
        let mut bytes = raw(order, &[184], 224);
        order.put_u32(&mut bytes, offset, value);
        bytes
    };
    for (name, bytes, want) in [
        ("nothing", vec![], E::TooShort(0)),
        ("one byte too few for a header", raw(order, &[], 31), E::TooShort(31)),
        ("magic", edit(AT_MAGIC, 0x0bd0_0bd2), E::Magic(0x0bd0_0bd2)),
        ("security flavour", edit(AT_FLAVOR, 0x11), E::Flavor(0x11)),
        ("no buffer", edit(AT_COUNT, 0), E::BufferCount(0)),
        ("33 buffers", raw(order, &[0; 33], 500), E::BufferCount(33)),
        ("very many buffers", edit(AT_COUNT, u32::MAX), E::BufferCount(u32::MAX)),
        ("lengths missing", raw(order, &[0, 0, 0], 44), E::Truncated { needed: 48, got: 44 }),
        ("padding of the header missing", raw(order, &[0], 36), E::Truncated { needed: 40, got: 36 }),
        ("last byte missing", raw(order, &[184], 223), E::Truncated { needed: 224, got: 223 }),
        ("padding missing", raw(order, &[184, 1], 225), E::Truncated { needed: 232, got: 225 }),
        ("long buffer", edit(FIXED_LEN, 1 << 20), E::BufferLength { index: 0, length: 1 << 20 }),
        ("length all ones", edit(FIXED_LEN, u32::MAX), E::BufferLength { index: 0, length: u32::MAX }),
        (
            "lengths whose sum overflows 32 bits",
            raw(order, &[8, 0xffff_fff8, 8], 100),
            E::BufferLength { index: 1, length: 0xffff_fff8 },
        ),
    ] {
        assert_eq!(Message::parse(&bytes).map(|message| message.as_bytes().len()), Err(want), "{name}");
        assert_eq!(want.errno(), Errno::Protocol, "{name}");
    }
}

#[test]
fn bytes_behind_a_message_are_ignored() {
    let bytes = raw(ByteOrder::NATIVE, &[184], 224 + 77);
    assert_eq!(Message::parse(&bytes).unwrap().as_bytes(), &bytes[..224]);
}

/// The rules of PR-1 and PR-2, one after the other, with numbers that cannot overflow.
fn naive(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let words: Vec<[u8; 4]> = bytes.chunks_exact(4).map(|word| word.try_into().unwrap()).collect();
    if bytes.len() < 32 {
        return None;
    }
    let read: fn([u8; 4]) -> u32 = match words[2] {
        [0xd3, 0x0b, 0xd0, 0x0b] => u32::from_le_bytes,
        [0x0b, 0xd0, 0x0b, 0xd3] => u32::from_be_bytes,
        _ => return None,
    };
    let count = read(words[0]) as usize;
    if read(words[1]) != 0 || count == 0 || count > 32 {
        return None;
    }
    let mut at = 32 + 4 * count as u128;
    while !at.is_multiple_of(8) {
        at += 1;
    }
    if at > bytes.len() as u128 {
        return None;
    }
    let mut starts = Vec::new();
    for word in &words[8..8 + count] {
        let length = u128::from(read(*word));
        starts.push((at, length));
        at += length;
        while !at.is_multiple_of(8) {
            at += 1;
        }
    }
    let slice = |(start, length): (u128, u128)| bytes[start as usize..(start + length) as usize].to_vec();
    (at <= bytes.len() as u128 && at <= 1 << 20).then(|| starts.into_iter().map(slice).collect())
}

fn orders() -> impl Strategy<Value = ByteOrder> {
    select(vec![ByteOrder::Little, ByteOrder::Big])
}

fn any_lengths() -> impl Strategy<Value = Vec<u32>> {
    let length = prop_oneof![8 => 0_u32..50, 1 => 0_u32..(1 << 21), 1 => any::<u32>()];
    prop::collection::vec(length, 0..36)
}

/// The beginning of a message, with any bytes behind it.
fn nearly_messages() -> impl Strategy<Value = Vec<u8>> {
    let few = prop::collection::vec(0_u32..50, 1..8);
    (orders(), prop_oneof![2 => few, 1 => any_lengths()], prop::collection::vec(any::<u8>(), 0..500))
        .prop_map(|(order, lengths, rest)| {
            [raw(order, &lengths, FIXED_LEN + 4 * lengths.len()), rest].concat()
        })
}

proptest! {
    #[test]
    fn messages_are_read_by_the_rules_of_the_specification(mut bytes in nearly_messages(), changed: (u16, u8), cut in 0_usize..600) {
        if changed.0 < 40 {
            bytes[usize::from(changed.0) % 32] = changed.1;
        }
        bytes.truncate(cut.max(30));
        let got = Message::parse(&bytes).ok().map(|message| {
            (0..message.buffer_count()).map(|index| message.buffer(index).unwrap().to_vec()).collect::<Vec<_>>()
        });
        prop_assert_eq!(got, naive(&bytes));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), nearly in nearly_messages()) {
        for bytes in [bytes, nearly] {
            let Ok(message) = Message::parse(&bytes) else { continue };
            for index in 0..40 {
                prop_assert_eq!(message.buffer(index).is_some(), index < message.buffer_count());
            }
            let _ = message.body();
        }
    }

    #[test]
    fn sizes_are_sums_of_padded_lengths(lengths in any_lengths()) {
        let padded = |bytes: u128| bytes.div_ceil(8) * 8;
        let sum = padded(32 + 4 * lengths.len() as u128)
            + lengths.iter().map(|length| padded(u128::from(*length))).sum::<u128>();
        let possible = (1..=32).contains(&lengths.len()) && sum <= 1 << 20;
        prop_assert_eq!(size_of_message(&lengths).map(|size| size as u128), possible.then_some(sum));
    }

    #[test]
    fn a_written_message_is_read_back(
        order in orders(), mut lengths in prop::collection::vec(0_u32..200, 1..33),
        words: (u32, u32, u32), before: u8,
    ) {
        lengths[0] = lengths[0].max(152);
        let size = size_of_message(&lengths).unwrap();
        let mut bytes = vec![before; size + 16];
        let mut message = MessageMut::new_in(order, &mut bytes, &lengths).unwrap();
        message.set_repsize(words.0);
        message.set_cksum(words.1);
        message.set_flags(MessageFlags(words.2));
        for index in 0..lengths.len() {
            message.buffer_mut(index).unwrap().fill(index as u8);
        }
        prop_assert!(message.buffer_mut(lengths.len()).is_none());
        prop_assert!(bytes[size..].iter().all(|byte| *byte == before));
        let message = Message::parse(&bytes).unwrap();
        prop_assert_eq!(message.order(), order);
        prop_assert_eq!((message.repsize(), message.cksum(), message.flags().0), words);
        prop_assert_eq!(message.as_bytes().len(), size);
        for (index, length) in lengths.iter().enumerate() {
            prop_assert_eq!(message.buffer(index).unwrap(), &vec![index as u8; *length as usize][..]);
        }
    }

    #[test]
    fn a_message_can_be_written_exactly_if_it_has_a_size_and_a_body(lengths in any_lengths(), len in 0_usize..(1 << 21)) {
        let mut bytes = vec![0; len];
        let got = MessageMut::new(&mut bytes, &lengths).map(|message| message.as_message().as_bytes().len());
        match size_of_message(&lengths).filter(|_| lengths[0] >= 152) {
            Some(needed) if needed > len => prop_assert_eq!(got, Err(LayoutError::TooSmall { needed, got: len })),
            Some(size) => prop_assert_eq!(got, Ok(size)),
            None => prop_assert!(got.is_err()),
        }
    }
}
