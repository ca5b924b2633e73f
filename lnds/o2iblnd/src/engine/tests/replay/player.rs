//! One capture with the engine on one side.

use super::support::roce::{Content, Sent, sent};
use super::{ONE, Stamps, TWO, first_stamp, nid, normal, stamp_of, without_checksum};
use crate::conn::RxId;
use crate::decide::admit::LocalNi;
use crate::decide::stamp::stamp_at;
use crate::device::Write;
use crate::engine::tests::messages::{Memory, pattern};
use crate::engine::tests::rig::{Policy, tunables};
use crate::engine::tests::scripted::heard::Heard;
use crate::engine::tests::scripted::script::Script;
use crate::proto::{Body, Completion, Descriptor, Message, MessageKind as Kind};
use lnet_core::Time;
use lnet_wire::byte_order::put_u64;
use lnet_wire::{Body as LnetBody, Header, WireHandle};
use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The attribute of the connection manager's DREQ.
const DISCONNECT: u16 = 0x15;

/// A message of the peer that the core has not decided on.
struct Undecided {
    rx: RxId,
    header: Header,
    /// The peer's cookie of a PUT_REQ or GET_REQ.
    cookie: Option<u64>,
}

/// A capture that is replayed.
pub(super) struct Replay {
    capture: &'static str,
    own: Ipv4Addr,
    stamps: Stamps,
    script: Script,
    left: VecDeque<Sent>,
    /// Where the replay is, for assertions.
    at: String,
    undecided: Vec<Undecided>,
    heard: VecDeque<Heard>,
    /// The engine's transfers by the cookies of the capture: the engine's cookie, and the memory that it has described.
    transfers: HashMap<u64, (u64, Option<Descriptor>)>,
    /// GETs that left as IMMEDIATE, by the cookies of the capture's GET_REQs.
    gets: HashMap<u64, WireHandle>,
    /// The credits that have been returned on this connection, by the kernel and by the engine.
    returned: [u32; 2],
    violations: u64,
    compared: usize,
}

impl Replay {
    pub(super) fn new(capture: &'static str, own: Ipv4Addr, stamps: Stamps) -> Self {
        let all = sent(&format!("o2ib/k2158-o2ib-{capture}.pcap"));
        let other = if own == ONE { TWO } else { ONE };
        let net = if (capture, own) == ("x-wrong-net", ONE) { 7 } else { 0 };
        let stamp = first_stamp(all.iter(), own).unwrap_or(1);
        let local = LocalNi { nid: nid(own, net), stamp, depth: 8 };
        let mut script = Script::between(local, tunables(), nid(other, net), other);
        script.rig.ends[0].policy = Policy::Defer;
        script.rig.ends[0].foreign = Some(vec![]);
        Self {
            capture,
            own,
            stamps,
            script,
            left: all.into(),
            at: String::new(),
            undecided: vec![],
            heard: VecDeque::new(),
            transfers: HashMap::new(),
            gets: HashMap::new(),
            returned: [0, 0],
            violations: 0,
            compared: 0,
        }
    }

    /// Replays all of the capture; returns the number of the engine's messages.
    pub(super) fn run(mut self) -> usize {
        let begin = self.left[0].time;
        while let Some(sent) = self.left.pop_front() {
            self.script.rig.now = Time(Duration::from_micros(1_000_000_000 + sent.time - begin));
            self.at = format!("{}, as {}, {:?}, packet {}", self.capture, self.own, self.stamps, sent.packet);
            if sent.from == self.own {
                self.engine_does(sent.content)
            } else {
                self.peer_does(sent.content)
            }
            self.listen();
        }
        assert!(self.heard.is_empty(), "{}: {:?}", self.at, self.heard);
        assert_eq!(self.script.counters().violations, self.violations, "{}", self.at);
        self.script.end();
        self.compared
    }

    fn peer_does(&mut self, content: Content) {
        self.script.stamp = match self.stamps {
            Stamps::Kernel => stamp_of(&content).unwrap_or(self.script.stamp),
            Stamps::Library => stamp_at(1),
        };
        match content {
            Content::Request(mut data) => {
                self.stamp(&mut data, 24);
                self.script.request_bytes(&data);
                self.script.settle();
            }
            Content::Acceptance(mut data) => {
                self.stamp(&mut data, 24);
                let (conn, _) = self.script.requests.pop_front().expect(&self.at);
                self.begin_conn();
                self.script.accept_bytes(conn, &data);
            }
            Content::Reject(reason, data) => self.script.refuse(reason, &data),
            Content::Message(bytes) => self.peer_says(bytes),
            Content::OtherManagement(DISCONNECT) => {
                // What waits for a credit has to wait.
                for undecided in std::mem::take(&mut self.undecided) {
                    self.decide(undecided, Policy::Deliver);
                }
                self.listen();
                assert!(self.heard.is_empty(), "{}: {:?}", self.at, self.heard);
                self.script.hang_up();
            }
            Content::OtherManagement(_) => {}
        }
    }

    fn engine_does(&mut self, content: Content) {
        match content {
            Content::Request(data) => {
                let first =
                    self.left.iter().filter(|sent| sent.from == self.own).find_map(|sent| {
                        match &sent.content {
                            Content::Message(bytes) => Some(without_checksum(bytes)),
                            _ => None,
                        }
                    });
                match first {
                    Some(bytes) => self.cause(&Message::decode(&bytes).unwrap()),
                    None => _ = self.script.get(1, 272),
                }
                assert_eq!(self.script.requests.len(), 1, "{}", self.at);
                assert_eq!(self.script.requests[0].1, without_checksum(&data), "{}", self.at);
            }
            Content::Acceptance(mut data) => {
                let (_, acceptance) = self.script.acceptances.pop_front().expect(&self.at);
                self.begin_conn();
                self.stamp(&mut data, 40);
                assert_eq!(acceptance, without_checksum(&data), "{}", self.at);
            }
            Content::Reject(_, data) => {
                assert_eq!(self.script.refusals.pop_front(), Some(data), "{}", self.at);
            }
            Content::Message(bytes) => self.engine_says(&without_checksum(&bytes)),
            Content::OtherManagement(DISCONNECT) if self.capture == "peer-restart" => {
                self.script.rig.shut_down(0);
                self.script.settle();
                self.script.engine.stamp = first_stamp(self.left.iter(), self.own).unwrap();
                self.script.rig.start_at(0, self.script.engine, tunables());
                self.script.rig.ends[0].policy = Policy::Defer;
                self.script.rig.ends[0].foreign = Some(vec![]);
            }
            Content::OtherManagement(DISCONNECT) => {
                self.violations += 1;
                assert_eq!(self.script.counters().violations, self.violations, "{}", self.at);
                assert_eq!(self.script.conn, None, "{}", self.at);
            }
            Content::OtherManagement(_) => {}
        }
    }

    /// The other side sends a message of the capture, with the engine's own cookies, and memory of this process.
    fn peer_says(&mut self, mut bytes: Vec<u8>) {
        self.stamp(&mut bytes, 24);
        let Ok(message) = Message::decode(&bytes) else { return self.script.say_bytes(&[], &bytes) };
        let (mut arrives, mut cookie_of_peer, mut writes) = (vec![], None, vec![]);
        let body = match message.body.clone() {
            Body::Immediate { header, payload } if !matches!(header.body, LnetBody::Get { .. }) => {
                arrives.push(payload.to_vec());
                message.body.clone()
            }
            Body::PutReq { cookie, .. } => {
                cookie_of_peer = Some(cookie);
                message.body.clone()
            }
            Body::GetReq { header, cookie, descriptor } => {
                cookie_of_peer = Some(cookie);
                Body::GetReq { header, cookie, descriptor: self.like(&descriptor) }
            }
            Body::PutAck { src_cookie, dst_cookie, descriptor } => {
                let (src_cookie, _) = self.transfers.remove(&src_cookie).expect(&self.at);
                Body::PutAck { src_cookie, dst_cookie, descriptor: self.like(&descriptor) }
            }
            Body::PutDone(done) => Body::PutDone(self.done(done, &mut writes, &mut arrives)),
            Body::GetDone(done) => match self.gets.remove(&done.cookie) {
                Some(handle) => return self.reply_by_put(handle, done.status as usize, message.credits),
                None => Body::GetDone(self.done(done, &mut writes, &mut arrives)),
            },
            other => other,
        };
        let bytes = self.script.encoded(&Message { body, ..message });
        self.script.say_bytes(&writes, &bytes);
        self.take_waiting(cookie_of_peer);
        assert!(self.script.rig.ends[0].foreign.replace(vec![]) == Some(arrives), "{}", self.at);
    }

    /// The end of a transfer to the engine's memory, which is written before.
    fn done(&mut self, done: Completion, writes: &mut Vec<Write>, arrives: &mut Vec<Vec<u8>>) -> Completion {
        let Some((cookie, Some(descriptor))) = self.transfers.remove(&done.cookie) else { return done };
        let payload = pattern(done.status as usize);
        writes.push(self.script.memory(payload.clone()).write(payload.len(), &descriptor));
        arrives.push(payload);
        Completion { cookie, ..done }
    }

    /// The data of a GET that left as IMMEDIATE.
    fn reply_by_put(&mut self, handle: WireHandle, len: usize, credits: u8) {
        let header = self.script.header(len, LnetBody::Reply { handle });
        self.script.say_with(credits, &[], Body::PutReq { header, cookie: 1 });
        self.take_waiting(None);
        let ack = self.script.hear_one(Kind::PutAck);
        self.returned[1] += u32::from(ack.message().credits);
        // The engine returns the credit of this PUT_REQ with its next message.
        self.returned[0] += 1;
        let payload = pattern(len);
        let write = self.script.memory(payload.clone()).write(len, &ack.descriptor());
        self.script.say_with(
            0,
            &[write],
            Body::PutDone(Completion { cookie: ack.cookie(), status: len as i32 }),
        );
        assert!(self.script.rig.ends[0].foreign.replace(vec![]) == Some(vec![payload]), "{}", self.at);
    }

    /// The core decides at once, but on a GET, and on a PUT_REQ of which the capture has more to say.
    fn take_waiting(&mut self, cookie: Option<u64>) {
        for (rx, header) in std::mem::take(&mut self.script.rig.ends[0].waiting) {
            let undecided = Undecided { rx, header, cookie };
            if cookie.is_some() || matches!(header.body, LnetBody::Get { .. }) {
                self.undecided.push(undecided);
            } else {
                self.decide(undecided, Policy::Deliver);
            }
        }
    }

    /// The kernel has sent this; so does the engine.
    fn engine_says(&mut self, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        self.stamp(&mut bytes, 40);
        let kernels = Message::decode(&bytes).unwrap();
        if self.heard.is_empty() {
            self.cause(&kernels);
            self.listen();
        }
        let heard = self.heard.pop_front().expect(&self.at);
        let ours = heard.message();
        self.returned[0] += u32::from(kernels.credits);
        self.returned[1] += u32::from(ours.credits);
        self.compared += 1;
        let is_early = match &kernels.body {
            Body::GetDone(_) | Body::PutNak(_) => true,
            Body::Immediate { header, .. } => matches!(header.body, LnetBody::Ack { .. }),
            _ => false,
        };
        let earlier = self.returned[1].checked_sub(self.returned[0]);
        assert!(earlier == Some(0) || earlier == Some(1) && is_early, "{}: {:?}", self.at, self.returned);
        match (&ours.body, &kernels.body) {
            (Body::Immediate { header, .. }, Body::GetReq { header: kernels, cookie, .. }) => {
                assert_eq!((header, self.stamps), (kernels, Stamps::Kernel), "{}", self.at);
                let LnetBody::Get { reply, .. } = header.body else { panic!("{}: {header:?}", self.at) };
                self.gets.insert(*cookie, reply);
                return;
            }
            (Body::PutReq { cookie: ours, .. }, Body::PutReq { cookie, .. }) => {
                self.transfers.insert(*cookie, (*ours, None));
            }
            (Body::GetReq { cookie: ours, descriptor, .. }, Body::GetReq { cookie, .. })
            | (Body::PutAck { dst_cookie: ours, descriptor, .. }, Body::PutAck { dst_cookie: cookie, .. }) => {
                self.transfers.insert(*cookie, (*ours, Some(descriptor.clone())));
            }
            _ => {}
        }
        assert_eq!(heard.bytes.len(), bytes.len(), "{}", self.at);
        match ours.body {
            Body::PutReq { .. } | Body::GetReq { .. } | Body::PutAck { .. } => {
                assert_eq!(normal(ours), normal(kernels), "{}", self.at);
            }
            _ => assert!(
                heard.bytes[..7] == bytes[..7] && heard.bytes[8..] == bytes[8..],
                "{}: {ours:?}",
                self.at
            ),
        }
    }

    /// Makes the core do what leads to a message.
    fn cause(&mut self, message: &Message<'_>) {
        match &message.body {
            Body::Immediate { header, payload } => self.core_sends(header, payload.to_vec()),
            Body::PutReq { header, .. } => self.core_sends(header, pattern(header.payload_length as usize)),
            Body::GetReq { header, .. } => self.core_sends(header, vec![]),
            Body::PutAck { src_cookie, .. } => {
                self.decide_by(|its| its.cookie == Some(*src_cookie), Policy::Deliver)
            }
            Body::PutNak(nak) => self.decide_by(|its| its.cookie == Some(nak.cookie), Policy::Discard),
            Body::GetDone(done) => {
                let data = usize::try_from(done.status).ok().map(pattern);
                let policy = if data.is_some() { Policy::Deliver } else { Policy::Discard };
                self.script.rig.ends[0].next_reply = data;
                self.decide_by(|its| its.cookie == Some(done.cookie), policy);
            }
            Body::Noop => self.script.tick(Duration::ZERO),
            other => panic!("{}: {other:?}", self.at),
        }
    }

    fn core_sends(&mut self, header: &Header, payload: Vec<u8>) {
        let memory = match header.body {
            LnetBody::Reply { handle } => {
                self.script.rig.ends[0].next_reply = Some(payload);
                let is_asked = |its: &Undecided| matches!(its.header.body, LnetBody::Get { reply, .. } if reply == handle);
                return self.decide_by(is_asked, Policy::Deliver);
            }
            LnetBody::Get { sink_length, .. } => vec![0; sink_length as usize],
            _ => payload,
        };
        self.script.rig.send(0, self.script.nid, header.body, Memory::new(memory));
        self.script.settle();
    }

    fn decide_by(&mut self, is_meant: impl Fn(&Undecided) -> bool, policy: Policy) {
        let place = self.undecided.iter().position(is_meant).expect(&self.at);
        let undecided = self.undecided.remove(place);
        self.decide(undecided, policy);
    }

    fn decide(&mut self, undecided: Undecided, policy: Policy) {
        let now = self.script.rig.now;
        self.script.rig.ends[0].decide(undecided.rx, undecided.header, policy, now);
        self.script.settle();
    }

    /// Memory of the peer in pieces of the same lengths.
    fn like(&mut self, descriptor: &Descriptor) -> Descriptor {
        let memory = self.script.memory(vec![0; descriptor.total_bytes() as usize]);
        let mut offset = 0;
        let parts = descriptor.fragments.iter().map(|fragment| {
            offset += fragment.bytes as usize;
            (offset - fragment.bytes as usize, fragment.bytes as usize)
        });
        memory.descriptor(&parts.collect::<Vec<_>>())
    }

    /// Replaces the other side's incarnation at `offset`, where there is one.
    fn stamp(&self, bytes: &mut [u8], offset: usize) {
        if self.stamps == Stamps::Library && bytes[offset..offset + 8] != [0; 8] {
            put_u64(bytes, offset, self.script.stamp);
        }
    }

    fn begin_conn(&mut self) {
        self.returned = [0, 0];
    }

    fn listen(&mut self) {
        self.heard.extend(self.script.hear());
    }
}
