//! A guess which connection will have something to read next: the one that had it last time after the one that
//! has just been read. With one connection it is that one; where rails take turns, it is the next in turn.

use std::sync::{Arc, Weak};

/// As many reads are remembered: turns of up to one less are recognised.
const REMEMBERED: usize = 16;

/// The last reads.
#[derive(Debug)]
pub(crate) struct NextRead<C> {
    /// A ring; `at` is the latest.
    reads: [Weak<C>; REMEMBERED],
    at: usize,
}

impl<C> NextRead<C> {
    pub(crate) const fn new() -> Self {
        Self { reads: [const { Weak::new() }; REMEMBERED], at: 0 }
    }

    /// Notes that `connection` had something to read. The same one again and again is noted once.
    pub(crate) fn note(&mut self, connection: &Arc<C>) {
        let is_same = |read: &Weak<C>| std::ptr::eq(read.as_ptr(), Arc::as_ptr(connection));
        if !is_same(&self.reads[self.at]) {
            self.at = (self.at + 1) % REMEMBERED;
            self.reads[self.at] = Arc::downgrade(connection);
        }
    }

    /// The guess, if that connection is still there.
    pub(crate) fn guess(&self) -> Option<Arc<C>> {
        let latest = &self.reads[self.at];
        let back = |steps: usize| &self.reads[(self.at + REMEMBERED - steps) % REMEMBERED];
        let followed = (2..REMEMBERED).find(|steps| back(*steps).ptr_eq(latest));
        followed.and_then(|steps| back(steps - 1).upgrade()).or_else(|| latest.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_is_what_followed_last_time() {
        let connections: Vec<Arc<usize>> = (0..20).map(Arc::new).collect();
        // What was read, and what is guessed then.
        let table: [(&[usize], Option<usize>); 9] = [
            (&[], None),
            (&[0], Some(0)),
            (&[0, 0, 0], Some(0)),
            (&[0, 1], Some(1)),
            (&[0, 1, 0], Some(1)),
            (&[0, 1, 2, 3, 0], Some(1)),
            (&[0, 1, 2, 3, 0, 1, 2], Some(3)),
            (&[0, 1, 2, 1], Some(2)),
            (&[0, 1, 0, 2, 0], Some(2)),
        ];
        for (reads, guess) in table {
            let mut next = NextRead::new();
            reads.iter().for_each(|read| next.note(&connections[*read]));
            assert_eq!(next.guess().as_deref(), guess.as_ref(), "{reads:?}");
        }
        for turns in 1..REMEMBERED {
            let mut next = NextRead::new();
            (0..100).for_each(|read| next.note(&connections[read % turns]));
            assert_eq!(next.guess().as_deref(), Some(&(100 % turns)), "{turns} in turn");
        }
    }

    #[test]
    fn a_connection_that_is_gone_is_not_guessed() {
        let (stays, goes) = (Arc::new(0), Arc::new(1));
        let mut next = NextRead::new();
        [&stays, &goes, &stays].into_iter().for_each(|read| next.note(read));
        assert_eq!(next.guess(), Some(Arc::clone(&goes)));
        drop(goes);
        assert_eq!(next.guess(), Some(stays));
    }
}
