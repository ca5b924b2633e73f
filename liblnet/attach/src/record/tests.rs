use super::*;
use lnet_core::{EqHandle, EventKind, EventParty, MdOptions};
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
    let piece = any::<(u32, u64, u32)>();
    let piece = piece.prop_map(|(registration, offset, len)| Piece { registration, offset, len });
    prop::collection::vec(piece, 0..20)
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    let memory = prop_oneof![
        pieces().prop_map(ProgramMemory::InPlace),
        pieces().prop_map(ProgramMemory::Copied),
        any::<u32>().prop_map(ProgramMemory::OnDemand),
    ];
    let near = prop_oneof![
        Just(None),
        any::<u64>().prop_map(|md| Some(Near::Md(MdHandle::from_cookie(md)))),
        any::<u32>().prop_map(|cpt| Some(Near::Cpt(cpt))),
    ];
    (spec(), memory, any::<[bool; 2]>(), near).prop_map(|(spec, memory, [unlink, has_handler], near)| {
        Descriptor { spec, memory, unlink, near, has_handler }
    })
}

fn entry() -> impl Strategy<Value = MatchEntry> {
    let position =
        prop::sample::select(vec![InsertPosition::Before, InsertPosition::After, InsertPosition::Local]);
    let from = (nid(), any::<Option<u32>>()).prop_map(|(nid, pid)| MatchId { nid, pid: pid.map(Pid) });
    (any::<(u64, u64, bool)>(), from, position).prop_map(
        |((match_bits, ignore_bits, unlink), from, position)| MatchEntry {
            from,
            match_bits,
            ignore_bits,
            unlink,
            position,
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (any::<u32>(), entry()).prop_map(|(portal, entry)| Operation::MeAttach { portal, entry }),
        (any::<u64>(), descriptor())
            .prop_map(|(me, md)| Operation::MdAttach { me: MeHandle::from_cookie(me), md }),
        (any::<(u64, bool, u64)>(), nid(), target()).prop_map(|((md, ack, hdr_data), from, target)| {
            Operation::Put { from, md: MdHandle::from_cookie(md), ack, target, hdr_data }
        }),
        any::<(u32, bool)>().prop_map(|(portal, is_lazy)| Operation::Lazy { portal, is_lazy }),
        (any::<u64>(), pieces())
            .prop_map(|(request, pieces)| Operation::Fetched { request, data: Ok(pieces) }),
        prop::collection::vec(nid(), 0..9)
            .prop_map(|nids| Operation::AddPeer { nids: nids.into_iter().flatten().collect() }),
        Just(Operation::DiscoveryStatus),
        any::<(u32, u64, u64)>().prop_map(|(portal, match_bits, ignore_bits)| Operation::Claim {
            bits: ClaimedBits { portal, match_bits, ignore_bits }
        }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::Nothing),
        any::<u64>().prop_map(Answer::Number),
        nid().prop_map(|nid| Answer::Process(nid.unwrap_or(Nid::LOOPBACK), Pid::LUSTRE)),
        any::<(u32, u32)>().prop_map(|(hops, order)| Answer::Distance { hops, order, source: Nid::LOOPBACK }),
        any::<String>().prop_map(Answer::Text),
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
        any::<(u32, u64, u32, u32, u64, u64, (bool, bool), u32)>(),
    )
        .prop_map(|((kind, target, initiator, source, sender, md, status), numbers)| {
            let (portal, match_bits, rlength, mlength, md_handle, hdr_data, flags, offset) = numbers;
            let (unlinked, of_get) = flags;
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
                // The rest is not told.
                md: MdSpec { threshold: md.threshold, ..event::UNTOLD },
                hdr_data,
                status,
                unlinked,
                of_get,
                offset,
                sequence: 0,
            }
        })
}

proptest! {
    #[test]
    fn operations_arrive_as_they_were_sent(number: u64, operation in operation()) {
        let mut body = vec![7; 9];
        let kind = operation.encode(number, &mut body);
        prop_assert_eq!(Operation::decode(kind, &body), Ok((number, operation)));
        // Neither less nor more is taken.
        prop_assert_eq!(Operation::decode(kind, &[&body[..], &[0]].concat()), Err(Malformed::TooLong));
        prop_assert!(Operation::decode(kind, &body[..body.len() - 1]).is_err());
    }

    #[test]
    fn reports_arrive_as_they_were_sent(event in event(), answer in answer(), number: u64, md: u64) {
        let mut body = Vec::new();
        for report in [
            Report::Happened { event },
            Report::Done { result: Ok(answer.clone()) },
            Report::Done { result: event.status.map(|()| answer.clone()) },
            Report::Fetch { request: 5, md: MdHandle::from_cookie(md), offset: 7, len: 9 },
            Report::Returned,
            Report::Refused { md: MdHandle::from_cookie(md), errno: Errno::NotFound },
            Report::Made { md: MdHandle::from_cookie(md) },
            Report::WantsHandling { request: 5, md: MdHandle::from_cookie(md) },
        ] {
            let kind = report.encode(number, &mut body);
            prop_assert_eq!(Report::decode(kind, &body), Ok((number, report)));
        }
    }

    #[test]
    fn an_event_in_place_is_the_report_of_it(event in event(), number: u64) {
        let mut body = Vec::new();
        let kind = Report::Happened { event }.encode(number, &mut body);
        prop_assert_eq!(kind, EVENT);
        let nids = [event.target.nid, event.initiator.nid, event.source.nid, event.sender];
        let has_long = nids.into_iter().flatten().any(|nid| nid.to_u64().is_none());
        let in_place = encode_event(number, &event);
        prop_assert_eq!(in_place.map(|body| body.to_vec()), (!has_long).then_some(body));
        if let Some(body) = in_place {
            let mut decoded = untold_event();
            prop_assert_eq!(decode_event(body.into_iter(), &mut decoded), Ok(number));
            prop_assert_eq!(decoded, event);
        }
    }

    #[test]
    fn an_event_in_place_is_malformed_where_the_report_is(words: [u64; EVENT_WORDS], event in event(), at in 0..EVENT_WORDS) {
        let mut near = encode_event(0, &event).unwrap_or(words);
        near[at] = words[at];
        for body in [words, near] {
            let mut event = untold_event();
            let report = decode_event(body.into_iter(), &mut event).map(|number| (number, Report::Happened { event }));
            prop_assert_eq!(report, Report::decode(EVENT, &body));
        }
    }

    #[test]
    fn a_put_in_place_is_the_operation(md: u64, ack: bool, target in target(), hdr_data: u64, number: u64) {
        let put = PlainPut { md: MdHandle::from_cookie(md), ack, target, hdr_data };
        let mut body = Vec::new();
        let kind = Operation::from(put).encode(number, &mut body);
        prop_assert_eq!(kind, PUT);
        let is_plain = target.nid.is_some_and(|nid| nid.to_u64().is_some());
        let in_place = put.encode(number);
        prop_assert_eq!(in_place.map(|body| body.to_vec()), is_plain.then_some(body));
        prop_assert!(in_place.is_none_or(|body| PlainPut::decode(&body) == Some((number, put))));
    }

    #[test]
    fn a_put_in_place_is_read_only_where_the_operation_is(words: [u64; PUT_WORDS], target in target(), at in 0..PUT_WORDS) {
        let put = PlainPut { md: MdHandle::from_cookie(1), ack: true, target, hdr_data: 2 };
        let mut near = put.encode(0).unwrap_or(words);
        near[at] = words[at];
        for body in [words, near] {
            if let Some((number, put)) = PlainPut::decode(&body) {
                prop_assert_eq!(Operation::decode(PUT, &body), Ok((number, put.into())));
            }
        }
    }

    #[test]
    fn what_can_be_read_is_written_as_the_same_words(kind in 0..24_u32, words: Vec<u64>) {
        let mut again = Vec::new();
        if let Ok((number, operation)) = Operation::decode(kind, &words) {
            prop_assert_eq!(operation.encode(number, &mut again), kind);
            prop_assert_eq!(&again, &words);
        }
        if let Ok((number, report)) = Report::decode(kind, &words) {
            prop_assert_eq!(report.encode(number, &mut again), kind);
            prop_assert_eq!(&again, &words);
        }
    }
}

#[test]
fn what_no_program_may_send_is_told_apart() {
    let lazy = |last| vec![1, 5, last];
    for (kind, body, expected) in [
        (9, lazy(1), Ok((1, Operation::Lazy { portal: 5, is_lazy: true }))),
        (9, lazy(2), Err(Malformed::Value("a truth value"))),
        (0, lazy(1), Err(Malformed::Kind(0))),
        (25, lazy(1), Err(Malformed::Kind(25))),
        (17, vec![], Err(Malformed::TooShort)),
        (17, vec![0; 2], Err(Malformed::TooLong)),
        (9, vec![1, 1 << 32, 0], Err(Malformed::Value("a number of 32 bits"))),
        // A list with fewer elements than it says.
        (15, vec![0, u64::MAX], Err(Malformed::TooShort)),
    ] {
        assert_eq!(Operation::decode(kind, &body), expected, "{kind} {body:?}");
    }
}
