//! Memory descriptors: `LNetMDUnlink` is a function again.

use crate::backend;
use crate::entry::entry;
use crate::types::lnet_handle_md;
use std::ffi::c_int;

/// Ends a memory descriptor.
///
/// If nothing is in progress with it, its LNET_EVENT_UNLINK is delivered before the function returns. Otherwise the last operation's event
/// has `unlinked` set; until that event the memory is in use. In both cases a handler of the descriptor that is running has returned
/// when the function returns, unless it is called from a handler. Messages that have not been sent are cancelled. The handle is invalid
/// on return. Error: -ENOENT (also for a descriptor that was unlinked automatically, whose last event may not have been
/// delivered yet).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDUnlink_2_17(md: lnet_handle_md) -> c_int {
    entry("LNetMDUnlink", || backend::with(|node| node.md_unlink_and_wait(md.into())).map(|()| 0))
}
