//! Two nodes with two rails each end in the middle of their traffic: nothing of them remains, whatever was in progress.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{Talker, free_port, nids, node};
use lnet_core::DiscoveryMode;
use lnet_core::fault::{DelayRule, Filter, Kinds, Odds};
use std::fs;
use std::num::NonZeroU32;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// The names of this process's threads that belong to nodes.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    // A thread that has ended since has no name any more.
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("lnet_")).collect()
}

/// Held by each test: threads and descriptors are counted of the whole process, in which the nodes of another test may run.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn nodes_that_shut_down_under_traffic_leave_nothing_behind() {
    let _alone = alone();
    let (alive, gone) = channel::<()>();
    thread::spawn(move || {
        if gone
            .recv_timeout(Duration::from_secs(300))
            .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            eprintln!("hangs; threads: {:?}", threads());
            std::process::abort();
        }
    });
    let before = descriptors();
    // (PUTs before the end, whether an interface is removed first, whether the other node ends first)
    let table = [(1, false, false), (1, true, true), (20, false, true), (20, true, false), (200, true, true)];
    for (puts, removes, other_first) in table {
        let port = free_port();
        let (here, there) = (["127.0.79.1", "127.0.79.2"], ["127.0.79.3", "127.0.79.4"]);
        let [a, b] = [here, there].map(|addresses| Talker::new(node(port, &addresses, DiscoveryMode::On)));
        // The first PUTs wait for the discovery.
        for _ in 0..puts {
            a.put(nids(&there)[0]);
            b.put(nids(&here)[1]);
        }
        if puts > 1 {
            a.arrival();
        }
        if removes {
            a.node.remove_ni(nids(&here)[0]).unwrap();
        }
        let case = format!("{puts} PUTs, removes: {removes}, other first: {other_first}");
        let ends = if other_first { [&b, &a] } else { [&a, &b] };
        for talker in ends {
            talker.node.shutdown();
            assert_eq!(talker.node.core().message_counts().msgs_alloc, 0, "{case}");
        }
        let cores: Vec<Weak<_>> = ends.iter().map(|talker| Arc::downgrade(talker.node.core())).collect();
        drop((a, b));
        assert!(cores.iter().all(|core| core.strong_count() == 0), "{case}: something refers to a node");
        // A thread that has been joined may be listed for a moment longer.
        while !threads().is_empty() {
            thread::yield_now();
        }
        assert_eq!(descriptors(), before, "{case}");
    }
    drop(alive);
}

#[test]
fn a_node_that_shuts_down_on_the_event_of_a_put_has_sent_the_ack() {
    let _alone = alone();
    let port = free_port();
    let asker = Talker::new(node(port, &["127.0.79.5"], DiscoveryMode::Off));
    let taker = Talker::new(node(port, &["127.0.79.6"], DiscoveryMode::Off));
    // The delay has the effect of a slow thread that sends the ACK.
    taker.node.core().admin().add_delay_rule(DelayRule {
        filter: Filter { kinds: Kinds::from_bits(1).unwrap(), ..Filter::default() },
        odds: Odds::OneIn(NonZeroU32::MIN),
        latency: Duration::from_millis(100),
    });
    asker.put(nids(&["127.0.79.6"])[0]);
    taker.arrival();
    taker.node.shutdown();
    asker.await_acks(1);
}
