//! Whether a peer to which something is under way has fallen silent.
//!
//! A stopped or slow process is not silent: its system still acknowledges what comes, or says that there is no room.

use std::time::Duration;

/// What TCP knows of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpState {
    /// Something has been given to TCP that the peer has not acknowledged.
    pub(crate) outstanding: bool,
    /// Retransmissions in a row without an answer, or else probes of a closed window.
    pub(crate) unanswered: u8,
    /// Since anything has come from the peer.
    pub(crate) unheard: Duration,
    /// What an answer usually takes, at most.
    pub(crate) round_trip: Duration,
}

/// What a look at a connection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing is under way.
    Nothing,
    /// The peer answers, or there is no reason yet to think that it does not.
    Fine,
    /// The peer has been silent for too long.
    Silent,
}

/// A single loss is repaired by the first retransmission; who does not answer the second is gone.
const RETRANSMISSIONS: u8 = 2;
/// What the local system does not let out is not retransmitted, or not counted: then it is time that tells.
const RETRANSMISSIONS_AT_LENGTH: u8 = 1;

/// Judges a connection on which something was found outstanding `suspected` ago for the first time since the peer was
/// last heard. `limit` is how long a peer near by may be silent.
pub(crate) fn judge(tcp: TcpState, suspected: Duration, limit: Duration) -> Finding {
    if !tcp.outstanding {
        return Finding::Nothing;
    }
    let limit = limit.max(3 * tcp.round_trip);
    let enough = tcp.unanswered >= RETRANSMISSIONS && suspected >= limit * 3 / 4
        || tcp.unanswered >= RETRANSMISSIONS_AT_LENGTH && suspected >= limit * 3 / 2;
    if enough && tcp.unheard >= limit { Finding::Silent } else { Finding::Fine }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Finding::{Fine, Nothing, Silent};

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn who_answers_nothing_is_silent_and_who_is_slow_is_not() {
        // (what, outstanding, unanswered, unheard, round trip, suspected, finding), with 600 ms as the limit.
        let table = [
            ("idle", false, 0, 60_000, 1, 0, Nothing),
            ("idle, and was probed once", false, 2, 60_000, 1, 60_000, Nothing),
            ("just written", true, 0, 60_000, 1, 0, Fine),
            ("one loss", true, 1, 300, 1, 300, Fine),
            ("no answer to the second", true, 2, 700, 1, 500, Silent),
            ("no answer to the second, after a long pause", true, 2, 60_000, 1, 450, Silent),
            ("retransmissions in a hurry", true, 5, 60_000, 1, 100, Fine),
            ("losses, but it is heard", true, 3, 100, 1, 5_000, Fine),
            ("a closed window: probes are answered", true, 0, 100, 1, 60_000, Fine),
            ("a closed window, and nobody answers", true, 2, 900, 1, 800, Silent),
            ("nothing gets out", true, 1, 1000, 1, 1000, Silent),
            ("nothing gets out yet", true, 1, 1000, 1, 800, Fine),
            ("never retransmitted", true, 0, 60_000, 1, 60_000, Fine),
            ("far away", true, 2, 1000, 500, 1000, Fine),
            ("far away, and gone", true, 2, 1600, 500, 1300, Silent),
        ];
        for (what, outstanding, unanswered, unheard, round_trip, suspected, finding) in table {
            let tcp = TcpState { outstanding, unanswered, unheard: ms(unheard), round_trip: ms(round_trip) };
            assert_eq!(judge(tcp, ms(suspected), ms(600)), finding, "{what}");
        }
    }
}
