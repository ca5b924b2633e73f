//! What a C program has of PtlRPC as a whole: up and down, and where servers are.

use super::entry::{borrow, entry, ms, store, store_process, text};
use crate::client::{Adaptive, Client, Timeouts};
use crate::errno::Errno;
use crate::lnet::{Nid, Node, lnet_nid_t, lnet_process_id};
use crate::sync::lock;
use std::convert::Infallible;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

static UP: Mutex<Option<Up>> = Mutex::new(None);
/// Objects that C programs have.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

struct Up {
    client: Arc<Client>,
    count: usize,
    /// Closed when LNet has been let go.
    over: Receiver<Infallible>,
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

/// How long the end of LNet is waited for: what is still under way is given up by then.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Counts an object for as long as it is there.
pub(super) struct Alive(());

impl Alive {
    pub(super) fn new() -> Self {
        OBJECTS.fetch_add(1, Ordering::AcqRel);
        Self(())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        OBJECTS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The client's side of this process; `ENETDOWN` before `ptlrpc_init`.
pub(super) fn client() -> Result<Arc<Client>, Errno> {
    lock(&UP).as_ref().map(|up| Arc::clone(&up.client)).ok_or(Errno::NETWORK_DOWN)
}

impl CTimeouts {
    fn read(&self) -> Result<Timeouts, Errno> {
        if self.flags & !TIMEOUTS_FIXED != 0 {
            return Err(Errno::INVALID);
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
        // Otherwise no estimate could be between them.
        if !adaptive.max.is_zero() && adaptive.min > adaptive.max {
            return Err(Errno::INVALID);
        }
        let fixed = ms(self.obd_timeout_ms).unwrap_or(default.fixed);
        Ok(Timeouts { fixed, adaptive, connect: ms(self.connect_ms) })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_init(timeouts: *const CTimeouts) -> c_int {
    entry("ptlrpc_init", || {
        // SAFETY: the contract of this face.
        let timeouts = match unsafe { timeouts.as_ref() } {
            Some(timeouts) => timeouts.read()?,
            None => Timeouts::default(),
        };
        // LNet's library has its own.
        lnet_log::install("PtlRPC", log::LevelFilter::Warn);
        let mut up = lock(&UP);
        if let Some(up) = up.as_mut() {
            up.count += 1;
            return Ok(0);
        }
        let (over_sender, over) = channel();
        let node = Node::start_with_end_signal(Some(over_sender))?;
        *up = Some(Up { client: Client::start(node, timeouts)?, count: 1, over });
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_fini() -> c_int {
    entry("ptlrpc_fini", || {
        let last = {
            let mut up = lock(&UP);
            match up.as_mut() {
                None => return Err(Errno::NETWORK_DOWN),
                Some(up) if up.count > 1 => {
                    up.count -= 1;
                    return Ok(0);
                }
                Some(_) if OBJECTS.load(Ordering::Acquire) > 0 => return Err(Errno::BUSY),
                Some(_) => up.take(),
            }
        };
        if let Some(Up { client, over, .. }) = last {
            drop(client);
            // The client's thread may still have a ping or a connect request under way.
            let _ = over.recv_timeout(LONGEST_END);
        }
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn class_add_uuid(uuid: *const c_char, nid: lnet_nid_t) -> c_int {
    entry("class_add_uuid", || {
        // SAFETY: the contract of this face.
        let uuid = unsafe { text(uuid) }?;
        let nid = Nid::from_u64(nid).filter(|_| !uuid.is_empty()).ok_or(Errno::INVALID)?;
        client()?.add_uuid(uuid, &[nid]).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn class_del_uuid(uuid: *const c_char) -> c_int {
    entry("class_del_uuid", || {
        // SAFETY: the contract of this face.
        let uuid = unsafe { text(uuid) }?;
        client()?.remove_uuid(uuid).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_uuid_to_peer(
    uuid: *const c_char,
    peer: *mut lnet_process_id,
    own: *mut lnet_nid_t,
) -> c_int {
    entry("ptlrpc_uuid_to_peer", || {
        // SAFETY: the contract of this face.
        let uuid = unsafe { text(uuid) }?;
        // SAFETY: the same; where it is not wanted there is nothing to be looked at.
        unsafe { borrow(peer) }?;
        let found = client()?.uuid_to_peer(uuid)?;
        if !own.is_null() {
            // SAFETY: the contract of this face.
            unsafe { store(own, found.local_nid.to_u64().ok_or(Errno::INVALID)?) }?;
        }
        // SAFETY: the contract of this face.
        unsafe { store_process(peer, found.peer) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_milliseconds_of_which_none_is_the_default() {
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
        assert_eq!(all(0, 3000, 2000, 0, 0, 0), Err(Errno::INVALID), "the least is more than the most");
        assert_eq!(all(0, 0, 0, 0, 0, 2), Err(Errno::INVALID), "an unknown flag");
    }
}
