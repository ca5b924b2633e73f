//! A layer between a core and the driver that forwards every call, and lets a test observe or change it.

use super::Node;
use lnet_core::lnd::{DeferredRx, Driver, LndNi, Progress, RxAction, SendOutcome, StartError, Upcalls};
use lnet_core::message::TakenCredits;
use lnet_core::topology::Ni;
use lnet_core::{
    ArrivingMessage, Cause, Clock, Confirmation, Errno, MessageOrigin, OutgoingMessage, Pooled, Provenance,
    SendFailure,
};
use lnet_wire::{Header, NetType, Nid};
use socklnd::{Socklnd, SocklndConfig};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

pub type SendResult = Result<(), SendFailure>;

/// Callbacks of a test in the calls between core and driver. Each default forwards.
pub trait Hooks: Send + Sync + 'static {
    /// Called when the NI has started, with the driver's NI and the core's upcalls.
    fn started(self: Arc<Self>, ni: &Arc<dyn LndNi>, upcalls: &Arc<dyn Upcalls>) {
        let _ = (ni, upcalls);
    }

    /// Called when the NI ends.
    fn ended(&self) {}

    /// Called when the driver completes a message; `None` if the test keeps it.
    fn completed(
        &self,
        message: Pooled<OutgoingMessage>,
        result: SendResult,
    ) -> Option<(Pooled<OutgoingMessage>, SendResult)> {
        Some((message, result))
    }

    fn path_is_unresponsive(&self, upcalls: &dyn Upcalls, ni: &Arc<Ni>, peer: Nid) -> bool {
        upcalls.path_is_unresponsive(ni, peer)
    }

    fn path_is_responsive(&self, upcalls: &dyn Upcalls, ni: &Arc<Ni>, peer: Nid) {
        upcalls.path_is_responsive(ni, peer);
    }

    fn path_is_late(&self, upcalls: &dyn Upcalls, ni: &Arc<Ni>, peer: Nid) -> bool {
        upcalls.path_is_late(ni, peer)
    }

    fn may_change_path(&self, upcalls: &dyn Upcalls, message: &OutgoingMessage) -> bool {
        upcalls.may_change_path(message)
    }

    fn is_of_node(&self, upcalls: &dyn Upcalls, peer: Nid) -> bool {
        upcalls.is_of_node(peer)
    }
}

/// Makes a node with `hooks` between its core and its driver.
pub fn node_with(hooks: &Arc<impl Hooks>, nid: Nid, config: SocklndConfig, clock: Arc<dyn Clock>) -> Node {
    let driver = Socklnd::new(config, clock);
    let known_as = ForwardingDriver { driver: Arc::clone(&driver), hooks: Arc::clone(hooks) };
    Node::start_by(nid, driver, &known_as)
}

struct ForwardingDriver<H> {
    driver: Arc<Socklnd>,
    hooks: Arc<H>,
}

struct ForwardingNi<H> {
    ni: Arc<dyn LndNi>,
    hooks: Arc<H>,
}

struct ForwardingUpcalls<H> {
    upcalls: Arc<dyn Upcalls>,
    hooks: Arc<H>,
}

impl<H: Hooks> Driver for ForwardingDriver<H> {
    fn net_type(&self) -> NetType {
        self.driver.net_type()
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let hooks = || Arc::clone(&self.hooks);
        let forwarding = Arc::new(ForwardingUpcalls { upcalls: Arc::clone(&upcalls), hooks: hooks() });
        let started = self.driver.start_ni(ni, forwarding)?;
        hooks().started(&started, &upcalls);
        Ok(Arc::new(ForwardingNi { ni: started, hooks: hooks() }))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        self.driver.progress(timeout)
    }
}

impl<H: Hooks> LndNi for ForwardingNi<H> {
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        match self.ni.send(message) {
            SendOutcome::Done(message, result) => match self.hooks.completed(message, result) {
                Some((message, result)) => SendOutcome::Done(message, result),
                None => SendOutcome::Pending,
            },
            kept => kept,
        }
    }

    fn open(&self) {
        self.ni.open();
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.ni.abort_tx(peer, cause);
    }

    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        self.ni.confirm(to, hop, confirmation);
    }

    fn shutdown(&self) {
        self.hooks.ended();
        self.ni.shutdown();
    }
}

impl<H: Hooks> Upcalls for ForwardingUpcalls<H> {
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        provenance: &Provenance,
        defer: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        self.upcalls.receive(ni, from, header, provenance, defer)
    }

    fn received(&self, message: ArrivingMessage, result: Result<(), Errno>) {
        self.upcalls.received(message, result);
    }

    fn finalize(&self, message: Pooled<OutgoingMessage>, result: SendResult) {
        if let Some((message, result)) = self.hooks.completed(message, result) {
            self.upcalls.finalize(message, result);
        }
    }

    fn lnd_timeout(&self) -> Duration {
        self.upcalls.lnd_timeout()
    }

    fn is_late(&self, message: &OutgoingMessage) -> bool {
        self.upcalls.is_late(message)
    }

    fn path_is_unresponsive(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        self.hooks.path_is_unresponsive(&*self.upcalls, ni, peer)
    }

    fn path_is_responsive(&self, ni: &Arc<Ni>, peer: Nid) {
        self.hooks.path_is_responsive(&*self.upcalls, ni, peer);
    }

    fn path_is_late(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        self.hooks.path_is_late(&*self.upcalls, ni, peer)
    }

    fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        self.upcalls.confirmed(from, id, confirmation);
    }

    fn connections_ended(&self, ni: &Arc<Ni>, peer: Nid) {
        self.upcalls.connections_ended(ni, peer);
    }

    fn is_of_node(&self, peer: Nid) -> bool {
        self.hooks.is_of_node(&*self.upcalls, peer)
    }

    fn release_credits(&self, credits: TakenCredits) {
        self.upcalls.release_credits(credits);
    }

    fn may_change_path(&self, message: &OutgoingMessage) -> bool {
        self.hooks.may_change_path(&*self.upcalls, message)
    }
}
