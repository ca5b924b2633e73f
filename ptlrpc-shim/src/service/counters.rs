//! Counters of a service.

use std::sync::atomic::{AtomicU64, Ordering};

/// The reason why a request was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Dropped {
    /// The message is not valid.
    Malformed,
    /// The message is a reply or an error.
    NotARequest,
    /// The request has no timeout.
    NoTimeout,
    /// The request arrived after its timeout.
    Expired,
    /// The request is of an earlier connection of the client (PR-61).
    StaleConnection,
    /// The same request is in progress.
    Duplicate,
    /// The client has its reply.
    AlreadyReplied,
    /// A connect request that is no later than an earlier one.
    StaleConnect,
    /// The service was ending.
    Stopping,
}

macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// The counters since the start of a service.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
            dropped: [u64; Dropped::ALL.len()],
        }

        /// The counters of a running service.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
            dropped: [Counter; Dropped::ALL.len()],
        }

        impl Counters {
            pub(crate) fn counts(&self) -> Counts {
                Counts { $($name: self.$name.value(),)* dropped: self.dropped.each_ref().map(Counter::value) }
            }
        }
    };
}

counted! {
    /// Requests that have arrived.
    arrived;
    /// Requests whose handling has ended, with a reply or without.
    served;
    /// Requests that were answered with an error and not executed.
    refused;
    /// Duplicates to which an earlier reply was sent again.
    answered_again;
    /// Early replies that were sent.
    early_replies;
    /// Replies that LNet could not send.
    replies_failed;
    /// Replies that were sent again by another path.
    replies_again;
    /// Bulk transfers that failed.
    bulk_failed;
    /// Request buffers that were attached.
    buffers_posted;
    /// Clients that were evicted because they were unresponsive.
    evicted;
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Dropped {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::NotARequest,
        Self::NoTimeout,
        Self::Expired,
        Self::StaleConnection,
        Self::Duplicate,
        Self::AlreadyReplied,
        Self::StaleConnect,
        Self::Stopping,
    ];
}

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed message",
            Self::NotARequest => "not a request",
            Self::NoTimeout => "no timeout",
            Self::Expired => "its timeout is over",
            Self::StaleConnection => "stale connection",
            Self::Duplicate => "duplicate",
            Self::AlreadyReplied => "the client has the reply",
            Self::StaleConnect => "stale connect request",
            Self::Stopping => "the service is ending",
        })
    }
}

impl Counts {
    /// Requests dropped for this reason.
    pub const fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize]
    }

    /// Requests dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

impl Counters {
    pub(crate) fn dropped(&self, why: Dropped) {
        self.dropped[why as usize].add_one();
    }
}

impl Counter {
    pub(crate) fn add_one(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let counters = Counters::default();
        for (index, why) in Dropped::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, index, "{why:?}");
            (0..=index).for_each(|_| counters.dropped(why));
        }
        counters.served.add_one();
        let counts = counters.counts();
        assert!(Dropped::ALL.iter().all(|why| counts.dropped(*why) == *why as u64 + 1), "{counts:?}");
        assert_eq!((counts.served, counts.refused, counts.dropped_total()), (1, 0, 45));
    }
}
