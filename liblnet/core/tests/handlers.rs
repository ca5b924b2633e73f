//! Messages that event handlers send, at any depth of nested handlers.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::{Core, EqHandle, Errno, Event, MdMemory, MdOptions, MdSpec};
use lnet_wire::{Body, Nid};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use support::{FakeDriver, OnSend, Rig, target, tcp};

/// The depth of nested PUTs, each of them sent in the handler of the one before.
const NESTED: usize = 14;

/// Fails if a message posted by a deeply nested handler is not sent by the monitor thread while that handler runs, but waits for
/// the handler's own thread.
#[test]
fn what_a_deeply_nested_handler_sends_leaves_before_the_handler_returns() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Complete)).credits(64, 64).build();
    let (begun, core, eq) =
        (Arc::new(AtomicUsize::new(0)), Arc::downgrade(&rig.core), Arc::new(OnceLock::new()));
    let left_late = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let (begun, eq, left_late) = (Arc::clone(&begun), Arc::clone(&eq), Arc::clone(&left_late));
        move |_: &_| {
            let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
            if number < NESTED {
                put(&core, *eq.get().unwrap(), tcp(9));
                if begun.load(Ordering::SeqCst) == number {
                    let core = core.upgrade().unwrap();
                    std::thread::scope(|scope| {
                        scope.spawn(|| core.monitor().run());
                    });
                    left_late.lock().unwrap().push(number);
                }
                assert!(begun.load(Ordering::SeqCst) > number);
            }
        }
    };
    let queue = rig.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
    eq.set(queue).unwrap();
    put(&Arc::downgrade(&rig.core), queue, tcp(9));
    assert_eq!(begun.load(Ordering::SeqCst), NESTED);
    assert_eq!(left_late.lock().unwrap().len(), 1);
    rig.core.admin().shutdown();
}

/// Fails if a handler that runs inside the discovery engine sends a message that waits for a discovery: none advances until the
/// handler returns.
#[test]
fn what_a_handler_inside_discovery_sends_does_not_wait_for_a_discovery() {
    let driver = FakeDriver::scripted(|message| match message.header().body {
        Body::Get { .. } => OnSend::Fail(Errno::HostUnreachable.into()),
        _ => OnSend::Complete,
    });
    let rig = Rig::builder(driver).with_discovery().build();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let eq = Arc::new(OnceLock::new());
    let handler = {
        let (core, eq, ends) = (Arc::downgrade(&rig.core), Arc::clone(&eq), Arc::clone(&ends));
        move |event: &Event| {
            let peer = event.target.nid.unwrap();
            ends.lock().unwrap().push(peer);
            if peer == tcp(9) {
                // This peer is as undiscovered as the first was.
                put(&core, *eq.get().unwrap(), tcp(8));
                assert_eq!(*ends.lock().unwrap(), [tcp(9), tcp(8)]);
            }
        }
    };
    let queue = rig.core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
    eq.set(queue).unwrap();
    put(&Arc::downgrade(&rig.core), queue, tcp(9));
    assert_eq!(*ends.lock().unwrap(), [], "it waits for the discovery of its peer");
    for _ in 0..20 {
        rig.core.monitor().run_discovery();
    }
    assert_eq!(*ends.lock().unwrap(), [tcp(9), tcp(8)]);
    rig.core.admin().shutdown();
}

fn put(core: &Weak<Core>, eq: EqHandle, to: Nid) {
    let core = core.upgrade().unwrap();
    let (options, eq) = (MdOptions(0), Some(eq));
    let spec = MdSpec { start: 0, length: 0, threshold: 1, max_size: 0, options, user_ptr: 0, eq };
    let md = core.data_path().md_bind(spec, MdMemory::contiguous(0, 0), true).unwrap();
    core.data_path().put(None, md, false, target(to), 0).unwrap();
}
