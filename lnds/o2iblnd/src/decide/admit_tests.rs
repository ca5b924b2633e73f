use super::*;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn local() -> LocalNi {
    LocalNi { nid: nid("10.99.0.11@o2ib"), stamp: 7, depth: 8 }
}

const PLAIN: ConnParams = ConnParams { queue_depth: 8, max_fragments: 257, max_message_size: 4096 };

fn request(change: impl FnOnce(&mut Message<'_>)) -> Vec<u8> {
    let mut message = Message {
        version: Version::V2,
        credits: 0,
        src_nid: nid("10.99.0.12@o2ib"),
        src_stamp: 9,
        dst_nid: local().nid,
        dst_stamp: 0,
        body: Body::ConnReq(PLAIN),
    };
    change(&mut message);
    let mut bytes = vec![0; 56];
    message.encode(&mut bytes).unwrap();
    bytes
}

fn answer(private_data: &[u8]) -> Admission {
    admit(private_data, local(), |_| KnownPeer::default())
}

/// What a row of the specification's table says of a reject.
fn rejected(reason: RejectReason, stamp: u64, depth: u16, fragments: u16) -> Admission {
    let params = ConnParams { queue_depth: depth, max_fragments: fragments, max_message_size: 4096 };
    Admission::Reject(reject(reason, stamp, params))
}

fn accepted(version: Version, queue_depth: u16, max_fragments: u16) -> Admission {
    let params = ConnParams { queue_depth, max_fragments, ..PLAIN };
    Admission::Accept { peer: nid("10.99.0.12@o2ib"), stamp: 9, version, params }
}

#[test]
fn requests_get_the_answers_of_a_kernel_node() {
    let with = |queue_depth, max_fragments, max_message_size| {
        request(move |m| m.body = Body::ConnReq(ConnParams { queue_depth, max_fragments, max_message_size }))
    };
    let fatal = rejected(RejectReason::Fatal, 7, 8, 257);
    let nameless = rejected(RejectReason::Fatal, 0, 0, 0);
    for (name, private_data, expected) in [
        ("plain", request(|_| ()), accepted(Version::V2, 8, 257)),
        ("depth 4", with(4, 257, 4096), accepted(Version::V2, 4, 257)),
        ("depth 16", with(16, 257, 4096), rejected(RejectReason::QueueTooDeep, 7, 8, 257)),
        ("depth 0", with(0, 257, 4096), fatal.clone()),
        ("fragments 1", with(8, 1, 4096), accepted(Version::V2, 8, 1)),
        ("fragments 300", with(8, 300, 4096), rejected(RejectReason::TooManyFragments, 7, 8, 257)),
        ("size 8192", with(8, 257, 8192), fatal.clone()),
        ("size 2048", with(8, 257, 2048), accepted(Version::V2, 8, 257)),
        ("wrong stamp", request(|m| m.dst_stamp = 8), rejected(RejectReason::Stale, 7, 8, 257)),
        ("right stamp", request(|m| m.dst_stamp = 7), accepted(Version::V2, 8, 257)),
        ("version 0x11", request(|m| m.version = Version::V1), accepted(Version::V1, 8, 257)),
        ("other NID", request(|m| m.dst_nid = nid("10.99.0.13@o2ib")), nameless.clone()),
        ("other net", request(|m| m.dst_nid = nid("10.99.0.11@o2ib7")), nameless.clone()),
        ("from another net", request(|m| m.src_nid = nid("10.99.0.12@tcp")), fatal.clone()),
        ("CONNACK", request(|m| m.body = Body::ConnAck(PLAIN)), fatal),
        ("nothing", vec![], nameless.clone()),
        ("4 bytes", vec![0x91, 0x1b, 0xe9, 0x0b], nameless.clone()),
        ("garbage", vec![0xff; 56], nameless),
    ] {
        assert_eq!(answer(&private_data), expected, "{name}");
    }
}

#[test]
fn a_peer_that_has_restarted_loses_its_connections_and_asks_again() {
    let with = |connected| {
        let known = KnownPeer { connected: Some(connected), ..KnownPeer::default() };
        admit(&request(|_| ()), local(), |_| known)
    };
    assert_eq!(with((9, Version::V2)), accepted(Version::V2, 8, 257));
    for connected in [(8, Version::V2), (9, Version::V1)] {
        let expected = rejected(RejectReason::Stale, 7, 8, 257);
        let Admission::EndOthers { peer, reject } = with(connected) else { panic!("{connected:?}") };
        assert_eq!((peer, Admission::Reject(reject)), (nid("10.99.0.12@o2ib"), expected));
    }
}

#[test]
fn the_higher_nid_wins_a_race_twenty_times_in_a_row() {
    let race = |local_nid: &str, races| {
        let private_data = request(|m| m.dst_nid = nid(local_nid));
        let known = KnownPeer { is_connecting: true, races, ..KnownPeer::default() };
        admit(&private_data, LocalNi { nid: nid(local_nid), ..local() }, |_| known)
    };
    let accepted = accepted(Version::V2, 8, 257);
    assert_eq!(race("10.99.0.11@o2ib", 0), accepted);
    assert!(matches!(race("10.99.0.13@o2ib", 0), Admission::Race { .. }));
    assert!(matches!(race("10.99.0.13@o2ib", 19), Admission::Race { .. }));
    assert_eq!(race("10.99.0.13@o2ib", 20), accepted);
}
