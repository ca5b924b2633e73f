//! Handlers that memory descriptors name themselves.

use super::event::event_to_c;
use super::types::lnet_handler_t;
use crate::backend::{self, HandlerQueues, ProgramNode};
use crate::entry::entry;
use lnet_core::event::EventHandler;
use lnet_core::{EqHandle, Errno, Event};
use lnet_log::{LogClass, write_line};

/// Holds that no memory descriptor uses a handler any more: before the code of the handler is unloaded, or at the end of a program. Waits
/// for a call of the handler with the last event of a descriptor, but not in a handler. If it is in use still, the log has a
/// line that says so; the kernel stops there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_assert_handler_unused_2_15(handler: lnet_handler_t) {
    entry("lnet_assert_handler_unused", || {
        let Some(function) = handler else { return Ok(()) };
        let forgotten = backend::with_handlers(|node, queues| queues.forget(node, function as usize));
        if forgotten == Err(Errno::Busy) {
            write_line!(
                LogClass::HandlerInUse,
                "lnet_assert_handler_unused: the handler {:#x} is in use still, by memory descriptors or by a call that runs; unlink them first",
                function as usize
            );
        }
        forgotten
    });
}

/// Whether another queue than `eq`, which [`queue_of`] has returned, is behind the handler now.
pub(crate) fn is_retired(queues: &HandlerQueues, handler: lnet_handler_t, eq: Option<EqHandle>) -> bool {
    handler.zip(eq).is_some_and(|(function, eq)| queues.is_retired(function as usize, eq))
}

/// The queue behind a handler: `None` without one.
pub(crate) fn queue_of(
    node: &dyn ProgramNode,
    queues: &HandlerQueues,
    handler: lnet_handler_t,
) -> Result<Option<EqHandle>, Errno> {
    let Some(function) = handler else { return Ok(None) };
    let make = || {
        let call = move |event: &Event| {
            let mut event = event_to_c(event);
            // SAFETY: the program's handler, which it has given to be called on any thread while descriptors name it. The event is valid for
            // the call, which is all that is promised.
            unsafe { function(&raw mut event) }
        };
        Box::new(call) as EventHandler
    };
    queues.queue_of(node, function as usize, make).map(Some)
}
