//! The C API: `include/lnet/selftest.h` documents it.

use crate::framework::{NodeConfig, TestNode};
use lnet_api::Errno;
use lnet_api::Node;
use lnet_api::clock::SystemClock;
use lnet_api::sync::lock;
use lnet_log::{LogClass, write_line};
use lnet_os::owner::Owner;
use std::convert::Infallible;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The time for which `lnet_selftest_stop` waits until its reference on LNet is released, after all else has ended.
const END_TIMEOUT: Duration = Duration::from_secs(5);

static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);
/// The process that owns the threads of `INSTANCE`.
static OWNER: Owner = Owner::nobody();

struct Instance {
    node: TestNode,
    references: usize,
    /// Disconnected when the reference on LNet has been released.
    ended: Receiver<Infallible>,
}

/// Runs a call: neither an error nor a panic, which is a bug in this library, gets out as such.
fn entry(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result.map_or_else(Errno::to_c, |()| 0),
        Err(_) => Errno::Io.to_c(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn lnet_selftest_start() -> c_int {
    if OWNER.is_ancestor() {
        // Ending the node would mean to wait for its threads for ever.
        std::mem::forget(lock(&INSTANCE).take());
        OWNER.set(false);
    }
    entry(|| {
        lnet_log::install("LNet", log::LevelFilter::Warn);
        let mut instance = lock(&INSTANCE);
        if let Some(instance) = instance.as_mut() {
            instance.references += 1;
            return Ok(());
        }
        let config = NodeConfig::from_lookup(|name| std::env::var(name).ok()).map_err(|error| {
            write_line!(LogClass::SelftestService, "LNet selftest: not started ({error})");
            Errno::Invalid
        })?;
        let (end_signal, ended) = channel();
        let lnet = Node::start_with_end_signal(Some(end_signal))?;
        let node = TestNode::start_on(lnet, Arc::new(SystemClock), &config)?;
        *instance = Some(Instance { node, references: 1, ended });
        OWNER.set(true);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn lnet_selftest_stop() -> c_int {
    entry(|| {
        if OWNER.is_ancestor() {
            return Err(Errno::NetworkDown);
        }
        // The instance stays locked until everything has ended: a start meanwhile would create a second engine on the same
        // portals. The code that ends it takes no lock of this file.
        let mut instance = lock(&INSTANCE);
        let shared = instance.as_mut().ok_or(Errno::NetworkDown)?;
        shared.references -= 1;
        if shared.references > 0 {
            return Ok(());
        }
        if let Some(Instance { node, ended, .. }) = instance.take() {
            drop(node);
            OWNER.set(false);
            // An event of the last message may still be being handled.
            let _ = ended.recv_timeout(END_TIMEOUT);
            lnet_log::close();
        }
        Ok(())
    })
}
