use super::*;
use lnet_core::{EventKind, EventParty, MdOptions};
use lnet_wire::{NetId, NetType, Pid};
use proptest::prelude::*;

fn nid() -> impl Strategy<Value = Option<Nid>> {
    let net = NetId::new(NetType::TCP, 3);
    prop_oneof![
        Just(None),
        any::<u32>().prop_map(move |address| Some(Nid::new(net, address))),
        any::<[u8; 16]>().prop_map(move |address| Some(Nid::new_long(net, address))),
    ]
}

fn spec() -> impl Strategy<Value = MdSpec> {
    (any::<(usize, u32, i32, i32, u32, usize)>(), any::<Option<u64>>()).prop_map(
        |((start, length, threshold, max_size, options, user_ptr), eq)| MdSpec {
            start,
            length,
            threshold,
            max_size,
            options: MdOptions(options),
            user_ptr,
            eq: eq.map(EqHandle::from_cookie),
        },
    )
}

fn target() -> impl Strategy<Value = Target> {
    (nid(), any::<(u32, u32, u64, u32)>()).prop_map(|(nid, (pid, portal, match_bits, offset))| Target {
        nid,
        pid: Pid(pid),
        portal,
        match_bits,
        offset,
    })
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = any::<(Option<u32>, u64, u32)>().prop_map(|(registration, address, len)| Piece {
        registration,
        address,
        len,
    });
    prop::collection::vec(piece, 0..20)
}

fn request() -> impl Strategy<Value = Request> {
    let position =
        prop::sample::select(vec![InsertPosition::Before, InsertPosition::After, InsertPosition::Local]);
    let from = (nid(), any::<Option<u32>>()).prop_map(|(nid, pid)| MatchId { nid, pid: pid.map(Pid) });
    prop_oneof![
        (any::<(u64, u32, u64, u64, bool)>(), from, position).prop_map(
            |((number, portal, match_bits, ignore_bits, unlink), from, position)| Request::MeAttach {
                number,
                portal,
                from,
                match_bits,
                ignore_bits,
                unlink,
                position
            }
        ),
        (any::<(u64, u64, bool)>(), spec(), pieces()).prop_map(|((number, me, unlink), spec, memory)| {
            Request::MdAttach { number, me: MeHandle::from_cookie(me), spec, memory, unlink }
        }),
        (any::<(u64, u64, bool, u64)>(), nid(), target()).prop_map(
            |((number, md, ack, hdr_data), from, target)| {
                Request::Put { number, from, md: MdHandle::from_cookie(md), ack, target, hdr_data }
            }
        ),
        any::<(u64, u32, bool)>().prop_map(|(number, portal, is_lazy)| Request::Lazy {
            number,
            portal,
            is_lazy
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let kinds = [
        EventKind::Get,
        EventKind::Put,
        EventKind::Reply,
        EventKind::Ack,
        EventKind::Send,
        EventKind::Unlink,
    ];
    let party = || (nid(), any::<u32>()).prop_map(|(nid, pid)| EventParty { nid, pid: Pid(pid) });
    let status = prop_oneof![Just(Ok(())), Just(Err(Errno::TimedOut)), Just(Err(Errno::HostUnreachable))];
    (
        (prop::sample::select(kinds.to_vec()), party(), party(), party(), nid(), spec(), status),
        any::<(u32, u64, u32, u32, u64, u64, bool, u32, u64)>(),
    )
        .prop_map(|((kind, target, initiator, source, sender, md, status), numbers)| {
            let (portal, match_bits, rlength, mlength, md_handle, hdr_data, unlinked, offset, sequence) =
                numbers;
            Event {
                kind,
                target,
                initiator,
                source,
                sender,
                portal,
                match_bits,
                rlength,
                mlength,
                md_handle: MdHandle::from_cookie(md_handle),
                md,
                hdr_data,
                status,
                unlinked,
                offset,
                sequence,
            }
        })
}

proptest! {
    #[test]
    fn requests_arrive_as_they_were_sent(request in request()) {
        let mut body = vec![7; 9];
        let kind = request.encode(&mut body);
        prop_assert_eq!(Request::decode(kind, &body), Ok(request));
        // Neither less nor more is taken.
        prop_assert_eq!(Request::decode(kind, &[&body[..], &[0]].concat()), Err(Malformed::TooLong));
        prop_assert!(Request::decode(kind, &body[..body.len() - 1]).is_err());
    }

    #[test]
    fn reports_arrive_as_they_were_sent(event in event(), number: u64, handle: u64) {
        let mut body = Vec::new();
        for report in [
            Report::Happened { eq: EqHandle::from_cookie(handle), event },
            Report::Done { number, result: Ok(handle) },
            Report::Done { number, result: event.status.map(|()| 0) },
        ] {
            let kind = report.encode(&mut body);
            prop_assert_eq!(Report::decode(kind, &body), Ok(report));
        }
    }

    #[test]
    fn what_can_be_read_is_written_as_the_same_bytes(kind in 0..14_u32, bytes: Vec<u8>) {
        let mut again = Vec::new();
        if let Ok(request) = Request::decode(kind, &bytes) {
            prop_assert_eq!(request.encode(&mut again), kind);
            prop_assert_eq!(&again, &bytes);
        }
        if let Ok(report) = Report::decode(kind, &bytes) {
            prop_assert_eq!(report.encode(&mut again), kind);
            prop_assert_eq!(&again, &bytes);
        }
    }
}

#[test]
fn what_no_program_may_send_is_told_apart() {
    let lazy = |last| [&1_u64.to_ne_bytes()[..], &5_u32.to_ne_bytes(), &[last]].concat();
    for (kind, body, expected) in [
        (11, lazy(1), Ok(Request::Lazy { number: 1, portal: 5, is_lazy: true })),
        (11, lazy(2), Err(Malformed::Value("a truth value"))),
        (0, lazy(1), Err(Malformed::Kind(0))),
        (12, lazy(1), Err(Malformed::Kind(12))),
        (7, vec![0; 7], Err(Malformed::TooShort)),
        (7, vec![0; 9], Err(Malformed::TooLong)),
        // A list with fewer elements than it says.
        (5, [vec![0; 8 + 8 + 4 + 4 + 4 + 4 + 8 + 1], vec![255; 4]].concat(), Err(Malformed::TooShort)),
    ] {
        assert_eq!(Request::decode(kind, &body), expected, "{kind} {body:?}");
    }
}
