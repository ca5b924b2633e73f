//! Between a core and the driver: what comes back is sent again, as often as it takes.

use lnet_core::lnd::{DeferredRx, Driver, LndNi, Progress, RxAction, SendOutcome, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Delivery, Errno, Message, SendFailure};
use lnet_wire::{Header, NetType, Nid};
use socklnd::Socklnd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why messages came back, each time.
pub type Failures = Arc<Mutex<Vec<SendFailure>>>;

pub struct Resending {
    driver: Arc<Socklnd>,
    failures: Failures,
}

impl Resending {
    pub fn over(driver: Arc<Socklnd>, failures: &Failures) -> Arc<Self> {
        Arc::new(Self { driver, failures: Arc::clone(failures) })
    }
}

impl Driver for Resending {
    fn net_type(&self) -> NetType {
        self.driver.net_type()
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        let (sender, again) = channel();
        let between = Between {
            upcalls: Arc::clone(&upcalls),
            again: Mutex::new(sender),
            failures: Arc::clone(&self.failures),
        };
        let between = Arc::new(between);
        let inner = self.driver.start_ni(ni, Arc::clone(&between) as Arc<dyn Upcalls>)?;
        let face = Arc::new(Face { inner, between });
        let resender = Arc::clone(&face);
        std::thread::spawn(move || resender.run(&again));
        Ok(face)
    }

    fn progress(&self, timeout: Duration) -> Progress {
        self.driver.progress(timeout)
    }
}

struct Between {
    upcalls: Arc<dyn Upcalls>,
    again: Mutex<Sender<Box<Message>>>,
    failures: Failures,
}

impl Between {
    /// What came of a message, for the core; `None` if it is sent again.
    fn judge(
        &self,
        message: Box<Message>,
        result: Result<(), SendFailure>,
    ) -> Option<(Box<Message>, Result<(), SendFailure>)> {
        match result {
            Err(failure) if failure.errno != Errno::Shutdown && failure.delivery != Delivery::Unknown => {
                self.failures.lock().unwrap().push(failure);
                self.again.lock().unwrap().send(message).unwrap();
                None
            }
            result => Some((message, result)),
        }
    }
}

impl Upcalls for Between {
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        hold: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        self.upcalls.receive(ni, from, header, hold)
    }

    fn received(&self, message: Box<Message>, result: Result<(), Errno>) {
        self.upcalls.received(message, result);
    }

    fn finalize(&self, message: Box<Message>, result: Result<(), SendFailure>) {
        if let Some((message, result)) = self.judge(message, result) {
            self.upcalls.finalize(message, result);
        }
    }
}

struct Face {
    inner: Arc<dyn LndNi>,
    between: Arc<Between>,
}

impl Face {
    fn run(&self, again: &Receiver<Box<Message>>) {
        while let Ok(message) = again.recv() {
            std::thread::yield_now();
            if let SendOutcome::Done(message, result) = self.send(message) {
                self.between.upcalls.finalize(message, result);
            }
        }
    }
}

impl LndNi for Face {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        match self.inner.send(message) {
            SendOutcome::Done(message, result) => match self.between.judge(message, result) {
                Some((message, result)) => SendOutcome::Done(message, result),
                None => SendOutcome::Pending,
            },
            SendOutcome::Pending => SendOutcome::Pending,
        }
    }

    fn open(&self) {
        self.inner.open();
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }
}
