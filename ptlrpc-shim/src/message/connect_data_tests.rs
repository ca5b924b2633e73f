use super::*;
use proptest::prelude::*;

fn sample() -> ConnectData {
    ConnectData {
        flags: ConnectFlags(0x5152_5354_5556_5758_0102_0304_0506_0708),
        version: 0x1112_1314,
        grant: 0x1516_1718,
        index: 0x191a_1b1c,
        brw_size: 0x1d1e_1f20,
        ibits: 0x2122_2324_2526_2728,
        grant_blkbits: 0x29,
        inobits: 0x2a,
        tax_kb: 0x2b2c,
        max_blks: 0x2d2e_2f30,
        transno: 0x3132_3334_3536_3738,
        group: 0x393a_3b3c,
        cksum_types: 0x3d3e_3f40,
        max_easize: 0x4142_4344,
        instance: 0x4546_4748,
        maxbytes: 0x494a_4b4c_4d4e_4f50,
        maxmodrpcs: 0x5960,
    }
}

#[test]
fn every_field_has_the_offset_of_the_table() {
    let big = sample().encode_in(ByteOrder::Big);
    for (offset, want) in [
        (0, &[1, 2, 3, 4, 5, 6, 7, 8][..]),
        (8, &[0x11, 0x12, 0x13, 0x14]),
        (12, &[0x15, 0x16, 0x17, 0x18]),
        (16, &[0x19, 0x1a, 0x1b, 0x1c]),
        (20, &[0x1d, 0x1e, 0x1f, 0x20]),
        (24, &[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]),
        (32, &[0x29]),
        (33, &[0x2a]),
        (34, &[0x2b, 0x2c]),
        (36, &[0x2d, 0x2e, 0x2f, 0x30]),
        (40, &[0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38]),
        (48, &[0x39, 0x3a, 0x3b, 0x3c]),
        (52, &[0x3d, 0x3e, 0x3f, 0x40]),
        (56, &[0x41, 0x42, 0x43, 0x44]),
        (60, &[0x45, 0x46, 0x47, 0x48]),
        (64, &[0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50]),
        (72, &[0x59, 0x60]),
        (74, &[0; 6]),
        (80, &[0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58]),
        (88, &[0; 104]),
    ] {
        assert_eq!(&big[offset..offset + want.len()], want, "at {offset}");
    }
    assert_eq!(ConnectData::decode(&big, ByteOrder::Big), sample());
}

#[test]
fn connect_data_of_another_version_is_read_as_far_as_it_is_known() {
    let bytes = sample().encode();
    let none = ConnectData::default();
    let with_flags = ConnectData { flags: ConnectFlags(0x0102_0304_0506_0708), ..none };
    // 72 bytes: without `maxmodrpcs` and the second word of flags.
    let old = ConnectData { flags: with_flags.flags, maxmodrpcs: 0, ..sample() };
    for (len, want) in [
        (0, none),
        (7, none),
        (8, with_flags),
        (11, with_flags),
        (12, ConnectData { version: 0x1112_1314, ..with_flags }),
        (72, old),
        (73, old),
        (74, ConnectData { maxmodrpcs: 0x5960, ..old }),
        (87, ConnectData { maxmodrpcs: 0x5960, ..old }),
        (88, sample()),
        (192, sample()),
    ] {
        assert_eq!(ConnectData::decode(&bytes[..len], ByteOrder::NATIVE), want, "{len} bytes");
    }
    let longer = [&bytes[..], &[0xee; 128]].concat();
    assert_eq!(ConnectData::decode(&longer, ByteOrder::NATIVE), sample());
}

#[test]
fn a_server_may_grant_only_requested_flags() {
    use ConnectFlags as F;
    let requested = F::VERSION | F::AT | F::REP_MBITS;
    for (name, given, may) in [
        ("nothing", F::NONE, true),
        ("some", F::VERSION, true),
        ("all", requested, true),
        ("the second word's own flag, and nothing in it", F::FLAGS2, true),
        ("another", F::VERSION | F::PINGLESS, false),
        ("another of the second word", requested | F(1 << 64), false),
        ("one without a name", F(1 << 40 | 1), false),
    ] {
        assert_eq!(given.is_subset_of(requested), may, "{name}");
    }
}

#[test]
fn a_flag_of_the_second_word_is_valid_only_with_flags2() {
    let second = ConnectFlags(0x10_0000 << 64);
    assert!(!second.contains(ConnectFlags::REP_MBITS));
    assert!((second | ConnectFlags::FLAGS2).contains(ConnectFlags::REP_MBITS));
    let data = ConnectData { flags: ConnectFlags::REP_MBITS, ..ConnectData::default() };
    let bytes = data.encode_in(ByteOrder::Little);
    assert_eq!((bytes[7], bytes[82]), (0x80, 0x10));
}

proptest! {
    #[test]
    fn connect_data_is_encoded_and_decoded_in_either_byte_order(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let data = ConnectData::decode(&bytes, order);
            for order in [ByteOrder::Little, ByteOrder::Big] {
                prop_assert_eq!(ConnectData::decode(&data.encode_in(order), order), data);
            }
        }
    }
}
