//! Prediction of the connection that will have data next, from the lengths of earlier runs of reads on one connection and the
//! connections that followed. If there is one connection it is predicted; if rails take turns, the next one in turn is.

use std::sync::{Arc, Weak};

/// Number of runs that are remembered: turns of up to one connection less are recognised.
const REMEMBERED: usize = 16;

/// Number of reads of one connection in a row from which on others are unlikely.
const STEADY_READS: u32 = 64;

/// The last runs of reads.
#[derive(Debug)]
pub(crate) struct NextRead<C> {
    /// Ring of runs; `at` is the latest.
    runs: [Run<C>; REMEMBERED],
    at: usize,
    /// The run that follows the latest when that has so many reads, as it did the time before.
    follows: Option<(u32, usize)>,
}

/// Consecutive reads of one connection.
#[derive(Debug)]
struct Run<C> {
    connection: Weak<C>,
    reads: u32,
}

impl<C> NextRead<C> {
    pub(crate) const fn new() -> Self {
        Self { runs: [const { Run { connection: Weak::new(), reads: 0 } }; REMEMBERED], at: 0, follows: None }
    }

    /// Notes that `connection` had data.
    pub(crate) fn note(&mut self, connection: &Arc<C>) {
        let latest = &mut self.runs[self.at];
        if std::ptr::eq(latest.connection.as_ptr(), Arc::as_ptr(connection)) {
            latest.reads = latest.reads.saturating_add(1);
        } else {
            self.at = (self.at + 1) % REMEMBERED;
            self.runs[self.at] = Run { connection: Arc::downgrade(connection), reads: 1 };
            self.follows = self.find_follower();
        }
    }

    /// Whether the last reads were all of one connection, for so long that the next most likely is too.
    pub(crate) fn is_steady(&self) -> bool {
        self.runs[self.at].reads >= STEADY_READS
    }

    /// Finds the run of the latest connection before this one, and the run that followed.
    fn find_follower(&self) -> Option<(u32, usize)> {
        let latest = &self.runs[self.at];
        let back = |steps: usize| (self.at + REMEMBERED - steps) % REMEMBERED;
        let before =
            (2..REMEMBERED).find(|steps| self.runs[back(*steps)].connection.ptr_eq(&latest.connection))?;
        Some((self.runs[back(before)].reads, back(before - 1)))
    }

    /// Returns the prediction, if that connection still exists: the latest, until it has been read as often in a row as
    /// the time before; then the one that followed that time, until so much has come on the latest that the other has nothing.
    pub(crate) fn guess(&self) -> Option<Arc<C>> {
        let latest = &self.runs[self.at];
        let is_over = |(reads, _): &(u32, usize)| latest.reads >= *reads && !self.is_steady();
        let follower = self.follows.filter(is_over).map(|(_, at)| &self.runs[at]);
        follower.and_then(|run| run.connection.upgrade()).or_else(|| latest.connection.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_of_one_connection_in_a_row_are_steady() {
        let [one, other] = [1, 2].map(Arc::new);
        let mut next = NextRead::new();
        (1..STEADY_READS).for_each(|_| next.note(&one));
        assert!(!next.is_steady());
        next.note(&one);
        assert!(next.is_steady());
        next.note(&other);
        assert!(!next.is_steady());
    }

    #[test]
    fn the_guess_is_what_followed_as_many_reads_last_time() {
        let connections: Vec<Arc<usize>> = (0..20).map(Arc::new).collect();
        // The connections that were read, and the prediction then.
        let table: [(&[usize], Option<usize>); 12] = [
            (&[], None),
            (&[0], Some(0)),
            (&[0, 0, 0], Some(0)),
            (&[0, 1], Some(1)),
            (&[0, 1, 0], Some(1)),
            (&[0, 1, 2, 3, 0], Some(1)),
            (&[0, 1, 2, 3, 0, 1, 2], Some(3)),
            (&[0, 1, 2, 1], Some(2)),
            (&[0, 1, 0, 2, 0], Some(2)),
            // One read of another connection does not spoil the prediction.
            (&[0, 0, 0, 1, 0], Some(0)),
            (&[0, 0, 1, 1, 0], Some(0)),
            (&[0, 0, 1, 1, 0, 0], Some(1)),
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
    fn what_followed_last_time_is_not_guessed_for_ever_when_it_does_not_follow() {
        let [one, other] = [1, 2].map(Arc::new);
        let mut next = NextRead::new();
        [&one, &other].into_iter().for_each(|read| next.note(read));
        let guesses: Vec<i32> = (0..=STEADY_READS)
            .map(|_| {
                next.note(&one);
                *next.guess().unwrap()
            })
            .collect();
        let steady = STEADY_READS as usize - 1;
        assert!(guesses[..steady].iter().all(|guess| *guess == 2), "{guesses:?}");
        assert_eq!(guesses[steady..], [1, 1]);
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
