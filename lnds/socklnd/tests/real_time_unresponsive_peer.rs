//! Messages that are returned, and their causes, if rails drop everything, links fail, or connects have no response.
//!
//! Each test has two machines with a cable between them, in separate network namespaces. The kernel's TCP responds,
//! so the tests run in real time. The times are printed, and none is asserted: a timeout that must not be the cause is
//! longer than the test may run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../tests/support/netns.rs"]
#[allow(dead_code, unreachable_pub)]
mod netns;
mod support;

use lnet_core::{Cause, Delivery, Errno, EventKind, SendFailure};
use netns::{empty_namespace_or_skip, enter_new_network_namespace, ip};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socklnd::{DeliveryAcks, SocklndConfig};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::spy::Spy;
use support::*;

/// A timeout longer than any test may run, so that no message fails by it.
const SOCK_TIMEOUT: Duration = Duration::from_secs(600);

/// A timeout for tests in which it has to pass.
const SHORT_SOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// A machine with a node on its one interface, and a port of the switch.
struct Machine {
    node: Node,
    spy: Arc<Spy>,
    number: u8,
    namespace: File,
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, number)
}

/// Makes two machines, the lower NID first, which take each other for kernel nodes unless they have an implementation ID.
/// `None`: it cannot be done here, or has been done elsewhere.
fn machines_or_skip(change: impl Fn(&mut SocklndConfig)) -> Option<(Machine, Machine)> {
    // The namespace of this thread is the switch.
    empty_namespace_or_skip()?;
    ip(&["link", "add", "switch", "type", "bridge", "forward_delay", "0"]);
    ip(&["link", "set", "switch", "up"]);
    let switch = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut config = config(988);
    config.sock_timeout = SOCK_TIMEOUT;
    config.delivery_acks = DeliveryAcks::All;
    change(&mut config);
    let machine = |number: u8| {
        let (switch, mut config) = (switch.clone(), config.clone());
        if config.implementation_id != 0 {
            config = same_implementation(config, number.into());
        }
        let (ready, done) = channel();
        thread::spawn(move || ready.send(Machine::start(number, &switch, config)));
        done.recv().expect("a machine to start")
    };
    let both = (machine(1), machine(2));
    for number in 1..=2 {
        ip(&["link", "set", &port(number), "master", "switch", "up"]);
    }
    let reached = || both.0.node.counters().connected > 0;
    both.1.node.offer(buffer(1 << 20));
    both.0.node.put(both.0.node.bind_bytes(pattern(8, 1)), both.1.node.nid, true);
    wait_for("the machines to reach each other", reached);
    both.1.node.expect(EventKind::Put);
    let kinds = [both.0.node.event().kind, both.0.node.event().kind];
    assert!(kinds.contains(&EventKind::Ack) && kinds.contains(&EventKind::Send), "{kinds:?}");
    wait_for("the whole set", || both.0.node.counters().connected == 3);
    // The cable may have become usable only after a while.
    both.0.spy.unresponsive.store(0, Ordering::SeqCst);
    Some(both)
}

/// Makes two machines that recognise each other as nodes of this implementation.
fn ours_or_skip() -> Option<(Machine, Machine)> {
    machines_or_skip(|config| config.implementation_id = socklnd::implementation_id(1))
}

fn port(number: u8) -> String {
    format!("port{number}")
}

/// Drops everything to and from the machine; its link stays up.
fn blackhole(number: u8) {
    ip(&["link", "set", &port(number), "nomaster"]);
}

fn forward(number: u8) {
    ip(&["link", "set", &port(number), "master", "switch"]);
}

impl Machine {
    fn start(number: u8, switch: &str, config: SocklndConfig) -> Self {
        assert!(enter_new_network_namespace(), "a second network namespace");
        ip(&["link", "set", "lo", "up"]);
        ip(&["link", "add", "eth0", "type", "veth", "peer", "name", &port(number), "netns", switch]);
        ip(&["address", "add", &format!("{}/24", address(number)), "dev", "eth0"]);
        ip(&["link", "set", "eth0", "up"]);
        let spy = Arc::new(Spy::default());
        let namespace = File::open("/proc/thread-self/ns/net").unwrap();
        let node = Self::node(number, config, &spy);
        Self { node, spy, number, namespace }
    }

    fn node(number: u8, config: SocklndConfig, spy: &Arc<Spy>) -> Node {
        spy.node(tcp(address(number)), config)
    }

    /// Ends the node as if its process ended, and starts another one after `pause`.
    fn restart(&mut self, pause: Duration) {
        self.node.stop();
        let config = self.node.driver.config().clone();
        thread::sleep(pause);
        let (number, spy) = (self.number, Arc::clone(&self.spy));
        self.node = self.within(move || Self::node(number, config, &spy));
    }

    fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = self.namespace.as_fd();
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network)).unwrap();
                work()
            });
            there.join().unwrap()
        })
    }

    /// Sends PUTs with ACK to `peer` until an ACK arrives. Returns how long that took.
    fn reach(&self, peer: &Self) -> Duration {
        let begin = Instant::now();
        let memory = self.node.bind_bytes(pattern(8, 2));
        loop {
            assert!(begin.elapsed() < TIMEOUT, "the peer cannot be reached");
            self.node.put(memory, peer.node.nid, true);
            loop {
                match self.node.event_within(Duration::from_secs(1)) {
                    Some(event) if event.kind == EventKind::Ack => return begin.elapsed(),
                    Some(event) if event.kind == EventKind::Send && event.status.is_ok() => {}
                    _ => break,
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends messages of `len` bytes until one is reported as failed. Returns how long that took.
    fn send_until_one_fails(&self, peer: &Self, len: usize) -> Duration {
        self.send_until(peer, len, || !self.spy.failures().is_empty())
    }

    /// Sends messages until one is reported as failed in this way: not those that were sent before, which may be reported meanwhile.
    /// Returns how long that took.
    fn send_until_one_fails_with(&self, peer: &Self, failure: SendFailure) -> Duration {
        self.spy.failures.lock().unwrap().clear();
        self.send_until(peer, 8, || self.spy.failures().contains(&failure))
    }

    fn send_until(&self, peer: &Self, len: usize, has_failed: impl Fn() -> bool) -> Duration {
        let memory = self.node.bind_bytes(pattern(len, 3));
        let begin = Instant::now();
        wait_for("a message to fail", || {
            self.node.put(memory, peer.node.nid, false);
            thread::sleep(Duration::from_millis(20));
            has_failed()
        });
        begin.elapsed()
    }
}

fn print_time(what: &str, time: Duration) {
    println!("{what}: {} ms", time.as_millis());
}

#[test]
fn messages_leave_an_unresponsive_rail_and_return_when_it_responds() {
    let Some((near, far)) = ours_or_skip() else { return };
    near.spy.other_path.store(true, Ordering::SeqCst);
    for len in [8, 1 << 20] {
        near.spy.failures.lock().unwrap().clear();
        blackhole(2);
        let time = near.send_until_one_fails(&far, len);
        print_time(&format!("{len} bytes into a rail that drops everything come back after"), time);
        let failures = near.spy.failures();
        assert!(failures.iter().all(|it| it.cause == Cause::NetworkTimeout), "{failures:?}");
        assert!(failures.iter().all(|it| it.errno == Errno::TimedOut), "{failures:?}");

        // The next message needs a new connect, which has no response, either.
        let time =
            near.send_until_one_fails_with(&far, SendFailure::unsent(Errno::TimedOut, Cause::NetworkTimeout));
        print_time("a message that waits for a call that nobody answers comes back after", time);

        forward(2);
        let time = near.reach(&far);
        print_time("the rail is back, and used again after", time);
    }
    assert!(near.node.counters().unresponsive >= 4);
}

#[test]
fn a_rail_that_drops_everything_is_late_before_it_is_unresponsive_and_then_responsive_again() {
    for ours in [true, false] {
        let both = if ours { ours_or_skip() } else { machines_or_skip(|_| {}) };
        let Some((near, far)) = both else { return };
        // A test machine that is busy for this long may report both at once: not every time.
        let mut was_late = (0..20).map(|_| {
            near.spy.unresponsive.store(0, Ordering::SeqCst);
            blackhole(2);
            near.node.put(near.node.bind_bytes(pattern(8, 2)), far.node.nid, true);
            wait_for("the path to be unresponsive", || near.spy.unresponsive.load(Ordering::SeqCst) > 0);
            let was_late = near.spy.late_before.load(Ordering::SeqCst) > 0;
            forward(2);
            near.spy.responsive.store(0, Ordering::SeqCst);
            wait_for("the path to be responsive", || near.spy.responsive.load(Ordering::SeqCst) > 0);
            was_late
        });
        assert!(was_late.any(|it| it), "ours: {ours}");
    }
}

/// Fails if messages on a late path keep their credits until it is unresponsive, although the core knows another that works.
#[test]
fn messages_on_a_late_path_give_their_credits_back_if_another_works() {
    for ours in [true, false] {
        let both = if ours { ours_or_skip() } else { machines_or_skip(|_| {}) };
        let Some((near, far)) = both else { return };
        let peer_ni = || near.node.core.admin().peer(far.node.nid).unwrap().1[0].clone();
        let missing = || peer_ni().max_credits() as i32 - peer_ni().credits().0;
        near.reach(&far);
        near.spy.other_path.store(true, Ordering::SeqCst);
        let is_unresponsive = || near.spy.unresponsive.load(Ordering::SeqCst) > 0;
        // A machine that stands still for this long finds the path late and unresponsive at once: not every time.
        let mut given_back_before = (0..20).map(|_| {
            near.spy.unresponsive.store(0, Ordering::SeqCst);
            blackhole(2);
            near.node.put(near.node.bind_bytes(pattern(8192, 2)), far.node.nid, true);
            assert_eq!(missing(), 1);
            wait_for("the credit to be back", || missing() == 0);
            let was_before = !is_unresponsive();
            forward(2);
            near.reach(&far);
            was_before
        });
        assert!(given_back_before.any(|it| it), "ours: {ours}");
    }
}

#[test]
fn without_another_path_messages_wait_for_an_unresponsive_rail_and_later_ones_are_not_disturbed() {
    let timeout = Duration::from_secs(8);
    let Some((near, far)) = machines_or_skip(|config| config.sock_timeout = timeout) else { return };
    blackhole(2);
    let memory = near.node.bind_bytes(pattern(8, 2));
    near.node.put(memory, far.node.nid, true);
    wait_for("the core to be told again and again", || near.spy.unresponsive.load(Ordering::SeqCst) >= 3);
    forward(2);
    let back = Instant::now();
    let kinds = [near.node.event().kind, near.node.event().kind];
    assert!(kinds.contains(&EventKind::Ack), "{kinds:?}");
    print_time("the rail is back, and the message there after", back.elapsed());
    // A message that was late in the outage does not end a working connection, although its timeout passes meanwhile.
    while back.elapsed() < timeout + Duration::from_secs(2) {
        near.reach(&far);
    }
    for machine in [&near, &far] {
        let counters = machine.node.counters();
        assert_eq!((counters.timed_out, counters.unresponsive, counters.closed_by_peer), (0, 0, 0));
        assert_eq!(machine.spy.failures(), []);
    }
}

#[test]
fn without_another_path_messages_on_an_unresponsive_rail_fail_at_their_timeout() {
    let Some((near, far)) = machines_or_skip(|config| config.sock_timeout = SHORT_SOCK_TIMEOUT) else {
        return;
    };
    blackhole(2);
    let time = near.send_until_one_fails(&far, 1 << 20);
    print_time("without another way, messages fail after (3 s allowed)", time);
    let failures = near.spy.failures();
    let timeouts = [Cause::LocalTimeout, Cause::RemoteTimeout];
    assert!(failures.iter().all(|it| timeouts.contains(&it.cause)), "{failures:?}");
    // Messages that wait for connects without a response fail, too.
    let time =
        near.send_until_one_fails_with(&far, SendFailure::unsent(Errno::TimedOut, Cause::LocalTimeout));
    print_time("without another way, messages that wait for a connection fail after (3 s allowed)", time);
    forward(2);
    let time = near.reach(&far);
    print_time("the rail is back, and used again after", time);
}

#[test]
fn a_rebooted_host_that_lost_its_connections_is_accepted_again_soon() {
    let Some((near, far)) = ours_or_skip() else { return };
    near.node.offer(buffer(1 << 20));
    // TCP tells the other of the end, too: where the test machine is busy for long, before the new connect arrives. Not every time.
    let mut was_refused = (0..20).map(|_| {
        blackhole(2);
        let ni_handle = far.spy.ni.lock().unwrap().clone().unwrap();
        ni_handle.abort_tx(None, Cause::LocalDropped);
        forward(2);
        // The rebooted node connects although the other still has its connections, and has not been told of their end.
        let time = far.reach(&near);
        print_time("who has lost its connections is let in after", time);
        near.node.counters().refused > 0
    });
    assert!(was_refused.any(|it| it));
}

#[test]
fn a_peer_that_does_not_read_is_not_unresponsive() {
    let Some((near, far)) = machines_or_skip(|_| {}) else { return };
    near.spy.other_path.store(true, Ordering::SeqCst);
    // No thread of the peer reads while one is blocked in a handler.
    let stuck = Arc::new(Mutex::new(()));
    let guard = stuck.lock().unwrap();
    far.node.block_on(Arc::clone(&stuck));
    let memory = near.node.bind_bytes(pattern(1 << 20, 3));
    for _ in 0..8 {
        near.node.put(memory, far.node.nid, false);
    }
    thread::sleep(Duration::from_secs(3));
    assert_eq!(near.spy.failures(), []);
    assert_eq!(near.spy.unresponsive.load(Ordering::SeqCst), 0);
    drop(guard);
    for _ in 0..8 {
        assert_eq!(near.node.expect(EventKind::Send).status, Ok(()));
    }
}

#[test]
fn aborted_messages_return_at_once_and_later_ones_connect_again() {
    let Some((near, far)) = ours_or_skip() else { return };
    let ni_handle = near.spy.ni.lock().unwrap().clone().unwrap();
    for peer in [None, Some(far.node.nid)] {
        near.spy.failures.lock().unwrap().clear();
        near.within(|| ip(&["link", "set", "eth0", "down"]));
        let memory = near.node.bind_bytes(pattern(1 << 20, 3));
        for _ in 0..8 {
            near.node.put(memory, far.node.nid, false);
        }
        // The messages to another peer are not affected.
        ni_handle.abort_tx(Some(tcp(address(9))), Cause::LocalError);
        assert_eq!(near.spy.failures(), []);
        let begin = Instant::now();
        ni_handle.abort_tx(peer, Cause::LocalDropped);
        let broken_off = |it: &&SendFailure| it.cause == Cause::LocalDropped;
        while near.spy.failures().iter().filter(broken_off).count() < 7 {
            assert!(begin.elapsed() < TIMEOUT, "messages stay away");
            thread::yield_now();
        }
        print_time("what is broken off is back after", begin.elapsed());
        let failures = near.spy.failures();
        // The core may have resent some already, into a link that is down.
        let mut others = failures.iter().filter(|it| !broken_off(it));
        assert!(others.all(|it| it.delivery == Delivery::NotSent), "{failures:?}");
        assert!(failures.iter().any(|it| it.delivery == Delivery::NotSent), "{failures:?}");
        assert_eq!(failures[0].errno, Errno::NetworkDown);
        near.within(|| ip(&["link", "set", "eth0", "up"]));
        print_time("the link is back, and used again after", near.reach(&far));
    }
}

#[test]
fn a_peer_that_is_restarted_is_reached_soon_after_it_listens_again() {
    let Some((near, mut far)) = machines_or_skip(|_| {}) else { return };
    for pause in [0, 300, 2500] {
        let running = AtomicBool::new(true);
        thread::scope(|scope| {
            // One thread sends all the time.
            scope.spawn(|| {
                let memory = near.node.bind_bytes(pattern(8, 2));
                while running.load(Ordering::SeqCst) {
                    near.node.put(memory, tcp(address(2)), false);
                    thread::sleep(Duration::from_millis(5));
                }
            });
            far.restart(Duration::from_millis(pause));
            let begin = Instant::now();
            wait_for("a connection", || far.node.counters().accepted > 0);
            print_time(&format!("after {pause} ms it listens again, and is reached after"), begin.elapsed());
            running.store(false, Ordering::SeqCst);
        });
        let failures = std::mem::take(&mut *near.spy.failures.lock().unwrap());
        let peers_fault = [Cause::RemoteDropped, Cause::RemoteError];
        assert!(failures.iter().all(|it| peers_fault.contains(&it.cause)), "{failures:?}");
        while near.node.event_within(Duration::from_millis(50)).is_some() {}
        far.node.offer(buffer(1 << 20));
        near.reach(&far);
    }
}

/// Returns the number of bytes that a machine has sent to the switch, with all headers.
fn bytes_sent_by(number: u8) -> u64 {
    let links = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let of_port = |line: &str| line.trim().strip_prefix(&format!("{}:", port(number))).map(str::to_owned);
    let counters = links.lines().find_map(of_port).expect("the machine's port");
    counters.split_whitespace().next().unwrap().parse().unwrap()
}

/// Payload of one message in bytes that is more than TCP takes towards a peer that acknowledges nothing.
const MORE_THAN_TCP_TAKES: usize = 1 << 20;

#[test]
fn a_kernel_peers_partly_sent_messages_stay_with_tcp_and_unsent_ones_take_another_path() {
    let Some((near, far)) = machines_or_skip(|_| {}) else { return };
    near.spy.other_path.store(true, Ordering::SeqCst);
    far.node.offer(buffer(64 << 20));
    for abort_tx in [false, true] {
        near.spy.failures.lock().unwrap().clear();
        blackhole(2);
        let ni_handle = near.spy.ni.lock().unwrap().clone().unwrap();
        let memory = near.node.bind_bytes(pattern(MORE_THAN_TCP_TAKES, 3));
        let sent: u32 = 8;
        let left_before = bytes_sent_by(1);
        (0..sent).for_each(|_| near.node.put(memory, far.node.nid, false));
        if abort_tx {
            // Any thread of the driver may write the first message.
            wait_for("the first message to leave in part", || bytes_sent_by(1) > left_before + 1000);
            ni_handle.abort_tx(Some(far.node.nid), Cause::LocalAborted);
        }
        wait_for("what has not left to come back", || !near.spy.failures().is_empty());
        let failures = near.spy.failures();
        assert!(failures.iter().all(|it| it.delivery == Delivery::NotSent), "{failures:?}");
        forward(2);
        // Only the spy claims another path: a message that was returned often enough has failed.
        let statuses: Vec<_> = (0..sent).map(|_| near.node.expect(EventKind::Send).status).collect();
        let carried = statuses.iter().filter(|status| status.is_ok()).count();
        assert!(carried > 0, "{statuses:?}");
        for _ in 0..carried {
            far.node.expect(EventKind::Put);
        }
        for machine in [&near, &far] {
            let counters = machine.node.counters();
            assert_eq!((counters.timed_out, counters.closed_by_peer), (0, 0));
        }
        assert_eq!(near.node.counters().connected, 3, "no connection was made anew");
        if !abort_tx {
            wait_for("the path to be responsive", || near.spy.responsive.load(Ordering::SeqCst) > 0);
        }
    }
}

/// Fails if the connection ends because the outage has lasted as long as a message may wait, whether or not a check has found the outage before.
#[test]
fn a_kernels_connection_survives_a_long_outage_for_its_first_message_after_it() {
    for is_checked in [true, false] {
        let change = |config: &mut SocklndConfig| {
            config.sock_timeout = SHORT_SOCK_TIMEOUT;
            if !is_checked {
                config.unresponsive_timeout = Duration::ZERO;
            }
        };
        let Some((near, far)) = machines_or_skip(change) else { return };
        near.node.offer(buffer(1 << 20));
        blackhole(2);
        near.node.put(near.node.bind_bytes(pattern(8, 3)), far.node.nid, false);
        // Far longer than the timeout.
        wait_for("the message to be late", || !near.spy.failures().is_empty());
        let failure =
            SendFailure { errno: Errno::TimedOut, cause: Cause::RemoteTimeout, delivery: Delivery::Unknown };
        assert_eq!(near.spy.failures(), [failure]);
        assert_eq!(near.node.expect(EventKind::Send).status, Err(Errno::TimedOut));
        forward(2);
        far.node.put(far.node.bind_bytes(pattern(8, 4)), near.node.nid, true);
        near.node.expect(EventKind::Put);
        // TCP has also carried the late message, whose delivery ACK is no longer awaited.
        let events: Vec<_> =
            (0..3).map(|_| far.node.event()).map(|event| (event.kind, event.status)).collect();
        for kind in [EventKind::Put, EventKind::Send, EventKind::Ack] {
            assert!(events.contains(&(kind, Ok(()))), "{kind:?} in {events:?}");
        }
        near.reach(&far);
        for machine in [&near, &far] {
            let counters = machine.node.counters();
            assert_eq!((counters.timed_out, counters.closed_by_peer), (0, 0));
        }
        assert_eq!(far.spy.failures(), []);
    }
}
