//! A node that invites itself (lnet-selftest 5.7).

use super::Console;
use crate::console::call::{NodeState, SessionNumber};
use crate::console::name::Name;
use lnet_wire::ProcessId;
use std::time::Duration;

/// The console's reply to a node that wants to join a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinReply {
    /// 0, or the positive number of an error.
    pub status: i32,
    /// The console's session.
    pub session: SessionNumber,
    /// Seconds without a command after which the session ends.
    pub timeout: u32,
    /// The session's name; `None` if there is no session.
    pub name: Option<Name>,
}

impl JoinReply {
    /// A reply without a session, with the errno of the refusal.
    pub(crate) fn refused(status: i32) -> Self {
        Self { status, session: SessionNumber::NONE, timeout: 0, name: None }
    }
}

impl Console {
    /// Handles the request of a node to join a group, in this session or, if it names none, in the current one.
    pub fn handle_join(
        &mut self,
        now: Duration,
        from: ProcessId,
        wanted: SessionNumber,
        group: &Name,
        features: u32,
    ) -> JoinReply {
        let refused = |status, session| JoinReply { session, ..JoinReply::refused(status) };
        let Some(session) = self.session.as_mut().filter(|session| !session.is_ending) else {
            return JoinReply::refused(libc::ESRCH);
        };
        let number = session.number;
        if features != session.features {
            return refused(libc::EPROTO, number);
        }
        if wanted.nid.is_some() && wanted != number {
            return refused(libc::EBUSY, number);
        }
        match session.groups.get(group) {
            Ok(found) if found.in_use => return refused(libc::EBUSY, number),
            Ok(found) if found.nodes.contains(&from) => return refused(libc::EEXIST, number),
            Ok(_) => {}
            // A group that does not exist is made.
            Err(_) => drop(session.groups.add(group.clone())),
        }
        if let Ok(found) = session.groups.get_mut(group) {
            found.nodes.push(from);
        }
        session.nodes.add(from);
        if let Some(node) = session.nodes.get_mut(from) {
            node.state = NodeState::Active;
            node.heard = Some(now);
            // The node uses the timeout in this reply for its session; without a timeout it would never be pinged.
            node.timeout = session.idle_timeout;
        }
        let (timeout, name) = (session.idle_timeout, Some(session.name.clone()));
        JoinReply { status: 0, session: number, timeout, name }
    }
}
