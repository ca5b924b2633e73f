//! `struct ptlrpc_svc_req`: a request to a service, while the program's handler has it.

use super::entry::{borrow, borrow_mut, entry, lend, store, store_process};
use super::request::{buffer_of, buffers_of, lengths, received};
use crate::errno::Errno;
use crate::lnet::{Region, lnet_nid_t, lnet_process_id};
use crate::message::{ByteOrder, Name, Opcode};
use crate::service::{Answer, Handler, Reply, ReplyDone, ServiceRequest};
use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The request behind a `struct ptlrpc_svc_req *`, while the program's handler runs.
pub(super) struct SvcReq<'a, 'b> {
    request: &'a mut ServiceRequest<'b>,
    buffers: Vec<Vec<u8>>,
    difficult: Option<(u64, OnDone)>,
    transno: u64,
}

/// The type of the request in C functions. A pointer to it is valid during the call of the handler only.
type CSvcReq = SvcReq<'static, 'static>;

/// `svc_handler_t`.
pub(super) type Handle = unsafe extern "C" fn(*mut CSvcReq, *mut c_void) -> c_int;

/// The callback of `ptlrpc_rep_difficult`.
type DoneCallback = unsafe extern "C" fn(*mut c_void, c_int);

/// `PTLRPC_NO_REPLY`.
const NO_REPLY: c_int = c_int::MIN;

/// `enum ptlrpc_reply_done`.
const ACKED: c_int = 0;
const COMMITTED: c_int = 1;
const LOST: c_int = 2;

/// The program's handler.
pub(super) struct Program {
    handle: Handle,
    argument: *mut c_void,
    /// The operations that it serves; `None`: all.
    opcodes: Option<HashSet<Opcode>>,
}

// SAFETY: by contract the handler may be called with its argument on several threads at once.
unsafe impl Send for Program {}
// SAFETY: the same.
unsafe impl Sync for Program {}

impl Program {
    pub(super) const fn new(handle: Handle, argument: *mut c_void, opcodes: Option<HashSet<Opcode>>) -> Self {
        Self { handle, argument, opcodes }
    }
}

impl Handler for Program {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Answer {
        let mut svc_req = SvcReq { request, buffers: Vec::new(), difficult: None, transno: 0 };
        // SAFETY: the program's own handler, on a thread that it may be called on; by contract it does not keep the request.
        let status = unsafe { (self.handle)((&raw mut svc_req).cast(), self.argument) };
        if status == NO_REPLY {
            return Answer::None;
        }
        let reply = Reply::new().status(status).transno(svc_req.transno);
        let reply = svc_req.buffers.into_iter().fold(reply, Reply::buffer);
        match svc_req.difficult {
            Some((transno, on_done)) => {
                reply.transno(transno).difficult(move |done| on_done.call(done)).into()
            }
            None => reply.into(),
        }
    }

    fn serves(&self, opcode: Opcode) -> bool {
        self.opcodes.as_ref().is_none_or(|opcodes| opcodes.contains(&opcode))
    }
}

/// The callback for the end of a difficult reply: it is called once, in any case.
struct OnDone {
    callback: DoneCallback,
    argument: *mut c_void,
    was_called: bool,
}

// SAFETY: by contract the function may be called with its argument on any thread.
unsafe impl Send for OnDone {}

impl OnDone {
    fn call(mut self, done: ReplyDone) {
        self.call_once(match done {
            ReplyDone::Acked => ACKED,
            ReplyDone::Committed => COMMITTED,
            ReplyDone::Lost => LOST,
        });
    }

    fn call_once(&mut self, why: c_int) {
        self.was_called = true;
        // SAFETY: the program's own function and argument.
        unsafe { (self.callback)(self.argument, why) };
    }
}

impl Drop for OnDone {
    /// Reports `LOST` if the reply ended without a call: there was no reply.
    fn drop(&mut self) {
        if !self.was_called {
            self.call_once(LOST);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_opcode(request: *const CSvcReq) -> u32 {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_opcode", || Ok(unsafe { borrow(request) }?.request.opcode().0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_xid(request: *const CSvcReq) -> u64 {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_xid", || Ok(unsafe { borrow(request) }?.request.xid().0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_is_resent(request: *const CSvcReq) -> c_int {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_is_resent", || Ok(unsafe { borrow(request) }?.request.is_resent().into()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_is_swabbed(request: *const CSvcReq) -> c_int {
    entry("ptlrpc_svc_is_swabbed", || {
        // SAFETY: the contract of the C API.
        Ok((unsafe { borrow(request) }?.request.order() != ByteOrder::NATIVE).into())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_buf(request: *const CSvcReq, index: u32, len: *mut u32) -> *const c_void {
    entry("ptlrpc_svc_buf", || {
        // SAFETY: the contract of the C API.
        let request = &unsafe { borrow(request) }?.request;
        let buffer = (index > 0).then(|| request.buffer(index as usize)).flatten();
        // SAFETY: the same.
        unsafe { received(buffer.ok_or(Errno::NOT_FOUND)?, len) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_peer(request: *const CSvcReq, peer: *mut lnet_process_id) -> c_int {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_peer", || unsafe { store_process(peer, borrow(request)?.request.peer()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_source(request: *const CSvcReq, source: *mut lnet_process_id) -> c_int {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_source", || unsafe { store_process(source, borrow(request)?.request.source()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_self(request: *const CSvcReq, own: *mut lnet_nid_t) -> c_int {
    entry("ptlrpc_svc_self", || {
        // SAFETY: the contract of the C API.
        let nid = unsafe { borrow(request) }?.request.self_nid().to_u64().ok_or(Errno::INVALID)?;
        // SAFETY: the same.
        unsafe { store(own, nid) }.map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_client(request: *const CSvcReq, uuid: *mut c_char) -> c_int {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_svc_client", || unsafe { store_name(uuid, borrow(request)?.request.export().client()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_target(request: *const CSvcReq, target: *mut c_char) -> c_int {
    entry("ptlrpc_svc_target", || {
        // SAFETY: the contract of the C API.
        unsafe { store_name(target, borrow(request)?.request.export().target().name()) }
    })
}

/// Writes a name, with a terminating NUL.
///
/// # Safety
/// `to` is NULL, or valid for writing [`Name::LEN`] bytes.
unsafe fn store_name(to: *mut c_char, name: &Name) -> Result<c_int, Errno> {
    let mut bytes = [0; Name::LEN];
    bytes.iter_mut().zip(name.as_bytes()).for_each(|(to, byte)| *to = *byte);
    // SAFETY: this function's contract.
    unsafe { store(to.cast::<[u8; Name::LEN]>(), bytes) }.map(|()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_time_left(request: *const CSvcReq) -> u32 {
    entry("ptlrpc_svc_time_left", || {
        // SAFETY: the contract of the C API.
        let left = unsafe { borrow(request) }?.request.time_left();
        Ok(left.as_millis().try_into().unwrap_or(u32::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_bulk_put(request: *mut CSvcReq, memory: *const c_void, len: usize) -> c_int {
    let put = |request: &mut ServiceRequest<'_>, region: &Arc<Region>| request.bulk_put(region);
    // SAFETY: the contract of the C API. LNet only reads it.
    entry("ptlrpc_bulk_put", || unsafe { bulk(request, memory.cast_mut(), len, put) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_bulk_get(request: *mut CSvcReq, memory: *mut c_void, len: usize) -> c_int {
    let get = |request: &mut ServiceRequest<'_>, region: &Arc<Region>| request.bulk_get_into(region);
    // SAFETY: the contract of the C API.
    entry("ptlrpc_bulk_get", || unsafe { bulk(request, memory, len, get) })
}

/// Transfers bulk data; when it returns the memory is the program's again.
///
/// # Safety
/// The contract of the C API.
unsafe fn bulk(
    request: *mut CSvcReq,
    memory: *mut c_void,
    len: usize,
    transfer: impl FnOnce(&mut ServiceRequest<'_>, &Arc<Region>) -> Result<(), Errno>,
) -> Result<c_int, Errno> {
    // SAFETY: this function's contract.
    let request = unsafe { borrow_mut(request) }?;
    // SAFETY: the same; `wait` ends the loan.
    let (region, loan) = unsafe { lend(memory, len) }?;
    let done = transfer(request.request, &region);
    drop(region);
    loan.wait();
    done.map(|()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_pack(request: *mut CSvcReq, count: u32, lens: *const u32) -> c_int {
    entry("ptlrpc_rep_pack", || {
        // SAFETY: the contract of the C API.
        let (request, lens) = unsafe { (borrow_mut(request)?, lengths(count, lens)?) };
        request.buffers = buffers_of(lens)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_rep_buf(request: *mut CSvcReq, index: u32) -> *mut c_void {
    entry("ptlrpc_svc_rep_buf", || {
        // SAFETY: the contract of the C API.
        buffer_of(&mut unsafe { borrow_mut(request) }?.buffers, index)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_svc_set_transno(request: *mut CSvcReq, transno: u64) -> c_int {
    entry("ptlrpc_svc_set_transno", || {
        // SAFETY: the contract of the C API.
        unsafe { borrow_mut(request) }?.transno = transno;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_difficult(
    request: *mut CSvcReq,
    transno: u64,
    done: Option<DoneCallback>,
    argument: *mut c_void,
) -> c_int {
    entry("ptlrpc_rep_difficult", || {
        // SAFETY: the contract of the C API.
        let request = unsafe { borrow_mut(request) }?;
        let callback = done.ok_or(Errno::INVALID)?;
        if request.difficult.is_some() {
            return Err(Errno::EXISTS);
        }
        request.difficult = Some((transno, OnDone { callback, argument, was_called: false }));
        Ok(0)
    })
}
