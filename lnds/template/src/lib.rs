//! A driver to copy: nets of nodes in one process, whose messages are received on the sending thread.
//!
//! docs/add-a-driver.md explains each part. No node of a user has this driver; tests add it to theirs. It serves nets `ptlf`, for which
//! this library has no other driver; an interface is a number, and its NID is that number on the net.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod wire;

use lnet_core::lnd::{
    DeferredRx, Driver, DriverConfig, DriverContext, FoundInterface, LndNi, NidSize, RxAction, SendOutcome,
    StartError, Upcalls,
};
use lnet_core::{
    Cause, Errno, Ni, NiTunables, OutgoingMessage, Pooled, Provenance, SendFailure, start_error,
};
use lnet_settings::{Row, Spec, Values, Variable, field};
use lnet_wire::{NetId, NetType, Nid};
use lolnd::copy;
use std::sync::{Arc, Mutex};
use wire::{Port, Wire, lock};

/// The driver with its tunables, for the list of a node's drivers.
#[derive(Clone, Debug)]
pub struct TemplateConfig {
    /// Messages under way at once on one interface.
    pub credits: u32,
    /// The wire to which the node's interfaces are connected.
    pub wire: Arc<Wire>,
}

impl DriverConfig for TemplateConfig {
    const NAME: &'static str = "template";
    const TUNABLES: &'static [Row<Self>] = &[Row {
        spec: Spec {
            name: "credits",
            module: "template",
            sentence: "Messages under way at once on one interface",
            values: Values::Numbers(1, 65_536),
            variables: &[Variable::new("TEMPLATE_CREDITS")],
            ..Spec::LNET
        },
        access: field!(credits),
    }];

    fn driver(&self, _: DriverContext) -> Arc<dyn Driver> {
        Arc::new(Template(self.clone()))
    }
}

/// The driver of one node. One that has threads starts them with its first interface, and ends them in [`Driver::shutdown`].
struct Template(TemplateConfig);

impl Driver for Template {
    fn net_type(&self) -> NetType {
        NetType::PTL4
    }

    fn find_interface(
        &self,
        net: NetId,
        interface: Option<&str>,
        _: NidSize,
    ) -> Result<FoundInterface, StartError> {
        let name = interface.unwrap_or("1").to_owned();
        match name.parse() {
            Ok(number) => Ok(FoundInterface { nid: Nid::new(net, number), name }),
            Err(_) => Err(start_error!(Errno::NoDevice, "interface {name}: not usable (it is no number)")),
        }
    }

    fn ni_tunables(&self) -> NiTunables {
        NiTunables { credits: self.0.credits, ..NiTunables::default() }
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let (nid, wire) = (ni.nid(), Arc::clone(&self.0.wire));
        if !wire.plug_in(Port {
            ni: Arc::clone(ni),
            upcalls: Arc::clone(&upcalls),
            is_open: false,
            receiving: 0,
        }) {
            return Err(start_error!(Errno::AddressInUse, "{nid}: not started (another node has this NID)"));
        }
        Ok(Arc::new(TemplateNi { nid, wire, upcalls, waiting: Mutex::default() }))
    }
}

/// One interface.
struct TemplateNi {
    nid: Nid,
    wire: Arc<Wire>,
    upcalls: Arc<dyn Upcalls>,
    /// The messages that have left this interface and wait for a buffer of their receiver.
    waiting: Mutex<Vec<Arc<Sent>>>,
}

impl LndNi for TemplateNi {
    fn open(&self) {
        self.wire.open(self.nid);
    }

    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        let (peer, header) = (message.next_hop().nid, *message.header());
        let Some((ni, to)) = self.wire.begin(self.nid, peer) else {
            // The cause says which end health blames, and whether the message may be sent again.
            let failure = SendFailure::unsent(Errno::HostUnreachable, Cause::RemoteDropped);
            return SendOutcome::Done(message, Err(failure));
        };
        let wire = Arc::clone(&self.wire);
        let sent =
            Arc::new(Sent { message: Mutex::new(Some(message)), nid: self.nid, wire, to: Arc::clone(&to) });
        let make_deferred = || {
            let mut waiting = lock(&self.waiting);
            waiting.retain(|sent| lock(&sent.message).is_some());
            waiting.push(Arc::clone(&sent));
            Arc::clone(&sent) as Arc<dyn DeferredRx>
        };
        let done = match to.receive(&ni, self.nid, &header, &Provenance::default(), &make_deferred) {
            RxAction::Defer => None,
            action => sent.carry_out(sent.take(), action),
        };
        self.wire.end(peer);
        done.map_or(SendOutcome::Pending, |(message, result)| SendOutcome::Done(message, result))
    }

    fn shutdown(&self) {
        self.wire.unplug(self.nid);
        for message in lock(&self.waiting).drain(..).filter_map(|sent| sent.take()).collect::<Vec<_>>() {
            self.upcalls.finalize(message, Err(Errno::Shutdown.into()));
        }
    }
}

/// A message that has left its node. It is returned once: by `send`, when the receiver has a buffer, or when the sender shuts down.
struct Sent {
    message: Mutex<Option<Pooled<OutgoingMessage>>>,
    /// The interface that it has left.
    nid: Nid,
    wire: Arc<Wire>,
    to: Arc<dyn Upcalls>,
}

impl Sent {
    fn take(&self) -> Option<Pooled<OutgoingMessage>> {
        lock(&self.message).take()
    }

    /// Does with `message` what its receiver decided, and returns it with the result. Without a message none arrives.
    fn carry_out(
        &self,
        message: Option<Pooled<OutgoingMessage>>,
        action: RxAction,
    ) -> Option<(Pooled<OutgoingMessage>, Result<(), SendFailure>)> {
        let result = match (action, &message) {
            (RxAction::Deliver(arriving), Some(message)) => {
                copy::fill_payload_of(&arriving, &copy::payload_of(message));
                self.to.received(arriving, Ok(()));
                Ok(())
            }
            (RxAction::Deliver(arriving), None) => {
                self.to.received(arriving, Err(Errno::Shutdown));
                Ok(())
            }
            (RxAction::Discard, _) => Ok(()),
            _ => Err(SendFailure::unsent(Errno::Protocol, Cause::RemoteDropped)),
        };
        Some((message?, result))
    }
}

impl DeferredRx for Sent {
    fn resume(&self, action: RxAction) {
        // Without its interface the message is returned by the shutdown.
        let Some((_, from)) = self.wire.hold(self.nid) else { return drop(self.carry_out(None, action)) };
        if let Some((message, result)) = self.carry_out(self.take(), action) {
            from.finalize(message, result);
        }
        self.wire.end(self.nid);
    }
}
