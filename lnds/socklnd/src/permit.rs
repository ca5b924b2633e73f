//! A connecting peer's place among those that there may be: taken when it comes, given back when its socket is closed.

use crate::decide::conn_limit::{Capacity, ConnLimit, Limits};
use crate::sync::lock;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// All places.
#[derive(Debug)]
pub(crate) struct Permits(Arc<Mutex<ConnLimit>>);

/// One place.
#[derive(Debug)]
pub(crate) struct Permit {
    conn_limit: Arc<Mutex<ConnLimit>>,
    address: IpAddr,
    unfinished: bool,
}

impl Permits {
    /// `of_one`: how many there are for one address.
    pub(crate) fn new(of_one: usize) -> Self {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self(Arc::new(Mutex::new(ConnLimit::new(Limits::new(descriptors, of_one)))))
    }

    pub(crate) fn capacity(&self, address: IpAddr) -> Capacity {
        lock(&self.0).capacity(address)
    }

    /// The address with most connecting peers that have not said hello.
    pub(crate) fn worst(&self) -> Option<IpAddr> {
        lock(&self.0).worst()
    }

    pub(crate) fn take(&self, address: IpAddr) -> Permit {
        lock(&self.0).enter(address);
        Permit { conn_limit: Arc::clone(&self.0), address, unfinished: true }
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        lock(&self.0).count().0
    }
}

impl Permit {
    /// The connecting peer has said hello.
    pub(crate) fn finish(mut self) -> Self {
        lock(&self.conn_limit).finish(self.address);
        self.unfinished = false;
        self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.conn_limit).leave(self.address, self.unfinished);
    }
}
