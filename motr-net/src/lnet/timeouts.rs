//! Operations whose deadline has passed (motr-net 2.4).

use super::machine::machine;
use super::operation::buf_del;
use crate::families::m0_net_tm_tl;
use crate::net::queue::Queue;
use crate::net::tm_queues::queue_of;
use crate::net::types::{buf_flags, m0_net_buffer, m0_net_transfer_mc};
use crate::support::{TIME_NEVER, m0_time_t};

/// Ends the operations whose deadline has passed, and finds the next deadline. The machine is locked.
///
/// # Safety
/// A machine of this transport.
pub(super) unsafe fn end_timed_out(tm: *mut m0_net_transfer_mc, now: m0_time_t) {
    // SAFETY: by contract; ending an operation takes no buffer out of its queue before the lock is given up.
    unsafe {
        if now < machine(tm).nearest_deadline {
            return;
        }
        let mut nearest = TIME_NEVER;
        for queue in Queue::ALL {
            for buf in m0_net_tm_tl.objects(queue_of(tm, queue)) {
                let buf = buf.cast::<m0_net_buffer>();
                match has_passed(&*buf, now) {
                    Deadline::Passed => {
                        (*buf).nb_flags |= buf_flags::TIMED_OUT;
                        buf_del(buf);
                    }
                    Deadline::Dealt => {}
                    Deadline::At(time) => nearest = nearest.min(time),
                }
            }
        }
        machine(tm).nearest_deadline = nearest;
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Deadline {
    At(m0_time_t),
    Passed,
    /// The operation has been ended, and its event is on the way.
    Dealt,
}

fn has_passed(buf: &m0_net_buffer, now: m0_time_t) -> Deadline {
    match buf.nb_timeout {
        _ if buf.nb_flags & buf_flags::TIMED_OUT != 0 => Deadline::Dealt,
        time if time <= now && time != TIME_NEVER => Deadline::Passed,
        time => Deadline::At(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_passes_once_and_never_early() {
        for (timeout, flags, now, expected) in [
            (TIME_NEVER, 0, TIME_NEVER, Deadline::At(TIME_NEVER)),
            (100, 0, 99, Deadline::At(100)),
            (100, 0, 100, Deadline::Passed),
            (100, buf_flags::TIMED_OUT, 200, Deadline::Dealt),
        ] {
            // SAFETY: a buffer of zeros is valid.
            let mut buf: m0_net_buffer = unsafe { std::mem::zeroed() };
            (buf.nb_timeout, buf.nb_flags) = (timeout, flags);
            assert_eq!(has_passed(&buf, now), expected, "{timeout} {flags} {now}");
        }
    }
}
