//! The ledger of all operations with their events: each must end exactly once.

use crate::match_bits::{OPERATION, OpId, PORTAL, operation_of};
use crate::network::Delivery;
use crate::trace::NodeId;
use lnet_core::{Errno, Event, EventKind, MdHandle, Time};
use lnet_wire::Nid;
use std::collections::HashSet;

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A PUT without an ACK.
    Put,
    /// A PUT with an ACK.
    PutWithAck,
    /// A GET.
    Get,
}

/// The parameters of an operation.
#[derive(Clone, Copy, Debug)]
pub struct OpSpec {
    /// The kind of the operation.
    pub ask: OpKind,
    /// The source NID; `None`: the node selects one.
    pub source: Option<Nid>,
    /// Number of bytes to transfer.
    pub bytes: u32,
    /// The target portal.
    pub portal: u32,
}

impl Default for OpSpec {
    fn default() -> Self {
        Self { ask: OpKind::PutWithAck, source: None, bytes: 8, portal: PORTAL }
    }
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// The node that started the operation.
    pub node: NodeId,
    /// The target NID.
    pub target: Nid,
    /// The kind of the operation.
    pub ask: OpKind,
    /// Number of bytes to transfer.
    pub bytes: u32,
    /// The time of the start.
    pub started: Time,
    /// The time of the SEND event.
    pub left: Option<Time>,
    /// The result in the SEND event.
    pub sent: Option<Result<(), Errno>>,
    /// The result in the ACK or REPLY event, if that came.
    pub answered: Option<Result<(), Errno>>,
    /// Whether the last event has come.
    pub ended: bool,
    /// The time of the last event.
    pub end: Option<Time>,
    pub(crate) md: Option<MdHandle>,
    /// The paths that the operation could use, as far as its node knew.
    pub(crate) paths: Vec<(Nid, Nid)>,
    /// Whether the owner has given up the operation.
    pub(crate) given_up: bool,
    /// Whether the node has crashed: no more events come.
    pub(crate) orphaned: bool,
}

/// An event that must not have occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LedgerError(pub(crate) String);

/// All operations of a world.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    ops: Vec<Op>,
    open: usize,
    /// PUTs and GETs that were served.
    pub(crate) served: u64,
    pub(crate) error: Option<LedgerError>,
    /// Operations that could not be sent and still wait for a response; their owners give them up.
    pub(crate) send_failed: Vec<OpId>,
    /// Operations that have ended since the last check, if checks are made.
    pub(crate) just_ended: Vec<OpId>,
    /// Operations that have ended since the caller last took them, if it takes them at all.
    pub(crate) ended: Option<Vec<OpId>>,
    /// PUTs and GETs that were served twice by the same incarnation of a node, if deliveries are tracked.
    pub(crate) doubled: u64,
    /// Whether serving an operation twice is an error.
    once: bool,
    /// Whether results of operations are checked.
    checks: bool,
    /// Whether deliveries are tracked.
    tracks: bool,
    deliveries: HashSet<(NodeId, u32, u64)>,
}

/// The parameters of an operation that starts.
pub(crate) struct Start {
    pub(crate) node: NodeId,
    pub(crate) target: Nid,
    pub(crate) ask: OpKind,
    pub(crate) bytes: u32,
    pub(crate) started: Time,
    pub(crate) paths: Vec<(Nid, Nid)>,
}

/// The value that MDs of servers carry instead of the number of an operation.
pub(crate) const SERVER: usize = usize::MAX;

impl Op {
    /// The handle of the operation's MD; `None` until it has one.
    pub const fn md(&self) -> Option<MdHandle> {
        self.md
    }

    /// Whether all events of the operation were successful.
    pub const fn succeeded(&self) -> bool {
        let answered = matches!((self.ask, self.answered), (OpKind::Put, _) | (_, Some(Ok(()))));
        matches!(self.sent, Some(Ok(()))) && answered && self.ended
    }
}

impl Ledger {
    /// Makes the ledger of a network with this delivery: with delivery ACKs no operation may be served twice. `checks` says
    /// whether the results of operations are checked.
    pub(crate) fn new(delivery: Delivery, checks: bool) -> Self {
        let once = delivery == Delivery::Acked;
        Self { once, checks: checks && once, tracks: delivery != Delivery::Socket, ..Self::default() }
    }

    pub(crate) fn start(&mut self, start: Start) -> OpId {
        let Start { node, target, ask, bytes, started, paths } = start;
        self.open += 1;
        self.ops.push(Op {
            node,
            target,
            ask,
            bytes,
            started,
            left: None,
            sent: None,
            answered: None,
            ended: false,
            end: None,
            md: None,
            paths,
            given_up: false,
            orphaned: false,
        });
        OpId(self.ops.len() - 1)
    }

    pub(crate) fn op(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id.0)
    }

    pub(crate) fn set_md(&mut self, id: OpId, md: MdHandle) {
        if let Some(op) = self.ops.get_mut(id.0) {
            op.md = Some(md);
        }
    }

    pub(crate) fn given_up(&mut self, id: OpId) {
        if let Some(op) = self.ops.get_mut(id.0) {
            op.given_up = true;
        }
    }

    /// The operations that have not ended, with their MDs.
    pub(crate) fn open(&self) -> impl Iterator<Item = (OpId, &Op)> {
        let open = |op: &Op| !op.ended && !op.orphaned;
        (0..).map(OpId).zip(&self.ops).filter(move |(_, op)| open(op))
    }

    /// The number of operations that have not ended.
    pub(crate) const fn count_open(&self) -> usize {
        self.open
    }

    pub(crate) fn all(&self) -> &[Op] {
        &self.ops
    }

    pub(crate) fn forget_if_all_ended(&mut self) {
        if self.open == 0 {
            self.ops = Vec::new();
            // The numbers of operations begin again.
            self.deliveries.clear();
            self.just_ended.clear();
            self.ended = self.ended.take().map(|_| Vec::new());
        }
    }

    /// Marks the open operations of a node that is down: their owners are gone.
    pub(crate) fn orphan(&mut self, node: NodeId) {
        for op in self.ops.iter_mut().filter(|op| op.node == node && !op.ended && !op.orphaned) {
            op.orphaned = true;
            self.open -= 1;
        }
    }

    /// Records an event.
    pub(crate) fn on_event(&mut self, node: NodeId, incarnation: u32, event: &Event, now: Time) {
        if event.md.user_ptr == SERVER {
            self.served += 1;
            self.deliver(node, incarnation, event);
            return;
        }
        let number = event.md.user_ptr;
        let Some(op) = self.ops.get_mut(number) else {
            self.report(format!("an event for an operation that nobody started: {event:?}"));
            return;
        };
        if op.orphaned {
            return;
        }
        if op.ended {
            self.report(format!("operation {number} is told {:?} after its last event", event.kind));
            return;
        }
        let twice = match event.kind {
            EventKind::Send => {
                op.left = Some(now);
                op.sent.replace(event.status).is_some()
            }
            EventKind::Ack | EventKind::Reply => op.answered.replace(event.status).is_some(),
            EventKind::Unlink => false,
            EventKind::Get | EventKind::Put => true,
        };
        op.ended = event.unlinked;
        op.end = op.ended.then_some(now);
        if event.status.is_err() && event.kind == EventKind::Send && !op.ended {
            self.send_failed.push(OpId(number));
        }
        let ended_unsent = op.ended && op.sent.is_none();
        if let Some(ended) = self.ended.as_mut().filter(|_| op.ended) {
            ended.push(OpId(number));
        }
        if op.ended && self.checks {
            self.just_ended.push(OpId(number));
        }
        self.open -= usize::from(event.unlinked);
        if twice {
            self.report(format!("operation {number} is told {:?} once too often", event.kind));
        } else if ended_unsent {
            self.report(format!("operation {number} ends and was never told whether it left"));
        }
    }

    fn deliver(&mut self, node: NodeId, incarnation: u32, event: &Event) {
        let operation = event.match_bits & OPERATION;
        let is_double =
            self.tracks && operation != 0 && !self.deliveries.insert((node, incarnation, operation));
        self.doubled += u64::from(is_double);
        if is_double && self.once {
            let number = operation_of(operation).map_or(0, |id| id.0);
            self.report(format!("{node} is given operation {number} twice: {:?}", event.kind));
        }
    }

    fn report(&mut self, text: String) {
        self.error.get_or_insert(LedgerError(text));
    }
}
