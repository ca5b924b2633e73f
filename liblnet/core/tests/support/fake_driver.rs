//! A network driver that treats each message as the test says.

use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, StartError, Upcalls};
use lnet_core::{
    ArrivingMessage, Cause, Confirmation, Delivery, Errno, MessageOrigin, Ni, OutgoingMessage, Pooled,
    Provenance, SendFailure,
};
use lnet_wire::{Body, Header, NetType, Nid, ProcessId};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The node's number in the origins that the driver names.
pub const THIS_NODE: NonZeroU64 = NonZeroU64::MAX;

/// The driver's treatment of a message that it is given to send.
#[derive(Clone, Copy, Debug)]
pub enum OnSend {
    /// The message is sent at once.
    Complete,
    /// The message fails at once with this failure.
    Fail(SendFailure),
    /// The message is kept until [`FakeDriver::finish`] or the interface's shutdown.
    Keep,
    /// The empty REPLY to a GET arrives before the GET completes. Other messages are sent at once.
    Reply,
}

type Script = Arc<dyn Fn(&OutgoingMessage) -> OnSend + Send + Sync>;
type Boxes = Mutex<Vec<Pooled<OutgoingMessage>>>;

/// A driver; clones share its state.
#[derive(Clone)]
pub struct FakeDriver(Arc<Shared>);

struct Shared {
    script: Mutex<Script>,
    /// The failure of the next message, in place of the script's result.
    next_failure: Mutex<Option<SendFailure>>,
    records: AtomicBool,
    /// Whether the driver gives ids to the messages that it keeps, as for nodes of this library; and the last id.
    names: AtomicBool,
    named: AtomicU64,
    recorded: Mutex<Vec<Header>>,
    /// The decisions on deferred messages whose arrival the test itself carries out.
    resumed: Mutex<Vec<RxAction>>,
    /// [`SendFailure::delivery`] of the messages that an interface keeps when it is shut down.
    delivery_at_shutdown: Mutex<Delivery>,
    arrives_at_shutdown: Mutex<Option<Header>>,
    forbids_sends_after_shutdown: AtomicBool,
    /// Whether the driver takes messages whose payload is still arriving.
    takes_arriving: AtomicBool,
    nis: Mutex<Vec<Arc<FakeNi>>>,
}

impl FakeDriver {
    /// A driver that does the same with every message.
    pub fn new(on_send: OnSend) -> Self {
        Self::scripted(move |_| on_send)
    }

    /// A driver that calls `script` for each message.
    pub fn scripted(script: impl Fn(&OutgoingMessage) -> OnSend + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            script: Mutex::new(Arc::new(script)),
            next_failure: Mutex::default(),
            records: AtomicBool::new(false),
            names: AtomicBool::new(false),
            named: AtomicU64::new(0),
            recorded: Mutex::default(),
            resumed: Mutex::default(),
            delivery_at_shutdown: Mutex::new(Delivery::Deduplicated),
            arrives_at_shutdown: Mutex::default(),
            forbids_sends_after_shutdown: AtomicBool::new(false),
            takes_arriving: AtomicBool::new(false),
            nis: Mutex::default(),
        }))
    }

    /// Keeps the headers of all messages for [`FakeDriver::recorded`].
    pub fn recording(self) -> Self {
        self.0.records.store(true, Ordering::SeqCst);
        self
    }

    /// Treats all other nodes as of this library: messages have ids, and gateways confirm them.
    pub fn naming(self) -> Self {
        self.0.names.store(true, Ordering::SeqCst);
        self
    }

    /// Makes a send on an interface that is shut down fail the test. For tests without threads: with threads a send may
    /// have begun before the shutdown.
    pub fn forbidding_sends_after_shutdown(self) -> Self {
        self.0.forbids_sends_after_shutdown.store(true, Ordering::SeqCst);
        self
    }

    /// Sets whether the driver takes messages whose payload is still arriving.
    pub fn take_arriving(&self, takes: bool) {
        self.0.takes_arriving.store(takes, Ordering::SeqCst);
    }

    pub fn set_on_send(&self, on_send: OnSend) {
        *self.0.script.lock().unwrap() = Arc::new(move |_| on_send);
    }

    pub fn fail_next(&self, failure: SendFailure) {
        *self.0.next_failure.lock().unwrap() = Some(failure);
    }

    pub fn set_delivery_at_shutdown(&self, delivery: Delivery) {
        *self.0.delivery_at_shutdown.lock().unwrap() = delivery;
    }

    /// A message with this header arrives, and is deferred, while the next interface is shut down.
    pub fn arrives_at_shutdown(&self, header: Header) {
        *self.0.arrives_at_shutdown.lock().unwrap() = Some(header);
    }

    /// The headers of the messages sent since the last call.
    pub fn recorded(&self) -> Vec<Header> {
        assert!(self.0.records.load(Ordering::SeqCst), "the driver is not recording()");
        std::mem::take(&mut *self.0.recorded.lock().unwrap())
    }

    /// The decisions on deferred messages since the last call.
    pub fn resumed(&self) -> Vec<RxAction> {
        std::mem::take(&mut *self.0.resumed.lock().unwrap())
    }

    /// The interface with this index, in the order in which they were started.
    pub fn ni(&self, index: usize) -> Arc<FakeNi> {
        Arc::clone(&self.0.nis.lock().unwrap()[index])
    }

    pub fn nis(&self) -> Vec<Arc<FakeNi>> {
        self.0.nis.lock().unwrap().clone()
    }

    /// Completes all messages that the interfaces keep or receive; returns their number.
    pub fn finish(&self) -> usize {
        self.nis().iter().map(|ni| ni.finish(Ok(())) + ni.finish_arriving(Ok(()))).sum()
    }
}

impl Driver for FakeDriver {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let fake = Arc::new(FakeNi {
            ni: Arc::downgrade(ni),
            upcalls,
            kept: Mutex::default(),
            arriving: Mutex::default(),
            deferred: AtomicUsize::new(0),
            confirmations: Mutex::default(),
            aborted: Mutex::default(),
            down: Mutex::new(false),
        });
        self.0.nis.lock().unwrap().push(Arc::clone(&fake));
        Ok(Arc::new(Handle(fake, Arc::clone(&self.0))))
    }
}

/// An interface that the driver was started on.
pub struct FakeNi {
    /// The NI, which holds the driver's side of itself for as long as it lives.
    ni: Weak<Ni>,
    upcalls: Arc<dyn Upcalls>,
    kept: Boxes,
    arriving: Mutex<Vec<ArrivingMessage>>,
    deferred: AtomicUsize,
    confirmations: Mutex<Vec<(Nid, MessageOrigin, Confirmation)>>,
    aborted: Mutex<Vec<Nid>>,
    /// Whether the interface is shut down; locked from the check until a message is kept.
    down: Mutex<bool>,
}

impl FakeNi {
    /// The number of messages that the interface keeps in place of sending them.
    pub fn kept(&self) -> usize {
        self.kept.lock().unwrap().len()
    }

    /// The number of messages whose payload is being received.
    pub fn arriving(&self) -> usize {
        self.arriving.lock().unwrap().len()
    }

    /// The number of messages that wait for the core's decision.
    pub fn deferred(&self) -> usize {
        self.deferred.load(Ordering::SeqCst)
    }

    /// The confirmations that the core has sent since the last call.
    pub fn confirmations(&self) -> Vec<(Nid, MessageOrigin, Confirmation)> {
        std::mem::take(&mut *self.confirmations.lock().unwrap())
    }

    /// The peers whose connections the core has aborted since the last call.
    pub fn aborted(&self) -> Vec<Nid> {
        std::mem::take(&mut *self.aborted.lock().unwrap())
    }

    /// A gateway's confirmation of a message arrives.
    pub fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        self.upcalls.confirmed(from, id, confirmation);
    }

    /// The connections to a peer end.
    pub fn connections_ended(&self, peer: Nid) {
        self.upcalls.connections_ended(&self.ni.upgrade().unwrap(), peer);
    }

    /// Calls `look` for each message that is kept, and returns the results.
    pub fn map_kept<T>(&self, look: impl Fn(&OutgoingMessage) -> T) -> Vec<T> {
        self.kept.lock().unwrap().iter().map(|message| look(message)).collect()
    }

    /// Removes the messages that are kept; the caller returns them to the core.
    #[allow(clippy::vec_box, reason = "boxes are what the core gives and takes")]
    pub fn take_kept(&self) -> Vec<Pooled<OutgoingMessage>> {
        std::mem::take(&mut *self.kept.lock().unwrap())
    }

    /// Completes the message that has been kept for longest; returns `false` without one.
    pub fn finish_one(&self) -> bool {
        let message = {
            let mut kept = self.kept.lock().unwrap();
            if kept.is_empty() {
                return false;
            }
            kept.remove(0)
        };
        self.upcalls.finalize(message, Ok(()));
        true
    }

    /// Completes the messages that are kept with `result`; returns their number.
    pub fn finish(&self, result: Result<(), SendFailure>) -> usize {
        let kept = self.take_kept();
        let count = kept.len();
        kept.into_iter().for_each(|message| self.upcalls.finalize(message, result));
        count
    }

    /// Completes the messages that are being received with `result`; returns their number.
    pub fn finish_arriving(&self, result: Result<(), Errno>) -> usize {
        let arriving = std::mem::take(&mut *self.arriving.lock().unwrap());
        let count = arriving.len();
        arriving.into_iter().for_each(|message| self.upcalls.received(message, result));
        count
    }

    /// A message with this header arrives; the interface carries out the core's decision.
    pub fn arrives(self: &Arc<Self>, header: &Header) {
        let hold = || Arc::new(CarriedOut(Arc::clone(self))) as Arc<dyn DeferredRx>;
        let action = self.receive(header, &hold);
        self.carry_out(action);
    }

    fn receive(&self, header: &Header, hold: &dyn Fn() -> Arc<dyn DeferredRx>) -> RxAction {
        self.upcalls.receive(
            &self.ni.upgrade().unwrap(),
            header.src_nid,
            header,
            &Provenance::default(),
            hold,
        )
    }

    fn carry_out(&self, action: RxAction) {
        match action {
            RxAction::Deliver(message) => self.arriving.lock().unwrap().push(message),
            RxAction::Defer => drop(self.deferred.fetch_add(1, Ordering::SeqCst)),
            RxAction::Discard | RxAction::Reject(_) => {}
        }
    }

    fn reply(&self, get: &Header) {
        let Body::Get { reply, .. } = get.body else { return };
        let (body, dest_nid, src_nid) = (Body::Reply { handle: reply }, get.src_nid, get.dest_nid);
        let response = Header { dest_nid, src_nid, body, payload_length: 0, ..*get };
        let hold = || -> Arc<dyn DeferredRx> { panic!("a REPLY is never deferred here") };
        if let RxAction::Deliver(got) = self.receive(&response, &hold) {
            self.upcalls.received(got, Ok(()));
        }
    }
}

/// The LND's face of an interface, which the core holds.
struct Handle(Arc<FakeNi>, Arc<Shared>);

impl LndNi for Handle {
    fn may_cut_through(&self, _: ProcessId, _: usize) -> bool {
        self.1.takes_arriving.load(Ordering::SeqCst)
    }

    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        self.0.confirmations.lock().unwrap().push((to, hop, confirmation));
    }

    fn abort_tx(&self, peer: Option<Nid>, _: Cause) {
        self.0.aborted.lock().unwrap().extend(peer);
    }

    fn send(&self, mut message: Pooled<OutgoingMessage>) -> SendOutcome {
        let Self(ni, driver) = self;
        if driver.forbids_sends_after_shutdown.load(Ordering::SeqCst) {
            assert!(!*ni.down.lock().unwrap(), "a send after the shutdown");
        }
        if driver.records.load(Ordering::SeqCst) {
            driver.recorded.lock().unwrap().push(*message.header());
        }
        let on_send = match driver.next_failure.lock().unwrap().take() {
            Some(failure) => OnSend::Fail(failure),
            None => {
                let script = Arc::clone(&driver.script.lock().unwrap());
                script(&message)
            }
        };
        match on_send {
            OnSend::Complete => SendOutcome::Done(message, Ok(())),
            OnSend::Fail(failure) => SendOutcome::Done(message, Err(failure)),
            OnSend::Reply => {
                ni.reply(message.header());
                SendOutcome::Done(message, Ok(()))
            }
            OnSend::Keep => {
                if driver.names.load(Ordering::SeqCst) {
                    let id = driver.named.fetch_add(1, Ordering::SeqCst) + 1;
                    let id = NonZeroU64::new(id).unwrap();
                    message.set_message_id(id);
                    if message.is_routed() {
                        message.expect_confirmation(MessageOrigin { node: THIS_NODE, id });
                    }
                }
                let down = ni.down.lock().unwrap();
                if *down {
                    return SendOutcome::Done(message, Err(Errno::Shutdown.into()));
                }
                ni.kept.lock().unwrap().push(message);
                SendOutcome::Pending
            }
        }
    }

    fn shutdown(&self) {
        let Self(ni, driver) = self;
        *ni.down.lock().unwrap() = true;
        let arrives = driver.arrives_at_shutdown.lock().unwrap().take();
        if let Some(header) = arrives {
            let hold = || Arc::new(FakeDriver(Arc::clone(driver))) as Arc<dyn DeferredRx>;
            let action = ni.receive(&header, &hold);
            assert!(matches!(action, RxAction::Defer));
        }
        let delivery = *driver.delivery_at_shutdown.lock().unwrap();
        ni.finish(Err(SendFailure { errno: Errno::Shutdown, cause: Cause::LocalAborted, delivery }));
        ni.finish_arriving(Err(Errno::Shutdown));
    }
}

/// A deferred message, whose decision the test reads by [`FakeDriver::resumed`].
impl DeferredRx for FakeDriver {
    fn resume(&self, action: RxAction) {
        self.0.resumed.lock().unwrap().push(action);
    }
}

/// A deferred message whose decision the interface carries out.
struct CarriedOut(Arc<FakeNi>);

impl DeferredRx for CarriedOut {
    fn resume(&self, action: RxAction) {
        self.0.deferred.fetch_sub(1, Ordering::SeqCst);
        self.0.carry_out(action);
    }
}
