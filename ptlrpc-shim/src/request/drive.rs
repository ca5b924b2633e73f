//! A request's way from the first sending to its end, step by step: whoever waits for it takes them.

use super::flight::{BulkSending, Direction, Flight, News, Sending};
use super::wake::Waker;
use super::{Reply, Request};
use crate::errno::Errno;
use crate::import::machine::{Admission, Link};
use crate::import::{Import, Tag};
use crate::lnet::Region;
use crate::message::{
    Body, BodyFlags, BulkBits, ConnectFlags, ConnectOps, Message, MessageFlags, MessageKind, MessageMut, Xid,
    size_of_message,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The caller's, or a ping.
    Use,
    /// To connect: it is not held back until there is a connection, and is sent once (PR-62).
    Connect { link: Link, timeout: Duration, initial: bool },
}

/// A request, and how far it is.
pub(crate) struct Driven {
    import: Arc<Import>,
    request: Request,
    purpose: Purpose,
    stage: Stage,
    began: Instant,
    xid: Xid,
    bits: Option<BulkBits>,
    tag: Option<Tag>,
    /// In which life of the server it was sent first, if it was.
    sent_in: Option<u32>,
    /// It has been sent with this xid.
    is_resent: bool,
    /// Answers that it cannot be done now.
    put_off: u32,
    /// Bytes for the reply.
    room: u32,
    /// Bytes of bulk data that were moved for an earlier sending which was not answered.
    moved: u64,
    early_count: u32,
}

enum Stage {
    /// For a connection, or until then.
    Waiting(Option<Instant>),
    Out(Sent),
    /// The descriptors are being withdrawn.
    Leaving(Sent, Why),
    /// The reply is there, and bulk data may be on its way.
    Moving(Sent, Reply),
    Over(Option<Result<Reply, Errno>>),
}

struct Sent {
    flight: Flight,
    link: Link,
    at: Instant,
    deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Answered,
    /// No answer in time, or it did not arrive.
    Expired,
    /// It goes out again at once.
    Again,
    /// The caller does not want it any more, or it is to end with this.
    Ends(Errno),
}

/// What comes next.
enum Next {
    /// Another step, at once.
    Step,
    /// When there is news, or then.
    At(Option<Instant>),
}

impl Driven {
    pub(crate) fn new(import: &Arc<Import>, request: Request, purpose: Purpose, now: Instant) -> Self {
        let lengths: Vec<u32> =
            std::iter::once(Body::LEN as u32).chain(request.reply_room.iter().copied()).collect();
        let room = size_of_message(&lengths);
        let fits = room.is_some() && request.bulk_count().is_ok();
        let stage = if fits { Stage::Waiting(None) } else { Stage::Over(Some(Err(Errno::INVALID))) };
        Self {
            import: Arc::clone(import),
            request,
            purpose,
            stage,
            began: now,
            xid: Xid(0),
            bits: None,
            tag: None,
            sent_in: None,
            is_resent: false,
            put_off: 0,
            room: room.unwrap_or(0) as u32,
            moved: 0,
            early_count: 0,
        }
    }

    pub(crate) const fn is_connecting(&self) -> bool {
        matches!(self.purpose, Purpose::Connect { .. })
    }

    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// How it ended, once.
    pub(crate) fn take(&mut self) -> Option<Result<Reply, Errno>> {
        match &mut self.stage {
            Stage::Over(result) => result.take(),
            _ => None,
        }
    }

    pub(crate) const fn early_count(&self) -> u32 {
        self.early_count
    }

    /// The caller does not want it any more: it ends with [`Errno::INTERRUPTED`] when its memory is free.
    pub(crate) fn abort(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Over(None));
        self.stage = match stage {
            Stage::Waiting(_) => Stage::Over(Some(Err(Errno::INTERRUPTED))),
            Stage::Out(sent) | Stage::Leaving(sent, _) | Stage::Moving(sent, _) => {
                self.leave(sent, Why::Ends(Errno::INTERRUPTED))
            }
            Stage::Over(result) => Stage::Over(result),
        };
    }

    /// Goes on as far as it can; when to come again if there is no news before.
    pub(crate) fn drive(&mut self, waker: &Waker, now: Instant) -> Option<Instant> {
        loop {
            let stage = std::mem::replace(&mut self.stage, Stage::Over(None));
            let (stage, next) = match stage {
                Stage::Waiting(until) => self.wait(until, waker, now),
                Stage::Out(sent) => self.fly(sent, now),
                Stage::Leaving(sent, why) => self.land(sent, why, now),
                Stage::Moving(sent, reply) => self.move_bulk(sent, reply, now),
                Stage::Over(result) => (Stage::Over(result), Next::At(None)),
            };
            self.stage = stage;
            if let Next::At(at) = next {
                if self.is_over() {
                    self.let_go();
                }
                return at;
            }
        }
    }

    const fn end(result: Result<Reply, Errno>) -> (Stage, Next) {
        (Stage::Over(Some(result)), Next::At(None))
    }

    fn limit(&self) -> Option<Instant> {
        self.request.limit.map(|limit| self.began + limit)
    }

    fn wait(&mut self, until: Option<Instant>, waker: &Waker, now: Instant) -> (Stage, Next) {
        let limit = self.limit();
        if limit.is_some_and(|limit| limit <= now) {
            return Self::end(Err(self.given_up()));
        }
        if let Some(until) = until.filter(|until| *until > now) {
            let at = limit.map_or(until, |limit| limit.min(until));
            return (Stage::Waiting(Some(until)), Next::At(Some(at)));
        }
        let link = match self.purpose {
            Purpose::Connect { link, .. } => link,
            Purpose::Use => match self.import.admit(waker) {
                Admission::Go(link) => link,
                Admission::Closed => return Self::end(Err(Errno::SHUTDOWN)),
                Admission::Wait if self.request.no_delay => return Self::end(Err(Errno::AGAIN)),
                Admission::Wait => return (Stage::Waiting(None), Next::At(limit)),
            },
        };
        if self.request.at_most_once {
            if self.sent_in.is_some_and(|life| life != link.life) {
                return Self::end(Err(Errno::UNKNOWN_OUTCOME));
            }
            if self.tag.is_none() {
                self.tag = self.import.take_tag(waker);
            }
            if self.tag.is_none() {
                return (Stage::Waiting(None), Next::At(limit));
            }
        }
        match self.send(link, waker, now) {
            Ok(sent) => (Stage::Out(sent), Next::Step),
            Err(Errno::UNKNOWN_OUTCOME) => Self::end(Err(Errno::UNKNOWN_OUTCOME)),
            Err(errno) => {
                log::debug!("{:?} to {} cannot be sent: {errno}", self.request.opcode, self.import.name());
                self.expire(link.conn_cnt, now)
            }
        }
    }

    /// What it ends with when its time is over.
    const fn given_up(&self) -> Errno {
        match (self.request.at_most_once, self.sent_in) {
            (true, Some(_)) => Errno::UNKNOWN_OUTCOME,
            _ => Errno::TIMED_OUT,
        }
    }

    fn send(&mut self, link: Link, waker: &Waker, now: Instant) -> Result<Sent, Errno> {
        let import = Arc::clone(&self.import);
        let count = self.request.bulk_count()?;
        let fresh_bits = self.bits.is_some() && self.is_resent;
        if self.xid == Xid(0) {
            self.xid = import.begin_xid(waker);
            self.bits = BulkBits::starting_at(self.xid, count);
        } else if fresh_bits {
            let fresh = import.fresh_bits();
            self.bits = BulkBits::starting_at(fresh, count);
            if !import.agreed().contains(ConnectFlags::BULK_MBITS) {
                // PR-22: without bits of their own it is another request, which the server could not know again.
                if self.request.at_most_once {
                    return Err(Errno::UNKNOWN_OUTCOME);
                }
                let last = self.bits.map_or(fresh, |bits| Xid(bits.last()));
                import.replace_xid(self.xid, last, waker);
                self.xid = last;
                self.is_resent = false;
                self.moved = 0;
            }
        }
        let peer = import.connection(link.way)?.peer;
        let portals = import.portals();
        let timeout = match self.purpose {
            Purpose::Connect { timeout, .. } => timeout,
            Purpose::Use => self.request.timeout.unwrap_or_else(|| import.reckoned(now)),
        };
        let adaptive = import.is_adaptive();
        let message = self.message(link, timeout, adaptive)?;
        let bulk = self.request.bulk.as_ref().zip(self.bits).map(|(bulk, bits)| BulkSending {
            memory: &bulk.memory,
            direction: bulk.direction,
            portal: import.bulk_portal(),
            bits,
        });
        let is_connect = matches!(self.purpose, Purpose::Connect { .. });
        let by_mbits = import.agreed().contains(ConnectFlags::REP_MBITS) && !is_connect;
        let sending = Sending {
            message,
            to: peer,
            request_portal: self.request.portal.unwrap_or(portals.request).0,
            reply_portal: portals.reply.0,
            xid: self.xid.0,
            reply_bits: if by_mbits { self.mbits() } else { self.xid.0 },
            reply_room: self.room as usize,
            adaptive,
            bulk,
        };
        // Once LNet has it, it may be executed, whatever becomes of it.
        let flight = Flight::begin(import.node(), sending, waker.clone())?;
        self.sent_in = self.sent_in.or(Some(link.life));
        self.is_resent = true;
        Ok(Sent { flight, link, at: now, deadline: now + timeout + import.network(now) })
    }

    fn mbits(&self) -> u64 {
        self.bits.map_or(self.xid.0, BulkBits::last)
    }

    fn message(&self, link: Link, timeout: Duration, adaptive: bool) -> Result<Region, Errno> {
        let lengths: Vec<u32> = std::iter::once(Body::LEN as u32)
            .chain(self.request.buffers.iter().map(|buffer| buffer.len() as u32))
            .collect();
        let size = size_of_message(&lengths).ok_or(Errno::INVALID)?;
        let mut region = Region::zeroed(size);
        let mut message =
            MessageMut::new(region.bytes_mut(), &lengths).map_err(|bad| Errno::from(bad.errno()))?;
        let is_resent = self.is_resent && self.sent_in.is_some();
        let op_flags = match self.purpose {
            Purpose::Connect { initial: true, .. } => ConnectOps::INITIAL.union(ConnectOps::NEXT_VER),
            Purpose::Connect { .. } => ConnectOps::NEXT_VER,
            Purpose::Use => ConnectOps::NONE,
        };
        let body = Body {
            handle: link.handle,
            last_xid: self.import.answered_below(self.xid),
            tag: self.tag.as_ref().map_or(0, |tag| tag.0),
            flags: if is_resent { BodyFlags::RESENT } else { BodyFlags::NONE },
            op_flags,
            conn_cnt: link.conn_cnt,
            timeout: seconds(timeout),
            mbits: self.mbits(),
            ..Body::request(self.import.service_of(self.request.opcode), self.request.opcode)
        };
        message.set_body(&body);
        message.set_repsize(self.room);
        message.set_flags(if adaptive { MessageFlags::AT_SUPPORT } else { MessageFlags::NONE });
        for (index, buffer) in self.request.buffers.iter().enumerate() {
            message.buffer_mut(index + 1).ok_or(Errno::INVALID)?.copy_from_slice(buffer);
        }
        Ok(region)
    }

    fn fly(&mut self, mut sent: Sent, now: Instant) -> (Stage, Next) {
        let news = sent.flight.news();
        if news.reply.is_some() || news.needs.is_some() {
            return (self.leave(sent, Why::Answered), Next::Step);
        }
        if let Some(errno) = news.failed {
            log::debug!("{:?} to {} has not arrived: {errno}", self.request.opcode, self.import.name());
            return (self.leave(sent, Why::Expired), Next::Step);
        }
        // Not each has to find out by itself that its connection is gone.
        if self.purpose == Purpose::Use && self.import.is_superseded(sent.link.conn_cnt) {
            return (self.leave(sent, Why::Expired), Next::Step);
        }
        if let Some(early) = news.early {
            self.early_count = self.early_count.max(news.early_count);
            let promised = sent.at + Duration::from_secs(early.timeout.into()) + self.import.network(now);
            sent.deadline = sent.deadline.max(promised);
        }
        let limit = self.limit();
        if limit.is_some_and(|limit| limit <= now) {
            let errno = self.given_up();
            return (self.leave(sent, Why::Ends(errno)), Next::Step);
        }
        if sent.deadline <= now {
            log::debug!("{:?} to {} was not answered in time", self.request.opcode, self.import.name());
            return (self.leave(sent, Why::Expired), Next::Step);
        }
        let at = limit.map_or(sent.deadline, |limit| limit.min(sent.deadline));
        (Stage::Out(sent), Next::At(Some(at)))
    }

    /// Withdraws what was offered; bulk data goes on where there is a reply.
    fn leave(&self, sent: Sent, why: Why) -> Stage {
        sent.flight.close_reply(self.import.node());
        if why != Why::Answered {
            sent.flight.close_bulk(self.import.node());
        }
        Stage::Leaving(sent, why)
    }

    fn land(&mut self, sent: Sent, why: Why, now: Instant) -> (Stage, Next) {
        let news = sent.flight.news();
        if news.reply_open || why != Why::Answered && news.bulk_open > 0 {
            return (Stage::Leaving(sent, why), Next::At(None));
        }
        if why != Why::Answered {
            self.moved = self.moved.max(news.bulk_bytes);
        }
        match why {
            Why::Answered => self.read_reply(sent, &news, now),
            Why::Expired => self.expire(sent.link.conn_cnt, now),
            Why::Again => (Stage::Waiting(None), Next::Step),
            Why::Ends(errno) => Self::end(Err(errno)),
        }
    }

    fn read_reply(&mut self, sent: Sent, news: &News, now: Instant) -> (Stage, Next) {
        if news.reply.is_none()
            && let Some(needs) = news.needs
        {
            self.room = self.room.max(needs);
            return match self.request.no_resend {
                true => (self.leave(sent, Why::Ends(Errno::OVERFLOW)), Next::Step),
                false => (self.leave(sent, Why::Again), Next::Step),
            };
        }
        let Some(bytes) = sent.flight.reply() else { return self.expire(sent.link.conn_cnt, now) };
        let body = Message::parse(&bytes).and_then(|message| message.body());
        let body = match body {
            Ok(body) if body.kind != MessageKind::Request => body,
            bad => {
                log::warn!("{} answers {:?} with what is no reply: {bad:?}", self.import.name(), self.xid);
                return (self.leave(sent, Why::Ends(Errno::PROTOCOL)), Next::Step);
            }
        };
        if body.kind == MessageKind::Reply {
            self.import.heard(sent.at, &body, now);
        }
        let errno = Errno::from_c(body.status);
        let is_use = self.purpose == Purpose::Use;
        if is_use && body.kind == MessageKind::Error && errno.is_some_and(lost_connection) {
            // PR-63: the server does not know this client. It has not executed this.
            return match self.request.no_resend {
                true => (self.leave(sent, Why::Ends(errno.unwrap_or(Errno::IO))), Next::Step),
                false => (self.leave(sent, Why::Expired), Next::Step),
            };
        }
        if is_use && errno == Some(Errno::IN_PROGRESS) && !self.request.no_resend {
            return self.put_off(sent, now);
        }
        let reply = Reply { bytes, body, bulk_bytes: news.bulk_bytes };
        // The service has waited for its bulk transfer before it replied (PR-76): what it has not used by now it will not use,
        // for there was an error, or less to be moved, or this is its earlier answer. What is just leaving goes on.
        sent.flight.close_bulk(self.import.node());
        (Stage::Moving(sent, reply), Next::Step)
    }

    /// PR-63: not now, so again with another number, later each time.
    fn put_off(&mut self, sent: Sent, now: Instant) -> (Stage, Next) {
        sent.flight.close_bulk(self.import.node());
        self.put_off += 1;
        let longest = self.import.reckoned(now);
        let pause = Duration::from_secs(self.put_off.into()).min(longest);
        self.import.end_xid(self.xid);
        (self.xid, self.bits, self.is_resent, self.sent_in) = (Xid(0), None, false, None);
        self.moved = 0;
        (Stage::Waiting(Some(now + pause)), Next::Step)
    }

    /// The last that a service fetches may still be leaving, so this is soon over.
    fn move_bulk(&mut self, sent: Sent, mut reply: Reply, now: Instant) -> (Stage, Next) {
        let news = sent.flight.news();
        if news.bulk_open > 0 {
            let overdue = now >= sent.deadline;
            if overdue {
                sent.flight.close_bulk(self.import.node());
            }
            let at = (!overdue).then_some(sent.deadline);
            return (Stage::Moving(sent, reply), Next::At(at));
        }
        reply.bulk_bytes = news.bulk_bytes;
        let Some(bulk) = self.request.bulk.as_ref().filter(|_| reply.status() >= 0) else {
            return Self::end(Ok(reply));
        };
        if let Some(errno) = news.bulk_failed {
            log::warn!("bulk data of {:?} to {}: {errno}", self.xid, self.import.name());
            return Self::end(Err(Errno::IO));
        }
        // Then this may be the answer to an earlier sending, whose bulk data it was. If the service has done it twice, it
        // may since have written something else over a part of that.
        if reply.bulk_bytes < self.moved {
            if bulk.direction == Direction::FromService && !self.request.at_most_once {
                self.moved = 0;
                return (Stage::Waiting(None), Next::Step);
            }
            reply.bulk_bytes = self.moved;
        }
        Self::end(Ok(reply))
    }

    /// PR-60: no answer. The connection is taken for broken, and the request waits for the next.
    fn expire(&mut self, conn_cnt: u32, now: Instant) -> (Stage, Next) {
        if self.purpose != Purpose::Use {
            return Self::end(Err(Errno::TIMED_OUT));
        }
        self.import.failed(conn_cnt);
        if self.request.no_resend {
            return Self::end(Err(self.given_up()));
        }
        let again = if self.sent_in.is_none() { Some(now + Duration::from_millis(100)) } else { None };
        (Stage::Waiting(again), Next::Step)
    }

    /// What it had of the import's.
    fn let_go(&mut self) {
        if self.xid != Xid(0) {
            self.import.end_xid(self.xid);
            self.xid = Xid(0);
        }
        if let Some(tag) = self.tag.take() {
            self.import.give_tag(tag);
        }
    }
}

impl Drop for Driven {
    /// Nobody waits for it any more.
    fn drop(&mut self) {
        if let Stage::Out(sent) | Stage::Leaving(sent, _) | Stage::Moving(sent, _) = &self.stage {
            sent.flight.close_reply(self.import.node());
            sent.flight.close_bulk(self.import.node());
        }
        self.let_go();
    }
}

/// The server knows nothing of a connection.
fn lost_connection(errno: Errno) -> bool {
    matches!(errno, Errno::NOT_CONNECTED | Errno::NO_DEVICE)
}

/// In whole seconds, at least one: 0 would mean that the request is not worth looking at.
fn seconds(time: Duration) -> u32 {
    time.as_millis().div_ceil(1000).clamp(1, u32::MAX.into()) as u32
}
