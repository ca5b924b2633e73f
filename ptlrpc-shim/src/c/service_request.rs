//! `struct ptlrpc_svc_req`: a request to a service, while the program's handler processes it.

use super::entry::{entry, lend, store_process};
use super::request::{buffer_of, buffers_of, lengths, received};
use crate::Errno;
use crate::lnet::{Region, lnet_nid_t, lnet_process_id};
use crate::message::{ByteOrder, Name, Opcode};
use crate::service::{Handler, Reply, ReplyDone, Response, ServiceRequest};
use lnet_api::c_pointer::{In, InOut, Out};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
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
    /// The opcodes that the service accepts; `None`: all.
    opcodes: Option<HashSet<Opcode>>,
}

// SAFETY: the program has registered a handler that may be called with its argument on several threads at once (`ptlrpc.h`).
unsafe impl Send for Program {}
// SAFETY: the same.
unsafe impl Sync for Program {}

impl Program {
    pub(super) const fn new(handle: Handle, argument: *mut c_void, opcodes: Option<HashSet<Opcode>>) -> Self {
        Self { handle, argument, opcodes }
    }
}

impl Handler for Program {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        let mut svc_req = SvcReq { request, buffers: Vec::new(), difficult: None, transno: 0 };
        // SAFETY: the program's own handler, which it has registered for calls on these threads until the service is unregistered. The request
        // stays until the handler returns, and is not used by the program after that (`ptlrpc.h`).
        let status = unsafe { (self.handle)((&raw mut svc_req).cast(), self.argument) };
        if status == NO_REPLY {
            return Response::None;
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

// SAFETY: the program has given a function that may be called with its argument on any thread (`ptlrpc_rep_difficult`).
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
        // SAFETY: the program's own function and argument, which it keeps until this one call (`ptlrpc_rep_difficult`).
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
extern "C" fn ptlrpc_svc_opcode(request: In<'_, CSvcReq>) -> u32 {
    entry("ptlrpc_svc_opcode", || Ok(request.or(Errno::Invalid)?.request.opcode().0))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_xid(request: In<'_, CSvcReq>) -> u64 {
    entry("ptlrpc_svc_xid", || Ok(request.or(Errno::Invalid)?.request.xid().0))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_is_resent(request: In<'_, CSvcReq>) -> c_int {
    entry("ptlrpc_svc_is_resent", || Ok(request.or(Errno::Invalid)?.request.is_resent().into()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_is_swabbed(request: In<'_, CSvcReq>) -> c_int {
    entry("ptlrpc_svc_is_swabbed", || {
        Ok((request.or(Errno::Invalid)?.request.order() != ByteOrder::NATIVE).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_buf(request: In<'_, CSvcReq>, index: u32, len: Out<'_, u32>) -> *const c_void {
    entry("ptlrpc_svc_buf", || {
        let request = &request.or(Errno::Invalid)?.request;
        let buffer = (index > 0).then(|| request.buffer(index as usize)).flatten();
        Ok(received(buffer.ok_or(Errno::NotFound)?, len))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_peer(request: In<'_, CSvcReq>, peer: Out<'_, lnet_process_id>) -> c_int {
    entry("ptlrpc_svc_peer", || store_process(peer, request.or(Errno::Invalid)?.request.peer()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_source(request: In<'_, CSvcReq>, source: Out<'_, lnet_process_id>) -> c_int {
    entry("ptlrpc_svc_source", || store_process(source, request.or(Errno::Invalid)?.request.source()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_self(request: In<'_, CSvcReq>, mut own: Out<'_, lnet_nid_t>) -> c_int {
    entry("ptlrpc_svc_self", || {
        let nid = request.or(Errno::Invalid)?.request.self_nid().to_u64().ok_or(Errno::Invalid)?;
        own.store(nid, Errno::Invalid).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_client(request: In<'_, CSvcReq>, uuid: Out<'_, [u8; Name::LEN]>) -> c_int {
    entry("ptlrpc_svc_client", || store_name(uuid, request.or(Errno::Invalid)?.request.export().client()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_target(request: In<'_, CSvcReq>, target: Out<'_, [u8; Name::LEN]>) -> c_int {
    entry("ptlrpc_svc_target", || {
        store_name(target, request.or(Errno::Invalid)?.request.export().target().name())
    })
}

/// Writes a name, with a terminating NUL. `EINVAL`: NULL.
fn store_name(mut to: Out<'_, [u8; Name::LEN]>, name: &Name) -> Result<c_int, Errno> {
    let mut bytes = [0; Name::LEN];
    bytes.iter_mut().zip(name.as_bytes()).for_each(|(to, byte)| *to = *byte);
    to.store(bytes, Errno::Invalid).map(|()| 0)
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_time_left(request: In<'_, CSvcReq>) -> u32 {
    entry("ptlrpc_svc_time_left", || {
        let left = request.or(Errno::Invalid)?.request.time_left();
        Ok(left.as_millis().try_into().unwrap_or(u32::MAX))
    })
}

/// # Safety
/// `memory` has `len` bytes of the program's, which it leaves alone until the call returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_bulk_put(
    request: InOut<'_, CSvcReq>,
    memory: *const c_void,
    len: usize,
) -> c_int {
    let put = |request: &mut ServiceRequest<'_>, region: &Arc<Region>| request.bulk_put(region);
    // SAFETY: NULL, or `len` bytes of the calling program's, which are there and unchanged until the call returns; LNet only reads them.
    entry("ptlrpc_bulk_put", || unsafe { bulk(request, memory.cast_mut(), len, put) })
}

/// # Safety
/// As for [`ptlrpc_bulk_put`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_bulk_get(request: InOut<'_, CSvcReq>, memory: *mut c_void, len: usize) -> c_int {
    let get = |request: &mut ServiceRequest<'_>, region: &Arc<Region>| request.bulk_get_into(region);
    // SAFETY: NULL, or `len` bytes of the calling program's, which are there, and which it leaves alone, until the call returns.
    entry("ptlrpc_bulk_get", || unsafe { bulk(request, memory, len, get) })
}

/// Transfers bulk data; when it returns the memory is the program's again.
///
/// # Safety
/// The contract of the C API.
unsafe fn bulk(
    request: InOut<'_, CSvcReq>,
    memory: *mut c_void,
    len: usize,
    transfer: impl FnOnce(&mut ServiceRequest<'_>, &Arc<Region>) -> Result<(), Errno>,
) -> Result<c_int, Errno> {
    let request = request.or(Errno::Invalid)?;
    // SAFETY: NULL, or `len` bytes of the calling program's, which are there until the C function returns; `wait` below ends the loan before.
    let (region, loan) = unsafe { lend(memory, len) }?;
    let done = transfer(request.request, &region);
    drop(region);
    loan.wait();
    done.map(|()| 0)
}

/// # Safety
/// `lens` has `count` numbers, unless it is NULL.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_pack(request: InOut<'_, CSvcReq>, count: u32, lens: In<'_, u32>) -> c_int {
    entry("ptlrpc_rep_pack", || {
        let request = request.or(Errno::Invalid)?;
        // SAFETY: an array of the program's, which has `count` numbers, unchanged during the call (`ptlrpc.h`).
        let lens = unsafe { lengths(count, lens) }?;
        request.buffers = buffers_of(lens)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_rep_buf(request: InOut<'_, CSvcReq>, index: u32) -> *mut c_void {
    entry("ptlrpc_svc_rep_buf", || buffer_of(&mut request.or(Errno::Invalid)?.buffers, index))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_svc_set_transno(request: InOut<'_, CSvcReq>, transno: u64) -> c_int {
    entry("ptlrpc_svc_set_transno", || {
        request.or(Errno::Invalid)?.transno = transno;
        Ok(0)
    })
}

/// # Safety
/// Any thread may call `done` with `argument`, once.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_difficult(
    request: InOut<'_, CSvcReq>,
    transno: u64,
    done: Option<DoneCallback>,
    argument: *mut c_void,
) -> c_int {
    entry("ptlrpc_rep_difficult", || {
        let request = request.or(Errno::Invalid)?;
        let callback = done.ok_or(Errno::Invalid)?;
        if request.difficult.is_some() {
            return Err(Errno::Exists);
        }
        request.difficult = Some((transno, OnDone { callback, argument, was_called: false }));
        Ok(0)
    })
}
