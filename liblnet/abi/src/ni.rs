//! Start and end of the node, its own NIDs, and distances to others.

use crate::backend::{self, ProgramNode};
use crate::entry::{entry, not_null};
use crate::memory;
use crate::types::{__u32, NID_ANY, PID_ANY, lnet_nid_t, lnet_pid_t, lnet_process_id};
use lnet_core::Errno;
use lnet_wire::{Nid, Pid, ProcessId};
use std::ffi::{c_int, c_uint};

/// Starts the network, or takes another reference if it is up.
///
/// requested_pid becomes the PID of this node if the call starts it (LNET_PID_LUSTRE for all known
/// consumers); LNET_PID_ANY takes a reference only. The networks are configured by the environment:
/// LNET_NETWORKS and other variables; see the manual. Without them, or with LNET_ATTACH, the call attaches
/// to the node of an lnetd that admits this process: the PID is then another one if a program has it already,
/// see LNetGetId.
///
/// Returns the number of references before the call: 0 if this call started the network, or a
/// positive number. Test for < 0, never for != 0. Errors: -ENETDOWN (LNET_PID_ANY, and the network is
/// down), -EINVAL (the configuration, or a PID with LNET_PID_USERFLAG), -ENOMEM, and the errors of a network's
/// driver. After an error there is no reference. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetNIInit(requested_pid: lnet_pid_t) -> c_int {
    entry("LNetNIInit", || {
        lnet_log::install("LNet", log::LevelFilter::Warn);
        let pid = match requested_pid {
            PID_ANY => None,
            pid if Pid(pid).is_user() => return Err(Errno::Invalid),
            pid => Some(Pid(pid)),
        };
        let before = backend::acquire(pid).inspect_err(|_| lnet_log::flush())?;
        if before == 0 {
            memory::offer_all();
        }
        Ok(c_int::try_from(before).unwrap_or(c_int::MAX))
    })
}

/// Releases the reference of one LNetNIInit. The last call stops the network: the remaining match
/// entries, memory descriptors and event queues are freed, without events. Threads that wait for events in LNetEQWait or
/// LNetEQPoll return -ENETDOWN.
///
/// Before that, PUTs and GETs that have not been sent yet have two seconds to leave, and ACKs and REPLYs to other nodes
/// half a second. Messages that have not left then end with -ESHUTDOWN, and the log has their number. The call does not wait for
/// the ACKs and REPLYs to this node's own requests. A process that exits without this call loses the messages that have not left.
///
/// Returns 0; -ENETDOWN if there was no reference. Waits for event handlers that are running. Must not be called from an
/// event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetNIFini() -> c_int {
    entry("LNetNIFini", || {
        let released = backend::release();
        // A program may end by `_exit` now, and finds no thread of the library.
        lnet_log::close();
        released.map(|()| 0)
    })
}

/// Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are not counted.
///
/// Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
/// Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGetId(index: c_uint, id: *mut lnet_process_id) -> c_int {
    entry("LNetGetId", || {
        let id = not_null(id)?;
        let own = backend::with(|node| short_ni_by_index(node, index))?;
        let own = lnet_process_id { nid: nid_to_c(Some(own.nid)), pid: own.pid.0 };
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { id.write(own) };
        Ok(0)
    })
}

/// The distance of an interface: 0 for an interface of this node, 1 on a network that this node is on, more
/// over routers.
///
/// Stores the interface of this node that would send in *srcnid (unless NULL), and in *order (unless NULL) the
/// rank among paths of equal distance: smaller is better, 0 is 0@lo, 1 another interface of this
/// node. Error: -EHOSTUNREACH. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetDist(nid: lnet_nid_t, srcnid: *mut lnet_nid_t, order: *mut __u32) -> c_int {
    entry("LNetDist", || {
        let nid = Nid::from_u64(nid).ok_or(Errno::HostUnreachable)?;
        let distance = backend::with(|node| node.dist(nid))?;
        if !srcnid.is_null() {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            unsafe { srcnid.write(nid_to_c(Some(distance.source))) };
        }
        if !order.is_null() {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            unsafe { order.write(distance.order) };
        }
        Ok(c_int::try_from(distance.hops).unwrap_or(c_int::MAX))
    })
}

/// Whether a NID is one of this node's.
pub(crate) fn is_local(nid: Nid) -> Result<bool, Errno> {
    match backend::with(|node| node.dist(nid)) {
        // These orders are those of local NIDs.
        Ok(distance) => Ok(distance.order <= 1),
        Err(Errno::HostUnreachable) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// The process ID of an interface with a 4-byte address, by its number among those. [`Errno::NotFound`] beyond the last one.
pub(crate) fn short_ni_by_index(node: &dyn ProgramNode, index: u32) -> Result<ProcessId, Errno> {
    let mut left = index;
    for at in 0.. {
        let own = node.ni_by_index(at)?;
        if own.nid.to_u64().is_some() {
            match left.checked_sub(1) {
                Some(less) => left = less,
                None => return Ok(own),
            }
        }
    }
    Err(Errno::NotFound)
}

/// A NID, or the wildcard, in C's form; the wildcard also for a NID that does not fit into eight bytes.
pub(crate) fn nid_to_c(nid: Option<Nid>) -> lnet_nid_t {
    nid.and_then(Nid::to_u64).unwrap_or(NID_ANY)
}
