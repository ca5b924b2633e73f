//! The MEs and MDs that a program owns: it can use no others, and they end with it.

use foldhash::HashMap;
use lnd_common::sync::lock;
use lnet_core::{Errno, MdHandle, MeHandle};
use lnet_dlc::request::PayloadWays;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The MEs and MDs of one program.
#[derive(Debug)]
pub(super) struct Objects {
    max: usize,
    inner: Mutex<Inner>,
    /// The number of MDs that have ended.
    ended: AtomicU64,
}

/// The MD that [`Objects::check_md_again`] has found last, and how many had ended before.
#[derive(Debug, Default)]
pub(super) struct LatestMd(Option<MdHandle>, u64);

#[derive(Debug, Default)]
struct Inner {
    /// Whether each ends with its MD.
    mes: HashMap<MeHandle, bool>,
    /// The ME that ends with each.
    mds: HashMap<MdHandle, Option<MeHandle>>,
    /// The number of claims of match bits.
    claims: u32,
    /// All MDs that there have been.
    made: PayloadWays,
}

/// Numbers of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectCounts {
    pub(super) mes: u32,
    pub(super) mds: u32,
    pub(super) claims: u32,
    /// All MDs that there have been.
    pub(super) made: PayloadWays,
}

impl Objects {
    pub(super) fn new(max: usize) -> Self {
        Self { max, inner: Mutex::default(), ended: AtomicU64::new(0) }
    }

    /// Whether one more is allowed: [`Errno::NoMemory`] if not.
    pub(super) fn check_room(&self) -> Result<(), Errno> {
        let inner = lock(&self.inner);
        if inner.mes.len() + inner.mds.len() < self.max { Ok(()) } else { Err(Errno::NoMemory) }
    }

    pub(super) fn add_me(&self, me: MeHandle, ends_with_md: bool) {
        lock(&self.inner).mes.insert(me, ends_with_md);
    }

    /// Adds an MD, before its first event.
    pub(super) fn add_md(&self, md: MdHandle, attached: Option<MeHandle>, is_in_place: bool) {
        let mut inner = lock(&self.inner);
        match is_in_place {
            true => inner.made.in_place += 1,
            false => inner.made.copied += 1,
        }
        let ends = attached.filter(|me| inner.mes.get(me) == Some(&true));
        inner.mds.insert(md, ends);
    }

    /// [`Errno::NotFound`] for an ME that is not the program's.
    pub(super) fn check_me(&self, me: MeHandle) -> Result<(), Errno> {
        lock(&self.inner).mes.contains_key(&me).then_some(()).ok_or(Errno::NotFound)
    }

    /// [`Errno::NotFound`] for an MD that is not the program's.
    pub(super) fn check_md(&self, md: MdHandle) -> Result<(), Errno> {
        lock(&self.inner).mds.contains_key(&md).then_some(()).ok_or(Errno::NotFound)
    }

    /// The same. An MD that was found before is found again without a look at all if none has ended since.
    #[inline]
    pub(super) fn check_md_again(&self, md: MdHandle, latest: &mut LatestMd) -> Result<(), Errno> {
        // Before the look: an end that comes between the two makes the next call look again.
        let ended = self.ended.load(Ordering::SeqCst);
        if latest.0 != Some(md) || latest.1 != ended {
            self.check_md(md)?;
            *latest = LatestMd(Some(md), ended);
        }
        Ok(())
    }

    pub(super) fn remove_me(&self, me: MeHandle) {
        lock(&self.inner).mes.remove(&me);
    }

    /// Removes an MD that has had its last event, with the ME that ends with it.
    pub(super) fn md_ended(&self, md: MdHandle) {
        let mut inner = lock(&self.inner);
        if let Some(Some(me)) = inner.mds.remove(&md) {
            inner.mes.remove(&me);
        }
        // Behind the removal: who sees this number looks after it.
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn claimed(&self) {
        lock(&self.inner).claims += 1;
    }

    pub(super) fn released(&self) {
        lock(&self.inner).claims -= 1;
    }

    pub(super) fn counts(&self) -> ObjectCounts {
        let inner = lock(&self.inner);
        let count = |len| u32::try_from(len).unwrap_or(u32::MAX);
        ObjectCounts {
            mes: count(inner.mes.len()),
            mds: count(inner.mds.len()),
            claims: inner.claims,
            made: inner.made,
        }
    }

    /// All MEs and MDs.
    pub(super) fn all(&self) -> (Vec<MeHandle>, Vec<MdHandle>) {
        let inner = lock(&self.inner);
        (inner.mes.keys().copied().collect(), inner.mds.keys().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_entry_goes_with_its_md_if_it_was_made_so() {
        let objects = Objects::new(4);
        let (kept, ending) = (MeHandle::from_cookie(1), MeHandle::from_cookie(2));
        let (one, other) = (MdHandle::from_cookie(3), MdHandle::from_cookie(4));
        objects.add_me(kept, false);
        objects.add_me(ending, true);
        objects.add_md(one, Some(kept), true);
        assert_eq!(objects.check_room(), Ok(()));
        objects.add_md(other, Some(ending), false);
        assert_eq!(objects.check_room(), Err(Errno::NoMemory));
        let mut latest = LatestMd::default();
        assert_eq!(objects.check_md_again(one, &mut latest), Ok(()));
        objects.md_ended(one);
        assert_eq!(objects.check_md_again(one, &mut latest), Err(Errno::NotFound));
        assert_eq!([(); 2].map(|()| objects.check_md_again(other, &mut latest)), [Ok(()), Ok(())]);
        objects.md_ended(other);
        assert_eq!((objects.check_me(kept), objects.check_me(ending)), (Ok(()), Err(Errno::NotFound)));
        assert_eq!(objects.check_md(one), Err(Errno::NotFound));
        let made = PayloadWays { in_place: 1, copied: 1 };
        assert_eq!(objects.counts(), ObjectCounts { mes: 1, mds: 0, claims: 0, made });
    }
}
