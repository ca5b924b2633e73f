//! What the active side does when a connection is refused (wire-o2ib 6.4).

use crate::proto::{
    REJECTED_BY_CONSUMER, REJECTED_INVALID_SERVICE, REJECTED_STALE_CONNECTION, Reject, RejectReason, Version,
};
use lnet_core::Errno;

/// What a connection request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) version: Version,
    /// The incarnation of the peer, if it is known.
    pub(crate) stamp: Option<u64>,
    pub(crate) depth: u16,
    pub(crate) fragments: u16,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Ask again, for this.
    Again(Wanted),
    /// Give up: the messages that wait fail with this error.
    GiveUp(Errno),
}

/// Decides after a refusal with the connection manager's `reason`, and reject data if they could be read.
pub(crate) fn refused(reason: u16, reject: Option<Reject>, wanted: Wanted) -> Refused {
    match (reason, reject) {
        (REJECTED_STALE_CONNECTION, _) => Refused::Again(Wanted { version: Version::V2, ..wanted }),
        (REJECTED_INVALID_SERVICE, _) => Refused::GiveUp(Errno::HostUnreachable),
        (REJECTED_BY_CONSUMER, Some(reject)) => rejected(reject, wanted),
        _ => Refused::GiveUp(Errno::ConnectionRefused),
    }
}

fn rejected(reject: Reject, wanted: Wanted) -> Refused {
    let Reject { version, reason, details } = reject;
    let known = Version::from_number(version);
    let stamp = details.map(|details| details.incarnation).filter(|stamp| *stamp != 0).or(wanted.stamp);
    let smaller = |offered: u16, asked: u16| (1..asked).contains(&offered).then_some(offered);
    let next = match (reason, details, known) {
        (RejectReason::Race | RejectReason::Stale | RejectReason::IncompatibleVersion, _, Some(version)) => {
            Some(Wanted { version, stamp, ..wanted })
        }
        (RejectReason::TooManyFragments, Some(details), _) => {
            smaller(details.params.max_fragments, wanted.fragments).map(|fragments| Wanted {
                stamp,
                fragments,
                ..wanted
            })
        }
        (RejectReason::QueueTooDeep, Some(details), _) => {
            smaller(details.params.queue_depth, wanted.depth).map(|depth| Wanted { stamp, depth, ..wanted })
        }
        _ => None,
    };
    next.map_or(Refused::GiveUp(Errno::ConnectionRefused), Refused::Again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{ConnParams, RejectDetails};

    const WANTED: Wanted = Wanted { version: Version::V2, stamp: None, depth: 16, fragments: 257 };

    fn reject(reason: RejectReason, queue_depth: u16, max_fragments: u16) -> Option<Reject> {
        let params = ConnParams { queue_depth, max_fragments, max_message_size: 4096 };
        let details = Some(RejectDetails { incarnation: 5, params });
        Some(Reject { version: 0x12, reason, details })
    }

    #[test]
    fn each_reject_has_the_reaction_of_the_specification() {
        let again =
            |change: fn(Wanted) -> Wanted| Refused::Again(change(Wanted { stamp: Some(5), ..WANTED }));
        let refused_for_good = Refused::GiveUp(Errno::ConnectionRefused);
        for (reason, reject, expected) in [
            (28, reject(RejectReason::Race, 8, 257), again(|w| w)),
            (28, reject(RejectReason::Stale, 8, 257), again(|w| w)),
            (28, reject(RejectReason::IncompatibleVersion, 8, 257), again(|w| w)),
            (28, reject(RejectReason::QueueTooDeep, 8, 257), again(|w| Wanted { depth: 8, ..w })),
            (28, reject(RejectReason::QueueTooDeep, 16, 257), refused_for_good),
            (28, reject(RejectReason::QueueTooDeep, 0, 257), refused_for_good),
            (28, reject(RejectReason::TooManyFragments, 8, 256), again(|w| Wanted { fragments: 256, ..w })),
            (28, reject(RejectReason::TooManyFragments, 8, 257), refused_for_good),
            (28, reject(RejectReason::NoResources, 8, 257), refused_for_good),
            (28, reject(RejectReason::Fatal, 8, 257), refused_for_good),
            (28, reject(RejectReason::TooEarly, 8, 257), refused_for_good),
            (28, reject(RejectReason::Unknown(77), 8, 257), refused_for_good),
            (28, None, refused_for_good),
            (10, None, Refused::Again(WANTED)),
            (8, None, Refused::GiveUp(Errno::HostUnreachable)),
            (3, None, refused_for_good),
        ] {
            assert_eq!(refused(reason, reject, WANTED), expected, "{reason} {reject:?}");
        }
    }

    #[test]
    fn what_a_reject_of_the_older_version_says_of_itself_does_not_count() {
        let old = Reject { version: 0x11, reason: RejectReason::Stale, details: None };
        assert_eq!(refused(28, Some(old), WANTED), Refused::Again(Wanted { version: Version::V1, ..WANTED }));
        let old = Reject { reason: RejectReason::QueueTooDeep, ..old };
        assert_eq!(refused(28, Some(old), WANTED), Refused::GiveUp(Errno::ConnectionRefused));
        let unknown = Reject { version: 0x99, reason: RejectReason::Stale, details: None };
        assert_eq!(refused(28, Some(unknown), WANTED), Refused::GiveUp(Errno::ConnectionRefused));
    }
}
