//! Receipts that come, for messages that this node has sent.

use super::End;
use crate::connection::{Connection, Phase};
use crate::decide::book::NotOutstanding;
use crate::decide::cookie::Cookie;
use crate::decide::receipts::Brought;
use crate::driver::is_visitor;
use crate::sync::lock;
use std::sync::Arc;

/// Receipts that one range of a node of ours brings; it never lets so many wait.
const MOST_OF_OURS: u64 = 64;

impl Connection {
    /// Receipts have come, for messages of any connection of the peer. With a request that the application's thread may
    /// be waiting for, what they end is reported when that thread comes again: the answer goes first.
    pub(super) fn acknowledge(self: &Arc<Self>, brought: Brought, with_request: bool) -> Result<(), End> {
        let later = with_request && is_visitor();
        let known = match brought {
            Brought::Nothing => true,
            Brought::One(one) => self.receipt_came(one, later),
            Brought::Pair(a, b) => self.receipt_came(a, false) && self.receipt_came(b, false),
            Brought::Range(from, to) => self.receipts_came(from, to),
        };
        if known { Ok(()) } else { Err(End::Broken("a receipt that nobody asked for".to_owned())) }
    }

    /// Whether somebody asked for it.
    fn receipt_came(self: &Arc<Self>, wire: u64, later: bool) -> bool {
        let Some(cookie) = Cookie::of(wire) else { return false };
        let Some(sender) = self.sender_of(cookie) else { return self.takes_strays() };
        let done = lock(&sender.tx).book.acknowledge(cookie);
        match done {
            Ok(Some(message)) => {
                let now = if later { self.scheduler.finish_later(message, self.ni()) } else { Some(message) };
                if let Some(message) = now {
                    self.ni().upcalls.finalize(message, Ok(()));
                }
            }
            Ok(None) => {}
            Err(NotOutstanding) => return false,
        }
        true
    }

    fn receipts_came(self: &Arc<Self>, from: u64, to: u64) -> bool {
        if self.is_ours() {
            // Names of messages that were sent again make ranges, too, and of a connection that has ended meanwhile some
            // may be known no more: each is judged by itself.
            let count = to.saturating_sub(from).saturating_add(1);
            return count <= MOST_OF_OURS && (from..=to).all(|cookie| self.receipt_came(cookie, false));
        }
        let (Some(first), Some(last)) = (Cookie::of(from), Cookie::of(to)) else { return false };
        match self.sender_of(first) {
            None => self.takes_strays(),
            Some(sender) => {
                let all = lock(&sender.tx).book.awaits_all(first, last);
                all && (from..=to).all(|cookie| self.receipt_came(cookie, false))
            }
        }
    }

    /// The connection, of those to the same peer, that sent the message of this name.
    fn sender_of(self: &Arc<Self>, cookie: Cookie) -> Option<Arc<Self>> {
        let mine =
            if cookie.is_again() { lock(&self.tx).book.knows(cookie) } else { cookie.line() == self.line };
        if mine {
            return Some(Arc::clone(self));
        }
        if cookie.is_again() {
            self.peer.connection_with(cookie)
        } else {
            self.peer.connection_of(cookie.line())
        }
    }

    /// Whether a receipt for a message of no connection there is may have been under way when that ended.
    fn takes_strays(&self) -> bool {
        self.is_ours() || self.phase() != Phase::Open
    }
}
