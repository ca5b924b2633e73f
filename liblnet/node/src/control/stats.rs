//! Counters as they are shown.

use lnet_core::Core;
use lnet_core::stats::{Counters, NodeCounters, Tally};
use lnet_dlc::request::{CommCount, ElementStats, LnetStats, MessageStats};

/// The node's (dbg-045). What is not counted yet is 0.
pub(super) fn node(core: &Core) -> LnetStats {
    let (counters, population) = (core.counters(), core.population());
    LnetStats {
        msgs_alloc: population.alive,
        msgs_max: population.most,
        errors: population.errors,
        send_count: counters.sent.messages(),
        recv_count: counters.received.messages(),
        drop_count: counters.dropped.messages(),
        send_length: counters.sent.bytes,
        recv_length: counters.received.bytes,
        drop_length: counters.dropped.bytes,
        ..LnetStats::default()
    }
}

/// Of an interface or a peer NI: messages in all (dbg-010, dbg-015, dbg-025).
pub(super) fn element(counters: &Counters) -> ElementStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    ElementStats { sent: sent.messages(), received: received.messages(), dropped: dropped.messages() }
}

/// Of an interface or a peer NI: bytes of payload.
pub(super) fn bytes(counters: &Counters) -> ElementStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    ElementStats { sent: sent.bytes, received: received.bytes, dropped: dropped.bytes }
}

/// Of an interface or a peer NI: messages by kind.
pub(super) fn messages(counters: &Counters) -> MessageStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    let by_kind = |tally: Tally| CommCount {
        put: tally.put,
        get: tally.get,
        reply: tally.reply,
        ack: tally.ack,
        hello: 0,
    };
    MessageStats { sent: by_kind(sent), received: by_kind(received), dropped: by_kind(dropped) }
}
