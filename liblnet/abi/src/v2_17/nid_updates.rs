//! Notice of NIDs of this node that come and go.
#![allow(non_camel_case_types)]

use crate::backend::{self, Update, nids_of_node};
use crate::entry::entry;
use crate::v2_15::types::lnet_nid;
use lnet_core::Errno;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Called for each NID of this node, without 0@lo, that has come (is_there is set) or gone, on a thread of the library. nid is valid
/// until the function returns. It may call every function that may be called from an event handler, and LNetUnRegisterNIDUpdates.
pub type lnet_nid_update_t =
    Option<unsafe extern "C" fn(nid: *const lnet_nid, is_there: bool, data: *mut c_void)>;

/// Lets update be called with data when a NID of this node comes or goes: within some seconds, and not for those that are there now.
/// LNetUnRegisterNIDUpdates and the last LNetNIFini end that.
///
/// Returns 0. Errors: -EINVAL (update is NULL), -EEXIST (it is registered with these data), -ENOMEM (no thread), -ENETDOWN. The signature
/// is liblnet's: c-abi does not have it. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetRegisterNIDUpdates_2_17(update: lnet_nid_update_t, data: *mut c_void) -> c_int {
    entry("LNetRegisterNIDUpdates", || {
        let function = update.ok_or(Errno::Invalid)?;
        let key = (function as usize, data.addr());
        let data = data.expose_provenance();
        let call: Update = Arc::new(move |nid, is_there| {
            let nid = lnet_nid::from_nid(Some(nid));
            let data = std::ptr::with_exposed_provenance_mut(data);
            // SAFETY: the program's function and data, which it has given to be used on any thread until it ends that. The NID is valid for the
            // call, which is all that is promised.
            unsafe { function(&raw const nid, is_there, data) }
        });
        backend::nid_watch()?.add(key, call, || backend::with(nids_of_node)).map(|()| 0)
    })
}

/// Ends one LNetRegisterNIDUpdates with the same arguments. A call of the function that is running has returned when this
/// function returns, unless it is called from there.
///
/// Returns 0; -ENOENT if there is no such registration; -ENETDOWN; -EBUSY in an event handler. The signature is liblnet's: c-abi does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetUnRegisterNIDUpdates_2_17(
    update: lnet_nid_update_t,
    data: *mut c_void,
) -> c_int {
    entry("LNetUnRegisterNIDUpdates", || {
        let function = update.ok_or(Errno::NotFound)?;
        backend::nid_watch()?.remove((function as usize, data.addr())).map(|()| 0)
    })
}
