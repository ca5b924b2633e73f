//! The session of a node, and the requests of consoles about it (selftest 5). Decisions: actions outside are returned as
//! [`Effects`].

use super::part::{ClientPart, ErrorCounts, Part};
use super::session::Session;
use crate::wire::{
    BatchCommand, BatchId, BatchReply, DebugReply, Features, FrameworkCounters, IncomingBatch, MakeSession,
    MakeSessionReply, Name, Service, SessionId, SessionReply, Status,
};
use lnet_api::clock::Time;
use std::sync::Arc;
use std::time::Duration;

/// The session of a node, and the sessions that have ended except for RPCs in flight.
pub(crate) struct Sessions {
    current: Option<Session>,
    zombies: Vec<Session>,
    timeout: Option<Duration>,
}

/// The effects of a request on tests and buffers, which the caller carries out.
#[derive(Default)]
pub(crate) struct Effects {
    /// Transfers of tests that this node serves are aborted.
    pub(crate) aborts_served_tests: bool,
    pub(crate) starts: Vec<Arc<dyn ClientPart>>,
    /// Tests to stop, each with whether its RPCs in flight are aborted.
    pub(crate) stops: Vec<(Arc<dyn ClientPart>, bool)>,
    /// Reservations of buffers that are given back.
    pub(crate) releases: Vec<(Service, u32)>,
}

/// The parts of a session that a new client test needs.
#[derive(Clone)]
pub(crate) struct Admission {
    pub(crate) features: Features,
    pub(crate) errors: Arc<ErrorCounts>,
}

impl Sessions {
    /// A node without a session. Those that it gets end after `timeout` without requests; `None`: never.
    pub(crate) const fn new(timeout: Option<Duration>) -> Self {
        Self { current: None, zombies: Vec::new(), timeout }
    }

    /// The session.
    pub(crate) const fn current(&self) -> Option<&Session> {
        self.current.as_ref()
    }

    /// The identity of the session, if there is one.
    pub(crate) fn id(&self) -> Option<SessionId> {
        self.current.as_ref().map(|session| session.id)
    }

    /// The features in the header of replies.
    pub(crate) fn features(&self) -> Features {
        self.current.as_ref().map_or(Features::KNOWN, |session| session.features)
    }

    /// The timeout of sessions in seconds, for replies.
    pub(crate) fn timeout_seconds(&self) -> u32 {
        self.timeout.map_or(0, |timeout| u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX))
    }

    /// Restarts the session's timeout, after a request to the framework has arrived or was handled, with any result
    /// (selftest 5.1).
    pub(crate) fn prolong(&mut self, now: Time) {
        if let Some(session) = &mut self.current {
            session.deadline = self.timeout.map(|timeout| now + timeout);
        }
    }

    /// Whether a request has the features of the session. Called for all services except those that create a session or ask
    /// for it.
    pub(crate) fn accepts(&self, features: Features) -> bool {
        self.current.as_ref().is_none_or(|session| session.features == features)
    }

    /// Ends the session if its timeout has expired.
    pub(crate) fn expire(&mut self, now: Time) -> Option<(SessionId, Effects)> {
        let session = self.current.take_if(|it| it.deadline.is_some_and(|deadline| deadline <= now))?;
        Some((session.id, self.tear_down(session)))
    }

    /// Ends the session, if there is one.
    pub(crate) fn end(&mut self) -> Effects {
        self.current.take().map_or_else(Effects::default, |session| self.tear_down(session))
    }

    /// Forgets zombies whose RPCs have all ended.
    pub(crate) fn reap(&mut self) -> Effects {
        let mut effects = Effects::default();
        self.zombies.retain(|session| {
            let is_active = session.parts().any(Part::is_active);
            if !is_active {
                effects.releases.extend(session.parts().filter_map(|part| match part {
                    Part::Server { service, reserved } => Some((*service, *reserved)),
                    Part::Client(_) => None,
                }));
            }
            is_active
        });
        effects
    }

    /// Whether a session has RPCs in flight that has ended.
    pub(crate) const fn has_zombies(&self) -> bool {
        !self.zombies.is_empty()
    }

    fn tear_down(&mut self, session: Session) -> Effects {
        let stops = session.parts().filter_map(|part| match part {
            Part::Client(client) => Some((Arc::clone(client), true)),
            Part::Server { .. } => None,
        });
        let effects = Effects { aborts_served_tests: true, stops: stops.collect(), ..Effects::default() };
        self.zombies.push(session);
        effects
    }

    /// Handles MAKE_SESSION (selftest 5.2), after the features were found to be known.
    pub(crate) fn make(
        &mut self,
        request: &MakeSession,
        features: Features,
        now: Time,
    ) -> (MakeSessionReply, Effects) {
        let reply = |this: &Self, status, name| MakeSessionReply {
            status,
            session: this.id(),
            timeout: this.timeout_seconds(),
            name,
        };
        let Some(id) = request.session else {
            let invalid = MakeSessionReply { timeout: 0, ..reply(self, Status::INVALID, Name::EMPTY) };
            return (invalid, Effects::default());
        };
        if let Some(session) = &mut self.current {
            if session.id == id {
                session.references = session.references.saturating_add(1);
                return (reply(self, Status::OK, Name::EMPTY), Effects::default());
            }
            if !request.force {
                let name = session.name;
                return (reply(self, Status::BUSY, name), Effects::default());
            }
        }
        let effects = self.end();
        self.current = Some(Session {
            id,
            name: request.name,
            features,
            references: 1,
            made: now,
            deadline: self.timeout.map(|timeout| now + timeout),
            errors: Arc::default(),
            batches: Vec::new(),
        });
        (reply(self, Status::OK, Name::EMPTY), effects)
    }

    /// Handles REMOVE_SESSION (selftest 5.3).
    pub(crate) fn remove(&mut self, id: Option<SessionId>) -> (SessionReply, Effects) {
        let mut effects = Effects::default();
        let status = match (id, &mut self.current) {
            (None, _) => Status::INVALID,
            (_, None) => Status::NO_SESSION,
            (Some(id), Some(session)) if session.id != id => Status::BUSY,
            (_, Some(session)) => {
                session.references -= 1;
                if session.references == 0 {
                    effects = self.end();
                }
                Status::OK
            }
        };
        (SessionReply { status, session: self.id() }, effects)
    }

    /// Handles DEBUG (selftest 5.4), for the current session, if there is one.
    pub(crate) fn debug(&self) -> DebugReply {
        match &self.current {
            Some(session) => DebugReply {
                status: Status::OK,
                session: Some(session.id),
                timeout: self.timeout_seconds(),
                batches: 0,
                name: session.name,
            },
            None => DebugReply {
                status: Status::NO_SESSION,
                session: None,
                timeout: 0,
                batches: 0,
                name: Name::EMPTY,
            },
        }
    }

    /// Handles BATCH (selftest 5.5). `None`: there is no reply.
    pub(crate) fn batch(&self, request: &IncomingBatch) -> Option<(BatchReply, Effects)> {
        let reply = |status, active| BatchReply { status, session: self.id(), active };
        let mut effects = Effects::default();
        let Some(session) = self.of(request.session) else {
            return Some((reply(Status::NO_SESSION, 0), effects));
        };
        let Some(batch) = session.batch(request.batch) else {
            return Some((reply(Status::NOT_FOUND, 0), effects));
        };
        let clients = batch.parts.iter().filter_map(|part| match part {
            Part::Client(client) => Some(Arc::clone(client)),
            Part::Server { .. } => None,
        });
        let (status, active) = match request.command? {
            BatchCommand::Run { .. } => {
                if !batch.is_active() {
                    effects.starts = clients.collect();
                }
                (Status::OK, 0)
            }
            BatchCommand::Stop { force } => {
                effects.stops = clients.map(|client| (client, force)).collect();
                (Status::OK, 0)
            }
            BatchCommand::Query { test: 0 } => (Status::OK, batch.active_parts()),
            BatchCommand::Query { test } => match usize::try_from(test) {
                Err(_) => (Status::INVALID, 0),
                Ok(index) => match batch.parts.get(index - 1) {
                    Some(part) => (Status::OK, part.active_loops()),
                    None => (Status::NOT_FOUND, 0),
                },
            },
        };
        Some((reply(status, active), effects))
    }

    /// Whether a test may be added to a batch (selftest 5.6).
    pub(crate) fn admit(&self, id: SessionId, batch: BatchId) -> Result<Admission, Status> {
        let session = self.of(Some(id)).ok_or(Status::NOT_FOUND)?;
        if session.batch(batch).is_some_and(super::session::Batch::is_active) {
            return Err(Status::BUSY);
        }
        Ok(Admission { features: session.features, errors: Arc::clone(&session.errors) })
    }

    /// Adds a part to a batch, if it may still be added.
    pub(crate) fn add(&mut self, id: SessionId, batch: BatchId, part: Part) -> Status {
        if let Err(status) = self.admit(id, batch) {
            return status;
        }
        if let Some(session) = &mut self.current {
            session.add(batch, part);
        }
        Status::OK
    }

    /// Handles STAT (selftest 9): returns the counters of the session.
    pub(crate) fn stat(&self, id: Option<SessionId>, now: Time) -> Result<FrameworkCounters, Status> {
        id.ok_or(Status::INVALID)?;
        let session = self.of(id).ok_or(Status::NO_SESSION)?;
        Ok(session.counters(now, self.zombies.len()))
    }

    /// The session, if it has this identity.
    fn of(&self, id: Option<SessionId>) -> Option<&Session> {
        self.current.as_ref().filter(|session| Some(session.id) == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// A client whose RPC in flight ends when the test lets it.
    #[derive(Default)]
    struct Slow(AtomicU32);

    impl ClientPart for Slow {
        fn start(self: Arc<Self>) {
            self.0.store(1, Relaxed);
        }

        fn stop(&self, _: bool) {}

        fn active_loops(&self) -> u32 {
            self.0.load(Relaxed)
        }
    }

    fn session(stamp: i64) -> SessionId {
        SessionId::new("10.0.0.1@tcp".parse().unwrap(), stamp).unwrap()
    }

    #[test]
    fn a_session_that_has_ended_is_counted_until_its_last_rpc_has() {
        let now = Time::START;
        let mut sessions = Sessions::new(None);
        let make = |sessions: &mut Sessions, stamp| {
            let request = MakeSession { session: Some(session(stamp)), force: false, name: Name::EMPTY };
            let (reply, _) = sessions.make(&request, Features::KNOWN, now);
            assert_eq!(reply.status, Status::OK);
        };
        let zombies = |sessions: &Sessions, stamp| {
            sessions.stat(Some(session(stamp)), now).map(|counters| counters.zombie_sessions)
        };
        make(&mut sessions, 1);
        let slow = Arc::new(Slow::default());
        let part = Part::Client(Arc::clone(&slow) as Arc<dyn ClientPart>);
        assert_eq!(sessions.add(session(1), BatchId(1), part), Status::OK);
        let part = Part::Server { service: Service::Ping, reserved: 7 };
        assert_eq!(sessions.add(session(1), BatchId(1), part), Status::OK);
        Arc::clone(&slow).start();
        assert_eq!(zombies(&sessions, 1), Ok(0));

        let (removed, effects) = sessions.remove(Some(session(1)));
        assert_eq!((removed.status, removed.session), (Status::OK, None));
        assert!(effects.aborts_served_tests && effects.stops.len() == 1);
        assert_eq!(zombies(&sessions, 1), Err(Status::NO_SESSION));
        // The next one begins meanwhile.
        make(&mut sessions, 2);
        assert!(sessions.reap().releases.is_empty());
        assert_eq!(zombies(&sessions, 2), Ok(1));

        slow.0.store(0, Relaxed);
        assert_eq!(sessions.reap().releases, [(Service::Ping, 7)]);
        assert_eq!(zombies(&sessions, 2), Ok(0));
    }
}
