//! What has happened so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Dropped {
    /// It could not be read.
    Unreadable,
    /// A reply or an error, of which there is nothing to serve.
    NoRequest,
    /// The client does not say how long it waits.
    NoTimeout,
    /// The client does not wait any more.
    Late,
    /// From before the client connected again (PR-61).
    OldConnection,
    /// The same is being served.
    Duplicate,
    /// The client has its answer.
    Answered,
    /// A connect request like an earlier one, or from before it.
    OldConnect,
    /// It came, or waited, while the service ended.
    Stopping,
}

macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// Counts since the start of a service.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
            dropped: [u64; Dropped::ALL.len()],
        }

        /// The same, being counted.
        #[derive(Debug, Default)]
        pub(super) struct Tally {
            $(pub(super) $name: Tick,)*
            dropped: [Tick; Dropped::ALL.len()],
        }

        impl Tally {
            pub(super) fn counts(&self) -> Counts {
                Counts { $($name: self.$name.value(),)* dropped: self.dropped.each_ref().map(Tick::value) }
            }
        }
    };
}

counted! {
    /// Requests that arrived.
    arrived;
    /// Requests whose handling has ended, with a reply or without.
    served;
    /// Requests answered with an error before anybody looked at them.
    refused;
    /// Requests that were answered by what had been answered before.
    answered_again;
    /// Early replies.
    early_replies;
    /// Replies that LNet could not send.
    replies_failed;
    /// Replies that were sent once more by another way.
    replies_again;
    /// Bulk transfers that went wrong.
    bulk_failed;
    /// Buffers that were opened for requests.
    buffers_posted;
    /// Clients that were evicted for their silence.
    evicted;
}

/// One count.
#[derive(Debug, Default)]
pub(super) struct Tick(AtomicU64);

impl Dropped {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Unreadable,
        Self::NoRequest,
        Self::NoTimeout,
        Self::Late,
        Self::OldConnection,
        Self::Duplicate,
        Self::Answered,
        Self::OldConnect,
        Self::Stopping,
    ];
}

impl Counts {
    /// Requests dropped for this reason.
    pub const fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize]
    }

    /// Requests dropped for any reason.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

impl Tally {
    pub(super) fn dropped(&self, why: Dropped) {
        self.dropped[why as usize].one();
    }
}

impl Tick {
    pub(super) fn one(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, count: u64) {
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
    fn each_reason_has_a_count_of_its_own() {
        let tally = Tally::default();
        for (index, why) in Dropped::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, index, "{why:?}");
            (0..=index).for_each(|_| tally.dropped(why));
        }
        tally.served.one();
        let counts = tally.counts();
        assert!(Dropped::ALL.iter().all(|why| counts.dropped(*why) == *why as u64 + 1), "{counts:?}");
        assert_eq!((counts.served, counts.refused, counts.dropped_in_all()), (1, 0, 45));
    }
}
