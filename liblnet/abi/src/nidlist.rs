//! Lists of NIDs: `10.0.0.[1-5]@tcp *@o2ib`.
//!
//! To C a list is a `struct list_head` whose items only the library knows: one `Node` for each network.

use crate::entry::helper;
use crate::list;
use crate::nidstr::write_string;
use crate::types::{list_head, lnet_nid_t};
use lnet_wire::Nid;
use lnet_wire::nid_range::{NidList, NidRange};
use std::ffi::{c_char, c_int};
use std::fmt;

/// One network's addresses, in a ring; the link comes first, so that a link's address is its node's.
#[repr(C)]
struct Node {
    link: list_head,
    range: NidRange,
}

/// Reads a list of NIDs from the first len bytes of str into list, which this initialises: one or more
/// ADDRESSES@NETWORK with blanks between.
///
/// ADDRESSES is *, or four expressions with dots between, or for networks with numeric addresses one
/// expression; an expression is a number, * or [a,b-c,d-e/s]. Returns 1; 0 if str is no list of NIDs, and
/// list is then empty. The list belongs to the caller until cfs_free_nidlist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_parse_nidlist(str: *mut c_char, len: c_int, list: *mut list_head) -> c_int {
    helper(0, || {
        if list.is_null() {
            return 0;
        }
        // SAFETY: not NULL; by contract the caller's to write.
        unsafe { list::init(list) };
        // SAFETY: by contract `str` has `len` bytes.
        let Some(text) = (unsafe { text(str, len) }) else { return 0 };
        let Ok(parsed) = text.parse::<NidList>() else { return 0 };
        for range in parsed.nets() {
            let link = list_head { next: std::ptr::null_mut(), prev: std::ptr::null_mut() };
            let node = Box::into_raw(Box::new(Node { link, range: range.clone() }));
            // SAFETY: `list` was initialised above, and the node is new.
            unsafe { list::add_tail(node.cast(), list) };
        }
        1
    })
}

/// 1 if nid is in the list, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_match_nid(nid: lnet_nid_t, list: *mut list_head) -> c_int {
    helper(0, || {
        // SAFETY: by contract `list` is NULL or was filled by `cfs_parse_nidlist`.
        let mut ranges = unsafe { ranges(list) };
        Nid::from_u64(nid).is_some_and(|nid| ranges.any(|range| range.matches(nid))).into()
    })
}

/// Writes the list into the count bytes of buf, terminated, and cut short where buf is too small. Entries
/// on the same network stand together. Returns the characters written; 0 for count <= 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_print_nidlist(buf: *mut c_char, count: c_int, list: *mut list_head) -> c_int {
    helper(0, || {
        let room = usize::try_from(count).unwrap_or(0);
        // SAFETY: by contract `list` is NULL or was filled by `cfs_parse_nidlist`.
        let ranges: Vec<&NidRange> = unsafe { ranges(list) }.collect();
        // SAFETY: by contract `buf` has `count` bytes.
        let written = unsafe { write_string(buf, room, Joined(&ranges)) };
        c_int::try_from(written).unwrap_or(c_int::MAX)
    })
}

/// Ends a list: it is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_free_nidlist(list: *mut list_head) {
    helper((), || {
        if list.is_null() {
            return;
        }
        // SAFETY: by contract filled by `cfs_parse_nidlist`, which put only nodes into it.
        while let Some(item) = unsafe { list::pop(list) } {
            // SAFETY: each node was made by `Box::into_raw` and is out of the list now.
            drop(unsafe { Box::from_raw(item.cast::<Node>()) });
        }
        // SAFETY: not NULL; by contract the caller's to write.
        unsafe { list::init(list) };
    });
}

/// Whether the list names one network, and all addresses between the lowest and the highest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_nidrange_is_contiguous(list: *mut list_head) -> bool {
    // SAFETY: by contract `list` is NULL or was filled by `cfs_parse_nidlist`.
    helper(false, || unsafe { interval(list) }.is_some())
}

/// Writes the lowest and the highest NID of a list for which cfs_nidrange_is_contiguous holds into min and
/// max, which have len bytes each; empty strings for any other list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_nidrange_find_min_max(
    list: *mut list_head,
    min: *mut c_char,
    max: *mut c_char,
    len: usize,
) {
    helper((), || {
        // SAFETY: by contract `list` is NULL or was filled by `cfs_parse_nidlist`.
        let ends = unsafe { interval(list) };
        let (first, last) = ends.map_or_else(Default::default, |(a, b)| (a.to_string(), b.to_string()));
        // SAFETY: by contract `min` and `max` have `len` bytes.
        unsafe {
            write_string(min, len, first);
            write_string(max, len, last);
        }
    });
}

/// The text in the first `len` bytes of `str`.
///
/// # Safety
/// `str` is NULL or has `len` readable bytes that do not change during `'a`.
pub(crate) unsafe fn text<'a>(str: *const c_char, len: c_int) -> Option<&'a str> {
    let len = usize::try_from(len).ok()?;
    if str.is_null() {
        return None;
    }
    // SAFETY: not NULL, and this function's contract.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(str.cast(), len) }).ok()
}

/// # Safety
/// `list` is NULL or a ring of [`Node`]s that stays as it is during `'a`.
unsafe fn ranges<'a>(list: *mut list_head) -> impl Iterator<Item = &'a NidRange> {
    let items = (!list.is_null()).then(|| {
        // SAFETY: not NULL; the rest is this function's contract.
        unsafe { list::iter(list) }
    });
    // SAFETY: every item is the link of a node, which begins with it.
    items.into_iter().flatten().map(|item| unsafe { &(*item.cast::<Node>()).range })
}

/// # Safety
/// As [`ranges`].
unsafe fn interval(list: *mut list_head) -> Option<(Nid, Nid)> {
    // SAFETY: this function's contract.
    let mut ranges = unsafe { ranges(list) };
    let only = ranges.next()?;
    if ranges.next().is_some() { None } else { only.interval() }
}

struct Joined<'a>(&'a [&'a NidRange]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
