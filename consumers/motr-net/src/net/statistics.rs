//! The statistics of each queue (motr-net 2.5), as pure functions.

use super::queue::Queue;
use super::types::m0_net_qstats;

/// The numbers of an event of a buffer that the statistics use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// The queue of the buffer.
    pub(super) queue: Queue,
    /// Whether the operation succeeded.
    pub(super) ok: bool,
    /// The number of bytes received.
    pub(super) received: u64,
    /// The number of bytes that were to be sent.
    pub(super) to_send: u64,
    /// The time for which the buffer was queued, if it has left the queue.
    pub(super) time_in_queue: Option<u64>,
}

/// Adds an event to the statistics.
pub(super) fn count(stats: &mut m0_net_qstats, event: Counted) {
    if event.ok {
        let bytes = if event.queue.receives() { event.received } else { event.to_send };
        stats.nqs_num_s_events += 1;
        stats.nqs_total_bytes += bytes;
        stats.nqs_max_bytes = stats.nqs_max_bytes.max(bytes);
    } else {
        stats.nqs_num_f_events += 1;
    }
    stats.nqs_time_in_queue += event.time_in_queue.unwrap_or(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_that_came_or_those_that_were_to_be_sent() {
        for (queue, ok, bytes) in [
            (Queue::MsgRecv, true, 10),
            (Queue::PassiveBulkRecv, true, 10),
            (Queue::ActiveBulkRecv, true, 10),
            (Queue::MsgSend, true, 20),
            (Queue::PassiveBulkSend, true, 20),
            (Queue::ActiveBulkSend, true, 20),
            (Queue::MsgSend, false, 0),
        ] {
            let mut stats = m0_net_qstats::default();
            let event = Counted { queue, ok, received: 10, to_send: 20, time_in_queue: Some(5) };
            count(&mut stats, event);
            let expected = m0_net_qstats {
                nqs_num_s_events: ok.into(),
                nqs_num_f_events: (!ok).into(),
                nqs_time_in_queue: 5,
                nqs_total_bytes: bytes,
                nqs_max_bytes: bytes,
                ..m0_net_qstats::default()
            };
            assert_eq!(stats, expected, "{queue:?} {ok}");
        }
    }

    #[test]
    fn the_largest_event_is_remembered() {
        let mut stats = m0_net_qstats::default();
        for received in [3, 9, 4] {
            let event =
                Counted { queue: Queue::MsgRecv, ok: true, received, to_send: 0, time_in_queue: None };
            count(&mut stats, event);
        }
        assert_eq!((stats.nqs_max_bytes, stats.nqs_total_bytes, stats.nqs_time_in_queue), (9, 16, 0));
    }
}
