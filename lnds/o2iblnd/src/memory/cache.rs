//! The registrations that are kept while their MDs exist.

use crate::device::Registration;
use foldhash::HashMap;
use lnet_core::memory::{MemRange, MemoryOwner};
use std::collections::VecDeque;

/// The idle registrations that a sweep looks at. More than one: they become fewer while each transfer leaves another.
const MAX_CHECKED_PER_SWEEP: usize = 4;

/// A registration in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CachedId(u64);

/// Registrations by MD and range. One is used by any number of transfers at a time.
#[derive(Debug)]
pub(crate) struct RegistrationCache {
    /// The registrations that are kept without being used, at most.
    most_idle: usize,
    entries: HashMap<CachedId, Entry>,
    by_range: HashMap<(u64, usize, usize), CachedId>,
    /// Entries that nobody used when they were looked at last, each once. The first is looked at next.
    idle: VecDeque<CachedId>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    registration: Registration,
    owner: MemoryOwner,
    range: MemRange,
    users: u32,
    is_in_idle: bool,
    /// The number of uses of the cache at the last use of this entry: the lowest is given up first.
    last_used: u64,
}

impl RegistrationCache {
    pub(crate) fn new(most_idle: usize) -> Self {
        Self {
            most_idle,
            entries: HashMap::default(),
            by_range: HashMap::default(),
            idle: VecDeque::new(),
            next: 0,
        }
    }

    /// Begins to use the registration of this range of an MD, if there is one.
    pub(crate) fn begin_use(&mut self, owner: u64, range: MemRange) -> Option<(CachedId, Registration)> {
        let id = *self.by_range.get(&(owner, range.address, range.len))?;
        let now = self.tick();
        let entry = self.entries.get_mut(&id)?;
        entry.users += 1;
        entry.last_used = now;
        Some((id, entry.registration))
    }

    /// Adds a registration, which is used from now on.
    pub(crate) fn insert(
        &mut self,
        owner: MemoryOwner,
        range: MemRange,
        registration: Registration,
    ) -> CachedId {
        let last_used = self.tick();
        let id = CachedId(last_used);
        self.by_range.insert((owner.id, range.address, range.len), id);
        self.entries.insert(id, Entry { registration, owner, range, users: 1, is_in_idle: false, last_used });
        id
    }

    /// Ends one use.
    pub(crate) fn end_use(&mut self, id: CachedId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.users -= 1;
        if entry.users == 0 && !std::mem::replace(&mut entry.is_in_idle, true) {
            self.idle.push_back(id);
        }
    }

    /// Gives up the registrations of MDs that have ended, and the least recently used ones above the limit. A few of those that are idle
    /// are looked at each time, and `all` of them if that is asked for: an MD ends after its last transfer.
    pub(crate) fn sweep(&mut self, all: bool, mut give_up: impl FnMut(Registration)) {
        if all {
            self.remove_idle(|entry| !entry.owner.is_alive(), &mut give_up);
        } else {
            for _ in 0..MAX_CHECKED_PER_SWEEP.min(self.idle.len()) {
                self.look_at_next(&mut give_up);
            }
        }
        let idle = || self.entries.values().filter(|entry| entry.users == 0).map(|entry| entry.last_used);
        if self.entries.len() > self.most_idle && idle().count() > self.most_idle {
            let mut uses: Vec<u64> = idle().collect();
            uses.sort_unstable();
            let oldest_kept = uses[uses.len() - self.most_idle.max(1)];
            let most_idle = self.most_idle;
            self.remove_idle(|entry| most_idle == 0 || entry.last_used < oldest_kept, &mut give_up);
        }
    }

    /// Looks at an idle registration: it is given up if its MD has ended, and looked at again later if not.
    fn look_at_next(&mut self, give_up: &mut impl FnMut(Registration)) {
        let Some(id) = self.idle.pop_front() else { return };
        match self.entries.get_mut(&id) {
            Some(entry) if entry.users > 0 => entry.is_in_idle = false,
            Some(entry) if entry.owner.is_alive() => self.idle.push_back(id),
            Some(_) => self.remove(id, give_up),
            None => {}
        }
    }

    /// Gives up all registrations that nobody uses.
    pub(crate) fn give_up_idle(&mut self, mut give_up: impl FnMut(Registration)) {
        self.remove_idle(|_| true, &mut give_up);
    }

    /// Gives up all registrations.
    pub(crate) fn clear(&mut self, mut give_up: impl FnMut(Registration)) {
        self.by_range.clear();
        self.idle.clear();
        self.entries.drain().for_each(|(_, entry)| give_up(entry.registration));
    }

    fn remove_idle(&mut self, goes: impl Fn(&Entry) -> bool, give_up: &mut impl FnMut(Registration)) {
        let ids: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.users == 0 && goes(entry))
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().for_each(|id| self.remove(id, give_up));
    }

    fn remove(&mut self, id: CachedId, give_up: &mut impl FnMut(Registration)) {
        if let Some(entry) = self.entries.remove(&id) {
            self.by_range.remove(&(entry.owner.id, entry.range.address, entry.range.len));
            give_up(entry.registration);
        }
    }

    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;
    use std::sync::{Arc, Weak};

    fn md(id: u64) -> (Arc<u8>, MemoryOwner) {
        let md = Arc::new(0);
        let weak: Weak<u8> = Arc::downgrade(&md);
        let life: Weak<dyn Any + Send + Sync> = weak;
        (md, MemoryOwner { id, life })
    }

    const RANGE: MemRange = MemRange { address: 4096, len: 100 };

    fn registration(id: u64) -> Registration {
        Registration { id, lkey: id as u32, rkey: id as u32 }
    }

    fn swept(cache: &mut RegistrationCache, all: bool) -> Vec<u64> {
        let mut given_up = vec![];
        cache.sweep(all, |registration| given_up.push(registration.id));
        given_up.sort_unstable();
        given_up
    }

    #[test]
    fn memory_at_the_same_address_of_another_md_finds_no_registration() {
        let mut cache = RegistrationCache::new(8);
        let (_md, owner) = md(1);
        let id = cache.insert(owner, RANGE, registration(1));
        assert_eq!(cache.begin_use(1, RANGE), Some((id, registration(1))));
        assert_eq!(cache.begin_use(2, RANGE), None);
        assert_eq!(cache.begin_use(1, MemRange { len: 99, ..RANGE }), None);
    }

    #[test]
    fn a_registration_ends_with_its_md_but_not_before_its_last_use() {
        let mut cache = RegistrationCache::new(8);
        let (one, owner) = md(1);
        let id = cache.insert(owner, RANGE, registration(1));
        cache.begin_use(1, RANGE);
        cache.end_use(id);
        assert!(swept(&mut cache, true).is_empty());
        drop(one);
        assert!(swept(&mut cache, true).is_empty());
        cache.end_use(id);
        assert_eq!(swept(&mut cache, false), [1]);
        assert_eq!(cache.begin_use(1, RANGE), None);
    }

    #[test]
    fn an_md_that_ends_after_its_last_transfer_is_found_soon() {
        let mut cache = RegistrationCache::new(512);
        let kept: Vec<_> = (1..=100).map(md).collect();
        for (_, owner) in &kept {
            let id = cache.insert(owner.clone(), RANGE, registration(owner.id));
            cache.end_use(id);
        }
        // Each transfer has an MD of its own, which ends after a sweep.
        let mut given_up = 0;
        for number in 101..=400 {
            let (one, owner) = md(number);
            let id = cache.insert(owner, RANGE, registration(number));
            cache.end_use(id);
            given_up += swept(&mut cache, false).len();
            drop(one);
        }
        assert!(given_up > 250, "{given_up}");
        (0..50).for_each(|_| given_up += swept(&mut cache, false).len());
        assert_eq!(given_up, 300);
    }

    #[test]
    fn an_md_that_ends_later_is_found_by_any_sweep() {
        let mut cache = RegistrationCache::new(8);
        let (one, owner) = md(1);
        let id = cache.insert(owner, RANGE, registration(1));
        cache.end_use(id);
        assert!(swept(&mut cache, false).is_empty() && swept(&mut cache, true).is_empty());
        drop(one);
        assert_eq!(swept(&mut cache, false), [1]);
    }

    #[test]
    fn the_least_recently_used_are_given_up_above_the_limit() {
        let mut cache = RegistrationCache::new(2);
        let mds: Vec<_> = (1..=4).map(md).collect();
        let ids: Vec<_> =
            mds.iter().map(|(_, o)| cache.insert(o.clone(), RANGE, registration(o.id))).collect();
        assert!(swept(&mut cache, false).is_empty());
        ids.iter().for_each(|id| cache.end_use(*id));
        let (id, _) = cache.begin_use(1, RANGE).unwrap();
        cache.end_use(id);
        assert_eq!(swept(&mut cache, false), [2, 3]);
        cache.begin_use(4, RANGE);
        let mut given_up = vec![];
        cache.give_up_idle(|registration| given_up.push(registration.id));
        assert_eq!(given_up, [1]);
    }
}
