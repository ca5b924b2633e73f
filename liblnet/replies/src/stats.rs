//! Counters in the form of replies.

use lnet_core::Core;
use lnet_core::health::{Cause, HealthTotals};
use lnet_core::stats::{Counters, NodeCounters, TypeCounts};
use lnet_dlc::request::{CommCount, ElementStats, LnetStats, MessageStats};

/// The counters of the node (dbg-020, dbg-045).
pub fn node_stats(core: &Core) -> LnetStats {
    let (counters, messages, forwarded) = (core.counters(), core.message_counts(), core.admin().forwarded());
    let HealthTotals {
        responses_awaited,
        resends,
        resends_succeeded,
        resends_failed,
        response_timeouts,
        failures,
    } = core.admin().health_totals();
    LnetStats {
        msgs_alloc: messages.msgs_alloc,
        msgs_max: messages.msgs_max,
        rst_alloc: responses_awaited,
        errors: messages.errors,
        send_count: counters.sent.messages(),
        resend_count: resends,
        response_timeout_count: response_timeouts,
        local_interrupt_count: failures.of(Cause::LocalInterrupt),
        local_dropped_count: failures.of(Cause::LocalDropped),
        local_aborted_count: failures.of(Cause::LocalAborted),
        local_no_route_count: failures.of(Cause::LocalNoRoute),
        local_timeout_count: failures.of(Cause::LocalTimeout),
        local_error_count: failures.of(Cause::LocalError),
        remote_dropped_count: failures.of(Cause::RemoteDropped),
        remote_error_count: failures.of(Cause::RemoteError),
        remote_timeout_count: failures.of(Cause::RemoteTimeout),
        network_timeout_count: failures.of(Cause::NetworkTimeout),
        recv_count: counters.received.messages(),
        route_count: forwarded.messages,
        drop_count: counters.dropped.messages(),
        send_length: counters.sent.bytes,
        recv_length: counters.received.bytes,
        route_length: forwarded.bytes,
        drop_length: counters.dropped.bytes,
        partial_count: messages.partial,
        partial_dropped_count: messages.partial_dropped,
        origin_refused_count: messages.origins_refused,
        cut_through_count: forwarded.cut_through.begun,
        cut_through_length: forwarded.cut_through.bytes,
        cut_through_abandoned_count: forwarded.cut_through.abandoned,
        resend_succeeded_count: resends_succeeded,
        resend_failed_count: resends_failed,
    }
}

/// The total number of messages of a local NI or a peer NI (dbg-010, dbg-015, dbg-025).
pub(super) fn element(counters: &Counters) -> ElementStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    ElementStats { sent: sent.messages(), received: received.messages(), dropped: dropped.messages() }
}

/// The bytes of payload of a local NI or a peer NI.
pub(super) fn bytes(counters: &Counters) -> ElementStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    ElementStats { sent: sent.bytes, received: received.bytes, dropped: dropped.bytes }
}

/// The number of messages of a local NI or a peer NI by type.
pub(super) fn messages(counters: &Counters) -> MessageStats {
    let NodeCounters { sent, received, dropped } = counters.read_all();
    let by_kind = |counts: TypeCounts| CommCount {
        put: counts.put,
        get: counts.get,
        reply: counts.reply,
        ack: counts.ack,
        hello: 0,
    };
    MessageStats { sent: by_kind(sent), received: by_kind(received), dropped: by_kind(dropped) }
}
