//! `struct ptlrpc_request_set`.

use super::entry::{borrow, entry, until};
use super::process::Alive;
use super::request::{PtlrpcRequest, interpret};
use crate::client::{RequestId, RequestSet};
use crate::errno::Errno;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// What C has a pointer to. One thread at a time may use it; another is told `EBUSY`.
pub(super) struct PtlrpcSet {
    inner: Mutex<Inner>,
    _alive: Alive,
}

#[derive(Default)]
struct Inner {
    set: RequestSet,
    under_way: HashMap<RequestId, NonNull<PtlrpcRequest>>,
    /// They have ended, and been interpreted; C has not taken them.
    ended: VecDeque<NonNull<PtlrpcRequest>>,
    /// The first status below 0 since it was last told.
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

    /// Tells the program of those that have ended, with nothing locked: it may add others meanwhile.
    fn harvest(&self) -> Result<(), Errno> {
        loop {
            let (request, result) = {
                let mut inner = self.lock()?;
                let Some((id, result)) = inner.set.take_any() else { return Ok(()) };
                let Some(request) = inner.under_way.remove(&id) else { continue };
                (request, result)
            };
            // SAFETY: by contract the set has its requests for itself while they are under way.
            unsafe { &mut *request.as_ptr() }.end(result);
            // SAFETY: the same: it has ended.
            let status = unsafe { interpret(request) };
            let mut inner = self.lock()?;
            if status < 0 {
                inner.failed.get_or_insert(status);
            }
            inner.ended.push_back(request);
        }
    }

    /// Ends a request of the set, and takes it out.
    pub(super) fn give_up(&self, request: NonNull<PtlrpcRequest>) -> Result<(), Errno> {
        {
            let mut inner = self.lock()?;
            let found = inner.under_way.iter().find(|(_, it)| **it == request).map(|(id, _)| *id);
            match found {
                Some(id) => inner.set.abort(id),
                None if inner.ended.contains(&request) => {}
                // It is just being interpreted.
                None => return Err(Errno::BUSY),
            }
        }
        loop {
            self.harvest()?;
            let mut inner = self.lock()?;
            if let Some(at) = inner.ended.iter().position(|it| *it == request) {
                inner.ended.remove(at);
                return Ok(());
            }
            inner.set.wait_any(None);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn ptlrpc_prep_set() -> *mut PtlrpcSet {
    entry("ptlrpc_prep_set", || {
        let set = PtlrpcSet { inner: Mutex::default(), _alive: Alive::new() };
        Ok(Box::into_raw(Box::new(set)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_add_req(set: *mut PtlrpcSet, request: *mut PtlrpcRequest) -> c_int {
    entry("ptlrpc_set_add_req", || {
        let (there, request) = NonNull::new(set).zip(NonNull::new(request)).ok_or(Errno::INVALID)?;
        // SAFETY: the contract of this face.
        let mut inner = unsafe { borrow(set) }?.lock()?;
        // SAFETY: the same; the caller has it for himself until now.
        let draft = unsafe { &mut *request.as_ptr() };
        let id = draft.begin_in(there, |import, asked| inner.set.add(import, asked))?;
        inner.under_way.insert(id, request);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_wait(set: *const PtlrpcSet) -> c_int {
    entry("ptlrpc_set_wait", || {
        // SAFETY: the contract of this face.
        let set = unsafe { borrow(set) }?;
        loop {
            set.harvest()?;
            let mut inner = set.lock()?;
            if inner.under_way.is_empty() {
                return Ok(inner.failed.take().unwrap_or(0));
            }
            inner.set.wait_any(None);
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_wait_any(set: *const PtlrpcSet, timeout_ms: c_int) -> c_int {
    entry("ptlrpc_set_wait_any", || {
        // SAFETY: the contract of this face.
        let set = unsafe { borrow(set) }?;
        {
            let mut inner = set.lock()?;
            let has_ended = inner.set.check();
            if !has_ended && inner.ended.is_empty() {
                inner.set.wait_any(until(timeout_ms));
            }
        }
        set.harvest()?;
        Ok(set.lock()?.ended.len().try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_check_set(set: *const PtlrpcSet) -> c_int {
    entry("ptlrpc_check_set", || {
        // SAFETY: the contract of this face.
        let set = unsafe { borrow(set) }?;
        set.lock()?.set.check();
        set.harvest()?;
        Ok(set.lock()?.under_way.len().try_into().unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_next(set: *const PtlrpcSet) -> *mut PtlrpcRequest {
    entry("ptlrpc_set_next", || {
        // SAFETY: the contract of this face.
        let next = unsafe { borrow(set) }?.lock()?.ended.pop_front().ok_or(Errno::NOT_FOUND)?;
        // SAFETY: the same: the set had it for itself.
        unsafe { &mut *next.as_ptr() }.leave();
        Ok(next.as_ptr())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ptlrpc_set_destroy(set: *mut PtlrpcSet) {
    entry("ptlrpc_set_destroy", || {
        {
            // SAFETY: the contract of this face.
            let there = unsafe { borrow(set) }?;
            {
                let mut inner = there.lock()?;
                let ids: Vec<RequestId> = inner.under_way.keys().copied().collect();
                ids.into_iter().for_each(|id| inner.set.abort(id));
            }
            loop {
                there.harvest()?;
                let mut inner = there.lock()?;
                if inner.under_way.is_empty() {
                    break;
                }
                inner.set.wait_any(None);
            }
            let ended = std::mem::take(&mut there.lock()?.ended);
            for request in ended {
                // SAFETY: boxes that `ptlrpc_request_alloc` gave away, which by contract only the set has.
                drop(unsafe { Box::from_raw(request.as_ptr()) });
            }
        }
        // SAFETY: by contract nobody has it any more.
        drop(unsafe { Box::from_raw(set) });
        Ok(())
    });
}
