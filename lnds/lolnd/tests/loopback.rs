//! A node that sends to itself: events, their order, and the call in which they happen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::{
    Core, CoreConfig, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, NiTunables, Target,
};
use lnet_wire::{Nid, Pid};
use lolnd::Lolnd;
use std::sync::{Arc, Mutex};

const PUT: u32 = MdOptions::OP_PUT.0;
const GET: u32 = MdOptions::OP_GET.0;
const PORTAL: u32 = 9;
const BITS: u64 = 0x77;

/// A node on the loopback, with everything that its queue's handler has got.
struct Rig {
    core: Arc<Core>,
    heard: Arc<Mutex<Vec<Event>>>,
    eq: EqHandle,
}

fn rig() -> Rig {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42).without_discovery());
    core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &Lolnd).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let eq =
        core.data_path().eq_alloc(0, Some(Box::new(move |event| tell.lock().unwrap().push(*event)))).unwrap();
    Rig { core, heard, eq }
}

impl Rig {
    /// Makes an MD and its memory; `tag` is returned as the events' `user_ptr`.
    fn spec(&self, memory: &[u8], tag: usize, threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
        let options = MdOptions(options);
        let spec =
            MdSpec { start, length, threshold, max_size: 0, options, user_ptr: tag, eq: Some(self.eq) };
        (spec, MdMemory::contiguous(start, length))
    }

    fn bind(&self, memory: &[u8], tag: usize, threshold: i32) -> MdHandle {
        let (spec, memory) = self.spec(memory, tag, threshold, 0);
        self.core.data_path().md_bind(spec, memory, true).unwrap()
    }

    fn attach(&self, memory: &[u8], tag: usize, threshold: i32, options: u32) -> MdHandle {
        let me = self
            .core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After)
            .unwrap();
        let (spec, memory) = self.spec(memory, tag, threshold, options);
        let mut handle = None;
        self.core.data_path().md_attach(me, spec, memory, true, &mut |md| handle = Some(md)).unwrap();
        handle.unwrap()
    }

    /// Returns kind, tag and `unlinked` of the events since the last call.
    fn heard(&self) -> Vec<(EventKind, usize, bool)> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        heard.iter().map(|e| (e.kind, e.md.user_ptr, e.unlinked)).collect()
    }
}

fn to_self() -> Target {
    Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

#[test]
fn a_put_reports_target_ack_and_send_in_this_order_before_it_returns() {
    let rig = rig();
    let (source, sink) = (*b"twelve bytes", [0_u8; 12]);
    rig.attach(&sink, 1, 1, PUT);
    let md = rig.bind(&source, 2, 2);
    rig.core.data_path().put(None, md, true, to_self(), 99).unwrap();
    let heard = rig.heard.lock().unwrap().clone();
    let told: Vec<_> = heard.iter().map(|e| (e.kind, e.md.user_ptr, e.unlinked)).collect();
    assert_eq!(told, [(EventKind::Put, 1, true), (EventKind::Ack, 2, false), (EventKind::Send, 2, true)]);
    assert!(heard.iter().all(|e| e.status.is_ok() && e.mlength == 12));
    let put = heard[0];
    assert_eq!((put.hdr_data, put.match_bits, put.rlength, put.portal), (99, BITS, 12, PORTAL));
    assert_eq!(put.initiator.nid, Some(Nid::LOOPBACK));
    assert_eq!(source, std::hint::black_box(sink));
}

#[test]
fn a_get_reports_send_reply_and_target_in_this_order_before_it_returns() {
    let rig = rig();
    let (data, sink) = (*b"data", [0_u8; 6]);
    rig.attach(&data, 1, 1, GET | MdOptions::TRUNCATE.0);
    let md = rig.bind(&sink, 2, 2);
    rig.core.data_path().get(None, md, to_self()).unwrap();
    let heard = rig.heard.lock().unwrap().clone();
    let told: Vec<_> = heard.iter().map(|e| (e.kind, e.md.user_ptr, e.unlinked)).collect();
    assert_eq!(told, [(EventKind::Send, 2, false), (EventKind::Reply, 2, true), (EventKind::Get, 1, true)]);
    assert_eq!((heard[1].rlength, heard[1].mlength, heard[2].mlength), (4, 4, 4));
    assert_eq!(std::hint::black_box(sink)[..4], data);
}

#[test]
fn a_message_that_matches_nothing_ends_with_its_send_event() {
    let rig = rig();
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, 2, -1);
    rig.core.data_path().put(None, md, true, to_self(), 0).unwrap();
    rig.core.data_path().get(None, md, to_self()).unwrap();
    rig.core.data_path().put(None, md, true, Target { portal: 63, ..to_self() }, 0).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, 2, false); 3]);
    let no_portal = rig.core.data_path().put(None, md, true, Target { portal: 64, ..to_self() }, 0);
    assert_eq!((no_portal, rig.heard()), (Err(Errno::Invalid), vec![]));
}

#[test]
fn a_put_to_a_lazy_portal_waits_for_its_buffer_and_a_get_does_not() {
    let rig = rig();
    let (source, sink) = ([7_u8; 8], [0_u8; 8]);
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let md = rig.bind(&source, 2, -1);
    rig.core.data_path().get(None, md, to_self()).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, 2, false)]);
    rig.core.data_path().put(None, md, false, to_self(), 0).unwrap();
    rig.core.data_path().put(None, md, false, to_self(), 0).unwrap();
    assert_eq!(rig.heard(), []);
    rig.attach(&sink, 1, 1, PUT);
    assert_eq!(rig.heard(), [(EventKind::Put, 1, true), (EventKind::Send, 2, false)]);
    assert_eq!(std::hint::black_box(sink), source);
    // The second one is dropped with the attribute.
    rig.core.data_path().clear_lazy_portal(PORTAL).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, 2, false)]);
}

#[test]
fn a_waiting_put_that_is_too_long_for_the_buffer_is_dropped() {
    let rig = rig();
    let (source, sink) = ([7_u8; 8], [0_u8; 4]);
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    let md = rig.bind(&source, 2, 1);
    rig.core.data_path().put(None, md, false, to_self(), 0).unwrap();
    rig.attach(&sink, 1, 1, PUT);
    assert_eq!(rig.heard(), [(EventKind::Send, 2, true)]);
}

#[test]
fn sending_fails_with_an_event_and_not_with_an_error() {
    let rig = rig();
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, 2, -1);
    let elsewhere = Nid::from_u64(0x0002_0000_0a00_0001).unwrap();
    let table = [
        (None, None, Errno::Invalid),
        (None, Some(elsewhere), Errno::HostUnreachable),
        (Some(elsewhere), Some(elsewhere), Errno::Invalid),
    ];
    for (source, nid, errno) in table {
        rig.core.data_path().put(source, md, true, Target { nid, ..to_self() }, 0).unwrap();
        let event = rig.heard.lock().unwrap().pop().unwrap();
        assert_eq!((event.kind, event.status), (EventKind::Send, Err(errno)));
        assert_eq!(event.target.nid, nid);
    }
}

#[test]
fn a_source_makes_no_difference_to_the_loopback() {
    let rig = rig();
    let (source, sink) = ([7_u8; 8], [0_u8; 8]);
    rig.attach(&sink, 1, 1, PUT);
    let md = rig.bind(&source, 2, 1);
    let any_source = Nid::from_u64(0x0002_0000_0a00_0001);
    rig.core.data_path().put(any_source, md, false, to_self(), 0).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Put, 1, true), (EventKind::Send, 2, true)]);
}

#[test]
fn a_message_above_the_maximum_length_fails_at_the_sender() {
    let rig = rig();
    let memory = vec![0_u8; (1 << 20) + 1];
    let md = rig.bind(&memory, 2, 1);
    rig.core.data_path().put(None, md, false, to_self(), 0).unwrap();
    let event = rig.heard.lock().unwrap().pop().unwrap();
    assert_eq!((event.status, event.unlinked), (Err(Errno::MessageSize), true));
}

#[test]
fn a_nid_that_is_to_fail_fails_at_once_and_leaves_the_md_as_it_was() {
    let rig = rig();
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, 2, 1);
    rig.core.admin().fail_nid(Some(Nid::LOOPBACK), 1);
    assert_eq!(rig.core.data_path().put(None, md, false, to_self(), 0), Err(Errno::Io));
    assert_eq!(rig.heard(), []);
    assert_eq!(rig.core.data_path().md_unlink(md), Ok(()));
    assert_eq!(rig.heard(), [(EventKind::Unlink, 2, true)]);
}

#[test]
fn a_response_to_an_earlier_incarnation_or_an_unknown_handle_is_dropped() {
    let rig = rig();
    let (source, sink) = ([7_u8; 8], [0_u8; 8]);
    rig.attach(&sink, 1, 1, PUT);
    // A threshold of one operation: the send uses it up, and the arriving ACK finds the MD exhausted (TRAP-22).
    let md = rig.bind(&source, 2, 1);
    rig.core.data_path().put(None, md, true, to_self(), 0).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Put, 1, true), (EventKind::Send, 2, true)]);
}

#[test]
fn a_handler_that_sends_from_inside_itself_does_not_exhaust_the_stack() {
    let rig = rig();
    let left = Arc::new(Mutex::new(20_000_u32));
    let core = Arc::downgrade(&rig.core);
    let (sink, count) = ([0_u8; 8], Arc::clone(&left));
    let source = Arc::new(Mutex::new(None));
    let next = Arc::clone(&source);
    let eq = rig.core.data_path().eq_alloc(
        0,
        Some(Box::new(move |event| {
            if event.kind != EventKind::Put {
                return;
            }
            let mut left = count.lock().unwrap();
            if *left > 0 {
                *left -= 1;
                drop(left);
                let md = next.lock().unwrap().unwrap();
                core.upgrade().unwrap().data_path().put(None, md, false, to_self(), 0).unwrap();
            }
        })),
    );
    let (mut spec, memory) = rig.spec(&sink, 1, -1, PUT | MdOptions::MANAGE_REMOTE.0);
    spec.eq = eq.ok();
    let me =
        rig.core.data_path().me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After).unwrap();
    rig.core.data_path().md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
    let md = rig.bind(&[1; 8], 2, -1);
    *source.lock().unwrap() = Some(md);
    rig.core.data_path().put(None, md, false, to_self(), 0).unwrap();
    assert_eq!(*left.lock().unwrap(), 0);
}

#[test]
fn the_ping_target_answers_with_the_loopback_alone() {
    let rig = rig();
    let sink = [0_u8; 32];
    let md = rig.bind(&sink, 2, 2);
    let ping = Target { portal: 0, match_bits: 1 << 63, ..to_self() };
    rig.core.data_path().get(None, md, ping).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, 2, false), (EventKind::Reply, 2, true)]);
}

#[test]
fn shutdown_frees_mds_and_interfaces_without_an_event() {
    let rig = rig();
    let memory = [0_u8; 8];
    let md = rig.bind(&memory, 2, -1);
    rig.attach(&memory, 1, -1, PUT);
    rig.core.admin().shutdown();
    assert_eq!(rig.heard(), []);
    assert_eq!(rig.core.data_path().md_unlink(md), Err(Errno::NotFound));
    assert_eq!(rig.core.ni_by_index(0), None);
}
