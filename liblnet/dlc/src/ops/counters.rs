//! Output of counters, and of their sums.

use crate::Value;
use crate::request::{CommCount, ElementStats, Heat, MessageStats, NiTunables};

/// The lowest verbosity at which sums, bytes, heat and current credits are shown; that of the kernel's tool ends at 4.
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

/// The value of a `net statistics` or `peer statistics` key: sums of messages and of bytes.
pub(super) fn sums(parts: impl Iterator<Item = (ElementStats, ElementStats)> + Clone) -> Value {
    let mut shown = statistics(total(parts.clone().map(|(messages, _)| messages)));
    shown.merge(lengths(total(parts.map(|(_, bytes)| bytes))));
    shown
}

/// Adds the two keys for the recent activity of an interface or a peer NI, which the kernel's tool does not show.
pub(super) fn push_activity(shown: &mut Value, bytes: ElementStats, heat: Heat) {
    shown.push("lengths", lengths(bytes));
    let thousandths = |value: u64| Value::Float(value as f64 / 1000.0);
    let messages_and_bytes =
        Value::map().with("messages", thousandths(heat.messages)).with("bytes", thousandths(heat.bytes));
    shown.push("heat", messages_and_bytes);
}

/// Adds two keys: the state as a word, if the node reports it, and the seconds until the next recovery ping, if the interface is
/// unhealthy.
pub(super) fn push_state(shown: &mut Value, state: Option<&'static str>, next_ping_in: Option<u64>) {
    if let Some(state) = state {
        shown.push("ni state", state);
    }
    if let Some(seconds) = next_ping_in {
        shown.push("next ping in", seconds);
    }
}

/// Byte counters under the names that they have in the node's statistics.
fn lengths(bytes: ElementStats) -> Value {
    Value::map()
        .with("send_length", bytes.sent)
        .with("recv_length", bytes.received)
        .with("drop_length", bytes.dropped)
}

/// Adds the three keys with messages by type.
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

/// The value of a `tunables` key; values that are unset, as on the loopback, are 0.
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
