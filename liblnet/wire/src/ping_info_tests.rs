#![allow(clippy::unwrap_used)]
use super::*;
use crate::nid_text::tests::any_nid;
use proptest::prelude::*;

/// The default of `lnet_interfaces_max`.
const MAX: u32 = 200;

fn info(features: u32, entries: &[(&str, NiStatus)]) -> PingInfo {
    let entry = |(nid, status): &(&str, NiStatus)| PingEntry { nid: nid.parse().unwrap(), status: *status };
    PingInfo {
        features: Features(features),
        pid: Pid::LUSTRE,
        sequence: 7,
        entries: entries.iter().map(entry).collect(),
    }
}

/// Returns the block as a big-endian node would write it.
fn swapped(info: &PingInfo) -> Vec<u8> {
    let mut bytes = info.encode();
    let shorts = 1 + info.entries.iter().filter(|e| e.nid.to_u64().is_some()).count();
    bytes[..16].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    for entry in bytes[16..16 + 16 * shorts].chunks_exact_mut(16) {
        entry[..8].reverse();
        entry[8..12].reverse();
        entry[12..].reverse();
    }
    bytes[16 + 16 * shorts..].chunks_exact_mut(24).for_each(|entry| entry[..4].reverse());
    bytes
}

#[test]
fn the_length_of_a_ping_info_follows_from_its_entries() {
    let up = NiStatus::Up;
    for (entries, len) in [
        (vec![], 32),
        (vec![("10.0.0.1@tcp", up)], 48),
        (vec![("10.0.0.1@tcp", up), ("10.0.0.2@tcp", up)], 64),
        (vec![("fd99::1@tcp", up)], 56),
        (vec![("10.0.0.1@tcp", up), ("fd99::1@tcp", up)], 72),
    ] {
        let info = info(0x1e, &entries);
        assert_eq!(info.encoded_len(), len);
        assert_eq!(info.encode().len(), len);
    }
    assert_eq!([16, 17, 200].map(ping_buffer_len), [272, 288, 3216]);
}

#[test]
fn feature_bits_of_long_addresses_follow_the_entries() {
    let up = NiStatus::Up;
    for (entries, features) in [
        (vec![("10.0.0.1@tcp", up)], 0x1e),
        (vec![("10.0.0.1@tcp", up), ("fd99::1@tcp", up)], 0x3e),
        (vec![("fd99::1@tcp", up), ("10.0.0.1@tcp", up)], 0x7e),
    ] {
        for given in [0x1e, 0xfe] {
            let back = PingInfo::decode(&info(given, &entries).encode(), MAX).unwrap().info;
            assert_eq!(back.features, Features(features));
            assert_eq!(back.entries[0].nid.to_string(), entries[0].0, "the primary stays first");
        }
    }
}

#[test]
fn an_invalid_ping_info_is_rejected() {
    use PingInfoError::*;
    let good = info(0x3e, &[("10.0.0.1@tcp", NiStatus::Up), ("fd99::1@tcp", NiStatus::Down)]).encode();
    let with = |at: usize, value: u32| {
        let mut bytes = good.clone();
        put_u32(&mut bytes, at, value);
        bytes
    };
    let mut any = good.clone();
    any[32..40].fill(0xff);
    let mut long_any = good.clone();
    long_any[53] = 0xff;
    for (what, bytes, error) in [
        ("empty", vec![], TooShort(0)),
        ("no first entry", good[..31].to_vec(), TooShort(31)),
        ("magic", with(0, 1), BadMagic(1)),
        ("no status", with(4, 0x3c), NoStatus(0x3c)),
        ("no entries", with(12, 0), NoEntries),
        ("more entries than the size has room for", with(12, 5), BadSize(72)),
        ("first entry", with(16, 1), NoLoopback(0x0009_0000_0000_0001)),
        ("size below the entries", with(28, 44), BadSize(44)),
        ("wildcard", any, NotANid(1)),
        ("long wildcard", long_any, NotANid(2)),
    ] {
        assert_eq!(PingInfo::decode(&bytes, MAX), Err(error), "{what}");
    }
    assert!(PingInfo::decode(&good, MAX).is_ok());
}

#[test]
fn a_truncated_ping_info_gives_its_whole_entries_and_the_claimed_length() {
    let whole = info(
        0x3e,
        &[("10.0.0.1@tcp", NiStatus::Up), ("10.0.0.2@tcp", NiStatus::Down), ("fd99::1@tcp", NiStatus::Up)],
    );
    let bytes = whole.encode();
    for (len, entries) in [(32, 0), (47, 0), (48, 1), (63, 1), (64, 2), (87, 2), (88, 3)] {
        let got = PingInfo::decode(&bytes[..len], MAX).unwrap();
        assert_eq!(got.info.entries, whole.entries[..entries], "{len}");
        assert_eq!(got.truncated, len < 88);
        assert_eq!((got.claimed_count, got.claimed_len), (3, 88));
    }
}

/// Fails if other interfaces than the first are kept of a node with more than the maximum, or none; if a receiver asks for
/// more bytes than those need; or if the number of ignored ones is wrong.
#[test]
fn of_a_long_ping_info_the_first_interfaces_are_kept_and_the_others_counted() {
    let table = [
        ((0, 200), false, 200, 16 + 16 * 201, 0),
        ((0, 201), false, 200, 16 + 16 * 201, 1),
        ((0, 5000), false, 200, 16 + 16 * 201, 4800),
        ((3, 199), false, 200, 16 + 16 * 200 + 24, 2),
        ((3, 200), false, 200, 16 + 16 * 201, 3),
        ((3, 200), true, 200, 16 + 16 * 201 + 24, 3),
        ((300, 0), true, 200, 16 + 16 + 24 * 200, 100),
        ((300, 10), true, 200, 16 + 16 * 11 + 24 * 190, 110),
        // The primary one stands behind more than is read.
        ((1, 5000), true, 200, 16 + 16 * 201, 4801),
    ];
    kept_and_counted(MAX, &table);
    let table = [
        ((0, 1000), false, 1000, 16 + 16 * 1001, 0),
        ((1000, 0), true, 1000, 16 + 16 + 24 * 1000, 0),
        ((500, 500), true, 1000, 16 + 16 * 501 + 24 * 500, 0),
        ((0, 4096), false, 4096, 16 + 16 * 4097, 0),
        ((4096, 1), false, 4096, 16 + 16 * 2 + 24 * 4095, 1),
        ((4096, 4096), true, 4096, 16 + 16 * 4097 + 24, 4096),
        ((0, 65_000), false, 4096, 16 + 16 * 4097, 60_904),
    ];
    kept_and_counted(4096, &table);
}

/// The long and the short entries of a block, whether a long one is the primary; how many are kept; of how many bytes, and which are
/// ignored.
type Kept = ((usize, usize), bool, usize, usize, u32);

fn kept_and_counted(max: u32, table: &[Kept]) {
    let nid = |long: bool, number: usize| match long {
        false => format!("10.{}.{}.{}@tcp", number / 62_500, number / 250 % 250, number % 250 + 1),
        true => format!("fd99::{:x}@tcp", number + 1),
    };
    for ((longs, shorts), long_is_primary, kept, len, ignored) in table.iter().copied() {
        let row = format!("{longs} long, {shorts} short, {long_is_primary}");
        let mut nids: Vec<String> = (0..shorts).map(|number| nid(false, number)).collect();
        let at = if long_is_primary { 0 } else { nids.len() };
        nids.splice(at..at, (0..longs).map(|number| nid(true, number)));
        let entries: Vec<_> = nids.iter().map(|nid| (nid.as_str(), NiStatus::Up)).collect();
        let whole = info(0x1e, &entries);
        for bytes in [whole.encode(), swapped(&whole)] {
            let got = PingInfo::decode(&bytes, max).unwrap();
            assert_eq!((got.info.entries.len(), got.claimed_len, got.ignored), (kept, len, ignored), "{row}");
            assert!(!got.truncated, "{row}");
            let all = PingInfo::decode(&bytes, u32::MAX).unwrap().info.entries;
            let is_primary_lost = long_is_primary && (longs, shorts) == (1, 5000);
            let first = usize::from(is_primary_lost);
            assert_eq!(got.info.entries, all[first..first + kept], "{row}");
            // That number of bytes suffices to keep the same interfaces; with one less an interface is missing.
            let cut = PingInfo::decode(&bytes[..len], max).unwrap();
            assert_eq!((cut.info.entries, cut.truncated), (got.info.entries, false), "{row}");
            assert!(PingInfo::decode(&bytes[..len - 1], max).unwrap().truncated, "{row}");
        }
    }
}

#[test]
fn bytes_after_the_ping_info_are_ignored() {
    let whole = info(0x1e, &[("10.0.0.1@tcp", NiStatus::Up)]);
    let mut bytes = whole.encode();
    bytes.extend([0xa5; 100]);
    let got = PingInfo::decode(&bytes, MAX).unwrap();
    assert_eq!((got.info, got.truncated), (whole, false));
}

#[test]
fn further_loopback_entries_and_long_entries_of_unknown_size_are_left_out() {
    let mut bytes = info(0x3e, &[("0@lo", NiStatus::Up), ("fd99::1@tcp", NiStatus::Up)]).encode();
    let end = bytes.len();
    // 4 of status, then a NID of 8 + 5 bytes, then 3 to the next multiple of 4.
    bytes.extend([0; 20]);
    bytes[end + 4] = 5;
    bytes[end + 5] = 2;
    bytes.extend_from_within(end - 24..end);
    let len = bytes.len() as u32;
    put_u32(&mut bytes, LARGE_SIZE_OFFSET, len);
    let got = PingInfo::decode(&bytes, MAX).unwrap();
    let nids: Vec<_> = got.info.entries.iter().map(|entry| entry.nid.to_string()).collect();
    assert_eq!(nids, ["fd99::1@tcp", "fd99::1@tcp"]);
    assert!(!got.truncated);
}

fn any_info() -> impl Strategy<Value = PingInfo> {
    let status =
        prop_oneof![Just(NiStatus::Up), Just(NiStatus::Down), any::<u32>().prop_map(NiStatus::from_u32)];
    let entry = (any_nid(), status).prop_map(|(nid, status)| PingEntry { nid, status });
    let entries = prop::collection::vec(entry, 0..12);
    (any::<u32>(), any::<u32>(), any::<u32>(), entries).prop_map(|(features, pid, sequence, entries)| {
        PingInfo {
            features: Features(features) | Features::NI_STATUS,
            pid: Pid(pid),
            sequence,
            entries: entries.into_iter().filter(|entry| !entry.nid.is_loopback()).collect(),
        }
    })
}

proptest! {
    #[test]
    fn a_ping_info_round_trips_with_its_primary_nid_first_in_either_byte_order(info in any_info()) {
        let bytes = info.encode();
        prop_assert_eq!(bytes.len(), info.encoded_len());
        let got = PingInfo::decode(&bytes, MAX).unwrap();
        prop_assert_eq!(&PingInfo::decode(&swapped(&info), MAX).unwrap(), &got);
        prop_assert!(!got.truncated);
        prop_assert_eq!(got.claimed_len, bytes.len());
        prop_assert_eq!((got.info.pid, got.info.sequence), (info.pid, info.sequence));
        let mut expected = info.entries.clone();
        let from = 1.min(expected.len());
        expected[from..].sort_by_key(|entry| entry.nid.to_u64().is_none());
        prop_assert_eq!(&got.info.entries, &expected);
        prop_assert_eq!(got.info.encode(), bytes);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = PingInfo::decode(&bytes, MAX);
    }

    #[test]
    fn no_corrupted_ping_info_makes_the_reader_panic_or_exceed_the_limit(
        info in any_info(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = info.encode();
        for (at, value) in damage {
            *at.get_mut(&mut bytes) = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(got) = PingInfo::decode(&bytes, 12) {
            prop_assert!(got.info.entries.len() <= 12);
            prop_assert!(got.claimed_len <= max_kept_len(12));
            prop_assert!(got.info.entries.len() * 12 <= bytes.len());
        }
    }
}
