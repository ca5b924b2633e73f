//! The load of a process: the operations that it keeps in flight to its peer, and the memory for those of the peer.

use super::memory::{Bytes, WORD};
use super::report::{Incarnation, Kind, Op, ProcessEvent, Report};
use lnet_core::event::EventQueue;
use lnet_core::{
    Core, EqHandle, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_node::Node;
use lnet_wire::{Nid, Pid};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PUTS: u32 = 20;
const GETS: u32 = 21;
/// The longest message.
pub const MAX_LENGTH: u32 = 1 << 20;
/// Memory for PUTs of the peer: the number of pieces, and of messages of maximum length in each. In all more than the peer has in
/// flight.
const PIECES: usize = 20;
const MESSAGES_PER_PIECE: u32 = 4;
/// The key of the data that GETs fetch.
const FETCHED: u64 = 0x00f0_0dfe_edbe_ef00;
/// Flag in `user_ptr`: it is the number of a piece of memory for PUTs, not of an operation.
const PIECE: usize = 1 << 62;
/// The memory for GETs.
const SOURCE: usize = 1 << 61;

/// The weight of a load.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    /// The number of operations in flight at once.
    pub in_flight: usize,
    /// The mean pause between the end of one and the beginning of the next.
    pub pause: Duration,
    /// The number of messages, of 64, that have the greatest length.
    pub long_of_64: u32,
    /// The time after which an operation is given up.
    pub timeout: Duration,
    /// Whether the load is of RPCs: operations that end with a response, of which a new one begins at least once in
    /// [`RPC_INTERVAL`], however many are in flight.
    pub rpcs: bool,
}

/// The longest interval between the beginnings of two RPCs.
pub const RPC_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of RPCs that begin beyond those of [`Weight::in_flight`].
const MAX_EXTRA_RPCS: usize = 64;

/// A process' share in the traffic.
pub struct Load {
    node: Arc<Node>,
    eq: EqHandle,
    /// The event queue that `eq` names; it outlives the node.
    queue: Arc<EventQueue>,
    incarnation: Incarnation,
    to: Nid,
    weight: Weight,
    random: fastrand::Rng,
    slots: Vec<Slot>,
    last_begun: Instant,
    begun: u64,
    pieces: Vec<Bytes>,
    source: Bytes,
}

/// A slot for one operation at a time, with its own memory.
struct Slot {
    bytes: Bytes,
    state: State,
}

enum State {
    Resting { until: Instant },
    Busy(Busy),
}

struct Busy {
    op: Op,
    len: u32,
    offset: u32,
    md: MdHandle,
    since: Instant,
    given_up: bool,
    unlinked: bool,
    sent: bool,
    answered: bool,
    wrong: String,
}

impl Load {
    /// Makes a load, and posts the memory for messages of the peer.
    pub fn new(node: &Arc<Node>, incarnation: Incarnation, to: Nid, weight: Weight) -> Self {
        let core = node.core();
        let eq = core.data_path().eq_alloc(1 << 17, None).unwrap();
        let queue = core.data_path().eq(eq).unwrap();
        let mut source = Bytes::new(2 * MAX_LENGTH);
        let len = source.len();
        source.fill(FETCHED, len);
        let pieces: Vec<Bytes> = (0..PIECES).map(|_| Bytes::new(MAX_LENGTH * MESSAGES_PER_PIECE)).collect();
        let slots = (0..weight.in_flight)
            .map(|_| Slot { bytes: Bytes::new(MAX_LENGTH), state: State::Resting { until: Instant::now() } })
            .collect();
        let random = fastrand::Rng::with_seed(incarnation.into());
        let load = Self {
            node: Arc::clone(node),
            eq,
            queue,
            incarnation,
            to,
            weight,
            random,
            slots,
            last_begun: Instant::now(),
            begun: 0,
            pieces,
            source,
        };
        (0..PIECES).for_each(|piece| load.post(piece));
        // A process that reads its events late still receives all PUTs.
        core.data_path().set_lazy_portal(PUTS).unwrap();
        let me =
            core.data_path().me_attach(GETS, MatchId::ANY, 0, u64::MAX, true, InsertPosition::After).unwrap();
        let options = MdOptions(MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = load.describe(&load.source, load.source.len(), options, -1, SOURCE);
        core.data_path().md_attach(me, spec, memory, false, &mut |_| ()).unwrap();
        load
    }

    /// Runs the load for about `turn`: begins operations that are due, if it may, and reports those that have ended.
    pub fn work(&mut self, may_begin: bool, turn: Duration, reports: &mut Vec<Report>) {
        let end = Instant::now() + turn;
        if may_begin {
            self.begin(reports);
        }
        self.give_up(reports);
        // The loop is bounded, for the case that there is always one more event.
        for _ in 0..1000 {
            let left = end.saturating_duration_since(Instant::now());
            let Some((_, polled)) = self.node.eq_poll(&[self.eq], Some(left)).unwrap() else { return };
            if polled.lost {
                reports
                    .push(Report::now(ProcessEvent::Note("events were lost: the queue is too short".into())));
            }
            self.note(&polled.event, reports);
        }
    }

    /// Reports the events that are still in the queue when the node has ended.
    pub fn read_the_rest(&mut self, reports: &mut Vec<Report>) {
        while let Ok(Some(polled)) = self.queue.get() {
            self.note(&polled.event, reports);
        }
    }

    fn core(&self) -> &Arc<Core> {
        self.node.core()
    }

    fn begin(&mut self, reports: &mut Vec<Report>) {
        let now = Instant::now();
        for at in 0..self.slots.len() {
            if matches!(self.slots[at].state, State::Resting { until } if until <= now) {
                self.begin_one(at, reports);
            }
        }
        if self.weight.rpcs && self.last_begun.elapsed() >= RPC_INTERVAL {
            let resting = self.slots.iter().position(|slot| matches!(slot.state, State::Resting { .. }));
            let at = resting.unwrap_or(self.slots.len());
            if resting.is_none() && at < self.weight.in_flight + MAX_EXTRA_RPCS {
                self.slots.push(Slot { bytes: Bytes::new(MAX_LENGTH), state: State::Resting { until: now } });
            }
            if at < self.slots.len() {
                self.begin_one(at, reports);
            }
        }
    }

    fn begin_one(&mut self, at: usize, reports: &mut Vec<Report>) {
        let op = Op::new(self.incarnation, self.begun);
        self.begun += 1;
        self.last_begun = Instant::now();
        let kinds = if self.weight.rpcs { &Kind::ANSWERED[..] } else { &Kind::ALL[..] };
        let kind = kinds[self.random.usize(0..kinds.len())];
        let len = self.length();
        let offset = self.random.u32(0..=MAX_LENGTH / WORD) * WORD;
        let bytes = &mut self.slots[at].bytes;
        match kind {
            Kind::Put | Kind::PutWithAck => bytes.fill(op.0, len),
            Kind::Get => bytes.wipe(len),
        }
        let threshold = if kind == Kind::Put { 1 } else { 2 };
        let (spec, memory) =
            self.describe(&self.slots[at].bytes, len, MdOptions(0), threshold, op.0 as usize);
        let md = self.core().data_path().md_bind(spec, memory, true).unwrap();
        let portal = if kind == Kind::Get { GETS } else { PUTS };
        let target = Target { nid: Some(self.to), pid: Pid::LUSTRE, portal, match_bits: op.0, offset: 0 };
        let (sent, answered, wrong) = (false, kind == Kind::Put, String::new());
        let (since, given_up, unlinked) = (Instant::now(), false, false);
        let busy = Busy { op, len, offset, md, since, given_up, unlinked, sent, answered, wrong };
        self.slots[at].state = State::Busy(busy);
        reports.push(Report::now(ProcessEvent::Started { op, kind, len }));
        let begun = match kind {
            Kind::Put | Kind::PutWithAck => {
                self.core().data_path().put(None, md, kind == Kind::PutWithAck, target, op.0)
            }
            Kind::Get => self.core().data_path().get(None, md, Target { offset, ..target }),
        };
        begun.unwrap();
    }

    /// Returns a random length: half of the messages are short, some have the greatest length, and all sizes between occur.
    fn length(&mut self) -> u32 {
        let die = self.random.u32(0..64);
        if die < self.weight.long_of_64 {
            return MAX_LENGTH;
        }
        let exponent = if die < 48 { self.random.u32(3..=12) } else { self.random.u32(12..=17) };
        let longest = 1 << exponent;
        (self.random.u32(longest / 2..=longest) / WORD).max(1) * WORD
    }

    fn give_up(&mut self, reports: &mut Vec<Report>) {
        for slot in &mut self.slots {
            if let State::Busy(busy) = &mut slot.state
                && !busy.given_up
                && busy.since.elapsed() > self.weight.timeout
            {
                busy.given_up = true;
                reports.push(Report::now(ProcessEvent::GivenUp { op: busy.op }));
                let _ = self.node.core().data_path().md_unlink(busy.md);
            }
        }
    }

    fn note(&mut self, event: &Event, reports: &mut Vec<Report>) {
        let user_ptr = event.md.user_ptr;
        if user_ptr & PIECE != 0 {
            self.arrived(user_ptr & !PIECE, event, reports);
        } else if user_ptr & SOURCE != 0 {
            if event.kind == EventKind::Get {
                reports.push(Report::now(match event.status {
                    Ok(()) => ProcessEvent::Fetched { op: Op(event.match_bits) },
                    Err(errno) => ProcessEvent::Note(format!("REPLY to {}: {errno}", Op(event.match_bits))),
                }));
            }
        } else {
            self.own(Op(user_ptr as u64), event, reports);
        }
    }

    fn arrived(&self, piece: usize, event: &Event, reports: &mut Vec<Report>) {
        if event.kind == EventKind::Put {
            let op = Op(event.match_bits);
            reports.push(Report::now(match event.status {
                Ok(()) => {
                    let intact = event.hdr_data == op.0
                        && event.rlength == event.mlength
                        && self.pieces[piece].is_of(event.offset, op.0, 0, event.mlength);
                    ProcessEvent::Arrived { op, intact }
                }
                // The PUT did not arrive completely; its space is lost.
                Err(errno) => ProcessEvent::Note(format!("PUT {op} broken off: {errno}")),
            }));
        }
        if event.unlinked {
            self.post(piece);
        }
    }

    /// An event of an operation of this process'.
    fn own(&mut self, op: Op, event: &Event, reports: &mut Vec<Report>) {
        let slot =
            self.slots.iter_mut().find(|slot| matches!(&slot.state, State::Busy(busy) if busy.op == op));
        let Some(Slot { bytes, state }) = slot else {
            let text = format!("{:?} {:?} unlinked: {}", event.kind, event.status, event.unlinked);
            reports.push(Report::now(ProcessEvent::Stray { op, text }));
            return;
        };
        let State::Busy(busy) = state else { return };
        let done = match event.kind {
            EventKind::Send => Some(&mut busy.sent),
            EventKind::Ack | EventKind::Reply => Some(&mut busy.answered),
            _ => None,
        };
        match (done, event.status) {
            (Some(done), Ok(())) => *done = true,
            (_, status) if busy.wrong.is_empty() => {
                let status = status.map_or_else(|errno| errno.to_string(), |()| "no answer".into());
                busy.wrong = format!("{:?}: {status}", event.kind);
            }
            _ => {}
        }
        if event.kind == EventKind::Reply
            && event.status.is_ok()
            && !(event.mlength == busy.len && bytes.is_of(0, FETCHED, busy.offset, busy.len))
        {
            reports.push(Report::now(ProcessEvent::Spoilt { op }));
        }
        if !event.unlinked {
            // An operation that was not sent gets no response that would end it.
            if event.kind == EventKind::Send && event.status.is_err() && !busy.unlinked {
                busy.unlinked = true;
                let _ = self.node.core().data_path().md_unlink(busy.md);
            }
            return;
        }
        if busy.wrong.is_empty() && !(busy.sent && busy.answered) {
            busy.wrong = format!("{:?} was the last event", event.kind);
        }
        let wrong = std::mem::take(&mut busy.wrong);
        reports.push(Report::now(ProcessEvent::Ended { op, wrong }));
        let pause = self.weight.pause.mul_f64(2.0 * self.random.f64());
        *state = State::Resting { until: Instant::now() + pause };
    }

    /// Gives the peer a piece of memory for its PUTs.
    fn post(&self, piece: usize) {
        let bytes = &self.pieces[piece];
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MAX_SIZE.0);
        let (spec, memory) = self.describe(bytes, bytes.len(), options, -1, PIECE | piece);
        let spec = MdSpec { max_size: MAX_LENGTH as i32, ..spec };
        let core = self.core();
        // A node that is ending gives no more.
        if let Ok(me) =
            core.data_path().me_attach(PUTS, MatchId::ANY, 0, u64::MAX, true, InsertPosition::After)
        {
            let _ = core.data_path().md_attach(me, spec, memory, true, &mut |_| ());
        }
    }

    fn describe(
        &self,
        bytes: &Bytes,
        length: u32,
        options: MdOptions,
        threshold: i32,
        user_ptr: usize,
    ) -> (MdSpec, MdMemory) {
        let start = bytes.address();
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr, eq: Some(self.eq) };
        (spec, bytes.first(length))
    }
}
