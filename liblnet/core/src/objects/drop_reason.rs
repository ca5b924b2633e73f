//! The reasons why arriving messages are dropped, and the remedies.

/// The reason why a message that arrived is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// A PUT or GET for which no match entry with memory is posted.
    NoMatch,
    /// No match entry is posted for a PUT on a lazy portal, and its driver cannot keep the payload.
    NotDeferred,
    /// A PUT or GET that is longer than the memory it matches, which does not truncate.
    TooLong,
    /// A PUT or GET to a portal number out of range.
    NoSuchPortal,
    /// A reason that the programs of the two nodes have no influence on.
    Other(&'static str),
}

impl DropReason {
    /// The reason for the log.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NoMatch => "no match",
            Self::NotDeferred => "no match, and it cannot be deferred",
            Self::TooLong => "longer than the memory it matches",
            Self::NoSuchPortal => "no such portal",
            Self::Other(text) => text,
        }
    }

    /// The remedy for the log, if a program has one.
    pub(crate) const fn remedy(self) -> Option<&'static str> {
        match self {
            Self::NoMatch => Some("attach a match entry with memory for it there before it is sent"),
            Self::NotDeferred => Some("attach memory there before so much is sent"),
            Self::TooLong => Some("attach memory of its length, or with LNET_MD_TRUNCATE"),
            Self::NoSuchPortal => Some("portals are numbered from 0 to 63: see the program that sent it"),
            Self::Other(_) => None,
        }
    }
}

impl From<&'static str> for DropReason {
    fn from(text: &'static str) -> Self {
        Self::Other(text)
    }
}
