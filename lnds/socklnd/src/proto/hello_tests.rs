//! Tests of HELLOs.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use lnet_wire::{NetId, NetType};
use proptest::prelude::*;

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

fn sample(version: Version) -> Hello {
    Hello {
        version,
        src_nid: nid(0x0a00_0001),
        dest_nid: (version != Version::V1).then(|| nid(0x0a00_0002)),
        src_pid: Pid::LUSTRE,
        dest_pid: Pid(0),
        src_incarnation: 0x1700_0000_0000_0001,
        dest_incarnation: 0,
        connection_type: Some(ConnectionType::Control),
        ips: Vec::new(),
    }
}

fn done(bytes: &[u8]) -> Hello {
    match Hello::decode(bytes).unwrap() {
        Decoded::Done { hello, len, .. } => {
            assert_eq!(len, bytes.len());
            hello
        }
        Decoded::Need(n) => panic!("needs {n}"),
    }
}

#[test]
fn a_hello_has_the_bytes_of_the_worked_example() {
    let want = "63697245030000000100000a000002000200000a00000200393000000000000001000000000000170000000000000000\
                0100000000000000";
    let hex: String = sample(Version::V3).encode().unwrap().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, want.replace(' ', ""));
}

#[test]
fn lengths_are_those_of_the_tables() {
    for (version, len) in [(Version::V1, 72), (Version::V2, 56), (Version::V3, 56), (Version::V4, 80)] {
        let bytes = sample(version).encode().unwrap();
        assert_eq!(bytes.len(), len);
        assert_eq!(done(&bytes), sample(version));
        for short in 0..len {
            match Hello::decode(&bytes[..short]).unwrap() {
                Decoded::Need(n) => assert!(n > short && n <= len),
                Decoded::Done { .. } => panic!("done with {short} bytes of {len}"),
            }
        }
    }
}

#[test]
fn a_list_of_ips_comes_behind_versions_1_to_3() {
    for version in [Version::V1, Version::V2, Version::V3] {
        let hello = Hello { ips: vec![0x0a00_0001, 0x0a00_0002], ..sample(version) };
        let bytes = hello.encode().unwrap();
        assert_eq!(done(&bytes), hello);
        assert_eq!(Hello::decode(&bytes[..bytes.len() - 1]).unwrap(), Decoded::Need(bytes.len()));
    }
}

#[test]
fn every_integer_of_a_big_endian_hello_is_swapped_also_the_nids() {
    let hello = Hello { ips: vec![0x0a00_0009], ..sample(Version::V3) };
    let little = hello.encode().unwrap();
    let mut big = little.clone();
    for (offset, size) in
        [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8), (40, 8), (48, 4), (52, 4), (56, 4)]
    {
        big[offset..offset + size].reverse();
    }
    match Hello::decode(&big).unwrap() {
        Decoded::Done { hello: got, order, .. } => {
            assert_eq!(order, ByteOrder::Big);
            assert_eq!(got, hello);
        }
        Decoded::Need(n) => panic!("needs {n}"),
    }
}

#[test]
fn invalid_hellos_are_rejected() {
    let edit = |version, offset: usize, with: &[u8]| {
        let mut bytes = sample(version).encode().unwrap();
        bytes[offset..offset + with.len()].copy_from_slice(with);
        Hello::decode(&bytes)
    };
    use HelloError as E;
    let v3 = Version::V3;
    for (name, got, want) in [
        ("magic", edit(v3, 0, &[0; 4]), E::BadMagic(0)),
        ("version 99", edit(v3, 4, &[99, 0, 0, 0]), E::UnknownVersion(99)),
        ("version 1 with the new magic", edit(v3, 4, &[1, 0, 0, 0]), E::UnknownVersion(1)),
        ("version 1 minor 1", edit(Version::V1, 6, &[1, 0]), E::UnknownVersion(0x10001)),
        ("version 1 type PUT", edit(Version::V1, 24, &[1, 0, 0, 0]), E::NotHello(1)),
        ("version 1 odd list", edit(Version::V1, 28, &[7, 0, 0, 0]), E::BadIpList(7)),
        ("version 1 long list", edit(Version::V1, 28, &[68, 0, 0, 0]), E::BadIpList(68)),
        ("source any", edit(v3, 8, &[0xff; 8]), E::SourceNotConcrete),
        ("source any in version 4", edit(Version::V4, 8, &[0, 0xff]), E::SourceNotConcrete),
        ("type 7", edit(v3, 48, &[7, 0, 0, 0]), E::UnknownType(7)),
        ("17 addresses", edit(v3, 52, &[17, 0, 0, 0]), E::BadIpList(68)),
        ("very many addresses", edit(v3, 52, &[0xff; 4]), E::BadIpList(4 * 0xffff_ffff)),
    ] {
        assert_eq!(got, Err(want), "{name}");
    }
    let zero = Hello { ips: vec![0], ..sample(v3) }.encode().unwrap();
    assert_eq!(Hello::decode(&zero), Err(E::ZeroIp));
}

#[test]
fn version_4_has_no_list_whatever_its_count_says() {
    let mut bytes = sample(Version::V4).encode().unwrap();
    bytes[76] = 9;
    assert_eq!(done(&bytes), sample(Version::V4));
}

#[test]
fn the_type_none_is_all_ones() {
    let bytes = Hello { connection_type: None, ..sample(Version::V3) }.encode().unwrap();
    assert_eq!(bytes[48..52], [0xff; 4]);
    assert_eq!(done(&bytes).connection_type, None);
}

#[test]
fn types_mirror() {
    use ConnectionType::{Any, BulkIn, BulkOut, Control};
    for (mine, yours) in [(Any, Any), (Control, Control), (BulkIn, BulkOut), (BulkOut, BulkIn)] {
        assert_eq!(mine.mirror(), yours);
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_or_ask_for_more_than_the_longest_hello(
        start in prop::sample::select(vec![[0x63, 0x69, 0x72, 0x45], [0x45, 0x72, 0x69, 0x63], [0xed, 0x0d, 0xbc, 0xee]]),
        version in 0_u8..6, rest in prop::collection::vec(any::<u8>(), 0..150),
    ) {
        let bytes = [&start[..], &[version, 0, 0, 0], &rest].concat();
        if let Ok(Decoded::Need(n)) = Hello::decode(&bytes) {
            prop_assert!(n > bytes.len() && n <= MAX_LEN);
        }
        let _ = Hello::decode(&rest);
    }

    #[test]
    fn a_hello_survives_encoding_and_decoding(
        version in prop::sample::select(vec![Version::V1, Version::V2, Version::V3, Version::V4]),
        src: u64, dest: u64, pids: (u32, u32), incarnations: (u64, u64), kind in 0_u32..5,
        ips in prop::collection::vec(1_u32.., 0..17),
    ) {
        let v1 = version == Version::V1;
        let v4 = version == Version::V4;
        // Twenty-byte NIDs have eight bits of net type.
        let net_mask = if v4 { 0x00ff_ffff_ffff_ffff } else { u64::MAX };
        prop_assume!(Nid::from_u64(src & net_mask).is_some_and(|nid| nid.net().kind().0 != 0xff));
        let dest = Nid::from_u64(dest & net_mask).filter(|nid| nid.net().kind().0 != 0xff);
        let hello = Hello {
            version,
            src_nid: Nid::from_u64(src & net_mask).unwrap(),
            dest_nid: if v1 { None } else { dest },
            src_pid: Pid(pids.0),
            dest_pid: Pid(if v1 { 0 } else { pids.1 }),
            src_incarnation: incarnations.0,
            dest_incarnation: if v1 { 0 } else { incarnations.1 },
            connection_type: ConnectionType::from_number(kind),
            ips: if v4 { Vec::new() } else { ips },
        };
        prop_assert_eq!(done(&hello.encode().unwrap()), hello);
    }
}
