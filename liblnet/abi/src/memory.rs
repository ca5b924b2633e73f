//! Memory for MDs that a node in another process accesses in place.

use crate::backend;
use crate::entry::entry;
use crate::memory_pool::Pool;
use lnet_core::Errno;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The memory that the program has.
static POOL: Mutex<Pool> = Mutex::new(Pool::new());

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the node access the memory that the program has from before. What it does not take is copied.
pub(crate) fn offer_all() {
    for region in pool().regions() {
        _ = backend::with(|node| node.add_memory(&region));
    }
}

/// Allocates memory for memory descriptors. Of liblnet only. The node of a program that is attached to another process accesses it in
/// place; what is in other memory is copied once more, on its way to that process and back. For a node in this process it is memory like any
/// other.
///
/// Returns the address of length bytes, all zero, at the beginning of a page; NULL without memory, if length is 0, and while the network is
/// down. The memory belongs to the program until LNetMemFree, also after LNetNIFini. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMemAlloc(length: usize) -> *mut c_void {
    let address = entry("LNetMemAlloc", || {
        backend::with(|_| Ok(()))?;
        let mut found = pool().allocate(length);
        while found.is_none() {
            let region = Pool::region_for(length)?;
            // Not with the lock: it waits for the node.
            backend::with(|node| node.add_memory(&region))?;
            let mut pool = pool();
            pool.add(region);
            found = pool.allocate(length);
        }
        found.map(Address).ok_or(Errno::NoMemory)
    });
    ptr::with_exposed_provenance_mut(address.0)
}

/// Frees memory of LNetMemAlloc. No memory descriptor that is made of it may be left. Of liblnet only.
///
/// Returns 0, also for NULL; -EINVAL for another address. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMemFree(memory: *mut c_void) -> c_int {
    entry("LNetMemFree", || {
        if memory.is_null() {
            return Ok(0);
        }
        // The memory is the parent's, too.
        if backend::is_inherited() {
            return Ok(0);
        }
        let emptied = pool().free(memory.addr())?;
        // The network may be down.
        _ = backend::with(|node| {
            emptied.iter().for_each(|region| node.remove_memory(region));
            Ok(())
        });
        Ok(0)
    })
}

/// An address, 0 for none.
#[derive(Debug)]
struct Address(usize);

impl crate::entry::FromErrno for Address {
    fn from_errno(_: Errno) -> Self {
        Self(0)
    }
}
