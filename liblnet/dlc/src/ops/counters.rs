//! Counters as they are shown, and their sums.

use crate::Value;
use crate::request::{CommCount, ElementStats, MessageStats, NiTunables};

/// From which level of verbosity sums and current credits are shown; the kernel's tool ends at 4.
pub(super) const EXTRA_DETAIL: u32 = 5;

/// The sum over the interfaces of a net (dbg-085) or the NIDs of a peer (dbg-090).
pub fn total(parts: impl IntoIterator<Item = ElementStats>) -> ElementStats {
    parts.into_iter().fold(ElementStats::default(), |sum, part| ElementStats {
        sent: sum.sent.saturating_add(part.sent),
        received: sum.received.saturating_add(part.received),
        dropped: sum.dropped.saturating_add(part.dropped),
    })
}

/// The value of a `statistics` key.
pub(super) fn statistics(stats: ElementStats) -> Value {
    Value::map()
        .with("send_count", stats.sent)
        .with("recv_count", stats.received)
        .with("drop_count", stats.dropped)
}

/// The three keys with messages by kind.
pub(super) fn push_messages(shown: &mut Value, messages: &MessageStats) {
    shown.push("sent_stats", by_kind(messages.sent));
    shown.push("received_stats", by_kind(messages.received));
    shown.push("dropped_stats", by_kind(messages.dropped));
}

fn by_kind(count: CommCount) -> Value {
    Value::map()
        .with("put", count.put)
        .with("get", count.get)
        .with("reply", count.reply)
        .with("ack", count.ack)
        .with("hello", count.hello)
}

/// The value of a `tunables` key; what is unset, as on the loopback, is 0.
pub(super) fn tunables(set: &NiTunables) -> Value {
    Value::map()
        .with("peer_timeout", set.peer_timeout.unwrap_or(0))
        .with("peer_credits", set.peer_credits.unwrap_or(0))
        .with("peer_buffer_credits", set.peer_buffer_credits.unwrap_or(0))
        .with("credits", set.credits.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_at_the_largest_number() {
        let part = |sent| ElementStats { sent, received: 2, dropped: 1 };
        assert_eq!(total([part(1), part(4)]), ElementStats { sent: 5, received: 4, dropped: 2 });
        assert_eq!(total([part(u64::MAX), part(4)]).sent, u64::MAX);
        assert_eq!(total([]), ElementStats::default());
    }
}
