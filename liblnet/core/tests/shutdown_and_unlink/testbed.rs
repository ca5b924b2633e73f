//! A node with one or two interfaces, a peer, and a driver that keeps the messages that it is to send.

use crate::states::End::{self, NiRemoved};
use crate::states::State::{self, Parked, QueuedForNiCredit, QueuedForPeerCredit, WithDriver};
use crate::support::{self, FakeClient, FakeDriver, FakeNi, OnSend, header_from, tcp};
use lnet_core::fault::{DelayRule, Filter, Odds};
use lnet_core::topology::PeerNi;
use lnet_core::{Cause, Delivery, EqHandle, Errno, MdHandle, MdOptions, SendFailure};
use lnet_wire::{Body, WireHandle};
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

pub const INITIATOR_HANDLE: WireHandle = WireHandle { interface_cookie: 7, object_cookie: 7 };
pub const SECOND: Duration = Duration::from_secs(1);

/// The addresses of this node's interfaces, and of its peer.
pub const HERE: u32 = 1;
pub const OTHER: u32 = 9;
pub const PEER: u32 = 2;

pub struct Testbed {
    node: support::Rig,
    /// The interface [`HERE`].
    here: Arc<FakeNi>,
    /// The memory of the MD of [`Testbed::attach_fetched`].
    client: Arc<FakeClient>,
}

impl Deref for Testbed {
    type Target = support::Rig;

    fn deref(&self) -> &support::Rig {
        &self.node
    }
}

impl Testbed {
    pub fn new(state: State, end: End) -> Self {
        let driver = FakeDriver::new(OnSend::Keep);
        if let WithDriver(delivery) = state {
            driver.set_delivery_at_shutdown(delivery);
        }
        let builder = support::Rig::builder(driver);
        let builder = if state == Parked { builder.with_discovery() } else { builder };
        let (credits, peer_credits) = match state {
            QueuedForPeerCredit => (8, 1),
            QueuedForNiCredit => (1, 8),
            _ => (8, 8),
        };
        let own = if end == NiRemoved { &[HERE, OTHER][..] } else { &[HERE] };
        let node = builder.credits(credits, peer_credits).nids(own.iter().map(|own| tcp(*own))).build();
        node.core.admin().make_peer(tcp(PEER), true, false).unwrap();
        let here = node.driver.ni(0);
        Self { node, here, client: FakeClient::new() }
    }

    pub fn here(&self) -> &Arc<FakeNi> {
        &self.here
    }

    pub fn fail_next(&self) {
        let (errno, cause, delivery) = (Errno::ConnectionReset, Cause::RemoteDropped, Delivery::Deduplicated);
        self.driver.fail_next(SendFailure { errno, cause, delivery });
    }

    /// Attaches an MD for PUTs and GETs to the portal.
    pub fn attach(&self) -> MdHandle {
        self.attach_for(self.eq)
    }

    pub fn attach_for(&self, eq: EqHandle) -> MdHandle {
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        self.node.attach_for(eq, -1, options)
    }

    /// Attaches an MD like [`Testbed::attach`], whose bytes are fetched.
    pub fn attach_fetched(&self) -> MdHandle {
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        self.node.attach_client(&self.client, -1, options)
    }

    /// A message from the peer arrives on the first interface.
    pub fn arrives(&self, body: Body, payload_length: u32) {
        self.here().arrives(&header_from(tcp(PEER), body, payload_length));
    }

    /// The bytes that are being fetched come, and the driver completes the messages that it keeps; returns the number of both.
    pub fn finish_sends(&self) -> usize {
        self.client.answer() + self.driver.finish()
    }

    /// Runs the node until it is idle, for less than the transaction timeout; longer only for a discovery that a message
    /// waits for.
    pub fn run(&self) {
        for _ in 0..8 {
            self.core.monitor().run_discovery();
            self.core.monitor().run();
            while self.finish_sends() > 0 {}
            self.clock.advance(SECOND);
        }
        // The peer does not answer pings: its discovery times out.
        while self.core.admin().discovery_of(tcp(PEER)).is_some_and(|discovery| discovery.parked > 0) {
            self.clock.advance(20 * SECOND);
            self.core.monitor().run_discovery();
            while self.finish_sends() > 0 {}
        }
    }

    /// Asserts, after the shutdown, that no message, credit or reference is left.
    pub fn expect_nothing_left(self, peer_nis: &[Arc<PeerNi>], case: &str) {
        assert_eq!(self.core.message_counts().msgs_alloc, 0, "{case}: messages");
        for ni in &self.nis {
            assert_eq!(ni.credits().0, ni.tunables().credits as i32, "{case}: credits of {}", ni.nid());
        }
        for peer_ni in peer_nis.iter().chain(&self.core.peer_nis()) {
            assert_eq!(peer_ni.credits().0, peer_ni.max_credits() as i32, "{case}: credits of a peer");
            assert_eq!(peer_ni.queued_bytes(), 0, "{case}");
        }
        assert_eq!(self.core.monitor().run(), None, "{case}: the monitor has a deadline left");
        for ni in self.driver.nis() {
            assert_eq!((ni.kept(), ni.arriving()), (0, 0), "{case}: with the driver");
            assert_eq!(ni.deferred(), 0, "{case}: deferred");
        }
        self.client.answer();
        assert_eq!(self.take_events(), [], "{case}: events after the shutdown");
        let (core, nis) =
            (Arc::downgrade(&self.core), self.nis.iter().map(Arc::downgrade).collect::<Vec<_>>());
        drop(self);
        assert_eq!(core.strong_count(), 0, "{case}: something refers to the node");
        assert!(nis.iter().all(|ni| ni.strong_count() == 0), "{case}: something refers to an interface");
    }
}

pub fn delay_all() -> DelayRule {
    DelayRule { filter: Filter::default(), odds: Odds::OneIn(NonZeroU32::MIN), latency: SECOND }
}

/// Aborts the test and names the case if it takes too long.
pub struct Watchdog(Sender<()>);

impl Watchdog {
    pub fn new(case: impl Into<String>) -> Self {
        let (alive, gone) = channel::<()>();
        let case = case.into();
        thread::spawn(move || {
            if gone.recv_timeout(30 * SECOND) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{case}: still running after 30 s");
                std::process::abort();
            }
        });
        Self(alive)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
