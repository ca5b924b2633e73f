#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

#[test]
fn nids_convert_as_recorded_from_the_reference_library() {
    for (text, value, back) in [
        ("10.0.0.1@tcp", 0x0002_0000_0a00_0001, "10.0.0.1@tcp"),
        ("10.0.0.1@tcp0", 0x0002_0000_0a00_0001, "10.0.0.1@tcp"),
        ("10.0.0.1", 0x0002_0000_0a00_0001, "10.0.0.1@tcp"),
        ("10.0.0.1@tcp1", 0x0002_0001_0a00_0001, "10.0.0.1@tcp1"),
        ("0@lo", 0x0009_0000_0000_0000, "0@lo"),
        ("junk@lo", 0x0009_0000_0000_0000, "0@lo"),
        ("0x10@gni2", 0x000d_0002_0000_0010, "16@gni2"),
        ("010@gni", 0x000d_0000_0000_000a, "10@gni"),
        (" 10.0.0.1@tcp", 0x0002_0000_0a00_0001, "10.0.0.1@tcp"),
        ("255.255.255.255@tcp", 0x0002_0000_ffff_ffff, "255.255.255.255@tcp"),
        ("10.0.0.2@o2ib3", 0x0005_0003_0a00_0002, "10.0.0.2@o2ib3"),
        ("10.0.0.1@tcp65535", 0x0002_ffff_0a00_0001, "10.0.0.1@tcp65535"),
        ("7@kfi", 0x0010_0000_0000_0007, "7@kfi"),
        ("10.0.0.1@efa1", 0x0012_0001_0a00_0001, "10.0.0.1@efa1"),
        ("7@bxi3f2", 0x0013_0002_0000_0007, "7@bxi3f2"),
        ("7@ptlf", 0x000f_0000_0000_0007, "7@ptlf"),
        ("10.0.0.1@gip", 0x000e_0000_0a00_0001, "10.0.0.1@gip"),
    ] {
        assert_eq!(nid(text).to_u64(), Some(value), "{text}");
        assert_eq!(nid(text).to_string(), back);
        assert_eq!(RawNid(value).to_string(), back);
    }
}

#[test]
fn texts_that_are_no_nid_are_refused_with_the_place() {
    use Problem::*;
    for (text, problem, at) in [
        ("300.1.1.1@tcp", OutOfBounds(0, 255), 0),
        ("10.0.1@tcp", NotIpv4, 0),
        ("10.0.0.0.1@tcp", NotIpv4, 0),
        ("10.0.x.1@tcp", NotIpv4, 5),
        ("10.0.0.1 @tcp", NotIpv4, 7),
        ("10.0.0.1@tcp ", NotANumber, 12),
        ("10.0.0.1@tcp1x", NotANumber, 12),
        ("@tcp", NotIpv4, 0),
        ("", Empty, 0),
        ("*@tcp", NotIpv4, 0),
        ("*", NotIpv4, 0),
        ("0@lo0", LoopbackNumber, 4),
        ("7@ptl", UnknownNetwork, 2),
        ("1@gnix", NotANumber, 5),
        ("a@b@tcp", UnknownNetwork, 2),
        ("10.0.0.1@tcp65536", OutOfBounds(0, 65535), 12),
        ("10.0.0.1@tcp0x1", NotANumber, 12),
        ("10.0.0.1@TCP", UnknownNetwork, 9),
        ("10.0.0.1@", UnknownNetwork, 9),
        (" 1.2.3@tcp", NotIpv4, 1),
        ("4294967296@gni", OutOfBounds(0, u32::MAX), 0),
        ("-1@gni", NotANumber, 0),
        ("fd99::g@tcp", NotIpv6, 0),
        ("fd99::1@o2ib", NotIpv4, 0),
    ] {
        assert_eq!(text.parse::<Nid>(), Err(TextError::new(problem, at)), "{text:?}");
    }
    let error = "10.0.0.1@tcp1x".parse::<Nid>().unwrap_err();
    assert_eq!(error.to_string(), "not a number at byte 12");
}

#[test]
fn nets_convert_as_recorded_from_the_reference_library() {
    for (text, value) in [
        ("tcp", 0x0002_0000),
        ("tcp5", 0x0002_0005),
        ("o2ib", 0x0005_0000),
        ("lo", 0x0009_0000),
        ("gni", 0x000d_0000),
    ] {
        let net: NetId = text.parse().unwrap();
        assert_eq!(net.to_u32(), value);
        assert_eq!(net.to_string(), text);
    }
    for text in ["lo0", "bogus", "TCP", "", "tcp ", " tcp", "tcp-1"] {
        assert!(text.parse::<NetId>().is_err(), "{text:?}");
    }
}

#[test]
fn networks_without_a_name_are_written_as_numbers() {
    assert_eq!(AnyNid(None).to_string(), "<?>");
    assert_eq!(RawNid(u64::MAX).to_string(), "<?>");
    assert_eq!(RawNid(0x004d_0003_0a00_0001).to_string(), "a000001@<77:3>");
    assert_eq!(Nid::from_u64(0x004d_0003_0a00_0001).unwrap().to_string(), "a000001@<77:3>");
    assert_eq!(RawNet(u32::MAX).to_string(), "<65535:65535>");
    assert_eq!(NetType(99).to_string(), "?99?");
}

#[test]
fn a_star_is_any_nid_only_where_any_is_allowed() {
    assert_eq!("*".parse(), Ok(AnyNid(None)));
    assert_eq!("10.0.0.1@tcp".parse(), Ok(AnyNid(Some(nid("10.0.0.1@tcp")))));
    assert!("*@tcp".parse::<AnyNid>().is_err());
}

#[test]
fn a_long_address_is_written_as_ipv6() {
    let long = nid("fd99::11@tcp");
    assert_eq!(long.address(), Address::Long([0xfd, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11]));
    assert_eq!(long.to_string(), "fd99::11@tcp");
    assert_eq!(nid(" FD99:0::0011@efa3").to_string(), "fd99::11@efa3");
}

#[test]
fn process_ids_have_the_pid_first() {
    let id = |pid, text| ProcessId { pid: Pid(pid), nid: nid(text) };
    for (text, id) in [
        ("12345-10.0.0.1@tcp", id(12345, "10.0.0.1@tcp")),
        ("U6-10.0.0.1@tcp", id(0x8000_0006, "10.0.0.1@tcp")),
        ("LNET_PID_ANY-0@lo", id(u32::MAX, "0@lo")),
    ] {
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse(), Ok(id));
    }
    for (text, problem, at) in [
        ("10.0.0.1@tcp", Problem::NoPid, 0),
        ("x-10.0.0.1@tcp", Problem::NotANumber, 0),
        ("U-10.0.0.1@tcp", Problem::NotANumber, 1),
        ("U2147483648-0@lo", Problem::OutOfBounds(0, 0x7fff_ffff), 1),
        ("12345-10.0.0@tcp", Problem::NotIpv4, 6),
    ] {
        assert_eq!(text.parse::<ProcessId>(), Err(TextError::new(problem, at)), "{text:?}");
    }
}

/// Generates NIDs that have a text.
pub(crate) fn any_nid() -> impl Strategy<Value = Nid> {
    let short = (0..crate::lnd_table::LNDS.len(), any::<u16>(), any::<u32>());
    let long = (any::<bool>(), any::<u16>(), any::<[u8; 16]>());
    prop_oneof![
        short.prop_map(|(kind, number, address)| {
            let kind = crate::lnd_table::LNDS[kind].net_type;
            if kind == NetType::LO { Nid::LOOPBACK } else { Nid::new(NetId::new(kind, number), address) }
        }),
        long.prop_map(|(efa, number, address)| {
            let kind = if efa { NetType::EFA } else { NetType::TCP };
            Nid::new_long(NetId::new(kind, number), address)
        }),
    ]
}

proptest! {
    #[test]
    fn a_nid_reads_back_from_its_text(nid in any_nid(), pid in any::<u32>()) {
        prop_assert_eq!(nid.to_string().parse(), Ok(nid));
        let id = ProcessId { nid, pid: Pid(pid) };
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn no_text_makes_the_readers_panic_and_errors_lie_within_it(text in "[ 0-9a-fx.:@*tcplougni\\-U\u{e9}]{0,24}") {
        if let Err(e) = text.parse::<Nid>() {
            prop_assert!(e.at <= text.len());
        }
        if let Err(e) = text.parse::<ProcessId>() {
            prop_assert!(e.at <= text.len());
        }
        if let Ok(nid) = text.parse::<Nid>() {
            prop_assert_eq!(nid.to_string().parse(), Ok(nid));
        }
    }

    #[test]
    fn every_32_and_64_bit_value_has_a_text(value in any::<u64>()) {
        prop_assert!(RawNid(value).to_string().len() < 32);
        prop_assert!(RawNet(value as u32).to_string().len() < 32);
    }
}
