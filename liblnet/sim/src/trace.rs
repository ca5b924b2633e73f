//! The last events of a world, formatted only when they are printed.

use crate::digest::Digest;
use lnet_core::{SendFailure, Time};
use std::collections::VecDeque;
use std::fmt;

/// A node of a world, by its position in the order of addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// An event in a trace.
#[derive(Clone, Debug)]
pub enum TraceEvent {
    /// A node gave a message to the network.
    Sent(Digest),
    /// The network gave a message to a node.
    Arrived(Digest),
    /// A message arrived and waits for a buffer; its connection stalls.
    Held(Digest),
    /// A message will never arrive, for this reason.
    Lost(Digest, &'static str),
    /// The sender of a message got a failure.
    Failed(Digest, SendFailure),
    /// A duplicate of a message arrived and was dropped.
    Deduplicated(Digest),
    /// Another action on the node, described by the text.
    Changed(String),
}

/// A line of a trace.
#[derive(Clone, Debug)]
pub struct TraceLine {
    /// The time of the event.
    pub at: Time,
    /// The node of the event.
    pub node: NodeId,
    /// The event.
    pub what: TraceEvent,
}

/// The last events, oldest first.
#[derive(Debug)]
pub struct Trace {
    lines: VecDeque<TraceLine>,
    keep: usize,
}

impl Trace {
    /// Makes a trace of the last `keep` lines; with 0 it keeps none.
    pub const fn new(keep: usize) -> Self {
        Self { lines: VecDeque::new(), keep }
    }

    /// Whether lines are kept at all, since making one has a cost.
    pub const fn is_kept(&self) -> bool {
        self.keep > 0
    }

    /// Adds a line; the oldest one is dropped when there are too many.
    pub fn add(&mut self, at: Time, node: NodeId, what: TraceEvent) {
        if self.keep == 0 {
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        self.lines.push_back(TraceLine { at, node, what });
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &TraceLine> {
        self.lines.iter()
    }
}

impl fmt::Display for NodeId {
    /// Writes a letter, with a number behind it from the 27th node on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = char::from(b'A' + (self.0 % 26) as u8);
        match self.0 / 26 {
            0 => write!(f, "{letter}"),
            round => write!(f, "{letter}{round}"),
        }
    }
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.6} {:<3} ", self.at.0.as_secs_f64(), self.node.to_string())?;
        match &self.what {
            TraceEvent::Sent(digest) => write!(f, "sends    {digest}"),
            TraceEvent::Arrived(digest) => write!(f, "gets     {digest}"),
            TraceEvent::Held(digest) => write!(f, "holds    {digest}"),
            TraceEvent::Lost(digest, why) => write!(f, "lost     {digest}: {why}"),
            TraceEvent::Failed(digest, failure) => {
                let SendFailure { errno, cause, delivery } = failure;
                write!(f, "failed   {digest}: {}, {} {delivery:?}", errno.text(), cause.text())
            }
            TraceEvent::Deduplicated(digest) => write!(f, "knows    {digest}"),
            TraceEvent::Changed(text) => write!(f, "-------- {text}"),
        }
    }
}
