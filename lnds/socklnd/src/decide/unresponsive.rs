//! Whether a peer to which something is under way has become unresponsive.
//!
//! A stopped or slow process is not unresponsive: its system still acknowledges what arrives, or advertises a closed window.

use std::time::Duration;

/// What TCP knows of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpState {
    /// Something has been given to TCP that the peer has not acknowledged.
    pub(crate) outstanding: bool,
    /// Bytes that the peer has acknowledged.
    pub(crate) acknowledged: u64,
    /// Retransmissions in a row since then.
    pub(crate) retransmissions: u8,
    /// Probes of a closed window in a row without an answer.
    pub(crate) probes: u8,
    /// Since anything has come from the peer.
    pub(crate) last_received: Duration,
    /// What an answer takes at best.
    pub(crate) round_trip: Duration,
}

/// The result of a check of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing is under way.
    Nothing,
    /// The peer answers, or there is no reason yet to think that it does not.
    Fine,
    /// Something arrives from the peer, but it acknowledges nothing: the path is dead in this direction.
    Unacknowledged,
    /// The peer has been unresponsive for too long, unless its answer is on its way.
    MaybeUnresponsive,
    /// The peer has been unresponsive for too long.
    Unresponsive,
}

/// The first retransmission repairs a single loss; a peer that does not acknowledge the second is unresponsive.
const RETRANSMISSIONS: u8 = 2;
/// What the local system does not send is not retransmitted, or not counted: then the time decides.
const RETRANSMISSIONS_AT_LENGTH: u8 = 1;
/// A peer does not answer every probe, so the second may be the only one in a while that it answers at all.
const PROBES: u8 = 2;

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
    // What was measured when the peer was hard to reach is not to be the measure from then on.
    let limit = limit.max(3 * tcp.round_trip).min(4 * limit);
    let is_suspected_for_long = suspected_for >= limit * 3 / 4;
    let is_suspected_for_longer = suspected_for >= limit * 3 / 2;
    if tcp.last_received < limit {
        // What arrives may be no more than the peer's own retransmissions.
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
            ("round trip measured in an outage", true, 2, 0, 2500, 30_000, 2000, 2000, Unresponsive),
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
            let tcp =
                TcpState { outstanding, acknowledged: 0, retransmissions, probes, last_received, round_trip };
            assert_eq!(assess(tcp, ms(suspected), ms(unacknowledged), ms(600)), finding, "{what}");
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
