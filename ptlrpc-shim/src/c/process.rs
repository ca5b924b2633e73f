//! The library as a whole: start and end, and servers by UUID.

use super::entry::{OWNER, entry, ms, store_process};
use crate::Errno;
use crate::client::{Adaptive, Client, Timeouts};
use crate::lnet::{Nid, Node, lnet_nid_t, lnet_process_id};
use lnet_api::c_pointer::{In, Out, Text};
use lnet_api::sync::lock;
use std::convert::Infallible;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);
/// The number of objects that the program has.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

struct Instance {
    client: Arc<Client>,
    /// The calls of `ptlrpc_init` minus those of `ptlrpc_fini`.
    references: usize,
    /// Disconnected when the LNet node has ended.
    ended: Receiver<Infallible>,
}

/// `struct ptlrpc_timeouts`.
#[repr(C)]
struct CTimeouts {
    obd_timeout_ms: u32,
    at_min_ms: u32,
    at_max_ms: u32,
    at_history_ms: u32,
    connect_ms: u32,
    flags: u32,
}

const TIMEOUTS_FIXED: u32 = 1;

/// The time for which `ptlrpc_fini` waits for the end of the LNet node.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Counts an object of the program, until it is dropped.
pub(super) struct ObjectGuard(());

impl ObjectGuard {
    pub(super) fn new() -> Self {
        OBJECTS.fetch_add(1, Ordering::AcqRel);
        Self(())
    }
}

impl Drop for ObjectGuard {
    fn drop(&mut self) {
        OBJECTS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The client of this process. `ENETDOWN`: before `ptlrpc_init`.
pub(super) fn client() -> Result<Arc<Client>, Errno> {
    lock(&INSTANCE).as_ref().map(|instance| Arc::clone(&instance.client)).ok_or(Errno::NetworkDown)
}

impl CTimeouts {
    fn read(&self) -> Result<Timeouts, Errno> {
        if self.flags & !TIMEOUTS_FIXED != 0 {
            return Err(Errno::Invalid);
        }
        let default = Timeouts::default();
        let adaptive = Adaptive {
            min: ms(self.at_min_ms).unwrap_or(default.adaptive.min),
            max: match self.flags & TIMEOUTS_FIXED {
                0 => ms(self.at_max_ms).unwrap_or(default.adaptive.max),
                _ => Duration::ZERO,
            },
            history: ms(self.at_history_ms).unwrap_or(default.adaptive.history),
        };
        // Otherwise no estimate would be within the limits.
        if !adaptive.max.is_zero() && adaptive.min > adaptive.max {
            return Err(Errno::Invalid);
        }
        let fixed = ms(self.obd_timeout_ms).unwrap_or(default.fixed);
        Ok(Timeouts { fixed, adaptive, connect: ms(self.connect_ms) })
    }
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_init(timeouts: In<'_, CTimeouts>) -> c_int {
    if OWNER.is_ancestor() {
        // Ending the instance would mean to wait for its threads for ever.
        std::mem::forget(lock(&INSTANCE).take());
        OBJECTS.store(0, Ordering::Release);
        OWNER.set(false);
    }
    entry("ptlrpc_init", || {
        let timeouts = match timeouts.get() {
            Some(timeouts) => timeouts.read()?,
            None => Timeouts::default(),
        };
        // The LNet library installs its own logger.
        lnet_log::install("PtlRPC", log::LevelFilter::Warn);
        let mut instance = lock(&INSTANCE);
        if let Some(instance) = instance.as_mut() {
            instance.references += 1;
            return Ok(0);
        }
        let (end_signal, ended) = channel();
        let node = Node::start_with_end_signal(Some(end_signal))?;
        *instance = Some(Instance { client: Client::start(node, timeouts)?, references: 1, ended });
        OWNER.set(true);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_fini() -> c_int {
    entry("ptlrpc_fini", || {
        let last = {
            let mut instance = lock(&INSTANCE);
            match instance.as_mut() {
                None => return Err(Errno::NetworkDown),
                Some(shared) if shared.references > 1 => {
                    shared.references -= 1;
                    return Ok(0);
                }
                Some(_) if OBJECTS.load(Ordering::Acquire) > 0 => return Err(Errno::Busy),
                Some(_) => instance.take(),
            }
        };
        if let Some(Instance { client, ended, .. }) = last {
            drop(client);
            OWNER.set(false);
            // A ping or a connect request may still be in progress.
            let _ = ended.recv_timeout(END_TIMEOUT);
            lnet_log::close();
        }
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn class_add_uuid(uuid: Text<'_>, nid: lnet_nid_t) -> c_int {
    entry("class_add_uuid", || {
        let uuid = uuid.utf8_or(Errno::Invalid)?;
        let nid = Nid::from_u64(nid).filter(|_| !uuid.is_empty()).ok_or(Errno::Invalid)?;
        client()?.add_uuid(uuid, &[nid]).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn class_del_uuid(uuid: Text<'_>) -> c_int {
    entry("class_del_uuid", || {
        let uuid = uuid.utf8_or(Errno::Invalid)?;
        client()?.remove_uuid(uuid).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_uuid_to_peer(
    uuid: Text<'_>,
    peer: Out<'_, lnet_process_id>,
    mut own: Out<'_, lnet_nid_t>,
) -> c_int {
    entry("ptlrpc_uuid_to_peer", || {
        let uuid = uuid.utf8_or(Errno::Invalid)?;
        // This check comes before the look-up of the UUID.
        if peer.is_null() {
            return Err(Errno::Invalid);
        }
        let found = client()?.uuid_to_peer(uuid)?;
        if !own.is_null() {
            own.store(found.local_nid.to_u64().ok_or(Errno::Invalid)?, Errno::Invalid)?;
        }
        store_process(peer, found.peer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_milliseconds_and_zero_is_the_default() {
        let all = |obd_timeout_ms, at_min_ms, at_max_ms, at_history_ms, connect_ms, flags| {
            CTimeouts { obd_timeout_ms, at_min_ms, at_max_ms, at_history_ms, connect_ms, flags }.read()
        };
        assert_eq!(all(0, 0, 0, 0, 0, 0), Ok(Timeouts::default()));
        let s = Duration::from_secs;
        let adaptive = Adaptive { min: s(1), max: s(2), history: s(3) };
        let wanted = Timeouts { fixed: s(4), adaptive, connect: Some(s(5)) };
        assert_eq!(all(4000, 1000, 2000, 3000, 5000, 0), Ok(wanted));
        let fixed = all(4000, 1000, 2000, 3000, 5000, TIMEOUTS_FIXED).unwrap();
        assert_eq!(fixed.adaptive.max, Duration::ZERO);
        assert_eq!(all(0, 3000, 2000, 0, 0, 0), Err(Errno::Invalid), "the least is more than the most");
        assert_eq!(all(0, 0, 0, 0, 0, 2), Err(Errno::Invalid), "an unknown flag");
    }
}
