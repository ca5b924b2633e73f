//! The loss of connections: the messages that are lost, and the senders that get a failure.

use super::*;

/// Maximum time that a node waits for anything but the recovery of unhealthy interfaces.
const MAX_WAIT: Duration = Duration::from_secs(400);

impl Network {
    /// Breaks the connections between two nodes; messages under way on them are lost.
    pub(crate) fn break_between(&mut self, a: NodeId, b: NodeId) {
        let between =
            |key: &&LinkKey| (key.from.node, key.to.node) == (a, b) || (key.from.node, key.to.node) == (b, a);
        self.counts.breaks += 1;
        if self.confirms() {
            self.keys(|key| between(&key)).into_iter().for_each(|key| self.reset(key));
            return;
        }
        let keys: Vec<LinkKey> = self.links.keys().filter(between).copied().collect();
        keys.into_iter().for_each(|key| self.break_link(key, "its connection broke"));
    }

    /// Ends one direction of a connection.
    pub(crate) fn break_link(&mut self, key: LinkKey, why: &'static str) {
        let Some(link) = self.links.remove(&key) else { return };
        if let Some(waiting) = link.stopped_by.and_then(|number| self.waiting.get_mut(&number)) {
            waiting.broken = true;
        }
        for in_flight in link.queue {
            if let Some(unfinished) = self.unfinished.get_mut(&in_flight.number) {
                unfinished.result = Err(Errno::ConnectionReset.into());
                self.plan_finish(in_flight.number, Duration::ZERO);
            }
            let digest = Digest::of(&in_flight.header, in_flight.payload.as_deref());
            self.lose(key.to.node, digest, why);
        }
    }

    pub(super) fn note_failure(&mut self, node: NodeId, digest: Digest, failure: SendFailure) {
        self.counts.failed += 1;
        self.counts.by_cause[failure.cause as usize - 1] += 1;
        self.note_of(node, || TraceEvent::Failed(digest, failure));
    }

    pub(super) fn lose(&mut self, node: NodeId, digest: Digest, why: &'static str) {
        self.counts.lost += 1;
        if matches!(digest.purpose, Purpose::Push) {
            self.counts.lost_pushes += 1;
        }
        self.note_of(node, || TraceEvent::Lost(digest, why));
    }

    pub(super) fn note_of(&mut self, node: NodeId, what: impl FnOnce() -> TraceEvent) {
        if self.trace.is_kept() {
            self.note(node, what());
        }
    }

    /// Whether only pings to unhealthy interfaces are left, which may never end.
    pub(crate) fn only_recovers(&self) -> bool {
        let longest = self.last_business + MAX_WAIT;
        self.events.next_at().is_none_or(|next| next > longest) && self.is_idle()
    }

    /// Whether all messages under way are stalled.
    pub(crate) fn is_idle(&self) -> bool {
        self.unfinished.is_empty() && self.resumed.is_empty() && self.ready().is_empty()
    }
}
