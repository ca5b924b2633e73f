//! Services: the kinds of RPCs.

use super::constants::{PORTAL_FRAMEWORK, PORTAL_TESTS};

/// A kind of RPC. Its number is the match bits of its requests; the type in the header of messages is another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Service {
    /// Asks for the session of a node.
    Debug = 0,
    /// Makes a node a member of a session.
    MakeSession = 1,
    /// Removes a node from a session.
    RemoveSession = 2,
    /// Runs, stops and queries batches.
    Batch = 3,
    /// Adds a test to a batch.
    AddTest = 4,
    /// Asks for the counters of a node.
    QueryStat = 5,
    /// The request of a node to a console: the node asks to join a group.
    Join = 6,
    /// A transfer of the bulk test.
    Brw = 11,
    /// A round trip of the ping test.
    Ping = 12,
}

impl Service {
    /// The services of the framework.
    pub const FRAMEWORK: [Self; 7] = [
        Self::Debug,
        Self::MakeSession,
        Self::RemoveSession,
        Self::Batch,
        Self::AddTest,
        Self::QueryStat,
        Self::Join,
    ];
    /// The services of tests.
    pub const TESTS: [Self; 2] = [Self::Brw, Self::Ping];

    /// Finds the service with this number on the wire.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::FRAMEWORK.into_iter().chain(Self::TESTS).find(|service| service.number() == number)
    }

    /// The service's number on the wire.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The match bits of requests.
    pub const fn match_bits(self) -> u64 {
        self as u64
    }

    /// Whether the service belongs to the framework, not to a test.
    pub const fn is_framework(self) -> bool {
        (self as u8) < 10
    }

    /// The portal that the service's requests go to.
    pub const fn portal(self) -> u32 {
        if self.is_framework() { PORTAL_FRAMEWORK } else { PORTAL_TESTS }
    }

    /// The type in the header of requests (selftest 1).
    pub const fn request_type(self) -> u32 {
        match self {
            Self::MakeSession => 0,
            Self::RemoveSession => 2,
            Self::Batch => 4,
            Self::QueryStat => 6,
            Self::AddTest => 8,
            Self::Debug => 10,
            Self::Brw => 12,
            Self::Ping => 14,
            Self::Join => 16,
        }
    }

    /// The type in the header of replies.
    pub const fn reply_type(self) -> u32 {
        self.request_type() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_bits_and_types_are_numbered_differently() {
        use Service as S;
        let types =
            [0, 1, 2, 3, 4, 5, 6, 11, 12].map(|number| S::from_number(number).unwrap().request_type());
        assert_eq!(types, [10, 0, 2, 4, 8, 6, 16, 12, 14]);
        assert_eq!([7, 8, 9, 10, 13].map(S::from_number), [None; 5]);
        assert_eq!((S::Join.portal(), S::Brw.portal()), (51, 50));
    }
}
