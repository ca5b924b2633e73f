//! `struct ptlrpc_request`: a request of a client, from its allocation to its end.

use super::entry::{array, borrow, borrow_mut, entry, lend, ms, store};
use super::import::ObdImport;
use super::process::ObjectGuard;
use super::set::PtlrpcSet;
use crate::client::{Import, RequestId};
use crate::errno::Errno;
use crate::lnet::Loan;
use crate::message::header::MAX_BUFFERS;
use crate::message::{Body, ByteOrder, Opcode, Portal, size_of_message};
use crate::request::{Bulk, Direction, Reply, Request};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// The request behind a `struct ptlrpc_request *` of the program.
pub(super) struct PtlrpcRequest {
    pub(super) import: Arc<Import>,
    phase: Phase,
    /// The set that it belongs to.
    set: Option<NonNull<PtlrpcSet>>,
    /// The program's memory for bulk data, which may still be in use.
    loan: Option<Loan>,
    interpret: Option<(Interpret, *mut c_void)>,
    _guard: ObjectGuard,
}

enum Phase {
    /// The program fills it in.
    Draft(Request),
    /// The request is in a set, or in `ptlrpc_queue_wait`.
    InProgress,
    /// The request has ended, with this status, and the reply if there was one.
    Complete(c_int, Option<Reply>),
}

/// `ptlrpc_interpret_t`.
type Interpret = unsafe extern "C" fn(*mut PtlrpcRequest, *mut c_void, c_int) -> c_int;

const AT_MOST_ONCE: u32 = 1;
const NO_RESEND: u32 = 2;
const NO_DELAY: u32 = 4;

/// `enum ptlrpc_bulk_way`.
const FROM_SERVICE: u32 = 0;
const TO_SERVICE: u32 = 1;

/// The most bytes of bulk data (PR-22).
const MAX_BULK_LEN: usize = 64 << 20;

/// The lengths of the buffers behind a body. `EINVAL`: the message would be too long.
///
/// # Safety
/// The contract of the C API.
pub(super) unsafe fn lengths<'a>(count: u32, lengths: *const u32) -> Result<&'a [u32], Errno> {
    // SAFETY: this function's contract.
    let lengths = unsafe { array(lengths, count, MAX_BUFFERS - 1) }?;
    let all: Vec<u32> = std::iter::once(Body::LEN as u32).chain(lengths.iter().copied()).collect();
    size_of_message(&all).map(|_| lengths).ok_or(Errno::INVALID)
}

/// Buffers of these lengths. `ENOMEM`: no memory.
pub(super) fn buffers_of(lengths: &[u32]) -> Result<Vec<Vec<u8>>, Errno> {
    let buffer = |length: &u32| {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(*length as usize).map_err(|_| Errno::NO_MEMORY)?;
        buffer.resize(*length as usize, 0);
        Ok(buffer)
    };
    lengths.iter().map(buffer).collect()
}

/// Buffer `index` of those behind the body.
pub(super) fn buffer_of(buffers: &mut [Vec<u8>], index: u32) -> Result<*mut c_void, Errno> {
    let buffer = (index as usize).checked_sub(1).and_then(|index| buffers.get_mut(index));
    Ok(buffer.ok_or(Errno::INVALID)?.as_mut_ptr().cast())
}

/// A buffer of a received message: its address, and its length in `len`.
///
/// # Safety
/// `len` is NULL, or valid for writing.
pub(super) unsafe fn received(buffer: &[u8], len: *mut u32) -> Result<*const c_void, Errno> {
    if !len.is_null() {
        // SAFETY: this function's contract.
        unsafe { store(len, buffer.len() as u32) }?;
    }
    Ok(buffer.as_ptr().cast())
}

impl PtlrpcRequest {
    fn draft(&mut self) -> Result<&mut Request, Errno> {
        match &mut self.phase {
            Phase::Draft(request) => Ok(request),
            Phase::InProgress | Phase::Complete(..) => Err(Errno::BUSY),
        }
    }

    /// Takes the specification, once.
    fn begin(&mut self) -> Result<Request, Errno> {
        match std::mem::replace(&mut self.phase, Phase::InProgress) {
            Phase::Draft(request) => Ok(request),
            other => {
                self.phase = other;
                Err(Errno::BUSY)
            }
        }
    }

    /// Sends it in a set, by `add`, which returns its ID there.
    pub(super) fn begin_in(
        &mut self,
        set: NonNull<PtlrpcSet>,
        add: impl FnOnce(&Arc<Import>, Request) -> RequestId,
    ) -> Result<RequestId, Errno> {
        let request = self.begin()?;
        self.set = Some(set);
        Ok(add(&self.import, request))
    }

    /// Notes that the request was removed from its set.
    pub(super) const fn leave(&mut self) {
        self.set = None;
    }

    /// Stores the result, and waits until LNet no longer accesses the program's memory for bulk data.
    pub(super) fn end(&mut self, result: Result<Reply, Errno>) {
        self.phase = match result {
            Ok(reply) => Phase::Complete(reply.status(), Some(reply)),
            Err(errno) => Phase::Complete(errno.to_c(), None),
        };
        // The last events of all descriptors have come, or will soon.
        if let Some(loan) = self.loan.take() {
            loan.wait();
        }
    }

    pub(super) const fn status(&self) -> c_int {
        match self.phase {
            Phase::Draft(_) | Phase::InProgress => Errno::IN_PROGRESS.to_c(),
            Phase::Complete(status, _) => status,
        }
    }

    fn reply(&self) -> Result<&Reply, Errno> {
        match &self.phase {
            Phase::Complete(_, Some(reply)) => Ok(reply),
            _ => Err(Errno::NOT_FOUND),
        }
    }
}

/// Calls the interpret function of a completed request, if it has one; what that returns becomes the status.
///
/// # Safety
/// A completed request to which there is no reference.
pub(super) unsafe fn interpret(request: NonNull<PtlrpcRequest>) -> c_int {
    // SAFETY: this function's contract.
    let (interpret, status) = unsafe { (request.as_ref().interpret, request.as_ref().status()) };
    let Some((interpret, argument)) = interpret else { return status };
    // SAFETY: the program's own function and argument; it may access the request.
    let status = unsafe { interpret(request.as_ptr(), argument, status) };
    // SAFETY: this function's contract.
    if let Phase::Complete(old, _) = unsafe { &mut (*request.as_ptr()).phase } {
        *old = status;
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_request_alloc(
    import: *const ObdImport,
    opcode: u32,
    count: u32,
    lens: *const u32,
) -> *mut PtlrpcRequest {
    entry("ptlrpc_request_alloc", || {
        let opcode = Opcode(opcode);
        if opcode.is_connect() || opcode.is_disconnect() {
            return Err(Errno::INVALID);
        }
        // SAFETY: the contract of the C API.
        let (import, lens) = unsafe { (borrow(import)?, lengths(count, lens)?) };
        let buffers = buffers_of(lens)?;
        Ok(Box::into_raw(Box::new(PtlrpcRequest {
            import: Arc::clone(&import.import),
            phase: Phase::Draft(Request { buffers, ..Request::new(opcode) }),
            set: None,
            loan: None,
            interpret: None,
            _guard: ObjectGuard::new(),
        })))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_buf(request: *mut PtlrpcRequest, index: u32) -> *mut c_void {
    entry("ptlrpc_req_buf", || {
        // SAFETY: the contract of the C API.
        buffer_of(&mut unsafe { borrow_mut(request) }?.draft()?.buffers, index)
    })
}

/// Changes the specification.
///
/// # Safety
/// The contract of the C API.
unsafe fn change(
    name: &'static str,
    request: *mut PtlrpcRequest,
    how: impl FnOnce(&mut Request) -> Result<(), Errno>,
) -> c_int {
    entry(name, || {
        // SAFETY: this function's contract.
        how(unsafe { borrow_mut(request) }?.draft()?).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_repsize(
    request: *mut PtlrpcRequest,
    count: u32,
    lens: *const u32,
) -> c_int {
    // SAFETY: the contract of the C API.
    unsafe {
        change("ptlrpc_req_set_repsize", request, |request| {
            request.reply_lengths = lengths(count, lens)?.to_vec();
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_flags(request: *mut PtlrpcRequest, flags: u32) -> c_int {
    let set = |request: &mut Request| {
        if flags & !(AT_MOST_ONCE | NO_RESEND | NO_DELAY) != 0 {
            return Err(Errno::INVALID);
        }
        request.at_most_once = flags & AT_MOST_ONCE != 0;
        request.no_resend = flags & NO_RESEND != 0;
        request.no_delay = flags & NO_DELAY != 0;
        Ok(())
    };
    // SAFETY: the contract of the C API.
    unsafe { change("ptlrpc_req_set_flags", request, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_timeout(request: *mut PtlrpcRequest, timeout_ms: u32) -> c_int {
    let set = |request: &mut Request| {
        request.timeout = ms(timeout_ms);
        Ok(())
    };
    // SAFETY: the contract of the C API.
    unsafe { change("ptlrpc_req_set_timeout", request, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_limit(request: *mut PtlrpcRequest, limit_ms: u32) -> c_int {
    let set = |request: &mut Request| {
        request.limit = ms(limit_ms);
        Ok(())
    };
    // SAFETY: the contract of the C API.
    unsafe { change("ptlrpc_req_set_limit", request, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_portal(request: *mut PtlrpcRequest, portal: u32) -> c_int {
    let set = |request: &mut Request| {
        request.portal = (portal != 0).then_some(Portal(portal));
        Ok(())
    };
    // SAFETY: the contract of the C API.
    unsafe { change("ptlrpc_req_set_portal", request, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_bulk(
    request: *mut PtlrpcRequest,
    memory: *mut c_void,
    len: usize,
    direction: u32,
) -> c_int {
    entry("ptlrpc_req_set_bulk", || {
        // SAFETY: the contract of the C API.
        let request = unsafe { borrow_mut(request) }?;
        let draft = request.draft()?;
        let direction = match direction {
            FROM_SERVICE => Direction::FromService,
            TO_SERVICE => Direction::ToService,
            _ => return Err(Errno::INVALID),
        };
        if !(1..=MAX_BULK_LEN).contains(&len) {
            return Err(Errno::INVALID);
        }
        // SAFETY: the same: by contract it stays valid until the request has completed, and `end` waits for the loan.
        let (memory, loan) = unsafe { lend(memory, len) }?;
        draft.bulk = Some(Bulk { memory, direction });
        request.loan = Some(loan);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_interpret(
    request: *mut PtlrpcRequest,
    interpret: Option<Interpret>,
    argument: *mut c_void,
) -> c_int {
    entry("ptlrpc_req_set_interpret", || {
        // SAFETY: the contract of the C API.
        let request = unsafe { borrow_mut(request) }?;
        request.draft()?;
        request.interpret = interpret.map(|interpret| (interpret, argument));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_queue_wait(request: *mut PtlrpcRequest) -> c_int {
    entry("ptlrpc_queue_wait", || {
        let request = NonNull::new(request).ok_or(Errno::INVALID)?;
        {
            // SAFETY: the contract of the C API.
            let request = unsafe { borrow_mut(request.as_ptr()) }?;
            let spec = request.begin()?;
            let result = request.import.call(spec);
            request.end(result);
        }
        // SAFETY: it has completed, and there is no reference to it.
        Ok(unsafe { interpret(request) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_status(request: *const PtlrpcRequest) -> c_int {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_req_status", || Ok(unsafe { borrow(request) }?.status()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_buf(
    request: *const PtlrpcRequest,
    index: u32,
    len: *mut u32,
) -> *const c_void {
    entry("ptlrpc_rep_buf", || {
        // SAFETY: the contract of the C API.
        let reply = unsafe { borrow(request) }?.reply()?;
        let buffer = (index > 0).then(|| reply.buffer(index as usize)).flatten();
        // SAFETY: the same.
        unsafe { received(buffer.ok_or(Errno::NOT_FOUND)?, len) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_rep_is_swabbed(request: *const PtlrpcRequest) -> c_int {
    entry("ptlrpc_rep_is_swabbed", || {
        // SAFETY: the contract of the C API.
        let order = unsafe { borrow(request) }?.reply()?.message()?.order();
        Ok((order != ByteOrder::NATIVE).into())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_transno(request: *const PtlrpcRequest) -> u64 {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_req_transno", || Ok(unsafe { borrow(request) }?.reply()?.body().transno))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_bulk_bytes(request: *const PtlrpcRequest) -> u64 {
    // SAFETY: the contract of the C API.
    entry("ptlrpc_req_bulk_bytes", || Ok(unsafe { borrow(request) }?.reply()?.bulk_bytes()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_finished(request: *mut PtlrpcRequest) {
    entry("ptlrpc_req_finished", || {
        let request = NonNull::new(request).ok_or(Errno::INVALID)?;
        // SAFETY: the contract of the C API.
        if let Some(set) = unsafe { request.as_ref() }.set {
            // SAFETY: the same: a set outlives its requests.
            unsafe { set.as_ref() }.abort_and_remove(request)?;
        }
        // SAFETY: the same; it is not used any more.
        let PtlrpcRequest { phase, loan, .. } = *unsafe { Box::from_raw(request.as_ptr()) };
        drop(phase);
        if let Some(loan) = loan {
            loan.wait();
        }
        Ok(())
    });
}
