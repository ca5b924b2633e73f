//! Detection of an unresponsive peer to which messages are in flight.
//!
//! The system of a stopped or slow process still acknowledges bytes that arrive, or advertises a closed window, so it is not
//! unresponsive.

use std::time::Duration;

/// The state of a TCP connection, from the kernel's `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpState {
    /// Whether the peer has not acknowledged all bytes given to TCP.
    pub(crate) outstanding: bool,
    /// Whether some of these bytes have been sent: the peer's system would acknowledge them even if its process reads
    /// nothing.
    pub(crate) in_flight: bool,
    /// Number of bytes that the peer has acknowledged.
    pub(crate) acknowledged: u64,
    /// Number of retransmissions in a row since the last acknowledgement.
    pub(crate) retransmissions: u8,
    /// Number of probes of a closed window in a row without a response.
    pub(crate) probes: u8,
    /// Time since anything has come from the peer.
    pub(crate) last_received: Duration,
    /// The shortest round trip that was measured.
    pub(crate) shortest_round_trip: Duration,
    /// The smoothed round trip (SRTT of RFC 6298).
    pub(crate) round_trip: Duration,
    /// The variation of the round trip (RTTVAR of RFC 6298).
    pub(crate) variation: Duration,
}

/// The result of a check of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing is in flight.
    Nothing,
    /// The peer responds, or it is too early to suspect the contrary.
    Fine,
    /// Bytes arrive from the peer, but it acknowledges nothing: the path is dead in this direction.
    Unacknowledged,
    /// The peer has been unresponsive for too long, unless its response is on its way.
    MaybeUnresponsive,
    /// The peer has been unresponsive for too long.
    Unresponsive,
}

/// Retransmissions after which a peer is unresponsive: the first repairs a single loss, the second has not been acknowledged.
const RETRANSMISSIONS: u8 = 2;
/// Retransmissions that suffice after a longer time: a segment that the local system cannot send is not retransmitted, or
/// not counted.
const RETRANSMISSIONS_AT_LENGTH: u8 = 1;
/// Probes without a response that make a peer suspect: a peer skips some, so the second may be the first that it responds to.
const PROBES: u8 = 2;

/// The shortest time without a response after which a connection is late: longer than a system delays the acknowledgement
/// of a single segment.
pub(crate) const MIN_LATE: Duration = Duration::from_millis(100);
/// The longest that a peer far away may be unresponsive, in units of the limit of a near one.
const FARTHEST: u32 = 4;
/// The longest that a peer with a long or varying round trip may be unresponsive, in the same units.
const SLOWEST: u32 = 8;

impl TcpState {
    /// Returns the time after which a response is late by TCP's own measure (RFC 6298).
    pub(crate) fn late_after(&self) -> Duration {
        self.round_trip + 4 * self.variation
    }
}

/// Returns the time for which a peer may be unresponsive, where a peer with a short round trip may be for `limit`. The result
/// depends on TCP's measurements only: the peer's system acknowledges bytes that arrive, however slowly its process reads.
pub(crate) fn limit_for(tcp: &TcpState, limit: Duration) -> Duration {
    // A measurement from the time when the peer was hard to reach must not apply from then on.
    let far = limit.max(3 * tcp.shortest_round_trip).min(FARTHEST * limit);
    far.max(tcp.late_after().min(SLOWEST * limit))
}

/// Whether a connection is late, the first sign that its path may be dead: bytes in flight have to be sent
/// again or are late, and nothing else is received. The peer has acknowledged nothing for the time `unacknowledged_for`.
pub(crate) fn is_response_late(tcp: &TcpState, unacknowledged_for: Duration) -> bool {
    let late = MIN_LATE.max(tcp.late_after());
    tcp.in_flight && (tcp.retransmissions > 0 || tcp.last_received >= late && unacknowledged_for >= late)
}

/// Assesses a connection. For the time `suspected_for` it has had unacknowledged data while nothing was received from the
/// peer; for the time `unacknowledged_for` the peer has acknowledged nothing. `limit` is how long a peer with a short round
/// trip may be unresponsive.
pub(crate) fn assess(
    tcp: TcpState,
    suspected_for: Duration,
    unacknowledged_for: Duration,
    limit: Duration,
) -> Finding {
    if !tcp.outstanding {
        return Finding::Nothing;
    }
    let limit = limit_for(&tcp, limit);
    let is_suspected_for_long = suspected_for >= limit * 3 / 4;
    let is_suspected_for_longer = suspected_for >= limit * 3 / 2;
    if tcp.last_received < limit {
        // Bytes that arrive may be no more than the peer's own retransmissions.
        match tcp.retransmissions >= RETRANSMISSIONS_AT_LENGTH && unacknowledged_for >= limit {
            true => Finding::Unacknowledged,
            false => Finding::Fine,
        }
    } else if tcp.retransmissions >= RETRANSMISSIONS && is_suspected_for_long
        || tcp.retransmissions >= RETRANSMISSIONS_AT_LENGTH && is_suspected_for_longer
    {
        Finding::Unresponsive
    } else if tcp.probes >= PROBES && is_suspected_for_long {
        Finding::MaybeUnresponsive
    } else {
        Finding::Fine
    }
}

/// Whether the peer has lost an unresponsive connection. The peer sent a surplus connect `since_surplus_connect` ago, when the
/// connection was already suspected, so the network works. After a mere outage TCP would have retransmitted since then, and
/// the peer would have acknowledged: each retransmission timeout is as long as all before it together, plus the first.
pub(crate) fn is_lost_by_peer(
    suspected_for: Duration,
    since_surplus_connect: Duration,
    limit: Duration,
) -> bool {
    since_surplus_connect >= suspected_for.saturating_sub(since_surplus_connect) + limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use Finding::{Fine, MaybeUnresponsive, Nothing, Unacknowledged, Unresponsive};

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_peer_that_answers_nothing_is_unresponsive_and_a_slow_one_is_not() {
        // (what, outstanding, retransmissions, probes, last_received, round trip, suspected, unacknowledged, finding), with 600 ms
        // as the limit.
        let table = [
            ("idle", false, 0, 0, 60_000, 1, 0, 0, Nothing),
            ("idle, and was probed once", false, 0, 2, 60_000, 1, 60_000, 60_000, Nothing),
            ("just written", true, 0, 0, 60_000, 1, 0, 0, Fine),
            ("one loss", true, 1, 0, 300, 1, 300, 300, Fine),
            ("no answer to the second", true, 2, 0, 700, 1, 500, 500, Unresponsive),
            ("no answer to the second, after a long pause", true, 2, 0, 60_000, 1, 450, 450, Unresponsive),
            ("retransmissions in quick succession", true, 5, 0, 60_000, 1, 100, 100, Fine),
            ("losses, but what is sent arrives", true, 3, 0, 100, 1, 5_000, 500, Fine),
            ("something arrives, and nothing is acknowledged", true, 1, 0, 100, 1, 0, 600, Unacknowledged),
            ("something arrives, and nothing was retransmitted", true, 0, 0, 100, 1, 0, 5_000, Fine),
            ("a closed window: probes are answered", true, 0, 0, 100, 1, 60_000, 60_000, Fine),
            ("a closed window: one probe is not", true, 0, 1, 5_000, 1, 4_700, 4_700, Fine),
            ("a closed window, and no probe is answered", true, 0, 2, 900, 1, 800, 800, MaybeUnresponsive),
            ("nothing gets out", true, 1, 0, 1000, 1, 1000, 1000, Unresponsive),
            ("nothing gets out yet", true, 1, 0, 1000, 1, 800, 800, Fine),
            ("never retransmitted", true, 0, 0, 60_000, 1, 60_000, 60_000, Fine),
            ("far away", true, 2, 0, 1000, 500, 1000, 1000, Fine),
            ("far away, and something arrives", true, 2, 0, 1000, 500, 1200, 1400, Fine),
            ("far away, and the other direction works", true, 2, 0, 1000, 500, 1200, 1500, Unacknowledged),
            ("far away, and unresponsive", true, 2, 0, 1600, 500, 1300, 1300, Unresponsive),
            ("shortest round trip measured in an outage", true, 2, 0, 2500, 30_000, 2000, 2000, Unresponsive),
        ];
        for (
            what,
            outstanding,
            retransmissions,
            probes,
            last_received,
            round_trip,
            suspected,
            unacknowledged,
            finding,
        ) in table
        {
            let (last_received, round_trip) = (ms(last_received), ms(round_trip));
            let tcp = TcpState {
                outstanding,
                retransmissions,
                probes,
                last_received,
                shortest_round_trip: round_trip,
                ..TcpState::default()
            };
            assert_eq!(assess(tcp, ms(suspected), ms(unacknowledged), ms(600)), finding, "{what}");
        }
    }

    #[test]
    fn the_limit_follows_the_round_trip_and_its_variation_and_is_never_below_that_of_a_near_peer() {
        // (what, shortest, usual, variation, limit), with 600 ms as the limit of a near one.
        let table = [
            ("near", 1, 1, 1, 600),
            ("near, and answers vary", 1, 100, 100, 600),
            ("slow now and then", 1, 300, 150, 900),
            ("slow", 400, 500, 200, 1300),
            ("far away", 500, 510, 5, 1500),
            ("measured in an outage", 30_000, 1, 1, 2400),
            ("varied in an outage", 1, 3_750, 7_500, 4800),
        ];
        for (what, shortest, usual, variation, limit) in table {
            let tcp = TcpState {
                shortest_round_trip: ms(shortest),
                round_trip: ms(usual),
                variation: ms(variation),
                ..TcpState::default()
            };
            assert_eq!(limit_for(&tcp, ms(600)), ms(limit), "{what}");
        }
    }

    #[test]
    fn a_slow_peer_gets_more_time_than_a_near_one() {
        let near =
            TcpState { outstanding: true, retransmissions: 2, last_received: ms(900), ..TcpState::default() };
        let slow = TcpState { round_trip: ms(400), variation: ms(200), ..near };
        assert_eq!(assess(near, ms(900), ms(900), ms(600)), Unresponsive);
        assert_eq!(assess(slow, ms(900), ms(900), ms(600)), Fine);
        let slow = TcpState { last_received: ms(1300), ..slow };
        assert_eq!(assess(slow, ms(1300), ms(1300), ms(600)), Unresponsive);
    }

    #[test]
    fn a_connection_is_late_at_the_first_retransmission_or_when_an_acknowledgement_is_late() {
        // (what, in flight, retransmissions, last received, round trip, variation, unacknowledged, late)
        let table = [
            ("idle", false, 0, 60_000, 1, 1, 60_000, false),
            ("a closed window: the process does not read", false, 0, 200, 1, 1, 5_000, false),
            ("just sent, after a long pause", true, 0, 60_000, 1, 1, 0, false),
            ("not acknowledged yet", true, 0, 99, 1, 1, 99, false),
            ("nothing heard for a while", true, 0, 100, 1, 1, 100, true),
            ("something else is heard", true, 0, 10, 1, 1, 400, false),
            ("sent again", true, 1, 50, 1, 1, 50, true),
            ("far away", true, 0, 300, 300, 20, 300, false),
            ("far away, and late", true, 0, 380, 300, 20, 380, true),
        ];
        for (what, in_flight, retransmissions, last_received, round_trip, variation, unacknowledged, late) in
            table
        {
            let tcp = TcpState {
                outstanding: true,
                in_flight,
                retransmissions,
                last_received: ms(last_received),
                round_trip: ms(round_trip),
                variation: ms(variation),
                ..TcpState::default()
            };
            assert_eq!(is_response_late(&tcp, ms(unacknowledged)), late, "{what}");
        }
    }

    #[test]
    fn a_connection_is_lost_if_the_peer_connects_again_and_has_had_the_time_to_answer_since() {
        // (suspected, surplus connect, lost), with 600 ms as the limit.
        for (suspected, surplus_connect, lost) in [
            (650, 599, false),
            (650, 640, true),
            (1000, 799, false),
            (1000, 800, true),
            (1000, 1000, true),
            // After a long outage TCP may try again only after as long a time.
            (10_000, 3000, false),
            (10_000, 5200, false),
            (10_000, 5300, true),
        ] {
            assert_eq!(
                is_lost_by_peer(ms(suspected), ms(surplus_connect), ms(600)),
                lost,
                "{suspected} {surplus_connect}"
            );
        }
    }
}
