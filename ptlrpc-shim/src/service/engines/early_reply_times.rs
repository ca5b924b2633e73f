//! The times at which early replies are due.

use crate::clock::Time;

/// The requests (`T`) that are served or are to be served, each with the time of its next early reply.
pub(crate) struct EarlyReplyTimes<T> {
    /// By index. Most of them end long before their early reply is due: so they are not in the order of their times.
    requests: Vec<Option<TimedRequest<T>>>,
    free: Vec<usize>,
    /// No early reply is due before this time; `None`: none is.
    first: Option<Time>,
}

struct TimedRequest<T> {
    /// `None`: it gets no early reply, or one is being sent.
    due: Option<Time>,
    request: T,
}

/// Identifies a request until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey(usize);

impl<T> Default for EarlyReplyTimes<T> {
    fn default() -> Self {
        Self { requests: Vec::new(), free: Vec::new(), first: None }
    }
}

impl<T> EarlyReplyTimes<T> {
    /// Adds a request. Returns the time if it is earlier than all others.
    pub(crate) fn add(&mut self, request: T, due: Option<Time>) -> (TimerKey, Option<Time>) {
        let timed = Some(TimedRequest { due, request });
        let index = match self.free.pop() {
            Some(index) => {
                self.requests[index] = timed;
                index
            }
            None => {
                self.requests.push(timed);
                self.requests.len() - 1
            }
        };
        (TimerKey(index), self.note(due))
    }

    /// Removes a request. The time of the first one stays, so that the next request is not earlier.
    pub(crate) fn remove(&mut self, key: TimerKey) -> Option<T> {
        let timed = self.requests.get_mut(key.0)?.take()?;
        self.free.push(key.0);
        Some(timed.request)
    }

    /// Changes the time of a request, unless it was removed. Returns the time if it is earlier than all others.
    pub(crate) fn set(&mut self, is_request: impl Fn(&T) -> bool, due: Option<Time>) -> Option<Time> {
        let timed = self.requests.iter_mut().flatten().find(|timed| is_request(&timed.request))?;
        timed.due = due;
        self.note(due)
    }

    fn note(&mut self, due: Option<Time>) -> Option<Time> {
        let earlier = due.filter(|due| self.first.is_none_or(|first| *due < first))?;
        self.first = Some(earlier);
        Some(earlier)
    }
}

impl<T: Clone> EarlyReplyTimes<T> {
    /// Takes note that the early replies that are due are being sent; returns their requests, the first that is due first, and the time of
    /// the next one.
    pub(crate) fn take_due(&mut self, now: Time) -> (Vec<T>, Option<Time>) {
        if self.first.is_none_or(|first| first > now) {
            return (Vec::new(), self.first);
        }
        let mut due = Vec::new();
        for timed in self.requests.iter_mut().flatten() {
            if let Some(at) = timed.due.take_if(|at| *at <= now) {
                due.push((at, timed.request.clone()));
            }
        }
        self.first = self.requests.iter().flatten().filter_map(|timed| timed.due).min();
        due.sort_by_key(|(at, _)| *at);
        (due.into_iter().map(|(_, request)| request).collect(), self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const fn at(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    #[test]
    fn requests_are_due_at_the_time_that_was_set_last_until_they_are_removed() {
        let mut times = EarlyReplyTimes::default();
        times.add("first", Some(at(5)));
        times.add("second", Some(at(4)));
        let (third, _) = times.add("third", Some(at(5)));
        let (fourth, _) = times.add("fourth", None);
        times.set(|request| *request == "first", Some(at(9)));
        assert_eq!((times.remove(third), times.remove(third)), (Some("third"), None));
        times.set(|request| *request == "third", Some(at(4)));
        times.set(|request| *request == "fourth", Some(at(3)));
        assert_eq!(times.take_due(at(2)), (vec![], Some(at(3))));
        assert_eq!(times.take_due(at(5)), (vec!["fourth", "second"], Some(at(9))));
        assert_eq!(times.take_due(at(8)), (vec![], Some(at(9))), "they are being sent");
        times.set(|request| *request == "second", Some(at(10)));
        assert_eq!(times.remove(fourth), Some("fourth"));
        assert_eq!(times.take_due(at(9)), (vec!["first"], Some(at(10))));
        assert_eq!(times.take_due(at(99)), (vec!["second"], None));
    }

    #[test]
    fn a_time_that_is_earlier_than_all_others_is_returned() {
        let mut times = EarlyReplyTimes::default();
        assert_eq!(times.add(1, None).1, None);
        assert_eq!(times.add(2, Some(at(5))).1, Some(at(5)));
        assert_eq!(times.add(3, Some(at(5))).1, None);
        assert_eq!(times.add(4, Some(at(6))).1, None);
        assert_eq!(times.set(|request| *request == 4, Some(at(4))), Some(at(4)));
        assert_eq!(times.set(|request| *request == 9, Some(at(1))), None);
    }
}
