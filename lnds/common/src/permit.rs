//! Permits of inbound connections: taken when one is accepted, given back when its socket is closed.

use crate::conn_limit::{Capacity, ConnLimit, Limits};
use crate::sync::lock;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// All permits of a driver.
#[derive(Debug)]
pub struct Permits(Arc<Mutex<ConnLimit>>);

/// A permit for one connection; given back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    conn_limit: Arc<Mutex<ConnLimit>>,
    address: IpAddr,
    unfinished: bool,
}

impl Permits {
    /// Makes the permits; `per_address` is the maximum number for one address.
    pub fn new(per_address: usize) -> Self {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self(Arc::new(Mutex::new(ConnLimit::new(Limits::new(descriptors, per_address)))))
    }

    /// Whether a connection from `address` may be accepted.
    pub fn capacity(&self, address: IpAddr) -> Capacity {
        lock(&self.0).capacity(address)
    }

    /// The address with the most unfinished handshakes.
    pub fn worst(&self) -> Option<IpAddr> {
        lock(&self.0).worst()
    }

    /// Takes a permit for a connection from `address` whose handshake begins.
    pub fn take(&self, address: IpAddr) -> Permit {
        lock(&self.0).enter(address);
        Permit { conn_limit: Arc::clone(&self.0), address, unfinished: true }
    }

    /// The number of permits that are taken.
    pub fn taken(&self) -> usize {
        lock(&self.0).count().0
    }
}

impl Permit {
    /// Notes that the handshake is complete.
    pub fn finish(mut self) -> Self {
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
