//! The requests of an import that have no reply yet (`imp_unreplied_list`).

use crate::message::Xid;
use crate::wakeup::Waker;
use std::collections::VecDeque;

/// The XIDs of requests without a reply in ascending order, each with the waker of the request's thread. XIDs mostly begin in that order,
/// and end in about the same.
#[derive(Debug, Default)]
pub(crate) struct Unreplied {
    requests: VecDeque<(u64, Waker)>,
    /// The waker of the request that has ended last: mostly that of the next one, too.
    spare: Option<Waker>,
}

impl Unreplied {
    #[inline]
    pub(crate) fn insert(&mut self, xid: Xid, waker: &Waker) {
        let its = match self.spare.take() {
            Some(mut spare) => {
                spare.set_to(waker);
                spare
            }
            None => waker.clone(),
        };
        match self.find(xid) {
            Ok(at) => self.requests[at].1 = its,
            Err(at) if at == self.requests.len() => self.requests.push_back((xid.0, its)),
            Err(at) => self.requests.insert(at, (xid.0, its)),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, xid: Xid) {
        let removed = match self.find(xid) {
            Ok(0) => self.requests.pop_front(),
            Ok(at) => self.requests.remove(at),
            Err(_) => None,
        };
        if let Some((_, waker)) = removed {
            self.spare = Some(waker);
        }
    }

    #[inline]
    fn find(&self, xid: Xid) -> Result<usize, usize> {
        match (self.requests.front(), self.requests.back()) {
            (Some((first, _)), _) if *first == xid.0 => Ok(0),
            (_, Some((last, _))) if *last < xid.0 => Err(self.requests.len()),
            (None, _) => Err(0),
            _ => self.requests.binary_search_by_key(&xid.0, |(xid, _)| *xid),
        }
    }

    /// Wakes the threads of all unreplied requests.
    pub(crate) fn wake_all(&self) {
        self.requests.iter().for_each(|(_, waker)| waker.wake());
    }

    /// The XID up to which all requests have a reply, as the request with the XID `own` reports it (`pb_last_xid`).
    pub(crate) fn last_replied(&self, own: Xid) -> Xid {
        Xid(self.requests.front().map_or(own.0, |(first, _)| own.0.min(*first)).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wakeup::ReadyQueue;
    use std::sync::Arc;

    #[test]
    fn all_below_the_first_unreplied_request_have_a_reply() {
        let mut unreplied = Unreplied::default();
        for xid in [64, 128, 192] {
            unreplied.insert(Xid(xid), &Arc::<ReadyQueue>::default().waker(0));
        }
        assert_eq!(unreplied.last_replied(Xid(192)), Xid(63));
        unreplied.remove(Xid(64));
        assert_eq!(unreplied.last_replied(Xid(192)), Xid(127));
        unreplied.remove(Xid(128));
        assert_eq!(unreplied.last_replied(Xid(192)), Xid(191));
        unreplied.remove(Xid(192));
        assert_eq!(unreplied.last_replied(Xid(256)), Xid(255));
    }
}
