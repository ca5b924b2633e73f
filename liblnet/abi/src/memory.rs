//! Memory for MDs that a node in another process accesses in place.

use crate::backend;
use crate::entry::entry;
use lnet_core::Errno;
use lnet_os::shared_memory::SharedMemory;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The memory that the program has, by its address.
static ALLOCATED: Mutex<BTreeMap<usize, Arc<SharedMemory>>> = Mutex::new(BTreeMap::new());

/// Allocates memory for memory descriptors. Of liblnet only. The node of a program that is attached to another process accesses it in
/// place; what is in other memory is copied once more, on its way to that process and back. For a node in this process it is memory like any
/// other.
///
/// Returns the address of length bytes, all zero, at the beginning of a page; NULL without memory, if length is 0, and while the network is
/// down. The memory belongs to the program until LNetMemFree, also after LNetNIFini. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMemAlloc(length: usize) -> *mut c_void {
    let address = entry("LNetMemAlloc", || {
        let memory = SharedMemory::create(c"lnet-memory", length).map_err(|_| Errno::NoMemory)?;
        let memory = Arc::new(memory);
        backend::with(|node| node.add_memory(&memory))?;
        let address = memory.address();
        ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner).insert(address, memory);
        Ok(Address(address))
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
        let mut allocated = ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = allocated.remove(&memory.addr()).ok_or(Errno::Invalid)?;
        drop(allocated);
        // The network may be down.
        _ = backend::with(|node| {
            node.remove_memory(&memory);
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
