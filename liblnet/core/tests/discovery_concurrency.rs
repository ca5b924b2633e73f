//! Requests that wait for discoveries while interfaces, peers and discoveries change: each ends exactly once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::lnd::Upcalls;
use lnet_core::{
    Core, CoreConfig, DiscoveryMode, Errno, Event, MdMemory, MdOptions, MdSpec, NiTunables, Provenance,
    Target,
};
use lnet_wire::{Body, Pid};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use support::{FakeDriver, OnSend, on_net, tcp};

const SENDERS: usize = 3;
const EACH: usize = 400;
const PEERS: u32 = 12;

/// A driver that sends everything at once except pings: of four one fails, one is kept, two have an empty REPLY.
fn unsteady_driver() -> FakeDriver {
    let pings = AtomicUsize::new(0);
    FakeDriver::scripted(move |message| {
        let Body::Get { .. } = message.header().body else { return OnSend::Complete };
        match pings.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => OnSend::Fail(Errno::HostUnreachable.into()),
            1 => OnSend::Keep,
            _ => OnSend::Reply,
        }
    })
}

/// A node, its event queue, and the number of last events of each operation.
fn node() -> (Arc<Core>, lnet_core::EqHandle, Arc<[AtomicU32]>) {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42));
    core.admin().add_ni(tcp(1000), NiTunables::default(), &unsteady_driver()).unwrap();
    let ends: Arc<[AtomicU32]> = (0..SENDERS * EACH).map(|_| AtomicU32::new(0)).collect();
    let (told, this) = (Arc::clone(&ends), Arc::downgrade(&core));
    let handler = move |event: &Event| {
        if event.unlinked {
            told[event.md.user_ptr].fetch_add(1, Ordering::Relaxed);
        }
        // Calls from a handler must not wait for the work that the handler runs inside of.
        if let Some(core) = this.upgrade() {
            core.admin().primary_nid(tcp(event.md.user_ptr as u32 % PEERS));
            assert_eq!(core.admin().add_peer(&[tcp(1)]), Err(Errno::Busy));
        }
    };
    let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
    (core, eq, ends)
}

#[test]
fn every_request_completes_once_while_interfaces_and_peers_change() {
    let memory = [0_u8; 8];
    for round in 0..20_u32 {
        let (core, eq, ends) = node();
        let accepted: Vec<AtomicBool> = (0..SENDERS * EACH).map(|_| AtomicBool::new(false)).collect();
        let (over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
        let send = &|number: usize| {
            let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
            let (options, eq) = (MdOptions(0), Some(eq));
            let spec = MdSpec { start, length, threshold: 1, max_size: 0, options, user_ptr: number, eq };
            let Ok(md) = core.data_path().md_bind(spec, MdMemory::contiguous(start, length), true) else {
                return;
            };
            let to = Some(tcp(number as u32 % PEERS));
            let target = Target { nid: to, pid: Pid::LUSTRE, portal: 9, match_bits: 1, offset: 0 };
            accepted[number]
                .store(core.data_path().put(None, md, false, target, 0).is_ok(), Ordering::Relaxed);
            if number.is_multiple_of(3) {
                let _ = core.data_path().md_unlink(md);
            }
            sent.fetch_add(1, Ordering::Relaxed);
        };
        let churn = |turn: u32| {
            let peer = tcp(turn % PEERS);
            let mode = [DiscoveryMode::On, DiscoveryMode::Off, DiscoveryMode::On, DiscoveryMode::Verify];
            let _ = match turn % 7 {
                0 => core.admin().delete_peer(peer, None, false),
                1 => core.admin().make_peer(peer, true, turn.is_multiple_of(2)),
                2 => core.admin().add_peer_nid(tcp((turn - 1) % PEERS), peer, true),
                3 => core.admin().change_settings(|settings| {
                    settings.discovery = mode[turn as usize / 7 % 4];
                    Ok(())
                }),
                4 => {
                    let added =
                        core.admin().add_ni(on_net(1, 1000), NiTunables::default(), &unsteady_driver());
                    added.map(drop).map_err(Errno::from)
                }
                5 => core.admin().remove_ni(on_net(1, 1000)),
                _ => core.admin().add_peer(&[peer, tcp((turn + 5) % PEERS)]),
            };
        };
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                scope.spawn(move || (sender * EACH..(sender + 1) * EACH).for_each(send));
            }
            scope.spawn(|| (0..).take_while(|_| !over.load(Ordering::Relaxed)).for_each(churn));
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    core.monitor().run_discovery();
                    core.monitor().wait_for_discovery(None);
                }
            });
            // The shutdown comes at another moment in each round.
            while sent.load(Ordering::Relaxed) < SENDERS * EACH * round as usize / 20 {
                thread::yield_now();
            }
            core.admin().shutdown();
            over.store(true, Ordering::Relaxed);
        });
        for (number, ends) in ends.iter().enumerate() {
            let (ends, accepted) = (ends.load(Ordering::Relaxed), accepted[number].load(Ordering::Relaxed));
            assert!(ends == 1 || ends == 0 && !accepted, "round {round}: {number} ended {ends} times");
        }
    }
}

/// Fails if a NID is lost between peers that messages add and that are removed, and the peer that a program adds.
#[test]
fn a_peer_that_a_program_adds_has_all_its_nids_while_traffic_makes_and_forgets_peers() {
    let config = CoreConfig { max_peers: 8, ..CoreConfig::new(Pid::LUSTRE, 42) };
    let core = Core::new(config);
    let ni =
        core.admin().add_ni(tcp(1000), NiTunables::default(), &FakeDriver::new(OnSend::Complete)).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for sender in 0..SENDERS as u32 {
            let (core, ni, over) = (&core, &ni, &over);
            scope.spawn(move || {
                let hold = || panic!("nothing waits");
                for number in (0..64).cycle().take_while(|_| !over.load(Ordering::Relaxed)) {
                    // Two of these NIDs are the added peer's.
                    let from = tcp(1 + (number * SENDERS as u32 + sender) % 40);
                    let header = support::header_from(from, support::put_body(None), 0);
                    drop(core.data_path().receive(ni, from, &header, &Provenance::default(), &hold));
                }
            });
        }
        for round in 0..400_u32 {
            let nids = [tcp(1 + round % 40), tcp(1 + (round + 1) % 40), tcp(1 + (round + 2) % 40)];
            if core.admin().add_peer(&nids).is_ok() {
                let primaries = nids.map(|nid| core.admin().peer(nid).map(|(peer, _)| peer.primary));
                assert!(primaries.iter().all(|its| *its == primaries[0]), "{nids:?}: {primaries:?}");
            }
            let _ = core.admin().delete_peer(core.admin().primary_nid(nids[0]), None, true);
        }
        over.store(true, Ordering::Relaxed);
    });
    core.admin().shutdown();
}
