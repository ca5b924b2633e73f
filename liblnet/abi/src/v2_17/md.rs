//! Memory descriptors: `LNetMDUnlink` is a function again.

use crate::backend;
use crate::entry::entry;
use crate::types::lnet_handle_md;
use std::ffi::c_int;

/// Ends a memory descriptor, and waits for its handler, as __LNetMDUnlink of 2.15 does (lnet/v2_15/api.h). Messages that have not been sent
/// are cancelled. The handle is invalid on return. Error: -ENOENT (also for a descriptor that was unlinked automatically).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDUnlink_2_17(md: lnet_handle_md) -> c_int {
    entry("LNetMDUnlink", || backend::with(|node| node.md_unlink_and_wait(md.into())).map(|()| 0))
}
