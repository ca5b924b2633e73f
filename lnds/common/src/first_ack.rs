//! The oldest delivery ACK of a peer, which is often the only one, and comes and goes without a lock.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The oldest pending ACK, and whether the peer is on its scheduler's list, so that the ACK does not wait for ever. Any thread may call
/// any method.
#[derive(Debug, Default)]
pub(crate) struct FirstAck {
    /// The ACK, or 0.
    ack: AtomicU64,
    is_listed: AtomicBool,
}

/// The result of [`FirstAck::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// There is another, or the peer is not listed: the ACK is not taken over.
    Refused,
    /// The ACK waits.
    Waits,
    /// The ACK waits, and the peer is to be listed: it was taken off the list meanwhile.
    ToBeListed,
}

impl FirstAck {
    /// Puts an ACK in, if there is none, and the peer is listed.
    #[inline]
    pub(crate) fn put(&self, ack: u64) -> Put {
        if !self.is_listed.load(Ordering::Relaxed)
            || self.ack.compare_exchange(0, ack, Ordering::SeqCst, Ordering::Relaxed).is_err()
        {
            return Put::Refused;
        }
        if self.is_listed.load(Ordering::SeqCst) { Put::Waits } else { Put::ToBeListed }
    }

    /// Takes the ACK.
    #[inline]
    pub(crate) fn take(&self) -> Option<u64> {
        // Often there is none, and reading costs less than exchanging.
        if self.ack.load(Ordering::SeqCst) == 0 {
            return None;
        }
        Some(self.ack.swap(0, Ordering::SeqCst)).filter(|ack| *ack != 0)
    }

    /// Whether the peer is listed.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed.load(Ordering::SeqCst)
    }

    /// Notes that the peer is listed; returns whether it was.
    pub(crate) fn list(&self) -> bool {
        self.is_listed.swap(true, Ordering::SeqCst)
    }

    /// Notes that the peer is listed no more, and takes the ACK. Who puts one in later finds that the peer is to be listed.
    pub(crate) fn unlist(&self) -> Option<u64> {
        self.is_listed.store(false, Ordering::SeqCst);
        // An exchange even if there is no ACK: the next `put` sees what was stored before it.
        Some(self.ack.swap(0, Ordering::SeqCst)).filter(|ack| *ack != 0)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::thread;
    use std::sync::Arc;

    #[test]
    fn loom_an_ack_that_is_put_in_while_the_list_is_emptied_leaves_or_is_listed() {
        loom::model(|| {
            let first = Arc::new(FirstAck::default());
            first.list();
            let emptying = {
                let first = Arc::clone(&first);
                thread::spawn(move || first.unlist())
            };
            let put = first.put(5);
            if put == Put::ToBeListed {
                first.list();
            }
            let taken = emptying.join().unwrap();
            match put {
                Put::Refused => assert_eq!(taken.or(first.take()), None),
                Put::Waits | Put::ToBeListed if taken.is_none() => {
                    assert!(first.is_listed());
                    assert_eq!(first.take(), Some(5));
                }
                Put::Waits | Put::ToBeListed => assert_eq!((taken, first.take()), (Some(5), None)),
            }
        });
    }

    #[test]
    fn loom_an_ack_is_taken_once() {
        loom::model(|| {
            let first = Arc::new(FirstAck::default());
            first.list();
            assert_eq!(first.put(5), Put::Waits);
            let other = {
                let first = Arc::clone(&first);
                thread::spawn(move || first.take())
            };
            let own = first.take();
            assert_eq!([own, other.join().unwrap()].into_iter().flatten().collect::<Vec<_>>(), [5]);
        });
    }
}
