//! Operations whose deadline has passed (motr-net 2.4).

use super::machine::machine;
use super::operation::buf_del;
use crate::families::buffers_of_queue;
use crate::net::queue::Queue;
use crate::net::tm_queues::queue_of;
use crate::net::types::{buf_flags, m0_net_transfer_mc};
use crate::object::Object;
use crate::support::{TIME_NEVER, m0_time_t};

/// Ends the operations whose deadline has passed, and determines the next deadline. The machine is locked.
pub(super) fn end_timed_out(tm: Object<m0_net_transfer_mc>, now: m0_time_t) {
    if now < machine(tm).nearest_deadline.get() {
        return;
    }
    let mut nearest = TIME_NEVER;
    for queue in Queue::ALL {
        // Ending an operation removes no buffer from its queue before the lock is released.
        for buf in buffers_of_queue(queue_of(tm, queue)) {
            match has_passed(buf.nb_timeout.get(), buf.nb_flags.get(), now) {
                Deadline::Passed => {
                    buf.nb_flags.update(|it| it | buf_flags::TIMED_OUT);
                    buf_del(buf);
                }
                Deadline::Dealt => {}
                Deadline::At(time) => nearest = nearest.min(time),
            }
        }
    }
    machine(tm).nearest_deadline.set(nearest);
}

#[derive(Debug, PartialEq, Eq)]
enum Deadline {
    At(m0_time_t),
    Passed,
    /// The operation has been ended, and its event is being delivered.
    Dealt,
}

fn has_passed(timeout: m0_time_t, flags: u64, now: m0_time_t) -> Deadline {
    match timeout {
        _ if flags & buf_flags::TIMED_OUT != 0 => Deadline::Dealt,
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
            assert_eq!(has_passed(timeout, flags, now), expected, "{timeout} {flags} {now}");
        }
    }
}
