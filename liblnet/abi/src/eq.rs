//! Event queues.

use crate::backend;
use crate::entry::{entry, not_null};
use crate::event::{event_to_c, polled_to_c};
use crate::types::{lnet_eq_handler_t, lnet_event, lnet_handle_eq};
use lnet_core::{EqHandle, Errno, Event, Polled};
use std::ffi::{c_int, c_long, c_uint};
use std::time::Duration;

/// Makes an event queue.
///
/// count is the number of events that the queue keeps for LNetEQGet, LNetEQWait and LNetEQPoll (rounded up to a power of
/// two; when it is full the oldest is lost); 0 for none. handler, unless it is LNET_EQ_HANDLER_NONE, is
/// called for every event. At least one of the two must be given.
///
/// Stores the handle in *handle. Errors: -EINVAL, -ENOMEM. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetEQAlloc(
    count: c_uint,
    handler: lnet_eq_handler_t,
    handle: *mut lnet_handle_eq,
) -> c_int {
    entry("LNetEQAlloc", || {
        let handle = not_null(handle)?;
        let handler = handler.map(|handler| {
            let call = move |event: &Event| {
                let mut event = event_to_c(event);
                // SAFETY: the program's handler, which it has given to be called on any thread while its queue exists. The event is valid
                // for the call, which is all that is promised.
                unsafe { handler(&raw mut event) }
            };
            Box::new(call) as Box<dyn Fn(&Event) + Send + Sync>
        });
        let eq = backend::with(|node| node.eq_alloc(count, handler))?;
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { handle.write(lnet_handle_eq { cookie: eq.cookie() }) };
        Ok(0)
    })
}

/// Frees an event queue; unread events are lost. Threads that wait for an event of it in LNetEQWait or LNetEQPoll
/// return -ENOENT.
///
/// After the last event of the last memory descriptor that uses it, this succeeds from any thread. Errors: -ENOENT,
/// -EBUSY (a memory descriptor uses it). Not from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetEQFree(eq: lnet_handle_eq) -> c_int {
    entry("LNetEQFree", || backend::with(|node| node.eq_free(eq.into())).map(|()| 0))
}

/// Removes the oldest event from a queue.
///
/// Returns 1 and stores the event in *event; 0 if there is none; -EOVERFLOW if it is stored but earlier events
/// were lost; -ENOENT for a bad handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetEQGet(eq: lnet_handle_eq, event: *mut lnet_event) -> c_int {
    entry("LNetEQGet", || {
        let event = not_null(event)?;
        match backend::with(|node| node.eq_get(eq.into()))? {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            Some(polled) => Ok(unsafe { polled_to_c(&polled, event) }),
            None => Ok(0),
        }
    })
}

/// Does the same as LNetEQGet, but waits until there is an event.
///
/// Also returns -ENOENT when the queue is freed meanwhile, and -ENETDOWN when the network goes down. In an event
/// handler: -EBUSY, without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetEQWait(eq: lnet_handle_eq, event: *mut lnet_event) -> c_int {
    entry("LNetEQWait", || {
        let event = not_null(event)?;
        let mut result = 0;
        let mut read = |_, polled: &Polled| {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            result = unsafe { polled_to_c(polled, event) };
        };
        backend::with(|node| node.eq_poll(&[eq.into()], None, &mut read))?;
        Ok(result)
    })
}

/// Removes the oldest event from the first of neq queues that has one; waits up to timeout for an event.
///
/// timeout is in milliseconds: 0 does not wait; a negative value and LONG_MAX wait without limit. Stores
/// the event in *event and the index of its queue in *which. Returns like LNetEQGet, and 0 at the
/// timeout; -ENOENT also for neq < 1, and when one of the queues is freed meanwhile; -ENETDOWN when the network goes
/// down. In an event handler, unless timeout is 0: -EBUSY, without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetEQPoll(
    eqs: *mut lnet_handle_eq,
    neq: c_int,
    timeout: c_long,
    event: *mut lnet_event,
    which: *mut c_int,
) -> c_int {
    entry("LNetEQPoll", || {
        let count = usize::try_from(neq).ok().filter(|n| *n > 0).ok_or(Errno::NotFound)?;
        let (eqs, event, which) = (not_null(eqs)?, not_null(event)?, not_null(which)?);
        // SAFETY: checked for NULL; `neq` handles of the program's, unchanged during the call.
        let eqs = unsafe { std::slice::from_raw_parts(eqs.as_ptr(), count) };
        let eqs: Vec<EqHandle> = eqs.iter().map(|eq| (*eq).into()).collect();
        let mut result = 0;
        let mut read = |index, polled: &Polled| {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            unsafe { which.write(c_int::try_from(index).unwrap_or(c_int::MAX)) };
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            result = unsafe { polled_to_c(polled, event) };
        };
        backend::with(|node| node.eq_poll(&eqs, wait(timeout), &mut read))?;
        Ok(result)
    })
}

/// The timeout; `None`: no limit.
fn wait(milliseconds: c_long) -> Option<Duration> {
    match u64::try_from(milliseconds) {
        Ok(ms) if milliseconds != c_long::MAX => Some(Duration::from_millis(ms)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_and_maximal_timeouts_never_expire() {
        let cases = [(0, Some(0)), (250, Some(250)), (-1, None), (c_long::MAX, None), (c_long::MIN, None)];
        for (ms, expected) in cases {
            assert_eq!(wait(ms), expected.map(Duration::from_millis), "{ms}");
        }
    }
}
