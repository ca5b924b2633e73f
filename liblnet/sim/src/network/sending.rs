//! Sending of messages from a node into the network.

use super::*;
use crate::driver::PartWaiter;

impl Network {
    /// Sends a message. `waiter` follows the arrival of one that is still arriving.
    pub(crate) fn send(
        &mut self,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        waiter: Option<Arc<PartWaiter>>,
    ) -> SendOutcome {
        if self.faults.is_shut_off(from.node) {
            return SendOutcome::Done(message, Err(Errno::Shutdown.into()));
        }
        let header = *message.header();
        let mut payload = (message.payload_len() > 0).then(|| payload_of(&message));
        // A router of an older version forwards the payload as its source wrote it.
        if let Some(payload) = payload.as_mut().filter(|_| self.is_nid_of(header.src_nid, from.node)) {
            down_rev::send(&header, payload, self.faults.hidden_by(from.node));
        }
        let peer = message.next_hop().nid;
        let own = self.interface(from).map(|interface| interface.nid);
        if let Some(own) = own {
            self.families.note(from.node, own, peer);
        }
        let to = self.by_nid.get(&peer).copied();
        if let (Some(payload), Some(to)) = (&mut payload, to) {
            down_rev::receive(&header, payload, self.faults.hidden_by(to.node));
        }
        let digest = Digest::of(&header, payload.as_deref().filter(|_| self.trace.is_kept()));
        if !matches!(digest.purpose, Purpose::Ping | Purpose::PingReply) {
            self.last_business = self.now();
        }
        self.count_sent(own, payload.as_deref());
        self.counts.sent(from.node, to.map(|to| to.node), digest.purpose);
        self.note_of(from.node, || TraceEvent::Sent(digest));
        if self.confirms() {
            return self.send_acked(from, message, payload, digest, waiter);
        }
        match to.map(|to| (to, self.is_open_from(from, to))) {
            None => self.fail(from, message, digest, Errno::HostUnreachable.into()),
            Some((to, true)) => {
                let lane = self.lane(from, to);
                self.enqueue(LinkKey { from, to, lane }, message, payload, digest)
            }
            Some((_, false)) => self.send_into_the_dark(from, message, digest),
        }
    }

    pub(super) fn is_nid_of(&self, nid: Nid, node: NodeId) -> bool {
        self.by_nid.get(&nid).is_some_and(|its| its.node == node)
    }

    pub(super) fn lane(&mut self, from: InterfaceId, to: InterfaceId) -> u8 {
        let connections = self.config.connections.max(self.faults.connections(from.node, to.node));
        if connections <= 1 {
            return 0;
        }
        let turn = self.turns.entry((from, to)).or_default();
        *turn = (*turn + 1) % connections;
        *turn
    }

    fn enqueue(
        &mut self,
        key: LinkKey,
        message: Pooled<OutgoingMessage>,
        payload: Option<Box<[u8]>>,
        digest: Digest,
    ) -> SendOutcome {
        if self.one_in(self.config.breaks_one_in) {
            let back = LinkKey { from: key.to, to: key.from, lane: key.lane };
            self.break_link(key, "its connection broke");
            self.break_link(back, "its connection broke");
            self.counts.breaks += 1;
            return self.send_into_the_dark(key.from, message, digest);
        }
        let header = *message.header();
        self.numbers += 1;
        let number = self.numbers;
        let latency = self.latency();
        let length = payload.as_deref().map_or(0, <[u8]>::len);
        let at = self.arrival_time([key.from, key.to], length, latency);
        let link = self.links.entry(key).or_default();
        let arrives = link.queue.back().map_or(Time::START, |last| last.arrives).max(at);
        let taken = link.queue.len() < WINDOW;
        let name = MessageId { number, again: false };
        link.queue.push_back(InFlight {
            header,
            payload,
            carried: None,
            arrives,
            number,
            name,
            progress: None,
        });
        if link.queue.len() == 1 && link.stopped_by.is_none() {
            self.arm(key);
        }
        if taken && self.config.completion == Completion::AtOnce {
            return SendOutcome::Done(message, Ok(()));
        }
        self.keep(number, key.from, message, Ok(()));
        if taken {
            self.plan_finish(number, latency);
        }
        SendOutcome::Pending
    }

    /// Loses the message; its sender gets a late failure, or success, as with TCP.
    fn send_into_the_dark(
        &mut self,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        digest: Digest,
    ) -> SendOutcome {
        if self.config.order == Order::Timed && self.random.bool() {
            return self.fail(from, message, digest, Errno::TimedOut.into());
        }
        self.lose(from.node, digest, "nobody hears it");
        SendOutcome::Done(message, Ok(()))
    }

    pub(super) fn fail(
        &mut self,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        digest: Digest,
        failure: SendFailure,
    ) -> SendOutcome {
        self.note_failure(from.node, digest, failure);
        self.numbers += 1;
        let number = self.numbers;
        self.keep(number, from, message, Err(failure));
        let after = if failure.errno == Errno::TimedOut { Duration::from_secs(16) } else { self.latency() };
        self.plan_finish(number, after);
        SendOutcome::Pending
    }

    /// Keeps a message without a connection until its result is reported.
    fn keep(
        &mut self,
        number: u64,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        result: Result<(), SendFailure>,
    ) {
        let (peer, sent) = (message.next_hop().nid, self.now());
        let (left, owed) = (result.is_ok(), false);
        let key = None;
        self.unfinished.insert(
            number,
            Unfinished { from, peer, key, message, sent, left, owed, result, following: None },
        );
    }

    pub(super) fn plan_finish(&mut self, number: u64, after: Duration) {
        let after = if self.config.order == Order::Chosen { Duration::ZERO } else { after };
        let at = self.now() + after;
        self.events.plan(at, |_| SimEvent::Finish(number));
    }

    pub(super) fn latency(&mut self) -> Duration {
        let jitter = self.config.jitter.as_nanos() as u64;
        if self.config.order == Order::Chosen || jitter == 0 {
            return self.config.latency;
        }
        let latency = self.config.latency + Duration::from_nanos(self.random.u64(0..=jitter));
        if self.one_in(self.config.slow_one_in) { latency * 1000 } else { latency }
    }

    pub(super) fn one_in(&mut self, many: u32) -> bool {
        many > 0 && self.random.u32(0..many) == 0
    }

    /// Takes a message whose result is to be reported now, unless that has been done.
    pub(crate) fn take_finished(&mut self, number: u64) -> Option<Finished> {
        let Unfinished { from, message, result, .. } = self.unfinished.remove(&number)?;
        let (_, upcalls) = self.interface(from)?.plugged.as_ref()?;
        Some(Finished { upcalls: Arc::clone(upcalls), node: from.node, message, result })
    }
}
