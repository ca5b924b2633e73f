//! Whether a peer to which something is under way has fallen silent.
//!
//! A stopped or slow process is not silent: its system still acknowledges what comes, or says that there is no room.

use std::time::Duration;

/// What TCP knows of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpState {
    /// Something has been given to TCP that the peer has not acknowledged.
    pub(crate) outstanding: bool,
    /// Retransmissions in a row without an answer.
    pub(crate) retransmissions: u8,
    /// Probes of a closed window in a row without an answer.
    pub(crate) probes: u8,
    /// Since anything has come from the peer.
    pub(crate) unheard: Duration,
    /// What an answer takes at best.
    pub(crate) round_trip: Duration,
}

/// What a look at a connection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing is under way.
    Nothing,
    /// The peer answers, or there is no reason yet to think that it does not.
    Fine,
    /// The peer has been silent for too long, unless its answer is on its way.
    PerhapsSilent,
    /// The peer has been silent for too long.
    Silent,
}

/// A single loss is repaired by the first retransmission; who does not answer the second is gone.
const RETRANSMISSIONS: u8 = 2;
/// What the local system does not let out is not retransmitted, or not counted: then it is time that tells.
const RETRANSMISSIONS_AT_LENGTH: u8 = 1;
/// A peer does not answer every probe, so the second may be the only one in a while that it answers at all.
const PROBES: u8 = 2;

/// Judges a connection on which something was found outstanding `suspected` ago for the first time since the peer was
/// last heard. `limit` is how long a peer near by may be silent.
pub(crate) fn judge(tcp: TcpState, suspected: Duration, limit: Duration) -> Finding {
    if !tcp.outstanding {
        return Finding::Nothing;
    }
    // What was measured when the peer was hard to reach is not to be the measure from then on.
    let limit = limit.max(3 * tcp.round_trip).min(4 * limit);
    let for_a_while = suspected >= limit * 3 / 4;
    let for_long = suspected >= limit * 3 / 2;
    if tcp.unheard < limit {
        Finding::Fine
    } else if tcp.retransmissions >= RETRANSMISSIONS && for_a_while
        || tcp.retransmissions >= RETRANSMISSIONS_AT_LENGTH && for_long
    {
        Finding::Silent
    } else if tcp.probes >= PROBES && for_a_while {
        Finding::PerhapsSilent
    } else {
        Finding::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Finding::{Fine, Nothing, PerhapsSilent, Silent};

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn who_answers_nothing_is_silent_and_who_is_slow_is_not() {
        // (what, outstanding, retransmissions, probes, unheard, round trip, suspected, finding), with 600 ms as the limit.
        let table = [
            ("idle", false, 0, 0, 60_000, 1, 0, Nothing),
            ("idle, and was probed once", false, 0, 2, 60_000, 1, 60_000, Nothing),
            ("just written", true, 0, 0, 60_000, 1, 0, Fine),
            ("one loss", true, 1, 0, 300, 1, 300, Fine),
            ("no answer to the second", true, 2, 0, 700, 1, 500, Silent),
            ("no answer to the second, after a long pause", true, 2, 0, 60_000, 1, 450, Silent),
            ("retransmissions in a hurry", true, 5, 0, 60_000, 1, 100, Fine),
            ("losses, but it is heard", true, 3, 0, 100, 1, 5_000, Fine),
            ("a closed window: probes are answered", true, 0, 0, 100, 1, 60_000, Fine),
            ("a closed window: one probe is not", true, 0, 1, 5_000, 1, 4_700, Fine),
            ("a closed window, and nobody answers", true, 0, 2, 900, 1, 800, PerhapsSilent),
            ("nothing gets out", true, 1, 0, 1000, 1, 1000, Silent),
            ("nothing gets out yet", true, 1, 0, 1000, 1, 800, Fine),
            ("never retransmitted", true, 0, 0, 60_000, 1, 60_000, Fine),
            ("far away", true, 2, 0, 1000, 500, 1000, Fine),
            ("far away, and gone", true, 2, 0, 1600, 500, 1300, Silent),
            ("measured in trouble", true, 2, 0, 2500, 30_000, 2000, Silent),
        ];
        for (what, outstanding, retransmissions, probes, unheard, round_trip, suspected, finding) in table {
            let (unheard, round_trip) = (ms(unheard), ms(round_trip));
            let tcp = TcpState { outstanding, retransmissions, probes, unheard, round_trip };
            assert_eq!(judge(tcp, ms(suspected), ms(600)), finding, "{what}");
        }
    }
}
