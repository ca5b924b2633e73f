//! `struct ptlrpc_request`: a request of a client, from its allocation to its end.

use super::entry::{entry, lend, ms};
use super::import::ObdImport;
use super::process::ObjectGuard;
use super::set::PtlrpcSet;
use crate::Errno;
use crate::client::{Import, RequestId};
use crate::lnet::Loan;
use crate::message::builder::size_behind_body;
use crate::message::header::MAX_BUFFERS;
use crate::message::{ByteOrder, Opcode, Portal};
use crate::request::{Bulk, Direction, Reply, Request};
use lnet_api::c_pointer::{In, InOut, Out, Owned};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// The request behind a `struct ptlrpc_request *` of the program.
pub(super) struct PtlrpcRequest {
    pub(super) import: Arc<Import>,
    phase: RequestPhase,
    /// The set that the request belongs to.
    set: Option<NonNull<PtlrpcSet>>,
    /// The program's memory for bulk data, which may still be in use.
    loan: Option<Loan>,
    interpret: Option<(Interpret, *mut c_void)>,
    _guard: ObjectGuard,
}

enum RequestPhase {
    /// The program is filling in the request.
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
/// There are `count` lengths, unless `lengths` is NULL.
pub(super) unsafe fn lengths<'a>(count: u32, lengths: In<'a, u32>) -> Result<&'a [u32], Errno> {
    // SAFETY: NULL, or an array of the calling program's with `count` numbers, which is there and unchanged until the C function returns.
    let lengths = unsafe { lengths.elements(count, MAX_BUFFERS - 1, Errno::Invalid) }?;
    size_behind_body(lengths.iter().map(|length| *length as usize)).map(|_| lengths).ok_or(Errno::Invalid)
}

/// Buffers of these lengths. `ENOMEM`: no memory.
pub(super) fn buffers_of(lengths: &[u32]) -> Result<Vec<Vec<u8>>, Errno> {
    let buffer = |length: &u32| {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(*length as usize).map_err(|_| Errno::NoMemory)?;
        buffer.resize(*length as usize, 0);
        Ok(buffer)
    };
    lengths.iter().map(buffer).collect()
}

/// Buffer `index` of those behind the body.
pub(super) fn buffer_of(buffers: &mut [Vec<u8>], index: u32) -> Result<*mut c_void, Errno> {
    let buffer = (index as usize).checked_sub(1).and_then(|index| buffers.get_mut(index));
    Ok(buffer.ok_or(Errno::Invalid)?.as_mut_ptr().cast())
}

/// A buffer of a received message: its address, and its length in `len`.
pub(super) fn received(buffer: &[u8], mut len: Out<'_, u32>) -> *const c_void {
    len.store_if_wanted(buffer.len() as u32);
    buffer.as_ptr().cast()
}

impl PtlrpcRequest {
    fn draft(&mut self) -> Result<&mut Request, Errno> {
        match &mut self.phase {
            RequestPhase::Draft(request) => Ok(request),
            RequestPhase::InProgress | RequestPhase::Complete(..) => Err(Errno::Busy),
        }
    }

    /// Takes the specification, once.
    fn begin(&mut self) -> Result<Request, Errno> {
        match std::mem::replace(&mut self.phase, RequestPhase::InProgress) {
            RequestPhase::Draft(request) => Ok(request),
            other => {
                self.phase = other;
                Err(Errno::Busy)
            }
        }
    }

    /// Sends the request in a set by `add`, which returns the request's ID there.
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
            Ok(reply) => RequestPhase::Complete(reply.status(), Some(reply)),
            Err(errno) => RequestPhase::Complete(errno.to_c(), None),
        };
        // The last events of all descriptors have come, or will soon.
        if let Some(loan) = self.loan.take() {
            loan.wait();
        }
    }

    pub(super) const fn status(&self) -> c_int {
        match self.phase {
            RequestPhase::Draft(_) | RequestPhase::InProgress => Errno::InProgress.to_c(),
            RequestPhase::Complete(status, _) => status,
        }
    }

    fn reply(&self) -> Result<&Reply, Errno> {
        match &self.phase {
            RequestPhase::Complete(_, Some(reply)) => Ok(reply),
            _ => Err(Errno::NotFound),
        }
    }
}

/// A request of the program that a call or a set has taken, and returns at its end. Meanwhile only its interpret function
/// accesses it besides.
#[derive(Debug)]
pub(super) struct TakenRequest(NonNull<PtlrpcRequest>);

impl TakenRequest {
    /// Takes a request.
    ///
    /// # Safety
    /// What `ptlrpc_request_alloc` has made; while the request is taken it stays, and the program leaves it alone (`ptlrpc.h`).
    pub(super) const unsafe fn new(request: NonNull<PtlrpcRequest>) -> Self {
        Self(request)
    }

    /// The request.
    pub(super) fn get(&mut self) -> &mut PtlrpcRequest {
        // SAFETY: the program's, which stays and is left alone while it is taken (`new`); `self` is the only one that has it.
        unsafe { self.0.as_mut() }
    }

    /// Calls the interpret function of a completed request, if it has one, whose result becomes the status.
    pub(super) fn interpret(&mut self) -> c_int {
        let (interpret, status) = (self.get().interpret, self.get().status());
        let Some((interpret, argument)) = interpret else { return status };
        // SAFETY: the program's own function and argument, which it keeps until the request has completed. The function may access the request,
        // to which there is no reference now.
        let status = unsafe { interpret(self.0.as_ptr(), argument, status) };
        if let RequestPhase::Complete(old, _) = &mut self.get().phase {
            *old = status;
        }
        status
    }

    /// The address by which the program identifies the request.
    pub(super) const fn as_ptr(&self) -> *mut PtlrpcRequest {
        self.0.as_ptr()
    }

    /// Frees a request that the program releases with its set.
    pub(super) fn free(self) {
        // SAFETY: the box of `ptlrpc_request_alloc`; the program uses it no more, and nobody else has it (`new`).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// # Safety
/// `lens` has `count` numbers, unless it is NULL.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_request_alloc(
    import: In<'_, ObdImport>,
    opcode: u32,
    count: u32,
    lens: In<'_, u32>,
) -> *mut PtlrpcRequest {
    entry("ptlrpc_request_alloc", || {
        let opcode = Opcode(opcode);
        if opcode.is_connect() || opcode.is_disconnect() {
            return Err(Errno::Invalid);
        }
        let import = import.or(Errno::Invalid)?;
        // SAFETY: NULL, or an array of the calling program's with `count` numbers, which is there and unchanged until the call returns.
        let lens = unsafe { lengths(count, lens) }?;
        let buffers = buffers_of(lens)?;
        Ok(Owned::give(PtlrpcRequest {
            import: Arc::clone(&import.import),
            phase: RequestPhase::Draft(Request { buffers, ..Request::new(opcode) }),
            set: None,
            loan: None,
            interpret: None,
            _guard: ObjectGuard::new(),
        }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_buf(request: InOut<'_, PtlrpcRequest>, index: u32) -> *mut c_void {
    entry("ptlrpc_req_buf", || buffer_of(&mut request.or(Errno::Invalid)?.draft()?.buffers, index))
}

/// Changes the specification.
fn change(
    name: &'static str,
    request: InOut<'_, PtlrpcRequest>,
    how: impl FnOnce(&mut Request) -> Result<(), Errno>,
) -> c_int {
    entry(name, || how(request.or(Errno::Invalid)?.draft()?).map(|()| 0))
}

/// # Safety
/// `lens` has `count` numbers, unless it is NULL.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_repsize(
    request: InOut<'_, PtlrpcRequest>,
    count: u32,
    lens: In<'_, u32>,
) -> c_int {
    change("ptlrpc_req_set_repsize", request, |request| {
        // SAFETY: NULL, or an array of the calling program's with `count` numbers, which is there and unchanged until the call returns.
        request.reply_lengths = unsafe { lengths(count, lens) }?.to_vec();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_set_flags(request: InOut<'_, PtlrpcRequest>, flags: u32) -> c_int {
    let set = |request: &mut Request| {
        if flags & !(AT_MOST_ONCE | NO_RESEND | NO_DELAY) != 0 {
            return Err(Errno::Invalid);
        }
        request.at_most_once = flags & AT_MOST_ONCE != 0;
        request.no_resend = flags & NO_RESEND != 0;
        request.no_delay = flags & NO_DELAY != 0;
        Ok(())
    };
    change("ptlrpc_req_set_flags", request, set)
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_set_timeout(request: InOut<'_, PtlrpcRequest>, timeout_ms: u32) -> c_int {
    let set = |request: &mut Request| {
        request.timeout = ms(timeout_ms);
        Ok(())
    };
    change("ptlrpc_req_set_timeout", request, set)
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_set_limit(request: InOut<'_, PtlrpcRequest>, limit_ms: u32) -> c_int {
    let set = |request: &mut Request| {
        request.limit = ms(limit_ms);
        Ok(())
    };
    change("ptlrpc_req_set_limit", request, set)
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_set_portal(request: InOut<'_, PtlrpcRequest>, portal: u32) -> c_int {
    let set = |request: &mut Request| {
        request.portal = (portal != 0).then_some(Portal(portal));
        Ok(())
    };
    change("ptlrpc_req_set_portal", request, set)
}

/// # Safety
/// `memory` has `len` bytes of the program's, which it leaves alone until the request has completed or is freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_bulk(
    request: InOut<'_, PtlrpcRequest>,
    memory: *mut c_void,
    len: usize,
    direction: u32,
) -> c_int {
    entry("ptlrpc_req_set_bulk", || {
        let request = request.or(Errno::Invalid)?;
        let draft = request.draft()?;
        let direction = match direction {
            FROM_SERVICE => Direction::FromService,
            TO_SERVICE => Direction::ToService,
            _ => return Err(Errno::Invalid),
        };
        if !(1..=MAX_BULK_LEN).contains(&len) {
            return Err(Errno::Invalid);
        }
        // SAFETY: NULL, or `len` bytes of the program's, which are there, and which it leaves alone, until the request has completed or is
        // freed; both wait for the end of the loan.
        let (memory, loan) = unsafe { lend(memory, len) }?;
        draft.bulk = Some(Bulk { memory, direction });
        request.loan = Some(loan);
        Ok(0)
    })
}

/// # Safety
/// `interpret` may be called with the request and `argument` when the request has completed.
#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_req_set_interpret(
    request: InOut<'_, PtlrpcRequest>,
    interpret: Option<Interpret>,
    argument: *mut c_void,
) -> c_int {
    entry("ptlrpc_req_set_interpret", || {
        let request = request.or(Errno::Invalid)?;
        request.draft()?;
        request.interpret = interpret.map(|interpret| (interpret, argument));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_queue_wait(request: InOut<'_, PtlrpcRequest>) -> c_int {
    entry("ptlrpc_queue_wait", || {
        // SAFETY: the program's, which leaves it alone until the call returns: the contract of the argument.
        let mut taken = unsafe { TakenRequest::new(request.address_or(Errno::Invalid)?) };
        let request = taken.get();
        let spec = request.begin()?;
        let result = request.import.call(spec);
        request.end(result);
        Ok(taken.interpret())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_status(request: In<'_, PtlrpcRequest>) -> c_int {
    entry("ptlrpc_req_status", || Ok(request.or(Errno::Invalid)?.status()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_rep_buf(request: In<'_, PtlrpcRequest>, index: u32, len: Out<'_, u32>) -> *const c_void {
    entry("ptlrpc_rep_buf", || {
        let reply = request.or(Errno::Invalid)?.reply()?;
        let buffer = (index > 0).then(|| reply.buffer(index as usize)).flatten();
        Ok(received(buffer.ok_or(Errno::NotFound)?, len))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_rep_is_swabbed(request: In<'_, PtlrpcRequest>) -> c_int {
    entry("ptlrpc_rep_is_swabbed", || {
        let order = request.or(Errno::Invalid)?.reply()?.message()?.order();
        Ok((order != ByteOrder::NATIVE).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_transno(request: In<'_, PtlrpcRequest>) -> u64 {
    entry("ptlrpc_req_transno", || Ok(request.or(Errno::Invalid)?.reply()?.body()?.transno))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_bulk_bytes(request: In<'_, PtlrpcRequest>) -> u64 {
    entry("ptlrpc_req_bulk_bytes", || Ok(request.or(Errno::Invalid)?.reply()?.bulk_bytes()))
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_req_finished(request: Owned<PtlrpcRequest>) {
    entry("ptlrpc_req_finished", || {
        let set = request.or(Errno::Invalid)?.set;
        if let Some(set) = set {
            // SAFETY: the set that has the request: the program destroys a set only with the requests in it, and this one is not freed yet.
            unsafe { set.as_ref() }.abort_and_remove(request.as_ptr())?;
        }
        let PtlrpcRequest { phase, loan, .. } = *request.take(Errno::Invalid)?;
        drop(phase);
        if let Some(loan) = loan {
            loan.wait();
        }
        Ok(())
    });
}
