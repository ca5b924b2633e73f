//! Requests to the reserved portal that are repeated on another path.

use super::Monitor;
use crate::environment::time::Time;
use crate::health::Repeat;
use crate::md::Md;
use crate::model::message::{OutgoingMessage, Pooled, Request, Role};
use crate::select;
use lnet_wire::Nid;
use std::sync::Arc;

impl Monitor<'_> {
    /// Repeats pings and pushes that wait for a response on a path that is unresponsive, or whose interface has failed, if there
    /// is another path. A driver may still have the first message, whose result is that of the operation; the result of a copy is
    /// not reported, but its response is.
    pub(crate) fn repeat_requests(&self, now: Time) {
        let has_failed = |(local, next_hop): (Nid, Nid)| {
            let ends = self.topology.ni(local).zip(self.topology.peer_ni(next_hop));
            ends.is_none_or(|(ni, peer_ni)| select::is_avoided(&ni, &peer_ni))
        };
        for (md, repeat) in self.health.requests_to_repeat(now, has_failed) {
            let copy = self.copy_of(md, &repeat);
            match self.data_path.select_path_again(&copy) {
                Ok(path) if !path.is_last_resort() => {
                    self.health.count_resend();
                    self.log_repeat(&repeat, path.ni.nid(), path.next_hop());
                    self.data_path.reroute_now(copy);
                }
                _ => self.data_path.recycle(copy),
            }
        }
    }

    fn copy_of(&self, md: Arc<Md>, repeat: &Repeat) -> Pooled<OutgoingMessage> {
        let mut copy: Pooled<OutgoingMessage> = self.data_path.new_message(None, &repeat.header);
        copy.deadline = repeat.deadline;
        copy.role = Role::Request(Request { md, report: None, source: repeat.source, recovery: false });
        copy.attempts.resends = 1;
        copy.attempts.failed.push(repeat.path);
        copy
    }

    fn log_repeat(&self, repeat: &Repeat, local: Nid, next_hop: Nid) {
        let (kind, (from, to)) = (repeat.header.body.kind(), repeat.path);
        log::debug!("{kind} {from} -> {to} unanswered; sending it again via {local} -> {next_hop}");
    }
}
