//! The core against a driver that the test plays: what arrives may be anything, what is sent comes back when
//! the test says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::credit::Credits;
use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, Upcalls, Violation};
use lnet_core::stats::MessageCounts;
use lnet_core::topology::Ni;
use lnet_core::{
    Clock, Core, CoreConfig, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, Message, NiTunables, Target, Time,
};
use lnet_wire::{Body, Header, NetId, NetType, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const PUT: u32 = MdOptions::OP_PUT.0;
const GET: u32 = MdOptions::OP_GET.0;
const PORTAL: u32 = 9;
const BITS: u64 = 0x77;
const COOKIE: u64 = 42;

fn nid(net: u16, address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, net), address)
}

const fn handle(object_cookie: u64) -> WireHandle {
    WireHandle { interface_cookie: COOKIE, object_cookie }
}

#[allow(clippy::vec_box, reason = "boxes are what the core gives and takes")]
type Sent = Vec<Box<Message>>;

/// Keeps what it is given to send, and the verdicts that come late.
#[derive(Clone, Default)]
struct Played {
    sent: Arc<Mutex<Sent>>,
    resumed: Arc<Mutex<Vec<RxAction>>>,
    /// A message that arrives while the interface is taken down.
    straggler: Arc<Mutex<Option<Header>>>,
    down: Arc<Mutex<bool>>,
}

struct PlayedNi {
    driver: Played,
    ni: Arc<Ni>,
    upcalls: Arc<dyn Upcalls>,
}

impl Driver for Played {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        Ok(Arc::new(PlayedNi { driver: self.clone(), ni: Arc::clone(ni), upcalls }))
    }
}

impl LndNi for PlayedNi {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        assert!(!*self.driver.down.lock().unwrap());
        self.driver.sent.lock().unwrap().push(message);
        SendOutcome::Pending
    }

    fn shutdown(&self) {
        *self.driver.down.lock().unwrap() = true;
        let straggler = self.driver.straggler.lock().unwrap().take();
        if let Some(header) = straggler {
            let hold = || Arc::new(self.driver.clone()) as Arc<dyn DeferredRx>;
            let verdict = self.upcalls.receive(&self.ni, header.src_nid, &header, &hold);
            assert!(matches!(verdict, RxAction::Defer));
        }
        let sent = std::mem::take(&mut *self.driver.sent.lock().unwrap());
        for message in sent {
            self.upcalls.finalize(message, Err(Errno::Shutdown.into()));
        }
    }
}

impl DeferredRx for Played {
    fn resume(&self, verdict: RxAction) {
        self.resumed.lock().unwrap().push(verdict);
    }
}

/// A node with one interface, `1@tcp`, and what its queue's handler was told.
struct Rig {
    core: Arc<Core>,
    ni: Arc<Ni>,
    driver: Played,
    heard: Arc<Mutex<Vec<Event>>>,
    eq: EqHandle,
}

fn rig(credits: u32, peer_credits: u32) -> Rig {
    rig_of(CoreConfig::new(Pid::LUSTRE, COOKIE).without_discovery(), credits, peer_credits)
}

fn rig_of(config: CoreConfig, credits: u32, peer_credits: u32) -> Rig {
    let core = Core::new(config);
    let driver = Played::default();
    let ni = core
        .add_ni(nid(0, 1), NiTunables { credits, peer_credits, ..NiTunables::default() }, &driver)
        .unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let eq = core.eq_alloc(0, Some(Box::new(move |event| tell.lock().unwrap().push(*event)))).unwrap();
    Rig { core, ni, driver, heard, eq }
}

impl Rig {
    fn spec(&self, memory: &[u8], threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
        let (options, eq) = (MdOptions(options), Some(self.eq));
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    fn bind(&self, memory: &[u8], threshold: i32) -> MdHandle {
        let (spec, memory) = self.spec(memory, threshold, 0);
        self.core.md_bind(spec, memory, true).unwrap()
    }

    fn attach(&self, memory: &[u8], threshold: i32, options: u32) {
        let me = self.core.me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After).unwrap();
        let (spec, memory) = self.spec(memory, threshold, options);
        self.core.md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
    }

    fn arrives(&self, header: &Header) -> RxAction {
        let hold = || Arc::new(self.driver.clone()) as Arc<dyn DeferredRx>;
        self.core.receive(&self.ni, header.src_nid, header, &hold)
    }

    /// What the driver has to send now, which it then has sent with `result`.
    fn drive(&self, result: Result<(), Errno>) -> Vec<Header> {
        let sent = std::mem::take(&mut *self.sent());
        let headers = sent.iter().map(|message| *message.header()).collect();
        sent.into_iter()
            .for_each(|message| self.core.finalize(message, result.map_err(lnet_core::SendFailure::from)));
        headers
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.driver.sent.lock().unwrap()
    }

    fn heard(&self) -> Vec<(EventKind, Result<(), Errno>, bool)> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        heard.iter().map(|event| (event.kind, event.status, event.unlinked)).collect()
    }

    fn put(&self, md: MdHandle, want_ack: bool) {
        self.core.put(None, md, want_ack, to_peer(), 0).unwrap();
    }
}

fn to_peer() -> Target {
    Target { nid: Some(nid(0, 2)), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

/// From `2@tcp` to the node.
fn from_peer(body: Body, payload_length: u32) -> Header {
    let (dest_pid, src_pid) = (Pid::LUSTRE, Pid::LUSTRE);
    Header { dest_nid: nid(0, 1), src_nid: nid(0, 2), dest_pid, src_pid, payload_length, body }
}

fn a_put(ack: Option<WireHandle>) -> Body {
    Body::Put { ack, match_bits: BITS, hdr_data: 0, portal: PORTAL, offset: 0 }
}

/// dbg-025: fails if a dropped message is not counted.
#[test]
fn headers_that_no_peer_may_send_are_refused_or_dropped_and_leave_no_trace() {
    let rig = rig(8, 8);
    rig.core.add_ni(nid(1, 1), NiTunables::default(), &Played::default()).unwrap();
    rig.core.add_ni(Nid::LOOPBACK, NiTunables::default(), &Played::default()).unwrap();
    rig.core.set_lazy_portal(PORTAL).unwrap();
    let memory = [0_u8; 8];
    rig.attach(&memory, -1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let put_at = |portal, offset| Body::Put { ack: None, match_bits: BITS, hdr_data: 0, portal, offset };
    let get = |portal, offset, sink_length| Body::Get {
        reply: handle(5),
        match_bits: BITS,
        portal,
        offset,
        sink_length,
    };
    let ack = Body::Ack { handle: handle(u64::MAX), match_bits: BITS, accepted: u32::MAX };
    let reply = |cookie| Body::Reply { handle: handle(cookie) };
    let to = |dest_nid| Header { dest_nid, ..from_peer(a_put(None), 1) };
    let refused = [
        (from_peer(ack, 1), Violation::UnexpectedPayload(1)),
        (from_peer(get(PORTAL, 0, 1), u32::MAX), Violation::UnexpectedPayload(u32::MAX)),
        (from_peer(a_put(None), (1 << 20) + 1), Violation::PayloadTooLong((1 << 20) + 1)),
        (from_peer(reply(1), u32::MAX), Violation::PayloadTooLong(u32::MAX)),
        (to(nid(0, 3)), Violation::ShouldHaveGoneDirect),
        (to(nid(1, 1)), Violation::WrongInterface),
        (to(Nid::LOOPBACK), Violation::WrongInterface),
    ];
    for (header, violation) in refused {
        assert!(matches!(rig.arrives(&header), RxAction::Reject(why) if why == violation), "{header:?}");
    }
    let dropped = [
        to(nid(7, 7)),
        Header { src_nid: Nid::LOOPBACK, ..from_peer(a_put(None), 1) },
        from_peer(put_at(64, 0), 1),
        from_peer(put_at(u32::MAX, 0), 1),
        from_peer(put_at(PORTAL, 9), 0),
        from_peer(put_at(PORTAL, u32::MAX), 1),
        from_peer(put_at(PORTAL, 8), 1),
        from_peer(get(PORTAL, 0, u32::MAX), 0),
        from_peer(get(PORTAL, u32::MAX, 0), 0),
        from_peer(get(PORTAL + 1, 0, 0), 0),
        from_peer(ack, 0),
        from_peer(reply(0), 8),
        from_peer(reply(1), 8),
        from_peer(reply(u64::MAX), 8),
    ];
    for header in dropped {
        assert!(matches!(rig.arrives(&header), RxAction::Discard), "{header:?}");
    }
    assert_eq!(rig.heard(), []);
    assert_eq!(rig.ni.counters().read(lnet_core::stats::Outcome::Dropped).messages(), 14);
    assert_eq!(rig.core.message_counts(), MessageCounts { msgs_alloc: 0, msgs_max: 1, errors: 7 });
}

#[test]
fn an_answer_is_taken_only_if_it_was_asked_for_and_once() {
    let rig = rig(8, 8);
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, -1);
    let ack = from_peer(Body::Ack { handle: handle(md.cookie()), match_bits: BITS, accepted: 8 }, 0);
    let reply = from_peer(Body::Reply { handle: handle(md.cookie()) }, 8);
    assert!(matches!(rig.arrives(&ack), RxAction::Discard));
    // The peer knows the handle from the PUT, but nobody asked it to write there.
    rig.put(md, true);
    assert!(matches!(rig.arrives(&reply), RxAction::Discard));
    let RxAction::Deliver(message) = rig.arrives(&ack) else { panic!() };
    rig.core.received(message, Ok(()));
    assert!(matches!(rig.arrives(&ack), RxAction::Discard));
    rig.drive(Ok(()));
    assert_eq!(rig.heard(), [(EventKind::Ack, Ok(()), false), (EventKind::Send, Ok(()), false)]);
    rig.core.get(None, md, to_peer()).unwrap();
    let RxAction::Deliver(message) = rig.arrives(&reply) else { panic!() };
    rig.core.received(message, Err(Errno::Io));
    assert!(matches!(rig.arrives(&reply), RxAction::Discard));
    rig.drive(Ok(()));
    assert_eq!(rig.heard(), [(EventKind::Reply, Err(Errno::Io), false), (EventKind::Send, Ok(()), false)]);
}

#[test]
fn an_answer_to_an_earlier_life_is_dropped() {
    let rig = rig(8, 8);
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, -1);
    rig.core.get(None, md, to_peer()).unwrap();
    let old = WireHandle { interface_cookie: COOKIE - 1, object_cookie: md.cookie() };
    assert!(matches!(rig.arrives(&from_peer(Body::Reply { handle: old }, 8)), RxAction::Discard));
}

/// snd-045: fails if an answer is addressed to another NID than the one that the question was from.
#[test]
fn who_asks_in_another_name_is_answered_where_it_sits_unless_that_name_is_known() {
    let rig = rig(8, 8);
    rig.core.primary_nid(nid(0, 3));
    let known = rig.core.peer_nis().len();
    let reply = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let ping = Body::Get { reply, match_bits: 1 << 63, portal: 0, offset: 0, sink_length: 272 };
    let hold = || Arc::new(rig.driver.clone()) as Arc<dyn DeferredRx>;
    for (name, next_hop) in [(2, 2), (3, 3), (77, 2), (78, 2)] {
        let header = Header { src_nid: nid(0, name), ..from_peer(ping, 0) };
        let RxAction::Deliver(question) = rig.core.receive(&rig.ni, nid(0, 2), &header, &hold) else {
            panic!()
        };
        rig.core.received(question, Ok(()));
        let answer = rig.sent().pop().unwrap();
        assert_eq!((answer.header().dest_nid, answer.next_hop().nid), (nid(0, name), nid(0, next_hop)));
        rig.core.finalize(answer, Ok(()));
    }
    // Only the one that sits there came to be known.
    assert_eq!(rig.core.peer_nis().len(), known + 1);
}

#[test]
fn who_does_not_take_its_answers_gets_no_more_until_it_does_and_others_do() {
    let config = CoreConfig { max_answers: 3, ..CoreConfig::new(Pid::LUSTRE, COOKIE).without_discovery() };
    let rig = rig_of(config, 8, 1);
    let memory = [0_u8; 8];
    rig.attach(&memory, -1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let get = Body::Get { reply: handle(5), match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
    let is_taken = |from: u32, body, length| {
        let header = Header { src_nid: nid(0, from), ..from_peer(body, length) };
        match rig.arrives(&header) {
            RxAction::Deliver(message) => {
                rig.core.received(message, Ok(()));
                true
            }
            _ => false,
        }
    };
    // One is sent, two wait.
    assert_eq!([0; 5].map(|_| is_taken(2, get, 0)), [true, true, true, false, false]);
    // What wants no answer is taken.
    assert!(!is_taken(2, a_put(Some(handle(5))), 8) && is_taken(2, a_put(None), 8));
    assert!(is_taken(3, get, 0));
    assert_eq!(rig.drive(Ok(())).len(), 2);
    assert_eq!([0; 3].map(|_| is_taken(2, get, 0)), [true, false, false]);
    while !rig.drive(Ok(())).is_empty() {}
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
    assert!(is_taken(2, get, 0));
}

/// Memory is bounded however many peers do not take their answers; who has few pending gets its own all the same.
#[test]
fn peers_that_do_not_take_their_answers_use_up_what_the_node_keeps_and_others_are_answered() {
    const MOST: u32 = 1600;
    let config = CoreConfig {
        max_pending_responses: MOST,
        ..CoreConfig::new(Pid::LUSTRE, COOKIE).without_discovery()
    };
    let rig = rig_of(config, 8, 1);
    let memory = [0_u8; 8];
    rig.attach(&memory, -1, PUT | GET | MdOptions::MANAGE_REMOTE.0);
    let get = Body::Get { reply: handle(5), match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
    let is_taken = |from: u32| {
        let header = Header { src_nid: nid(0, from), ..from_peer(get, 0) };
        match rig.arrives(&header) {
            RxAction::Deliver(message) => {
                rig.core.received(message, Ok(()));
                true
            }
            _ => false,
        }
    };
    let taken = (0..20_000).filter(|n| is_taken(10 + n % 40)).count() as u32;
    assert!((MOST..2 * MOST).contains(&taken), "{taken}");
    // As many as every peer gets.
    assert_eq!((0..100).filter(|_| is_taken(2)).count(), 16);
    assert_eq!(rig.core.message_counts().msgs_alloc, u64::from(taken) + 16);
    while !rig.drive(Ok(())).is_empty() {}
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
    assert_eq!((0..100).filter(|_| is_taken(2)).count(), 100);
    while !rig.drive(Ok(())).is_empty() {}
}

#[test]
fn strangers_make_only_so_many_peers_and_those_that_nobody_uses_make_room() {
    let second = std::time::Duration::from_secs(1);
    let clock = Arc::new(SetClock::default());
    let config = CoreConfig {
        max_peers: 10,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..CoreConfig::new(Pid::LUSTRE, COOKIE).without_discovery()
    };
    let rig = rig_of(config, 8, 8);
    let memory = [0_u8; 8];
    rig.core.make_peer(nid(0, 2), true, false).unwrap();
    rig.core.add_peer_nid(nid(0, 2), nid(0, 3), true).unwrap();
    let md = rig.bind(&memory, -1);
    // A message to this one is under way.
    rig.core.put(None, md, false, Target { nid: Some(nid(0, 5)), ..to_peer() }, 0).unwrap();
    let stranger = |n| {
        let before = rig.core.peer_nis().len();
        let header = Header { src_nid: nid(0, n), ..from_peer(a_put(None), 1) };
        assert!(matches!(rig.arrives(&header), RxAction::Discard));
        rig.core.peer_nis().len() as isize - before as isize
    };
    let kept = || [2, 3, 5].map(|n| rig.core.peer_nis().iter().any(|peer_ni| peer_ni.nid() == nid(0, n)));
    assert_eq!([100, 101, 102, 103, 104, 105, 106].map(stranger), [1; 7]);
    // Those make room. Not for long, and they are not looked for again at once.
    assert_eq!([107, 108, 109, 110, 111, 112, 113, 114].map(stranger), [-6, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(kept(), [true; 3]);
    // Who is known is heard.
    assert_eq!(stranger(111), 0);
    *clock.0.lock().unwrap() = Time(2 * second);
    assert_eq!([114, 115].map(stranger), [-6, 1]);
    assert_eq!(kept(), [true; 3]);
    // The operator's and the program's are not limited.
    for n in 200..220 {
        rig.core.make_peer(nid(0, n), true, false).unwrap();
    }
    assert_eq!(rig.core.peer_nis().len(), 25);
    *clock.0.lock().unwrap() = Time(4 * second);
    assert_eq!(stranger(300), -2);
}

/// A clock that the test sets.
#[derive(Debug, Default)]
struct SetClock(Mutex<Time>);

impl Clock for SetClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap()
    }
}

#[test]
fn what_waits_for_a_credit_when_its_md_is_unlinked_is_cancelled() {
    for (credits, peer_credits) in [(8, 1), (1, 8)] {
        let rig = rig(credits, peer_credits);
        let memory = [0_u8; 8];
        let md = rig.bind(&memory, -1);
        (0..3).for_each(|_| rig.put(md, false));
        assert_eq!(rig.sent().len(), 1);
        rig.core.md_unlink(md).unwrap();
        assert_eq!(rig.core.eq_free(rig.eq), Err(Errno::Busy));
        assert_eq!(rig.heard(), []);
        rig.drive(Ok(()));
        let cancelled = Err(Errno::Cancelled);
        assert_eq!(rig.core.message_counts(), MessageCounts { msgs_alloc: 0, msgs_max: 3, errors: 2 });
        let want = [(Ok(()), false), (cancelled, false), (cancelled, true)];
        assert_eq!(rig.heard(), want.map(|(status, last)| (EventKind::Send, status, last)));
        assert_eq!(rig.ni.credits(), Credits(credits as i32));
        let peer = rig.core.peer_nis().pop().unwrap();
        assert_eq!((peer.nid(), peer.credits()), (nid(0, 2), Credits(peer_credits as i32)));
        assert_eq!(rig.core.eq_free(rig.eq), Ok(()));
    }
}

#[test]
fn an_interface_that_goes_ends_what_is_sent_and_what_waits_and_no_credit_is_lost() {
    for (credits, peer_credits) in [(8, 1), (1, 8), (2, 2), (1, 1)] {
        let rig = rig(credits, peer_credits);
        let memory = [0_u8; 8];
        let md = rig.bind(&memory, 6);
        let other = Target { nid: Some(nid(0, 3)), ..to_peer() };
        for _ in 0..3 {
            rig.put(md, false);
            rig.core.put(None, md, false, other, 0).unwrap();
        }
        rig.core.remove_ni(nid(0, 1)).unwrap();
        let heard = rig.heard();
        assert_eq!(heard.len(), 6);
        assert!(
            heard.iter().all(|(kind, status, _)| (*kind, *status) == (EventKind::Send, Err(Errno::Shutdown)))
        );
        assert_eq!(heard.iter().position(|(.., last)| *last), Some(5));
        assert_eq!(rig.ni.credits(), Credits(credits as i32));
        let peers = rig.core.peer_nis();
        assert!(peers.iter().all(|peer| peer.credits() == Credits(peer_credits as i32)));
    }
}

#[test]
fn a_put_that_was_made_to_wait_while_its_interface_went_is_not_delivered_later() {
    let rig = rig(8, 8);
    rig.core.set_lazy_portal(PORTAL).unwrap();
    *rig.driver.straggler.lock().unwrap() = Some(from_peer(a_put(None), 8));
    rig.core.remove_ni(nid(0, 1)).unwrap();
    assert!(matches!(rig.driver.resumed.lock().unwrap()[..], [RxAction::Discard]));
    let memory = [0_u8; 8];
    rig.attach(&memory, 1, PUT);
    assert_eq!(rig.driver.resumed.lock().unwrap().len(), 1);
    assert_eq!(rig.heard(), []);
}

#[test]
fn on_the_portal_of_pushes_nothing_else_waits() {
    let rig = rig(8, 8);
    let put = |match_bits| {
        let body = Body::Put { ack: None, match_bits, hdr_data: 0, portal: RESERVED_PORTAL, offset: 0 };
        rig.arrives(&from_peer(body, 8))
    };
    assert!(matches!(put(PING_MATCH_BITS ^ 1), RxAction::Discard));
    // Those that there is a place for are taken, the next wait.
    let verdicts: Vec<RxAction> = (0..10).map(|_| put(PING_MATCH_BITS)).collect();
    assert!(matches!(verdicts.first(), Some(RxAction::Deliver(_))));
    assert!(matches!(verdicts.last(), Some(RxAction::Defer)));
}

#[test]
fn a_put_that_breaks_off_is_reported_as_failed_and_not_confirmed() {
    let rig = rig(8, 8);
    let memory = [0_u8; 8];
    rig.attach(&memory, 2, PUT);
    for result in [Err(Errno::Io), Ok(())] {
        let RxAction::Deliver(message) = rig.arrives(&from_peer(a_put(Some(handle(5))), 4)) else { panic!() };
        rig.core.received(message, result);
    }
    assert_eq!(rig.heard(), [(EventKind::Put, Err(Errno::Io), false), (EventKind::Put, Ok(()), true)]);
    let sent = rig.drive(Ok(()));
    let ack = Body::Ack { handle: handle(5), match_bits: BITS, accepted: 4 };
    assert_eq!(sent.iter().map(|header| header.body).collect::<Vec<_>>(), [ack]);
    assert_eq!((sent[0].dest_nid, sent[0].src_nid), (nid(0, 2), nid(0, 1)));
}

#[test]
fn a_get_is_reported_when_its_reply_has_left_or_failed() {
    for result in [Ok(()), Err(Errno::ConnectionRefused)] {
        let rig = rig(8, 8);
        let memory = [0_u8; 8];
        rig.attach(&memory, 1, GET | MdOptions::TRUNCATE.0);
        let body = Body::Get {
            reply: handle(5),
            match_bits: BITS,
            portal: PORTAL,
            offset: 0,
            sink_length: u32::MAX,
        };
        let RxAction::Deliver(message) = rig.arrives(&from_peer(body, 0)) else { panic!() };
        assert_eq!(message.payload_len(), 0);
        rig.core.received(message, Ok(()));
        assert_eq!(rig.heard(), []);
        let sent = rig.drive(result);
        assert_eq!(sent[0].payload_length, 8);
        assert_eq!(rig.heard(), [(EventKind::Get, result, true)]);
        // Question and answer are one message.
        let errors = u64::from(result.is_err());
        assert_eq!(rig.core.message_counts(), MessageCounts { msgs_alloc: 0, msgs_max: 1, errors });
    }
}

#[test]
fn a_queue_that_was_left_goes_with_its_last_md() {
    let rig = rig(8, 8);
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, 1);
    rig.put(md, false);
    assert_eq!(rig.core.eq_leave(rig.eq), Ok(()));
    assert_eq!(rig.core.eq_leave(rig.eq), Err(Errno::NotFound));
    rig.drive(Ok(()));
    assert_eq!(rig.heard(), [(EventKind::Send, Ok(()), true)]);
    // Only the test itself still holds what the handler did.
    assert_eq!(Arc::strong_count(&rig.heard), 1);
}

/// Three threads send by one credit each way while a fourth has the messages sent, MDs are unlinked under
/// them, and in the end the interface goes.
#[test]
fn with_one_credit_and_many_threads_every_send_ends_once_and_all_credits_come_back() {
    for (credits, peer_credits) in [(1, 8), (8, 1), (1, 1), (3, 2)] {
        let rig = rig(credits, peer_credits);
        let memory = [0_u8; 8];
        let senders_left = AtomicUsize::new(3);
        let (accepted, mds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let (rig, memory, senders_left) = (&rig, &memory, &senders_left);
                let (accepted, mds) = (&accepted, &mds);
                scope.spawn(move || {
                    for round in 0..300_u32 {
                        let md = rig.bind(memory, if round % 3 == 0 { 2 } else { -1 });
                        mds.fetch_add(1, Ordering::Relaxed);
                        let peer = Some(nid(0, 2 + (sender + round) % 2));
                        for _ in 0..4 {
                            let put = rig.core.put(None, md, false, Target { nid: peer, ..to_peer() }, 0);
                            accepted.fetch_add(usize::from(put.is_ok()), Ordering::Relaxed);
                        }
                        let _ = rig.core.md_unlink(md);
                    }
                    senders_left.fetch_sub(1, Ordering::SeqCst);
                });
            }
            scope.spawn(|| {
                while senders_left.load(Ordering::SeqCst) > 0 {
                    if rig.drive(Ok(())).is_empty() {
                        std::thread::yield_now();
                    }
                }
            });
        });
        rig.core.remove_ni(nid(0, 1)).unwrap();
        let heard = rig.heard();
        let sends = heard.iter().filter(|(kind, ..)| *kind == EventKind::Send).count();
        let last = heard.iter().filter(|(.., unlinked)| *unlinked).count();
        assert_eq!((sends, last), (accepted.into_inner(), mds.into_inner()));
        assert_eq!(rig.core.message_counts().msgs_alloc, 0);
        assert_eq!(rig.ni.credits(), Credits(credits as i32));
        assert!(rig.core.peer_nis().iter().all(|peer| peer.credits() == Credits(peer_credits as i32)));
        assert_eq!(rig.core.eq_free(rig.eq), Ok(()));
    }
}

#[test]
fn a_handler_that_changes_the_configuration_is_told_busy_and_stops_nobody() {
    let rig = rig(8, 8);
    let (core, told) = (Arc::downgrade(&rig.core), Arc::new(Mutex::new(Vec::new())));
    let tell = Arc::clone(&told);
    let handler = move |_: &Event| {
        let core = core.upgrade().unwrap();
        let peer = nid(0, 2);
        let driver = Played::default();
        tell.lock().unwrap().extend([
            core.make_peer(peer, true, false),
            core.delete_peer(peer, None, false),
            core.delete_rule(None),
            core.change_router(|router| router),
            core.change_settings(|_| Ok(())),
            core.remove_ni(nid(0, 1)),
            core.add_ni(nid(1, 1), NiTunables::default(), &driver).map(drop),
        ]);
    };
    let eq = Some(rig.core.eq_alloc(0, Some(Box::new(handler))).unwrap());
    let memory = [0_u8; 8];
    let (spec, contiguous) = rig.spec(&memory, 1, 0);
    let md = rig.core.md_bind(MdSpec { eq, ..spec }, contiguous, true).unwrap();
    rig.put(md, false);
    // The event comes while the interface goes, under the lock of the configuration.
    rig.core.remove_ni(nid(0, 1)).unwrap();
    assert_eq!(*told.lock().unwrap(), [Err(Errno::Busy); 7]);
}
