//! The current placement of this process's memory and threads, as the system reports it.

use lnet_core::Placement;
use lnet_log::{LogClass, write_line};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The placement according to the system.
#[derive(Debug, Default)]
pub(crate) struct SystemPlacement {
    /// Whether the system call for memory is not permitted, as in many containers.
    refuses: AtomicBool,
}

impl Placement for SystemPlacement {
    fn node_of_memory(&self, address: usize) -> Option<u32> {
        if self.refuses.load(Ordering::Relaxed) {
            return None;
        }
        match node_of_page(address) {
            Ok(node) => node,
            Err(error) => {
                if !self.refuses.swap(true, Ordering::Relaxed) {
                    write_line!(
                        LogClass::NumaUnknown,
                        "NUMA node of memory: unknown ({error}); using the NUMA node of the thread"
                    );
                }
                None
            }
        }
    }

    fn cpu_of_this_thread(&self) -> Option<u32> {
        u32::try_from(rustix::thread::sched_getcpu()).ok()
    }
}

/// The NUMA node of one page; `None` for one that is not in memory. Unlike `get_mempolicy`, this does not load the
/// page.
#[allow(unsafe_code, reason = "no safe wrapper of this system call is known")]
fn node_of_page(address: usize) -> io::Result<Option<u32>> {
    let pages = [std::ptr::without_provenance::<libc::c_void>(address)];
    let mut status = [-libc::ENOENT];
    // SAFETY: without nodes to move to (the null pointer) the call moves nothing. It reads one element of
    // `pages`, writes one of `status`, both of which live beyond it, and does not follow the address, which may
    // be any number.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            libc::c_long::from(0_i32),
            pages.len(),
            pages.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            status.as_mut_ptr(),
            libc::c_long::from(0_i32),
        )
    };
    // A positive result is the number of pages that were not checked.
    match result {
        0 => Ok(u32::try_from(status[0]).ok()),
        1.. => Ok(None),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if memory that was never accessed has a node. A machine may refuse to report that of resident memory.
    #[test]
    fn only_resident_memory_has_a_numa_node() {
        let placement = SystemPlacement::default();
        let here = 0_u64;
        let node = placement.node_of_memory(std::ptr::from_ref(&here).addr());
        assert!(node.is_some() || placement.refuses.load(Ordering::Relaxed));
        for nothing in [0, 1, usize::MAX] {
            assert_eq!(placement.node_of_memory(nothing), None, "{nothing:#x}");
        }
        assert!(placement.cpu_of_this_thread().is_some());
    }
}
