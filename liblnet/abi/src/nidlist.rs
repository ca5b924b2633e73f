//! Lists of NIDs: `10.0.0.[1-5]@tcp *@o2ib`.
//!
//! In C a list is a `struct list_head` whose items only the library reads: one `Node` for each network.

use crate::entry::helper;
use crate::list::{Ring, RingArg};
use crate::nidstr::write_string;
use crate::types::{list_head, lnet_nid_t};
use lnet_wire::Nid;
use lnet_wire::nid_range::{NidList, NidRange};
use std::ffi::{c_char, c_int};
use std::fmt;

/// The addresses of one network, in a ring; the link comes first, so that a link's address is its node's.
#[repr(C)]
struct Node {
    link: list_head,
    range: NidRange,
}

/// Reads a list of NIDs from the first len bytes of str into list, which the function initialises: one or more
/// ADDRESSES@NETWORK with blanks between.
///
/// ADDRESSES is *, or four expressions with dots between, or for networks with numeric addresses one
/// expression; an expression is a number, * or [a,b-c,d-e/s]. On tcp and efa it is also an IPv6 address whose
/// groups are expressions with hexadecimal numbers (fd99::[1-f]). A mask is an address and the number of its
/// first bits (10.0.0.0/8, fd99::/64). Returns 1; 0 if str is no list of NIDs, and
/// list is then empty. The list belongs to the caller until cfs_free_nidlist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_parse_nidlist(str: *mut c_char, len: c_int, list: RingArg) -> c_int {
    helper(0, || {
        let Some(list) = list else { return 0 };
        list.init();
        // SAFETY: NULL, or `len` bytes of the program's, unchanged during the call.
        let Some(text) = (unsafe { text(str, len) }) else { return 0 };
        let Ok(parsed) = text.parse::<NidList>() else { return 0 };
        for range in parsed.nets() {
            let link = list_head { next: std::ptr::null_mut(), prev: std::ptr::null_mut() };
            let node = Box::into_raw(Box::new(Node { link, range: range.clone() }));
            // SAFETY: the link of a new node, which stays until `cfs_free_nidlist`.
            list.add_tail(unsafe { Ring::new(node.cast()) });
        }
        1
    })
}

/// Returns 1 if nid is in the list, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn _cfs_match_nid(nid: lnet_nid_t, list: RingArg) -> c_int {
    helper(0, || Nid::from_u64(nid).is_some_and(|nid| ranges(list).any(|range| range.matches(nid))).into())
}

/// Writes the list into the count bytes of buf, terminated, and truncated if buf is too small. Entries
/// on the same network are adjacent. Returns the number of characters written; 0 for count <= 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_print_nidlist(buf: *mut c_char, count: c_int, list: RingArg) -> c_int {
    helper(0, || {
        let room = usize::try_from(count).unwrap_or(0);
        let ranges: Vec<&NidRange> = ranges(list).collect();
        // SAFETY: NULL, or `count` bytes of the program's, which the call may write.
        let written = unsafe { write_string(buf, room, Joined(&ranges)) };
        c_int::try_from(written).unwrap_or(c_int::MAX)
    })
}

/// Frees the items of a list, which is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_free_nidlist(list: RingArg) {
    helper((), || {
        let Some(list) = list else { return };
        while let Some(item) = list.pop() {
            // SAFETY: a box of `cfs_parse_nidlist`, which put only nodes into the list; it is out of the list now, and the program, which
            // frees the list, has it no more.
            drop(unsafe { Box::from_raw(item.as_ptr::<Node>()) });
        }
        list.init();
    });
}

/// Whether the list names one network, and all addresses between the lowest and the highest.
#[unsafe(no_mangle)]
pub extern "C" fn _cfs_nidrange_is_contiguous(list: RingArg) -> bool {
    helper(false, || interval(list).is_some())
}

/// Writes the lowest and the highest NID of a list for which cfs_nidrange_is_contiguous holds into min and
/// max, which have len bytes each; empty strings for any other list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_nidrange_find_min_max(
    list: RingArg,
    min: *mut c_char,
    max: *mut c_char,
    len: usize,
) {
    helper((), || {
        let ends = interval(list);
        let (first, last) = ends.map_or_else(Default::default, |(a, b)| (a.to_string(), b.to_string()));
        // SAFETY: each NULL, or `len` bytes of the program's, which the call may write.
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
    // SAFETY: checked for NULL; `len` bytes of the program's, which are there and unchanged as long as the result is used (`'a`).
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(str.cast(), len) }).ok()
}

/// The ranges of a list that `cfs_parse_nidlist` filled: its items are [`Node`]s, which stay until the program frees the list.
fn ranges<'a>(list: RingArg) -> impl Iterator<Item = &'a NidRange> {
    // SAFETY: every item is the link of a node, which begins with it, and which nobody changes.
    list.into_iter().flat_map(Ring::items).map(|item| unsafe { &(*item.as_ptr::<Node>()).range })
}

fn interval(list: RingArg) -> Option<(Nid, Nid)> {
    let mut ranges = ranges(list);
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
