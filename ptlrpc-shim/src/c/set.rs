//! `struct ptlrpc_request_set`.

use super::entry::{entry, until};
use super::process::ObjectGuard;
use super::request::{PtlrpcRequest, TakenRequest};
use crate::Errno;
use crate::client::{RequestId, RequestSet};
use lnet_api::c_pointer::{In, InOut, Owned};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The set behind a `struct ptlrpc_request_set *` of the program. One thread at a time may use it; another one gets `EBUSY`.
pub(super) struct PtlrpcSet {
    inner: Mutex<SetState>,
    _guard: ObjectGuard,
}

#[derive(Default)]
struct SetState {
    set: RequestSet,
    in_progress: HashMap<RequestId, TakenRequest>,
    /// Completed and interpreted; the program has not taken them.
    completed: VecDeque<TakenRequest>,
    /// The first status below 0 since the last `ptlrpc_set_wait`.
    failed: Option<c_int>,
}

impl PtlrpcSet {
    fn lock(&self) -> Result<MutexGuard<'_, SetState>, Errno> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(inner)) => Ok(inner.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Errno::Busy),
        }
    }

    /// Calls the interpret functions of completed requests, without a lock: they may add others.
    fn interpret_completed(&self) -> Result<(), Errno> {
        loop {
            let (mut request, result) = {
                let mut inner = self.lock()?;
                let Some((id, result)) = inner.set.take_any() else { return Ok(()) };
                let Some(request) = inner.in_progress.remove(&id) else { continue };
                (request, result)
            };
            request.get().end(result);
            let status = request.interpret();
            let mut inner = self.lock()?;
            if status < 0 {
                inner.failed.get_or_insert(status);
            }
            inner.completed.push_back(request);
        }
    }

    /// Aborts a request of the set, and removes it.
    pub(super) fn abort_and_remove(&self, request: *const PtlrpcRequest) -> Result<(), Errno> {
        {
            let mut inner = self.lock()?;
            let found =
                inner.in_progress.iter().find(|(_, it)| ptr::eq(it.as_ptr(), request)).map(|(id, _)| *id);
            match found {
                Some(id) => inner.set.abort(id),
                None if inner.completed.iter().any(|it| ptr::eq(it.as_ptr(), request)) => {}
                // The request's interpret function is being called.
                None => return Err(Errno::Busy),
            }
        }
        loop {
            self.interpret_completed()?;
            let mut inner = self.lock()?;
            if let Some(at) = inner.completed.iter().position(|it| ptr::eq(it.as_ptr(), request)) {
                inner.completed.remove(at);
                return Ok(());
            }
            inner.set.wait_any(None);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_prep_set() -> *mut PtlrpcSet {
    entry("ptlrpc_prep_set", || {
        let set = PtlrpcSet { inner: Mutex::default(), _guard: ObjectGuard::new() };
        Ok(Owned::give(set))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_set_add_req(set: In<'_, PtlrpcSet>, request: InOut<'_, PtlrpcRequest>) -> c_int {
    entry("ptlrpc_set_add_req", || {
        let (set, request) = (set.or(Errno::Invalid)?, request.address_or(Errno::Invalid)?);
        let mut inner = set.lock()?;
        // SAFETY: the program's, which leaves it alone until `ptlrpc_set_next` gives it back or the set is destroyed (`ptlrpc.h`). One that is
        // taken already is refused below.
        let mut request = unsafe { TakenRequest::new(request) };
        let id = request.get().begin_in(NonNull::from(set), |import, spec| inner.set.add(import, spec))?;
        inner.in_progress.insert(id, request);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_set_wait(set: In<'_, PtlrpcSet>) -> c_int {
    entry("ptlrpc_set_wait", || {
        let set = set.or(Errno::Invalid)?;
        loop {
            set.interpret_completed()?;
            let mut inner = set.lock()?;
            if inner.in_progress.is_empty() {
                return Ok(inner.failed.take().unwrap_or(0));
            }
            inner.set.wait_any(None);
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_set_wait_any(set: In<'_, PtlrpcSet>, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_set_wait_any", || {
        let set = set.or(Errno::Invalid)?;
        {
            let mut inner = set.lock()?;
            let has_completed = inner.set.check();
            if !has_completed && inner.completed.is_empty() {
                inner.set.wait_any(until(timeout_ms));
            }
        }
        set.interpret_completed()?;
        Ok(set.lock()?.completed.len().try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_check_set(set: In<'_, PtlrpcSet>) -> c_int {
    entry("ptlrpc_check_set", || {
        let set = set.or(Errno::Invalid)?;
        set.lock()?.set.check();
        set.interpret_completed()?;
        Ok(set.lock()?.in_progress.len().try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_set_next(set: In<'_, PtlrpcSet>) -> *mut PtlrpcRequest {
    entry("ptlrpc_set_next", || {
        let next = set.or(Errno::Invalid)?.lock()?.completed.pop_front();
        let mut next = next.ok_or(Errno::NotFound)?;
        next.get().leave();
        Ok(next.as_ptr())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_set_destroy(set: Owned<PtlrpcSet>) {
    entry("ptlrpc_set_destroy", || {
        {
            let borrowed = set.or(Errno::Invalid)?;
            {
                let mut inner = borrowed.lock()?;
                let ids: Vec<RequestId> = inner.in_progress.keys().copied().collect();
                ids.into_iter().for_each(|id| inner.set.abort(id));
            }
            loop {
                borrowed.interpret_completed()?;
                let mut inner = borrowed.lock()?;
                if inner.in_progress.is_empty() {
                    break;
                }
                inner.set.wait_any(None);
            }
            let completed = std::mem::take(&mut borrowed.lock()?.completed);
            completed.into_iter().for_each(TakenRequest::free);
        }
        set.take(Errno::Invalid).map(drop)
    });
}
