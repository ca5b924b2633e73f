//! One transmission of a request: its XID, its match bits, its message.

use super::super::request_message::{MessageFields, RequestMessage};
use super::super::transmission::{BulkSpec, Transmission, TransmissionSpec};
use super::{Purpose, Rpc, Sent};
use crate::Errno;
use crate::clock::Time;
use crate::import::TransmissionFacts;
use crate::import::connect_state::ActiveConnection;
use crate::message::{BulkBits, ConnectFlags, Xid};
use crate::wakeup::Waker;

impl Rpc {
    /// Sends the request over this connection. `facts`: of its first transmission, if they are known already.
    pub(super) fn send(
        &mut self,
        connection: ActiveConnection,
        facts: Option<Result<TransmissionFacts, Errno>>,
        waker: &Waker,
        now: Time,
    ) -> Result<Sent, Errno> {
        let count = self.request.bulk_md_count()?;
        let is_first = self.xid == Xid(0);
        if !is_first && self.bits.is_some() && self.is_resent {
            self.renew_bits(count, waker)?;
        }
        let xid = (!is_first).then_some(self.xid);
        let begin = || self.context.session.begin_transmission(xid, &connection, waker, now);
        let facts = facts.unwrap_or_else(begin)?;
        if is_first {
            self.xid = facts.xid;
            self.bits = BulkBits::starting_at(facts.xid, count);
        }
        let session = &self.context.session;
        let (timeout, initial, is_connect) = match self.purpose {
            Purpose::Connect { timeout, initial, .. } => (timeout, initial, true),
            Purpose::Use => (self.request.timeout.unwrap_or(facts.timeout), false, false),
        };
        let config = session.config();
        let fields = MessageFields {
            connection: &connection,
            service: config.service_of(self.request.opcode),
            last_xid: facts.last_xid,
            tag: self.tag.as_ref().map_or(0, |tag| tag.0),
            mbits: self.mbits(),
            is_resent: self.is_resent && self.sent_to.is_some(),
            is_connect,
            initial,
            timeout,
            adaptive: session.is_adaptive(),
            reply_len: self.reply_len,
        };
        let bulk = self.request.bulk.as_ref().zip(self.bits).map(|(bulk, bits)| BulkSpec {
            memory: &bulk.memory,
            direction: bulk.direction,
            portal: config.bulk_portal.0,
            bits,
        });
        let reply_by_mbits = facts.reply_by_mbits && !is_connect;
        let message = RequestMessage { request: &self.request, fields };
        let spec = TransmissionSpec {
            message: &message,
            peer: facts.peer,
            request_portal: self.request.portal.unwrap_or(config.portals.request).0,
            reply_portal: config.portals.reply.0,
            xid: self.xid.0,
            reply_bits: if reply_by_mbits { self.mbits() } else { self.xid.0 },
            reply_len: self.reply_len as usize,
            early_replies: fields.adaptive,
            bulk,
        };
        // Once LNet has accepted the request it may be executed, whatever happens to the message.
        let transmission = Transmission::start(&self.context.sender, &spec, waker)?;
        self.sent_to = self.sent_to.or(Some(connection.incarnation));
        self.is_resent = true;
        let deadline = now + timeout + facts.net_latency;
        Ok(Sent { transmission, connection, at: now, deadline })
    }

    /// Sets new match bits of bulk data, which each transmission has.
    fn renew_bits(&mut self, count: u32, waker: &Waker) -> Result<(), Errno> {
        let first = self.context.session.new_bulk_bits();
        self.bits = BulkBits::starting_at(first, count);
        if !self.context.session.agreed_flags().contains(ConnectFlags::BULK_MBITS) {
            // PR-22: without separate bits it becomes another request, which the server could not recognize.
            if self.request.at_most_once {
                return Err(Errno::Stale);
            }
            let last = self.bits.map_or(first, |bits| Xid(bits.last()));
            self.context.session.replace_xid(self.xid, last, waker);
            self.xid = last;
            self.is_resent = false;
            self.transferred = 0;
        }
        Ok(())
    }

    fn mbits(&self) -> u64 {
        self.bits.map_or(self.xid.0, BulkBits::last)
    }
}
