//! A peer NI: its connections, and the messages that wait for one.

use crate::decide::refused::Wanted;
use crate::device::ConnId;
use lnet_core::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The reconnects in a row that are made at once; the next waits for the next full second (wire-o2ib 6.4).
const RECONNECTS_AT_ONCE: u32 = 10;

/// What is known of a peer NI. It is forgotten with its last connection.
#[derive(Debug)]
pub(super) struct Peer<M> {
    /// The connections that messages may go over.
    pub(super) up: Vec<ConnId>,
    /// The connections that this node asks for.
    pub(super) connecting: Vec<ConnId>,
    /// The connections that this node has accepted, and that are not up yet.
    pub(super) accepting: Vec<ConnId>,
    /// The messages that wait for a connection, in order, with the time since when.
    pub(super) waiting: VecDeque<(M, Time)>,
    /// What the next connection request asks for.
    pub(super) wanted: Wanted,
    /// Whether the peer was last reported as unresponsive.
    pub(super) is_reported: bool,
    /// The requests of the peer in a row that lost a race.
    pub(super) races: u32,
    /// Whether no more connections are asked for as long as there is one: a request has failed.
    pub(super) is_satisfied: bool,
    reconnects: u32,
    /// When the next request may be made, after too many.
    pub(super) connect_at: Option<Time>,
    turn: usize,
}

impl<M> Peer<M> {
    pub(super) const fn new(wanted: Wanted) -> Self {
        Self {
            up: Vec::new(),
            connecting: Vec::new(),
            accepting: Vec::new(),
            waiting: VecDeque::new(),
            wanted,
            is_reported: false,
            races: 0,
            is_satisfied: false,
            reconnects: 0,
            connect_at: None,
            turn: 0,
        }
    }

    /// The connection for the next message: they take turns.
    pub(super) fn next_conn(&mut self) -> Option<ConnId> {
        self.turn = self.turn.wrapping_add(1);
        (!self.up.is_empty()).then(|| self.up[self.turn % self.up.len()])
    }

    /// The number of connections that are up, or may be soon.
    pub(super) fn conns(&self) -> usize {
        self.up.len() + self.connecting.len() + self.accepting.len()
    }

    /// Whether nothing is known of the peer that another connection needs.
    pub(super) fn is_forgotten(&self) -> bool {
        self.conns() == 0 && self.waiting.is_empty()
    }

    /// Forgets a connection, whatever its state.
    pub(super) fn remove(&mut self, conn: ConnId) {
        for conns in [&mut self.up, &mut self.connecting, &mut self.accepting] {
            conns.retain(|its| *its != conn);
        }
    }

    /// Notes a connection that messages may go over from now on.
    pub(super) fn connected(&mut self, conn: ConnId) {
        self.remove(conn);
        self.up.push(conn);
        (self.reconnects, self.races, self.connect_at) = (0, 0, None);
    }

    /// Notes that the peer refused a request, and is to be asked again for `wanted`.
    pub(super) fn ask_again(&mut self, wanted: Wanted, now: Time) {
        self.wanted = wanted;
        self.count_reconnect(now);
    }

    /// Counts a request that follows at once, or later if there were too many in a row.
    pub(super) fn count_reconnect(&mut self, now: Time) {
        self.reconnects += 1;
        if self.reconnects > RECONNECTS_AT_ONCE {
            self.connect_at = Some(Time(Duration::from_secs(now.0.as_secs() + 1)));
        }
    }
}
