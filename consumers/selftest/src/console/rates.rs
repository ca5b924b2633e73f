//! Computes rates from two readings of a node's counters (lnet-selftest 13.2), and decides whether they contain errors (13.3).

use super::Counters;
use serde::Serialize;

/// Counts of LNet messages, of RPCs and of bytes in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Messages received.
    pub received: f64,
    /// Messages sent.
    pub sent: f64,
    /// Payload bytes received.
    pub received_bytes: f64,
    /// Payload bytes sent.
    pub sent_bytes: f64,
    /// Requests of selftest received.
    pub rpcs_received: f64,
    /// Requests of selftest sent.
    pub rpcs_sent: f64,
    /// Bytes of bulk fetched as a server.
    pub bulk_got: f64,
    /// Bytes of bulk put as a server.
    pub bulk_put: f64,
}

/// The spread of one rate over the nodes of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean over the nodes.
    pub average: f64,
    /// The least; as in the kernel's tool, a 0 is replaced by the next value.
    pub least: f64,
    /// The largest rate.
    pub most: f64,
}

impl Rates {
    /// Returns the rates of one node between two samples of its counters, by the node's own clock. `None` if no time has passed
    /// on that clock, as after the start of a new session. Counters have 32 bits and wrap.
    pub fn between(before: &Counters, after: &Counters) -> Option<Self> {
        let passed = after.running_ms.wrapping_sub(before.running_ms);
        if passed == 0 || passed > i32::MAX as u32 {
            return None;
        }
        let seconds = f64::from(passed) / 1000.0;
        let count = |before: u32, after: u32| f64::from(after.wrapping_sub(before)) / seconds;
        let bytes = |before: u64, after: u64| after.wrapping_sub(before) as f64 / seconds;
        Some(Self {
            received: count(before.received, after.received),
            sent: count(before.sent, after.sent),
            received_bytes: bytes(before.received_bytes, after.received_bytes),
            sent_bytes: bytes(before.sent_bytes, after.sent_bytes),
            rpcs_received: count(before.rpcs_received, after.rpcs_received),
            rpcs_sent: count(before.rpcs_sent, after.rpcs_sent),
            bulk_got: bytes(before.bulk_get, after.bulk_get),
            bulk_put: bytes(before.bulk_put, after.bulk_put),
        })
    }
}

impl Spread {
    /// Returns the spread of these values; all 0 if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut sum, mut count, mut least, mut most) = (0.0, 0_u32, 0.0, 0.0_f64);
        for value in values {
            sum += value;
            count += 1;
            most = most.max(value);
            if least == 0.0 || value < least {
                least = value;
            }
        }
        let average = if count == 0 { 0.0 } else { sum / f64::from(count) };
        Self { average, least, most }
    }
}

impl Counters {
    /// Whether the node counts as one with errors: errors of tests in this session and, with `rpc`, errors of RPCs
    /// since the node's start.
    pub fn has_errors(&self, rpc: bool) -> bool {
        let of_tests = self.brw_errors != 0 || self.ping_errors != 0;
        of_tests || rpc && (self.rpc_errors != 0 || self.rpcs_dropped != 0 || self.rpcs_expired != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_nodes_own_time_and_counters_wrap() {
        let before = Counters { running_ms: 1000, sent: u32::MAX - 9, received: 5, ..Counters::default() };
        let after =
            Counters { running_ms: 3000, sent: 90, received: 25, sent_bytes: 4 << 20, ..Counters::default() };
        let expected =
            Rates { received: 10.0, sent: 50.0, sent_bytes: f64::from(2 << 20), ..Rates::default() };
        assert_eq!(Rates::between(&before, &after), Some(expected));
        assert_eq!(Rates::between(&after, &after), None);
        assert_eq!(Rates::between(&after, &before), None);
    }

    #[test]
    fn a_least_value_of_0_gives_way_to_the_next() {
        assert_eq!(Spread::of([]), Spread::default());
        assert_eq!(Spread::of([4.0, 2.0, 6.0]), Spread { average: 4.0, least: 2.0, most: 6.0 });
        assert_eq!(Spread::of([0.0, 5.0, 7.0]), Spread { average: 4.0, least: 5.0, most: 7.0 });
        assert_eq!(Spread::of([5.0, 0.0]), Spread { average: 2.5, least: 0.0, most: 5.0 });
    }

    #[test]
    fn errors_of_rpcs_count_only_where_they_are_asked_for() {
        let node = |brw, ping, errors, dropped, expired| Counters {
            brw_errors: brw,
            ping_errors: ping,
            rpc_errors: errors,
            rpcs_dropped: dropped,
            rpcs_expired: expired,
            ..Counters::default()
        };
        assert!(!node(0, 0, 0, 0, 0).has_errors(true));
        for counters in [node(1, 0, 0, 0, 0), node(0, 1, 0, 0, 0)] {
            assert!(counters.has_errors(true) && counters.has_errors(false));
        }
        for counters in [node(0, 0, 1, 0, 0), node(0, 0, 0, 1, 0), node(0, 0, 0, 0, 1)] {
            assert!(counters.has_errors(true) && !counters.has_errors(false));
        }
    }
}
