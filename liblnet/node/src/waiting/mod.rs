//! Interfaces of the start configuration that the host does not have yet, or not with an address: they wait, have no NID, and are started
//! when the host has them. The routes through their nets wait with them.

mod decide;
mod routes;

pub(crate) use routes::route_of;

use crate::links::LinkListener;
use crate::ni_starter::NiStarter;
use decide::{NextStep, after_attempt};
use lnet_core::lnd::StartError;
use lnet_dlc::request::{AddLocalNi, AddRoute, WaitingNi};
use lnet_log::{LogClass, write_line};
use lnet_wire::{NetId, Nid};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The interfaces of one node that wait.
#[derive(Debug)]
pub(crate) struct WaitingNis {
    starter: Arc<NiStarter>,
    /// Whether interfaces may wait at all.
    is_permitted: bool,
    /// Whether the start configuration is being applied.
    is_starting: AtomicBool,
    /// The router buffers with which a node forwards that finds itself as the gateway of its routes; `None`: the configuration decides
    /// about forwarding.
    by_routes: Option<[u32; 3]>,
    /// Held for the length of an attempt, by the threads of the start and of the link monitor alone: two attempts at a time would take
    /// each other's interface for one that somebody else has added.
    attempting: Mutex<()>,
    state: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    nis: Vec<WaitingNi>,
    routes: Vec<AddRoute>,
}

impl WaitingNis {
    pub(crate) fn new(starter: Arc<NiStarter>, is_permitted: bool, by_routes: Option<[u32; 3]>) -> Self {
        Self {
            starter,
            is_permitted,
            is_starting: AtomicBool::new(false),
            by_routes,
            attempting: Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Runs `apply`, which applies the start configuration.
    pub(crate) fn while_starting<T>(&self, apply: impl FnOnce() -> T) -> T {
        self.is_starting.store(true, Ordering::Relaxed);
        let result = apply();
        self.is_starting.store(false, Ordering::Relaxed);
        result
    }

    /// Whether a requested interface that the host lacks may wait: one of the start configuration, or one that waits already.
    pub(crate) fn admits(&self, ni: &AddLocalNi) -> bool {
        let is_starting = self.is_starting.load(Ordering::Relaxed);
        self.is_permitted && is_starting || self.lock().position(ni.net, ni.interface.as_deref()).is_some()
    }

    /// Makes an interface wait, for this reason; one that waits already waits with the values of this request.
    pub(crate) fn add(&self, ni: AddLocalNi, reason: &str) {
        let mut state = self.lock();
        let waiting = WaitingNi { ni: ni.clone(), reason: reason.to_owned() };
        if let Some(at) = state.position(ni.net, ni.interface.as_deref()) {
            state.nis[at] = waiting;
            return;
        }
        state.nis.push(waiting);
        drop(state);
        let net = ni.net;
        self.starter.core.log(
            LogClass::NiWaiting,
            Subject(&ni),
            format_args!(
                "NI on {net}: not started yet ({reason}); it is started when the host has the interface and its address"
            ),
        );
    }

    /// The interfaces that wait, in the order of the configuration.
    pub(crate) fn list(&self) -> Vec<WaitingNi> {
        self.lock().nis.clone()
    }

    /// Whether an interface on this net waits.
    pub(crate) fn waits_for(&self, net: NetId) -> bool {
        self.lock().nis.iter().any(|waiting| waiting.ni.net == net)
    }

    /// Forgets the interface of a net under this name, or all of the net; with the last one its routes, unless the node is on the net.
    /// Returns whether there was one.
    pub(crate) fn remove(&self, net: NetId, interface: Option<&str>) -> bool {
        let is_on_net = self.starter.core.nets().net(net).is_some();
        let mut state = self.lock();
        let before = state.nis.len();
        let is_it = |ni: &AddLocalNi| {
            ni.net == net && interface.is_none_or(|name| ni.interface.as_deref() == Some(name))
        };
        state.nis.retain(|waiting| !is_it(&waiting.ni));
        if !is_on_net && !state.nis.iter().any(|waiting| waiting.ni.net == net) {
            state.routes.retain(|route| route.gateway.net() != net);
        }
        state.nis.len() < before
    }

    /// Forgets an interface that has been added otherwise.
    pub(crate) fn note_added(&self, net: NetId, interface: Option<&str>) {
        let mut state = self.lock();
        if let Some(at) = state.position(net, interface) {
            state.nis.remove(at);
        }
    }

    /// Tries to start the interfaces that wait. Returns the NIDs of those that have been started.
    pub(crate) fn retry(&self) -> Vec<Nid> {
        let _one_at_a_time = self.attempting.lock().unwrap_or_else(PoisonError::into_inner);
        let started: Vec<Nid> =
            self.list().iter().filter_map(|WaitingNi { ni, .. }| self.finish(ni, self.attempt(ni))).collect();
        if !started.is_empty() {
            self.release_routes();
        }
        started
    }

    fn attempt(&self, ni: &AddLocalNi) -> Result<Nid, StartError> {
        let (nid, config) = self.starter.configured(ni.clone())?;
        self.starter.start(nid, config, &mut Vec::new())
    }

    /// Records the result of an attempt, and logs it. Returns the NID of an interface that has been started.
    fn finish(&self, ni: &AddLocalNi, result: Result<Nid, StartError>) -> Option<Nid> {
        let core = &self.starter.core;
        let mut state = self.lock();
        let Some(at) = state.position(ni.net, ni.interface.as_deref()) else {
            drop(state);
            // It was deleted during the attempt. An error means that it is gone again.
            result.map(|nid| core.admin().remove_ni(nid)).ok();
            return None;
        };
        let next = after_attempt(&state.nis[at].reason, result.as_ref().map(drop));
        match &next {
            NextStep::End => drop(state.nis.remove(at)),
            NextStep::Wait { reason, .. } => state.nis[at].reason.clone_from(reason),
        }
        drop(state);
        if let NextStep::Wait { reason: error, is_logged: true } = next {
            write_line!(LogClass::NiNotStarted, "{error}");
        }
        let nid = result.ok()?;
        core.log(
            LogClass::NiStarted,
            Subject(ni),
            format_args!("NI {nid}: started (the host has the interface and its address)"),
        );
        Some(nid)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkListener for WaitingNis {
    fn links_changed(&self) {
        self.retry();
    }
}

impl Waiting {
    fn position(&self, net: NetId, interface: Option<&str>) -> Option<usize> {
        let is_it = |ni: &AddLocalNi| (ni.net, ni.interface.as_deref()) == (net, interface);
        self.nis.iter().position(|waiting| is_it(&waiting.ni))
    }
}

/// The name of an interface that waits, for the log.
struct Subject<'a>(&'a AddLocalNi);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddLocalNi { net, interface, .. } = self.0;
        match interface {
            Some(name) => write!(f, "{net}({name})"),
            None => write!(f, "{net}"),
        }
    }
}
