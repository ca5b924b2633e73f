//! The driver of simulated interfaces: messages of the core go into the network, with a copy of their payload.

use crate::link::InterfaceId;
use crate::network::{ConnError, Meeting, Network};
use crate::trace::NodeId;
use lnet_core::lnd::{ArrivalWaiter, DeferredRx, Driver, LndNi, RxAction, SendOutcome, StartError, Upcalls};
use lnet_core::{
    AddressFamilies, AddressFamily, Cause, Confirmation, Errno, MessageOrigin, Ni, OutgoingMessage, Pooled,
};
use lnet_wire::{NetType, Nid, ProcessId};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The network as nodes' drivers share it with the world. Its lock is never held over a call of the core.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Network>>);

impl Shared {
    pub(crate) fn new(network: Network) -> Self {
        Self(Arc::new(Mutex::new(network)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Network> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The driver of a node.
pub(crate) struct SimDriver {
    pub(crate) network: Shared,
    pub(crate) node: NodeId,
    /// Whether interfaces with IPv4 NIDs reach IPv6 NIDs.
    pub(crate) reaches_ipv6: bool,
}

impl Driver for SimDriver {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let place = self.network.lock().plug_in(self.node, ni, upcalls);
        let reaches_ipv6 = self.reaches_ipv6 && AddressFamily::of(ni.nid()) == AddressFamily::Short;
        Ok(Arc::new(SimNi { network: self.network.clone(), place, reaches_ipv6 }))
    }
}

struct SimNi {
    network: Shared,
    place: InterfaceId,
    reaches_ipv6: bool,
}

impl LndNi for SimNi {
    fn other_families(&self) -> AddressFamilies {
        match self.reaches_ipv6 {
            true => AddressFamilies::only(AddressFamily::Long),
            false => AddressFamilies::NONE,
        }
    }

    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        let peer = message.next_hop().nid;
        let meeting = self.network.lock().meet(self.place, peer);
        if let Some(Meeting { ni, upcalls, incarnation }) = meeting {
            upcalls.connected(&ni, peer, incarnation);
            if upcalls.is_for_earlier_incarnation(&message) {
                return self.network.lock().hand_back(self.place, message);
            }
        }
        let arrives = message.arrival().is_some();
        let waiter = arrives.then(|| PartWaiter::new(&self.network));
        self.network.lock().send(self.place, message, waiter)
    }

    fn may_cut_through(&self, to: ProcessId, length: usize) -> bool {
        self.network.lock().may_cut_through(self.place, to.nid, length)
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        self.network.lock().incarnation_met(self.place, peer)
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.network.lock().abort_tx(self.place, peer, ConnError::Aborted(cause));
    }

    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        self.network.lock().confirm(self.place, to, hop, confirmation);
    }

    fn shutdown(&self) {
        let (upcalls, unfinished) = self.network.lock().unplug(self.place);
        if let Some(upcalls) = upcalls {
            let told = |(message, failure)| upcalls.finalize(message, Err(failure));
            unfinished.into_iter().for_each(told);
            let receptions = self.network.lock().take_receptions_of(self.place);
            for mut reception in receptions {
                match (reception.message.take(), reception.deferred) {
                    (Some(message), _) => upcalls.received(message, Err(Errno::Shutdown)),
                    (None, Some(deferred)) => self.network.lock().wait_on(deferred, reception, None),
                    (None, None) => {}
                }
            }
        }
    }
}

/// A message that has arrived and waits for a buffer of its node.
pub(crate) struct HeldRx {
    pub(crate) network: Shared,
    pub(crate) number: u64,
}

impl DeferredRx for HeldRx {
    fn resume(&self, action: RxAction) {
        self.network.lock().resumed.push_back((self.number, action));
    }
}

/// Writes more of a message that is sent while it arrives.
pub(crate) struct PartWaiter {
    /// Referred to weakly, as the network has this waiter.
    network: Weak<Mutex<Network>>,
    number: OnceLock<u64>,
}

impl PartWaiter {
    fn new(network: &Shared) -> Arc<Self> {
        Arc::new(Self { network: Arc::downgrade(&network.0), number: OnceLock::new() })
    }

    /// Names the message.
    pub(crate) fn follows(&self, number: u64) {
        let _ = self.number.set(number);
    }

    pub(crate) fn weak(this: &Arc<Self>) -> Weak<dyn ArrivalWaiter> {
        let this: Arc<dyn ArrivalWaiter> = Arc::clone(this) as Arc<dyn ArrivalWaiter>;
        Arc::downgrade(&this)
    }

    fn with_network(&self, act: impl FnOnce(&mut Network, u64)) {
        if let (Some(network), Some(number)) = (self.network.upgrade(), self.number.get()) {
            act(&mut Shared(network).lock(), *number);
        }
    }
}

impl ArrivalWaiter for PartWaiter {
    fn on_arrival(self: Arc<Self>) {
        self.with_network(Network::take_arrived);
    }

    fn on_arrival_failed(self: Arc<Self>) {
        self.with_network(Network::plan_end_of);
    }
}
