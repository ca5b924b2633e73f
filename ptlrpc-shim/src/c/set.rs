//! `struct ptlrpc_request_set`.

use super::entry::{borrow, entry, until};
use super::process::ObjectGuard;
use super::request::{PtlrpcRequest, interpret};
use crate::client::{RequestId, RequestSet};
use crate::errno::Errno;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The set behind a `struct ptlrpc_request_set *` of the program. One thread at a time may use it; another one gets `EBUSY`.
pub(super) struct PtlrpcSet {
    inner: Mutex<Inner>,
    _guard: ObjectGuard,
}

#[derive(Default)]
struct Inner {
    set: RequestSet,
    in_progress: HashMap<RequestId, NonNull<PtlrpcRequest>>,
    /// Completed and interpreted; the program has not taken them.
    completed: VecDeque<NonNull<PtlrpcRequest>>,
    /// The first status below 0 since the last `ptlrpc_set_wait`.
    failed: Option<c_int>,
}

impl PtlrpcSet {
    fn lock(&self) -> Result<MutexGuard<'_, Inner>, Errno> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(inner)) => Ok(inner.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Errno::BUSY),
        }
    }

    /// Calls the interpret functions of completed requests, without a lock: they may add others.
    fn interpret_completed(&self) -> Result<(), Errno> {
        loop {
            let (request, result) = {
                let mut inner = self.lock()?;
                let Some((id, result)) = inner.set.take_any() else { return Ok(()) };
                let Some(request) = inner.in_progress.remove(&id) else { continue };
                (request, result)
            };
            // SAFETY: by contract the program does not access requests in progress.
            unsafe { &mut *request.as_ptr() }.end(result);
            // SAFETY: the same: it has completed.
            let status = unsafe { interpret(request) };
            let mut inner = self.lock()?;
            if status < 0 {
                inner.failed.get_or_insert(status);
            }
            inner.completed.push_back(request);
        }
    }

    /// Aborts a request of the set, and removes it.
    pub(super) fn abort_and_remove(&self, request: NonNull<PtlrpcRequest>) -> Result<(), Errno> {
        {
            let mut inner = self.lock()?;
            let found = inner.in_progress.iter().find(|(_, it)| **it == request).map(|(id, _)| *id);
            match found {
                Some(id) => inner.set.abort(id),
                None if inner.completed.contains(&request) => {}
                // The request's interpret function is being called.
                None => return Err(Errno::BUSY),
            }
        }
        loop {
            self.interpret_completed()?;
            let mut inner = self.lock()?;
            if let Some(at) = inner.completed.iter().position(|it| *it == request) {
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
        Ok(Box::into_raw(Box::new(set)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_add_req(set: *mut PtlrpcSet, request: *mut PtlrpcRequest) -> c_int {
    entry("ptlrpc_set_add_req", || {
        let (set_pointer, request) = NonNull::new(set).zip(NonNull::new(request)).ok_or(Errno::INVALID)?;
        // SAFETY: the contract of the C API.
        let mut inner = unsafe { borrow(set) }?.lock()?;
        // SAFETY: the same; no set has it yet.
        let draft = unsafe { &mut *request.as_ptr() };
        let id = draft.begin_in(set_pointer, |import, spec| inner.set.add(import, spec))?;
        inner.in_progress.insert(id, request);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_wait(set: *const PtlrpcSet) -> c_int {
    entry("ptlrpc_set_wait", || {
        // SAFETY: the contract of the C API.
        let set = unsafe { borrow(set) }?;
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
unsafe extern "C" fn ptlrpc_set_wait_any(set: *const PtlrpcSet, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_set_wait_any", || {
        // SAFETY: the contract of the C API.
        let set = unsafe { borrow(set) }?;
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
unsafe extern "C" fn ptlrpc_check_set(set: *const PtlrpcSet) -> c_int {
    entry("ptlrpc_check_set", || {
        // SAFETY: the contract of the C API.
        let set = unsafe { borrow(set) }?;
        set.lock()?.set.check();
        set.interpret_completed()?;
        Ok(set.lock()?.in_progress.len().try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_next(set: *const PtlrpcSet) -> *mut PtlrpcRequest {
    entry("ptlrpc_set_next", || {
        // SAFETY: the contract of the C API.
        let next = unsafe { borrow(set) }?.lock()?.completed.pop_front().ok_or(Errno::NOT_FOUND)?;
        // SAFETY: the same: the set had exclusive access.
        unsafe { &mut *next.as_ptr() }.leave();
        Ok(next.as_ptr())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_destroy(set: *mut PtlrpcSet) {
    entry("ptlrpc_set_destroy", || {
        {
            // SAFETY: the contract of the C API.
            let borrowed = unsafe { borrow(set) }?;
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
            for request in completed {
                // SAFETY: boxes of `ptlrpc_request_alloc`, which by contract only the set has.
                drop(unsafe { Box::from_raw(request.as_ptr()) });
            }
        }
        // SAFETY: by contract it is not used any more.
        drop(unsafe { Box::from_raw(set) });
        Ok(())
    });
}
