//! A caller's place among those that there may be: taken when it comes, given back when its socket is closed.

use crate::decide::crowd::{Crowd, Limits, Room};
use crate::sync::lock;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// All places.
#[derive(Debug)]
pub(crate) struct Seats(Arc<Mutex<Crowd>>);

/// One place.
#[derive(Debug)]
pub(crate) struct Seat {
    crowd: Arc<Mutex<Crowd>>,
    address: IpAddr,
    unfinished: bool,
}

impl Seats {
    /// `of_one`: how many there are for one address.
    pub(crate) fn new(of_one: usize) -> Self {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self(Arc::new(Mutex::new(Crowd::new(Limits::new(descriptors, of_one)))))
    }

    pub(crate) fn room(&self, address: IpAddr) -> Room {
        lock(&self.0).room(address)
    }

    /// The address with most callers that have not said hello.
    pub(crate) fn worst(&self) -> Option<IpAddr> {
        lock(&self.0).worst()
    }

    pub(crate) fn take(&self, address: IpAddr) -> Seat {
        lock(&self.0).enter(address);
        Seat { crowd: Arc::clone(&self.0), address, unfinished: true }
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        lock(&self.0).count().0
    }
}

impl Seat {
    /// The caller has said hello.
    pub(crate) fn finish(mut self) -> Self {
        lock(&self.crowd).finish(self.address);
        self.unfinished = false;
        self
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.crowd).leave(self.address, self.unfinished);
    }
}
