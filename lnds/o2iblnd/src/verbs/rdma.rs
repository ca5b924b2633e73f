//! What the connections of a device share: its protection domain, its completion channel, its limits.

use super::ffi::{
    ABI_IS_EXTENDED, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_ON_DEMAND, IBV_ACCESS_REMOTE_WRITE, IBV_ODP_SUPPORT,
    IBV_ODP_SUPPORT_SEND, IBV_ODP_SUPPORT_WRITE, ibv_comp_channel, ibv_context, ibv_device_attr,
    ibv_device_attr_ex, ibv_mr, ibv_pd, verbs_context,
};
use super::library::Functions;
use super::system::{failed, last_errno, set_nonblocking};
use crate::device::{OpenError, Paging, Registration};
use foldhash::HashMap;
use lnet_core::Errno;
use lnet_core::memory::MemRange;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;
use std::ptr::null;

/// The pieces of a work request that are asked for, if the device takes as many.
const MAX_PIECES: usize = 32;

/// A device's protection domain, with what belongs to it.
pub(super) struct Protection {
    functions: &'static Functions,
    pub(super) context: *mut ibv_context,
    pub(super) domain: *mut ibv_pd,
    pub(super) channel: *mut ibv_comp_channel,
    /// The work requests that a queue may have.
    pub(super) max_work_requests: u32,
    /// The pieces of memory of a work request.
    pub(super) pieces: usize,
    /// Whether work requests of RC connections may use memory that is paged on demand.
    pub(super) on_demand: bool,
    memory: HashMap<u64, *mut ibv_mr>,
    last_memory: u64,
}

impl Protection {
    /// The protection domain for the device of `context`, which outlives it.
    pub(super) fn new(functions: &'static Functions, context: *mut ibv_context) -> Result<Self, OpenError> {
        // SAFETY: attributes consist of numbers; the call fills them.
        let mut attributes: ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is that of an open device.
        let result = unsafe { (functions.ibv_query_device)(context, &mut attributes) };
        if result != 0 {
            return Err(failed("ibv_query_device"));
        }
        // SAFETY: the context is that of an open device.
        let domain = unsafe { (functions.ibv_alloc_pd)(context) };
        if domain.is_null() {
            return Err(failed("ibv_alloc_pd"));
        }
        // SAFETY: the context is that of an open device.
        let channel = unsafe { (functions.ibv_create_comp_channel)(context) };
        if channel.is_null() {
            let error = failed("ibv_create_comp_channel");
            // SAFETY: the domain was made above, and nothing uses it.
            unsafe { (functions.ibv_dealloc_pd)(domain) };
            return Err(error);
        }
        let protection = Self {
            functions,
            context,
            domain,
            channel,
            max_work_requests: attributes.max_qp_wr.max(1) as u32,
            pieces: (attributes.max_sge.max(1) as usize).min(MAX_PIECES),
            on_demand: pages_on_demand(context),
            memory: HashMap::default(),
            last_memory: 0,
        };
        set_nonblocking(protection.fd()).map_err(|errno| OpenError::Call { call: "fcntl", errno })?;
        Ok(protection)
    }

    /// The descriptor of completion events.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as this value.
        unsafe { BorrowedFd::borrow_raw((*self.channel).fd) }
    }

    pub(super) fn register(&mut self, range: MemRange, paging: Paging) -> Result<Registration, Errno> {
        let paging = match paging {
            Paging::Pinned => 0,
            Paging::OnDemand => IBV_ACCESS_ON_DEMAND,
        };
        let access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | paging;
        let address = range.address as *mut libc::c_void;
        // SAFETY: the domain lives as long as this value. The caller keeps the memory valid until it ends the registration; the
        // call does not access it.
        let memory = unsafe { (self.functions.ibv_reg_mr)(self.domain, address, range.len, access) };
        if memory.is_null() {
            return Err(last_errno());
        }
        self.last_memory += 1;
        self.memory.insert(self.last_memory, memory);
        // SAFETY: the registration has just been made.
        let (lkey, rkey) = unsafe { ((*memory).lkey, (*memory).rkey) };
        Ok(Registration { id: self.last_memory, lkey, rkey })
    }

    pub(super) fn deregister(&mut self, registration: Registration) {
        if let Some(memory) = self.memory.remove(&registration.id) {
            // SAFETY: the registration was made by `register`, and is ended once.
            unsafe { (self.functions.ibv_dereg_mr)(memory) };
        }
    }
}

/// All connections have ended before.
impl Drop for Protection {
    fn drop(&mut self) {
        // SAFETY: everything was made for this value, and nothing uses it any more.
        unsafe {
            for (_, memory) in self.memory.drain() {
                (self.functions.ibv_dereg_mr)(memory);
            }
            (self.functions.ibv_destroy_comp_channel)(self.channel);
            (self.functions.ibv_dealloc_pd)(self.domain);
        }
    }
}

/// Whether the device pages memory on demand for all that RC connections do here.
fn pages_on_demand(context: *mut ibv_context) -> bool {
    // SAFETY: attributes consist of numbers.
    let mut attributes: ibv_device_attr_ex = unsafe { std::mem::zeroed() };
    // SAFETY: the context is that of an open device. A context with the mark is the last member of a `verbs_context`, whose size
    // tells whether it has the function; the call fills as much as there is room for.
    let result = unsafe {
        if (*context).abi_compat as usize != ABI_IS_EXTENDED {
            return false;
        }
        let whole = context.byte_sub(offset_of!(verbs_context, context)).cast::<verbs_context>();
        match (*whole).query_device_ex {
            Some(query) if (*whole).sz >= size_of::<verbs_context>() => {
                query(context, null(), &mut attributes, size_of::<ibv_device_attr_ex>())
            }
            _ => return false,
        }
    };
    let all = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE;
    result == 0 && attributes.odp_general_caps & IBV_ODP_SUPPORT != 0 && attributes.odp_rc_caps & all == all
}
