//! The begin, the upkeep and the end of a session (lnet-selftest 12.4 and 12.5).

use super::{Action, CommandId, Console, Session, TICK, WAIT};
use crate::console::batches::Batches;
use crate::console::call::{NewSession, Operation, Response, SessionInfo, SessionNumber};
use crate::console::groups::Groups;
use crate::console::nodes::Nodes;
use crate::console::refusal::{Object, Refusal};
use crate::console::rpc::{KNOWN_FEATURES, RpcBody, RpcId, RpcRequest};
use crate::console::transaction::{Abort, Purpose, Transaction};
use lnet_wire::ProcessId;
use std::collections::BTreeMap;
use std::time::Duration;

impl Console {
    pub(super) fn new_session(
        &mut self,
        now: Duration,
        id: CommandId,
        key: u32,
        new: NewSession,
    ) -> Result<Option<Response>, Refusal> {
        if key == 0 || new.idle_timeout == 0 {
            return Err(Refusal::Invalid("the key and the timeout must be above 0".to_owned()));
        }
        if new.features & !KNOWN_FEATURES != 0 {
            let text = format!("features {:x}: only {KNOWN_FEATURES:x} is known", new.features);
            return Err(Refusal::Invalid(text));
        }
        match &self.session {
            None => self.begin(now, key, new).map(Some),
            Some(session) if session.is_ending => Err(Refusal::ShuttingDown),
            Some(_) if new.force => self.end_session(now, id, Some((key, new))),
            Some(session) => Err(Refusal::Exists(Object::Session, session.name.to_string())),
        }
    }

    fn begin(&mut self, now: Duration, key: u32, new: NewSession) -> Result<Response, Refusal> {
        let nid = self.own_nid.ok_or(Refusal::NoNet)?;
        let stamp = i64::try_from(now.as_millis()).unwrap_or(i64::MAX - 1);
        self.last_stamp = stamp.max(self.last_stamp.saturating_add(1));
        let session = Session {
            number: SessionNumber { nid: Some(nid), stamp: self.last_stamp },
            key,
            name: new.name,
            idle_timeout: new.idle_timeout,
            force: new.force,
            features: new.features,
            features_fixed: false,
            last_command: now,
            next_tick: now + TICK,
            is_ending: false,
            nodes: Nodes::default(),
            groups: Groups::default(),
            batches: Batches::new(),
            transactions: BTreeMap::new(),
            pings: BTreeMap::new(),
        };
        let info = session.info();
        self.session = Some(session);
        Ok(Response::Session(info))
    }

    pub(super) fn show_session(&self) -> Result<Response, Refusal> {
        self.session.as_ref().map(|session| Response::Session(session.info())).ok_or(Refusal::NoSession)
    }

    /// `next`: the session that takes its place.
    pub(super) fn end_session(
        &mut self,
        now: Duration,
        id: CommandId,
        next: Option<(u32, NewSession)>,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        session.is_ending = true;
        let active = session.active(&session.nodes.ids());
        let transaction = Transaction::new(Operation::RemoveSession, Purpose::End(next), now, WAIT);
        self.post(now, id, transaction, removals(active));
        Ok(None)
    }

    /// Ends the session after all nodes have replied, or after the timeout; begins `next`.
    pub(super) fn ended(&mut self, now: Duration, id: CommandId, next: Option<(u32, NewSession)>) {
        self.drop_session();
        match next {
            Some((key, new)) => {
                let response = self.begin(now, key, new);
                self.respond(id, response);
            }
            None => {
                self.respond(id, Ok(Response::Done));
                self.actions.push(Action::Ended);
            }
        }
    }

    /// Drops the session. Callers whose commands wait for its transactions get [`Refusal::ShuttingDown`].
    fn drop_session(&mut self) {
        let Some(session) = &mut self.session else { return };
        let waiting: Vec<CommandId> = session.transactions.keys().copied().collect();
        for id in waiting {
            self.abort(id, Abort::Shutdown);
            self.respond(id, Err(Refusal::ShuttingDown));
        }
        self.session = None;
    }

    /// Pings nodes that have been without a message for half of their timeout; ends a session whose idle timeout has expired.
    pub(super) fn tick(&mut self, now: Duration) {
        let Some(session) = &mut self.session else { return };
        if now < session.next_tick || session.is_ending {
            return;
        }
        session.next_tick = now + TICK;
        let idle = now.saturating_sub(session.last_command);
        if idle > Duration::from_secs(session.idle_timeout.into()) && session.transactions.is_empty() {
            return self.expire();
        }
        for to in session.nodes.due_for_ping(now) {
            if let Some(node) = session.nodes.get_mut(to) {
                node.is_pinged = true;
            }
            self.last_rpc += 1;
            session.pings.insert(RpcId(self.last_rpc), to);
            let (number, features) = (session.number, session.features);
            let request = RpcRequest { to, session: number, features, body: RpcBody::Debug };
            self.actions.push(Action::Post(RpcId(self.last_rpc), request));
        }
    }

    /// Ends the session: sends its removal to the active nodes, and does not wait for replies.
    fn expire(&mut self) {
        let Some(session) = &self.session else { return };
        let (number, features) = (session.number, session.features);
        for (to, body) in removals(session.active(&session.nodes.ids())) {
            self.last_rpc += 1;
            let request = RpcRequest { to, session: number, features, body };
            self.actions.push(Action::Post(RpcId(self.last_rpc), request));
        }
        self.drop_session();
        self.actions.push(Action::Ended);
    }
}

pub(super) fn removals(nodes: Vec<ProcessId>) -> impl Iterator<Item = (ProcessId, RpcBody)> {
    nodes.into_iter().map(|node| (node, RpcBody::RemoveSession))
}

impl Session {
    fn info(&self) -> SessionInfo {
        SessionInfo {
            name: self.name.clone(),
            id: self.number,
            key: self.key,
            features: self.features,
            idle_timeout: self.idle_timeout,
            force: self.force,
            nodes: self.nodes.len(),
        }
    }

    /// The first nodes that take the session settle its features (lnet-selftest 10).
    pub(super) fn settle_features(&mut self, transaction: &Transaction) {
        if let Some(features) = transaction.features.filter(|_| !self.features_fixed) {
            self.features = features;
            self.features_fixed = true;
        }
    }
}
