//! Linux's linked rings, as C programs walk them.

use crate::types::list_head;
use std::ptr;

/// Makes `head` an empty ring.
///
/// # Safety
/// `head` is valid for writes.
pub(crate) unsafe fn init(head: *mut list_head) {
    // SAFETY: this function's contract.
    unsafe { head.write(list_head { next: head, prev: head }) };
}

/// Adds `item` at the end of the ring `head`.
///
/// # Safety
/// `head` is a ring, `item` is valid for writes and in no ring.
pub(crate) unsafe fn add_tail(item: *mut list_head, head: *mut list_head) {
    // SAFETY: in a ring every `next` and `prev` is valid; the rest is this function's contract.
    unsafe {
        let last = (*head).prev;
        item.write(list_head { next: head, prev: last });
        (*last).next = item;
        (*head).prev = item;
    }
}

/// Takes `item` out of its ring.
///
/// # Safety
/// `item` is in a ring.
pub(crate) unsafe fn del(item: *mut list_head) {
    // SAFETY: in a ring every `next` and `prev` is valid.
    unsafe {
        (*(*item).prev).next = (*item).next;
        (*(*item).next).prev = (*item).prev;
        (*item).next = ptr::null_mut();
        (*item).prev = ptr::null_mut();
    }
}

/// Takes the first item out of the ring `head`; `None` when it is empty.
///
/// # Safety
/// `head` is a ring.
pub(crate) unsafe fn pop(head: *mut list_head) -> Option<*mut list_head> {
    // SAFETY: `head` is a ring, so its `next` is valid and in it.
    unsafe {
        let first = (*head).next;
        if first == head {
            return None;
        }
        del(first);
        Some(first)
    }
}

/// The items of the ring `head`, in order.
///
/// # Safety
/// `head` is a ring and stays as it is while the iterator is used.
pub(crate) unsafe fn iter(head: *mut list_head) -> impl Iterator<Item = *mut list_head> {
    // SAFETY: `head` is a ring.
    let mut next = unsafe { (*head).next };
    std::iter::from_fn(move || {
        if next == head {
            return None;
        }
        let item = next;
        // SAFETY: `item` is in the ring, by the contract that it stays as it is.
        next = unsafe { (*item).next };
        Some(item)
    })
}
