//! Between a driver and a core: sees what comes back, and answers what the driver asks.

use super::Node;
use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, Upcalls};
use lnet_core::message::TakenCredits;
use lnet_core::topology::Ni;
use lnet_core::{Errno, Message, SendFailure};
use lnet_wire::{Header, NetType, Nid};
use socklnd::{Socklnd, SocklndConfig};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Sees what the driver tells the core, and answers what the core will be asked.
#[derive(Default)]
pub struct Spy {
    driver: Mutex<Option<Arc<Socklnd>>>,
    pub face: Mutex<Option<Arc<dyn LndNi>>>,
    /// What the core answers when it is asked whether there is another path.
    pub elsewhere: AtomicBool,
    /// How often it was told that a path is unresponsive.
    pub asked: AtomicU32,
    /// How often it was told that one is responsive again.
    pub responsive: AtomicU32,
    /// Why messages came back.
    pub failures: Mutex<Vec<SendFailure>>,
}

struct SpyDriver(Arc<Spy>);
struct SpyFace(Arc<dyn LndNi>, Arc<Spy>);
struct SpyUpcalls(Arc<dyn Upcalls>, Arc<Spy>);

impl Spy {
    /// A node between whose driver and core it is.
    pub fn node(self: &Arc<Self>, nid: Nid, config: SocklndConfig) -> Node {
        let driver = Socklnd::new(config, super::running_clock());
        *self.driver.lock().unwrap() = Some(Arc::clone(&driver));
        Node::start_by(nid, driver, &SpyDriver(Arc::clone(self)))
    }

    fn note(&self, result: Result<(), SendFailure>) {
        if let Err(failure) = result {
            self.failures.lock().unwrap().push(failure);
        }
    }

    pub fn failures(&self) -> Vec<SendFailure> {
        self.failures.lock().unwrap().clone()
    }
}

impl Driver for SpyDriver {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        let driver = self.0.driver.lock().unwrap().clone().unwrap();
        let face = driver.start_ni(ni, Arc::new(SpyUpcalls(upcalls, Arc::clone(&self.0))))?;
        *self.0.face.lock().unwrap() = Some(Arc::clone(&face));
        Ok(Arc::new(SpyFace(face, Arc::clone(&self.0))))
    }
}

impl LndNi for SpyFace {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        let outcome = self.0.send(message);
        if let SendOutcome::Done(_, result) = &outcome {
            self.1.note(*result);
        }
        outcome
    }

    fn open(&self) {
        self.0.open();
    }

    fn shutdown(&self) {
        *self.1.face.lock().unwrap() = None;
        self.0.shutdown();
    }
}

impl Upcalls for SpyUpcalls {
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        hold: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        self.0.receive(ni, from, header, hold)
    }

    fn received(&self, message: Box<Message>, result: Result<(), Errno>) {
        self.0.received(message, result);
    }

    fn finalize(&self, message: Box<Message>, result: Result<(), SendFailure>) {
        self.1.note(result);
        self.0.finalize(message, result);
    }

    fn path_is_unresponsive(&self, _: &Arc<Ni>, _: Nid) -> bool {
        self.1.asked.fetch_add(1, Ordering::SeqCst);
        self.1.elsewhere.load(Ordering::SeqCst)
    }

    fn path_is_responsive(&self, _: &Arc<Ni>, _: Nid) {
        self.1.responsive.fetch_add(1, Ordering::SeqCst);
    }

    fn release_credits(&self, credits: Vec<TakenCredits>) {
        self.0.release_credits(credits);
    }

    fn may_change_path(&self, _: &Message) -> bool {
        self.1.elsewhere.load(Ordering::SeqCst)
    }
}
