//! A node that sends to itself, and the memory of programs in other processes: bytes, and the order of events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_core::memory::{ClientMemory, RecvBuffer, ReplyMemory, ThenReply};
use lnet_core::{
    Core, CoreConfig, EqHandle, Errno, Event, EventKind, EventParty, InsertPosition, MatchId, MdHandle,
    MdMemory, MdOptions, MdSpec, NiTunables, Target,
};
use lnet_wire::{NetId, NetType, Nid, Pid};
use lolnd::Lolnd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

const PORTAL: u32 = 9;
const BITS: u64 = 0x77;
const TO_SELF: Target =
    Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 3 };

/// The PID of the program.
const PROGRAM: Pid = Pid(777);

/// A node on the loopback, with everything that its queue's handler has got.
struct Rig {
    core: Arc<Core>,
    heard: Arc<Mutex<Vec<Event>>>,
    eq: EqHandle,
}

/// The memory of a program in another process, whose bytes are the numbers from 0 on.
struct Client {
    answer: Answer,
}

enum Answer {
    AtOnce,
    Fails(Errno),
    /// Another thread answers.
    Later(Sender<(u32, u32, ThenReply)>),
}

impl ClientMemory for Client {
    fn pid(&self) -> Pid {
        PROGRAM
    }

    fn is_in_place(&self) -> bool {
        false
    }

    fn fetch(&self, offset: u32, len: u32, then: ThenReply) {
        match &self.answer {
            Answer::AtOnce => then(Ok(bytes(offset, len))),
            Answer::Fails(errno) => then(Err(*errno)),
            Answer::Later(sender) => sender.send((offset, len, then)).unwrap(),
        }
    }
}

/// The bytes of the program's memory from `offset` on.
fn bytes(offset: u32, len: u32) -> ReplyMemory {
    let bytes: Arc<Vec<u8>> = Arc::new((offset..offset + len).map(|byte| byte as u8).collect());
    ReplyMemory { memory: MdMemory::contiguous(bytes.as_ptr() as usize, len), keeper: bytes }
}

impl Rig {
    fn new() -> Self {
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42).without_discovery());
        core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &Lolnd).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&heard);
        let handler = Box::new(move |event: &Event| tell.lock().unwrap().push(*event));
        let eq = core.data_path().eq_alloc(0, Some(handler)).unwrap();
        Self { core, heard, eq }
    }

    fn spec(&self, memory: &RecvBuffer, threshold: i32, options: u32) -> MdSpec {
        let (start, length, options) = (memory.address(), memory.len(), MdOptions(options));
        MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) }
    }

    fn bind(&self, memory: &RecvBuffer, threshold: i32) -> MdHandle {
        let (spec, owner) = (self.spec(memory, threshold, 0), Arc::new(memory.clone()));
        self.core.data_path().bind_owned(spec, memory.memory(), true, owner).unwrap()
    }

    /// Attaches an MD of the client for one PUT or GET.
    fn attach(&self, memory: &RecvBuffer, answer: Answer) {
        let path = self.core.data_path();
        let me = path.me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After).unwrap();
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        let spec = self.spec(memory, 1, options);
        path.md_attach_for(me, spec, memory.memory(), true, Arc::new(Client { answer }), &mut |_| ())
            .unwrap();
    }

    /// Kind, status, and `unlinked` of the events since the last call.
    fn heard(&self) -> Vec<(EventKind, Result<(), Errno>, bool)> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        heard.iter().map(|event| (event.kind, event.status, event.unlinked)).collect()
    }
}

#[test]
fn a_get_over_the_loopback_brings_the_bytes_that_were_fetched() {
    let (rig, staging, sink) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    rig.attach(&staging, Answer::AtOnce);
    let md = rig.bind(&sink, 2);
    rig.core.data_path().get(None, md, TO_SELF).unwrap();
    let told = [(EventKind::Send, false), (EventKind::Reply, true), (EventKind::Get, true)];
    assert_eq!(rig.heard(), told.map(|(kind, last)| (kind, Ok(()), last)));
    assert_eq!((sink.read(4), staging.read(16)), (vec![3, 4, 5, 6], vec![0; 16]));
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
}

#[test]
fn a_get_over_the_loopback_ends_when_another_thread_brings_the_bytes() {
    let (rig, staging, sink) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    let (sender, asked) = channel::<(u32, u32, ThenReply)>();
    rig.attach(&staging, Answer::Later(sender));
    let md = rig.bind(&sink, 2);
    rig.core.data_path().get(None, md, TO_SELF).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, Ok(()), false)]);
    assert_eq!(rig.core.message_counts().msgs_alloc, 1);
    std::thread::spawn(move || {
        let (offset, len, then) = asked.recv().unwrap();
        then(Ok(bytes(offset, len)));
    })
    .join()
    .unwrap();
    assert_eq!(rig.heard(), [(EventKind::Reply, Ok(()), true), (EventKind::Get, Ok(()), true)]);
    assert_eq!(sink.read(4), [3, 4, 5, 6]);
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
}

#[test]
fn a_get_over_the_loopback_whose_bytes_cannot_be_fetched_gets_no_reply() {
    let (rig, staging, sink) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    rig.attach(&staging, Answer::Fails(Errno::Fault));
    let md = rig.bind(&sink, 2);
    rig.core.data_path().get(None, md, TO_SELF).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Send, Ok(()), false), (EventKind::Get, Err(Errno::Fault), true)]);
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
    rig.core.data_path().md_unlink(md).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Unlink, Ok(()), true)]);
}

/// Fails if a REPLY whose receiver has gone, or the end of the node, is too much for bytes that come late.
#[test]
fn bytes_that_come_when_nobody_waits_for_them_are_dropped() {
    let (rig, staging, sink) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    let (sender, asked) = channel();
    let [unlinked, lost] = [(); 2].map(|()| {
        rig.attach(&staging, Answer::Later(sender.clone()));
        let md = rig.bind(&sink, 2);
        rig.core.data_path().get(None, md, TO_SELF).unwrap();
        (md, asked.recv().unwrap())
    });
    rig.heard();
    let (md, (offset, len, then)) = unlinked;
    rig.core.data_path().md_unlink(md).unwrap();
    then(Ok(bytes(offset, len)));
    assert_eq!(rig.heard(), [(EventKind::Unlink, Ok(()), true), (EventKind::Get, Ok(()), true)]);
    rig.core.admin().shutdown();
    assert_eq!(rig.heard(), [(EventKind::Get, Err(Errno::Shutdown), true)]);
    let (_, (offset, len, then)) = lost;
    then(Ok(bytes(offset, len)));
    assert_eq!((rig.heard(), rig.core.message_counts().msgs_alloc), (vec![], 0));
    assert_eq!(sink.read(4), [0; 4]);
}

#[test]
fn a_put_over_the_loopback_fills_the_memory_of_the_md() {
    let (rig, staging, source) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    rig.attach(&staging, Answer::AtOnce);
    // A GET brings the bytes that the PUT sends.
    let md = rig.bind(&source, 2);
    rig.core.data_path().get(None, md, TO_SELF).unwrap();
    rig.attach(&staging, Answer::AtOnce);
    let md = rig.bind(&source, 1);
    rig.heard();
    rig.core.data_path().put(None, md, false, TO_SELF, 0).unwrap();
    assert_eq!(rig.heard(), [(EventKind::Put, Ok(()), true), (EventKind::Send, Ok(()), true)]);
    assert_eq!(staging.read(8), [0, 0, 0, 3, 4, 5, 6, 0]);
}

/// Fails if programs that share a node reach each other by a driver of a network, or do not see the NIDs that they use.
#[test]
fn programs_on_one_node_reach_each_other_by_its_nids_over_the_loopback() {
    let (rig, staging, memory) = (Rig::new(), RecvBuffer::new(16), RecvBuffer::new(4));
    let own = Nid::new(NetId::new(NetType::TCP, 0), 0x0a00_0001);
    rig.core.admin().add_ni(own, NiTunables::default(), &Lolnd).unwrap();
    let path = rig.core.data_path();
    for (from, ack) in [(None, true), (Some(own), false)] {
        rig.attach(&staging, Answer::AtOnce);
        let (spec, client) = (rig.spec(&memory, 1 + i32::from(ack), 0), Client { answer: Answer::AtOnce });
        let md = path.md_bind_for(spec, memory.memory(), true, Arc::new(client)).unwrap();
        path.put(from, md, ack, Target { nid: Some(own), ..TO_SELF }, 0).unwrap();
        let heard = std::mem::take(&mut *rig.heard.lock().unwrap());
        let kinds: Vec<EventKind> = heard.iter().map(|event| event.kind).collect();
        assert_eq!(kinds[0], EventKind::Put);
        assert_eq!(kinds.contains(&EventKind::Ack), ack);
        for event in heard.iter().filter(|event| event.kind != EventKind::Send) {
            let program = EventParty { nid: Some(own), pid: PROGRAM };
            assert_eq!((event.initiator, event.source, event.status), (program, program, Ok(())));
        }
    }
    assert_eq!(rig.core.message_counts().msgs_alloc, 0);
}
