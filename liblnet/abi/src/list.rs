//! The circular linked lists of Linux, which C programs iterate over.

use crate::types::list_head;
use std::ptr::{self, NonNull};

/// `struct list_head *` that is not NULL: the head of a ring, or a link in one.
///
/// Contract: the structure, and every link of its ring, is valid as long as a copy of this is used; no other thread uses the
/// ring during a call. C guarantees it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring(NonNull<list_head>);

/// `struct list_head *`: a [`Ring`], or `None` for NULL.
pub(crate) type RingArg = Option<Ring>;

impl Ring {
    /// The ring of a head or link.
    ///
    /// # Safety
    /// The contract of the type; a head that is still to be initialised is not read before that. It is not NULL.
    pub(crate) const unsafe fn new(head: *mut list_head) -> Self {
        // SAFETY: not NULL: the address of a head or link in the program's memory or in a structure made here. It is not read here.
        Self(unsafe { NonNull::new_unchecked(head) })
    }

    /// The structure that begins with this link.
    pub(crate) const fn as_ptr<T>(self) -> *mut T {
        self.0.as_ptr().cast()
    }

    /// A copy of the structure.
    fn get(self) -> list_head {
        // SAFETY: valid, and changed by nobody else during the call: the contract of the type.
        unsafe { self.0.read() }
    }

    fn set(self, next: Self, prev: Self) {
        // SAFETY: valid, and used by nobody else during the call: the contract of the type.
        unsafe { self.0.write(list_head { next: next.0.as_ptr(), prev: prev.0.as_ptr() }) };
    }

    /// The next link, or the head; the link itself if it is zeroed, as in a head that was not initialised.
    fn next(self) -> Self {
        NonNull::new(self.get().next).map_or(self, Self)
    }

    fn prev(self) -> Self {
        NonNull::new(self.get().prev).map_or(self, Self)
    }

    /// Makes the structure the head of an empty ring.
    pub(crate) fn init(self) {
        self.set(self, self);
    }

    /// Adds `item`, which is in no ring, at the end.
    pub(crate) fn add_tail(self, item: Self) {
        let last = self.prev();
        item.set(self, last);
        last.set(item, last.prev());
        self.set(self.next(), item);
    }

    /// Removes the first item; `None` if there is none.
    pub(crate) fn pop(self) -> Option<Self> {
        let first = self.next();
        if first == self {
            return None;
        }
        let second = first.next();
        self.set(second, self.prev());
        second.set(second.next(), self);
        // SAFETY: a link of this ring, out of it now.
        unsafe { first.0.write(list_head { next: ptr::null_mut(), prev: ptr::null_mut() }) };
        Some(first)
    }

    /// The items, in order. The ring does not change while they are used.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.next()), |item| Some(item.next()))
            .take_while(move |item| *item != self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_gives_its_items_in_the_order_in_which_they_were_added() {
        let mut links = [const { list_head { next: ptr::null_mut(), prev: ptr::null_mut() } }; 4];
        let start = links.as_mut_ptr();
        // SAFETY: the links stay to the end of the test, and only these are used.
        let [head, a, b, c] = [0, 1, 2, 3].map(|i| unsafe { Ring::new(start.wrapping_add(i)) });
        assert_eq!(head.items().count(), 0, "a head of zeros");
        head.init();
        assert_eq!(head.pop(), None);
        [a, b, c].into_iter().for_each(|item| head.add_tail(item));
        assert_eq!(head.items().collect::<Vec<_>>(), [a, b, c]);
        assert_eq!(head.pop(), Some(a));
        head.add_tail(a);
        assert_eq!(std::iter::from_fn(|| head.pop()).collect::<Vec<_>>(), [b, c, a]);
        assert_eq!(head.items().count(), 0);
    }
}
