//! The credits of an interface, shared by all its peers.
//!
//! A message that its driver has had for longer than [`RECLAIM_AFTER`] while others wait for credits has its credit
//! *reclaimed*: another message gets it, and the first returns none when it ends. No message waits much longer than
//! that for a credit. So peers that do not read, however many, keep the credits of an interface from others for a
//! moment only; the number of messages to each is still limited by its own credits.
//!
//! Time is counted in epochs, at least `RECLAIM_AFTER` long, which begin only while messages wait: a message costs a
//! counter, and does not read a clock.

use super::open::{Closed, OpenCredits};
use super::{CreditPool, Credits, SenderId, Sent};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::time::Duration;

/// The least time for which a message may keep a credit of an interface while others wait; the longest is twice this, and
/// so is the wait of those others.
pub const RECLAIM_AFTER: Duration = Duration::from_millis(100);

/// A credit of an interface, with the epoch in which it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NiCredit(u64);

/// A pool of credits for messages that may never end, with a queue of waiting items, which is FIFO for each of their senders.
#[derive(Debug)]
pub struct NiCreditPool<T> {
    /// The pool of credits that have not been reclaimed.
    pool: CreditPool<WaitingMessage<T>>,
    epoch: u64,
    /// The number of credits in use that were taken in this epoch.
    current: u32,
    /// The number of credits in use that were taken in the previous epoch.
    previous: u32,
    /// The number of older messages in use, whose credits have been reclaimed.
    reclaimed: u32,
    low_water: Credits,
}

#[derive(Debug)]
struct WaitingMessage<T> {
    since: u64,
    item: T,
}

impl<T: Sent> Sent for WaitingMessage<T> {
    fn sender(&self) -> SenderId {
        self.item.sender()
    }
}

impl<T> NiCreditPool<T> {
    /// A pool of `credits` credits, none of them in use.
    pub fn new(credits: u32) -> Self {
        let pool = CreditPool::new(credits);
        let low_water = pool.credits();
        Self { pool, epoch: 0, current: 0, previous: 0, reclaimed: 0, low_water }
    }

    /// Takes a credit for `item`: returns both if there is one, queues the item otherwise.
    #[must_use]
    pub fn take(&mut self, item: T) -> Option<(T, NiCredit)>
    where
        T: Sent,
    {
        let granted = self.pool.take(WaitingMessage { since: self.epoch, item });
        let granted = granted.map(|it| self.grant(it));
        self.low_water = self.low_water.min(self.credits());
        granted
    }

    /// Returns `credit` when its message has ended; unless it was reclaimed, a waiting item gets it: see [`CreditPool::give_back`].
    #[must_use]
    pub fn give_back(&mut self, credit: NiCredit) -> Option<(T, NiCredit)> {
        match self.epoch - credit.0 {
            0 => self.current -= 1,
            1 => self.previous -= 1,
            _ => {
                self.reclaimed -= 1;
                return None;
            }
        }
        self.pool.give_back().map(|it| self.grant(it))
    }

    /// Begins a new epoch. Credits taken before the previous one are reclaimed, and items that have waited since
    /// before it are released without one; returns all released items in order.
    #[must_use]
    pub fn next_epoch(&mut self) -> Vec<(T, NiCredit)> {
        self.epoch += 1;
        let old = std::mem::replace(&mut self.previous, std::mem::take(&mut self.current));
        self.reclaimed += old;
        let epoch = self.epoch;
        let overdue = self.pool.withdraw(|it| it.since + 1 < epoch);
        self.reclaimed += overdue.len() as u32;
        // The item counts as if it had taken its credit when it began to wait.
        let mut go: Vec<_> = overdue.into_iter().map(|it| (it.item, NiCredit(it.since))).collect();
        for _ in 0..old {
            go.extend(self.pool.give_back().map(|it| self.grant(it)));
        }
        go
    }

    /// Removes all waiting items, without a credit.
    pub fn abandon(&mut self) -> VecDeque<T> {
        self.pool.abandon().into_iter().map(|it| it.item).collect()
    }

    /// Removes the waiting items for which `wanted` holds, without a credit.
    pub fn withdraw(&mut self, mut wanted: impl FnMut(&T) -> bool) -> VecDeque<T> {
        self.pool.withdraw(|it| wanted(&it.item)).into_iter().map(|it| it.item).collect()
    }

    /// Whether no credit is available.
    pub fn is_exhausted(&self) -> bool {
        self.pool.credits().0 <= 0
    }

    /// The size, less everything in use or waiting, reclaimed or not.
    pub fn credits(&self) -> Credits {
        Credits(self.pool.credits().0.saturating_sub_unsigned(self.reclaimed))
    }

    /// The lowest value of [`NiCreditPool::credits`] so far.
    pub const fn low_water(&self) -> Credits {
        self.low_water
    }

    /// Sets the number of credits to that of the pool while it was open: all that were taken meanwhile are of this epoch.
    fn note_closed(&mut self, closed: Closed) {
        self.pool.note_closed(closed);
        let in_use = self.pool.size().0.saturating_sub(closed.credits);
        self.current = u32::try_from(in_use).unwrap_or(0).saturating_sub(self.previous);
        self.low_water = self.low_water.min(Credits(closed.lowest));
    }

    /// The epoch, if credits may be taken and returned without the lock: nothing waits, and nothing is in use whose credit
    /// was reclaimed.
    fn open_epoch(&self) -> Option<u64> {
        (self.pool.credits().0 >= 0 && self.reclaimed == 0).then_some(self.epoch)
    }

    fn grant(&mut self, it: WaitingMessage<T>) -> (T, NiCredit) {
        self.current += 1;
        (it.item, NiCredit(self.epoch))
    }
}

/// An [`NiCreditPool`] behind a lock, which is taken only if an item has to wait, or another one waits. The numbers that path
/// selection compares are readable without it, slightly delayed.
#[derive(Debug)]
pub(crate) struct SharedNiPool<T> {
    pool: Mutex<NiCreditPool<T>>,
    open: OpenCredits,
}

impl<T> SharedNiPool<T> {
    pub(crate) fn new(credits: u32) -> Self {
        let pool = NiCreditPool::new(credits);
        let open = OpenCredits::new(pool.credits().0);
        Self { pool: Mutex::new(pool), open }
    }

    /// See [`NiCreditPool::take`].
    #[must_use]
    pub(crate) fn take(&self, item: T) -> Option<(T, NiCredit)>
    where
        T: Sent,
    {
        match self.try_take() {
            Some(credit) => Some((item, credit)),
            None => self.change(|pool| pool.take(item)),
        }
    }

    /// Takes a credit, if there is one at the moment, without the lock. If not, [`SharedNiPool::take`] has to be called, which may
    /// find one.
    #[must_use]
    #[inline]
    pub(crate) fn try_take(&self) -> Option<NiCredit> {
        self.open.take().map(NiCredit)
    }

    /// See [`NiCreditPool::give_back`].
    #[must_use]
    #[inline]
    pub(crate) fn give_back(&self, credit: NiCredit) -> Option<(T, NiCredit)> {
        match self.open.give_back(credit.0) {
            true => None,
            false => self.change(|pool| pool.give_back(credit)),
        }
    }

    /// [`NiCreditPool::next_epoch`], if the pool is exhausted.
    #[must_use]
    pub(crate) fn next_epoch(&self) -> Vec<(T, NiCredit)> {
        if self.credits().0 > 0 {
            return Vec::new();
        }
        self.change(|pool| if pool.is_exhausted() { pool.next_epoch() } else { Vec::new() })
    }

    /// See [`NiCreditPool::abandon`].
    pub(crate) fn abandon(&self) -> VecDeque<T> {
        self.change(NiCreditPool::abandon)
    }

    /// See [`NiCreditPool::withdraw`].
    pub(crate) fn withdraw(&self, wanted: impl FnMut(&T) -> bool) -> VecDeque<T> {
        // The credits are negative while items wait.
        if self.credits().0 >= 0 {
            return VecDeque::new();
        }
        self.change(|pool| pool.withdraw(wanted))
    }

    /// See [`NiCreditPool::is_exhausted`].
    pub(crate) fn is_exhausted(&self) -> bool {
        self.credits().0 <= 0 && self.change(|pool| pool.is_exhausted())
    }

    /// The recent number of credits.
    pub(crate) fn credits(&self) -> Credits {
        Credits(self.open.credits())
    }

    /// The lowest number of credits so far.
    pub(crate) fn low_water(&self) -> Credits {
        self.change(|pool| pool.low_water())
    }

    fn change<R>(&self, change: impl FnOnce(&mut NiCreditPool<T>) -> R) -> R {
        let mut pool = lock(&self.pool);
        if let Some(closed) = self.open.close() {
            pool.note_closed(closed);
        }
        let result = change(&mut pool);
        self.open.publish(pool.credits().0, pool.open_epoch());
        result
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items<T: Copy>(granted: &[(T, NiCredit)]) -> Vec<T> {
        granted.iter().map(|it| it.0).collect()
    }

    #[test]
    fn a_credit_held_for_a_whole_epoch_is_reclaimed_for_a_waiter_and_returned_once() {
        let mut pool = NiCreditPool::new(1);
        let (_, stuck) = pool.take('a').unwrap();
        assert_eq!(pool.take('b'), None);
        assert!(items(&pool.next_epoch()).is_empty());
        let granted = pool.next_epoch();
        assert_eq!(items(&granted), ['b']);
        // The reported number counts all messages in use, whichever of them holds the credit.
        assert_eq!((pool.credits(), pool.low_water()), (Credits(-1), Credits(-1)));
        assert_eq!(pool.give_back(stuck), None);
        assert_eq!(pool.credits(), Credits(0));
        assert_eq!(pool.give_back(granted[0].1), None);
        assert_eq!(pool.credits(), Credits(1));
    }

    #[test]
    fn each_waiter_is_served_within_two_epochs_in_fifo_order() {
        let mut pool = NiCreditPool::new(2);
        let mut out: Vec<_> = (0..2).map(|n| pool.take(n).unwrap().1).collect();
        assert!((2..10).all(|n| pool.take(n).is_none()));
        assert!(items(&pool.next_epoch()).is_empty());
        assert!((10..15).all(|n| pool.take(n).is_none()));
        let second = pool.next_epoch();
        assert_eq!(items(&second), (2..12).collect::<Vec<_>>());
        let third = pool.next_epoch();
        assert_eq!(items(&third), (12..15).collect::<Vec<_>>());
        assert!(pool.is_exhausted());
        assert!(items(&pool.next_epoch()).is_empty());
        assert!(!pool.is_exhausted());
        // All messages in use end.
        out.extend(second.iter().chain(&third).map(|it| it.1));
        assert_eq!(pool.credits(), Credits(2 - 15));
        assert!(out.into_iter().all(|credit| pool.give_back(credit).is_none()));
        assert_eq!((pool.credits(), pool.low_water()), (Credits(2), Credits(2 - 15)));
    }

    /// A simple model of [`NiCreditPool`]: lists of all items, each with the epoch in which it took a credit or began to wait.
    #[derive(Debug, Default)]
    struct Model {
        size: usize,
        epoch: u64,
        out: Vec<(u32, u64, NiCredit)>,
        waiting: VecDeque<(u32, u64)>,
    }

    impl Model {
        /// Grants credits to waiting items as long as fewer than `size` items in use are younger than a whole epoch.
        fn go(&mut self) -> Vec<(u32, u64)> {
            let mut go = Vec::new();
            let overdue = self.waiting.iter().take_while(|it| it.1 + 1 < self.epoch).count();
            go.extend(self.waiting.drain(..overdue));
            let free = self.free().min(self.waiting.len());
            go.extend(self.waiting.drain(..free).map(|(id, _)| (id, self.epoch)));
            go
        }

        fn free(&self) -> usize {
            let counted = self.out.iter().filter(|it| it.1 + 1 >= self.epoch).count();
            self.size - counted
        }

        fn let_go(&mut self, granted: Vec<(u32, NiCredit)>) -> Result<(), TestCaseError> {
            let want = self.go();
            prop_assert_eq!(items(&granted), want.iter().map(|it| it.0).collect::<Vec<_>>());
            let with_credit = want.into_iter().zip(granted);
            self.out.extend(with_credit.map(|((id, epoch), (_, credit))| (id, epoch, credit)));
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_pool_behaves_as_its_reference_model(
            size in 1_u32..5,
            steps in prop::collection::vec((0..8_u8, any::<usize>()), 0..200),
        ) {
            let mut pool = NiCreditPool::new(size);
            let mut model = Model { size: size as usize, ..Model::default() };
            let (mut next, mut lowest) = (0_u32, size as i32);
            for (step, which) in steps {
                match step {
                    0..=3 => {
                        model.waiting.push_back((next, model.epoch));
                        let granted = pool.take(next).into_iter().collect();
                        model.let_go(granted)?;
                        next += 1;
                    }
                    4 | 5 if !model.out.is_empty() => {
                        let (_, _, credit) = model.out.remove(which % model.out.len());
                        let granted = pool.give_back(credit).into_iter().collect();
                        model.let_go(granted)?;
                    }
                    6 => {
                        model.epoch += 1;
                        let granted = pool.next_epoch();
                        model.let_go(granted)?;
                    }
                    7 if !model.waiting.is_empty() => {
                        let (id, _) = model.waiting.remove(which % model.waiting.len()).unwrap();
                        prop_assert_eq!(pool.withdraw(|it| *it == id), [id]);
                    }
                    _ => {}
                }
                let credits = size as i32 - (model.out.len() + model.waiting.len()) as i32;
                lowest = lowest.min(credits);
                prop_assert_eq!((pool.credits().0, pool.low_water().0), (credits, lowest));
                prop_assert_eq!(pool.is_exhausted(), model.free() == 0);
            }
            pool.abandon();
            for (_, _, credit) in model.out {
                prop_assert_eq!(pool.give_back(credit), None);
            }
            prop_assert_eq!(pool.credits(), Credits(size as i32));
        }

        /// CR-10: fails if a pool whose lock is not always taken grants other credits than one that is always changed under it.
        #[test]
        fn a_shared_pool_grants_the_same_credits_as_the_pool_behind_its_lock(
            size in 1_u32..5,
            steps in prop::collection::vec((0..9_u8, any::<usize>()), 0..200),
        ) {
            let (shared, mut plain) = (SharedNiPool::new(size), NiCreditPool::new(size));
            let (mut next, mut out) = (0_u32, Vec::new());
            for (step, which) in steps {
                match step {
                    0..=3 => {
                        let granted = plain.take(next);
                        prop_assert_eq!(shared.take(next), granted);
                        out.extend(granted);
                        next += 1;
                    }
                    4..=6 if !out.is_empty() => {
                        let (_, credit) = out.swap_remove(which % out.len());
                        let granted = plain.give_back(credit);
                        prop_assert_eq!(shared.give_back(credit), granted);
                        out.extend(granted);
                    }
                    7 => {
                        let granted = if plain.is_exhausted() { plain.next_epoch() } else { Vec::new() };
                        prop_assert_eq!(&shared.next_epoch(), &granted);
                        out.extend(granted);
                    }
                    8 => {
                        let wanted = |it: &u32| *it as usize % 3 == which % 3;
                        prop_assert_eq!(shared.withdraw(wanted), plain.withdraw(wanted));
                    }
                    _ => {}
                }
                prop_assert_eq!((shared.credits(), shared.is_exhausted()), (plain.credits(), plain.is_exhausted()));
                prop_assert_eq!(shared.low_water(), plain.low_water());
            }
        }
    }

    /// CR-10: fails if an item waits although a credit has been returned, or a credit is lost or returned twice.
    #[test]
    fn threads_that_use_one_pool_get_all_credits_that_are_returned() {
        const THREADS: u32 = 4;
        const ITEMS: u32 = 5000;
        let pool = SharedNiPool::new(2);
        let run = &|number: u32| {
            let mut served = 0;
            for item in 0..ITEMS {
                let mut granted = pool.take(number * ITEMS + item);
                while let Some((_, credit)) = granted {
                    served += 1;
                    granted = pool.give_back(credit);
                }
                if item % 100 == 0 {
                    let released = pool.next_epoch();
                    served += released.len();
                    let mut woken: Vec<_> =
                        released.into_iter().filter_map(|(_, credit)| pool.give_back(credit)).collect();
                    while let Some((_, credit)) = woken.pop() {
                        served += 1;
                        woken.extend(pool.give_back(credit));
                    }
                }
            }
            served
        };
        let served: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || run(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(served, (THREADS * ITEMS) as usize);
        assert_eq!(pool.credits(), Credits(2));
    }
}
