//! Marshalling of selection rules into one piece of memory, as in the design document: `lnet_udsp_marshal` and the like.
//!
//! The piece is a `struct lnet_ioctl_udsp` without a pointer, followed by the descriptors (core-behaviour 8.5).

use super::types::{lnet_ud_nid_descr, lnet_udsp, lnet_udsp_action_type};
use crate::ctl::udsp::UDSP;
use crate::entry::helper;
use crate::expression::{ExprList, from_c};
use crate::list::Ring;
use crate::types::__u32;
use crate::udsp_bytes::{Criteria, marshal, unmarshal};
use lnet_core::Errno;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, IpRange, NetType, Selector};
use std::ffi::{c_int, c_void};

/// The number of bytes that lnet_udsp_marshal needs for a selection rule; -EINVAL for an invalid rule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_get_udsp_size(udsp: *mut lnet_udsp) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        // SAFETY: NULL, or a rule of the program's, unchanged during the call.
        let size = unsafe { criteria(udsp) }.and_then(|criteria| Some(UDSP + marshal(&criteria)?.len()));
        size.and_then(|size| c_int::try_from(size).ok()).unwrap_or(Errno::Invalid.to_c())
    })
}

/// Stores a selection rule in one piece in the *bulk_size bytes of bulk, and the number of bytes in *bulk_size. Returns 0;
/// -ENOSPC if bulk is too small, -EINVAL for an invalid rule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_udsp_marshal(
    udsp: *mut lnet_udsp,
    bulk_size: *mut __u32,
    bulk: *mut c_void,
) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        if bulk_size.is_null() || bulk.is_null() {
            return Errno::Invalid.to_c();
        }
        // SAFETY: NULL, or a rule of the program's, unchanged during the call.
        let Some(criteria) = (unsafe { criteria(udsp) }) else { return Errno::Invalid.to_c() };
        let Some(descriptors) = marshal(&criteria) else { return Errno::Invalid.to_c() };
        let size = UDSP + descriptors.len();
        // SAFETY: not NULL, as was checked, the rule by `criteria`; the program's, unchanged during the call.
        let (rule, capacity) = unsafe { (&*udsp, bulk_size.read() as usize) };
        let Ok(stored) = u32::try_from(size) else { return Errno::Invalid.to_c() };
        if capacity < size {
            return Errno::NoSpace.to_c();
        }
        let mut bytes = vec![0; UDSP];
        let words = [
            (0, stored),
            (8, rule.udsp_idx),
            (12, rule.udsp_action_type),
            (16, stored - UDSP as u32),
            (20, rule.udsp_priority),
        ];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes.extend(descriptors);
        // SAFETY: checked for NULL above; `bulk` has at least so many bytes, as the program says in `*bulk_size`, and the call may write both.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), bulk.cast(), size);
            bulk_size.write(stored);
        }
        0
    })
}

/// Makes *udsp the selection rule that lnet_udsp_marshal has stored in the bulk_size bytes of bulk. It is in no list. The
/// caller frees its ranges, each with cfs_expr_list_free_list. Returns 0; -EINVAL for other bytes, -ENOMEM; the rule has no
/// ranges then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_udsp_demarshal(
    bulk: *mut c_void,
    bulk_size: __u32,
    udsp: *mut lnet_udsp,
) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        if bulk.is_null() || udsp.is_null() {
            return Errno::Invalid.to_c();
        }
        // SAFETY: checked for NULL above; so many bytes of the program's, unchanged during the call.
        let bytes = unsafe { std::slice::from_raw_parts(bulk.cast::<u8>(), bulk_size as usize) };
        // SAFETY: checked for NULL above; a rule of the program's, for the call to write. It may be uninitialised, so no reference is made.
        let sides =
            unsafe { [&raw mut (*udsp).udsp_src, &raw mut (*udsp).udsp_dst, &raw mut (*udsp).udsp_rte] };
        // SAFETY: parts of the rule, which the call may write.
        unsafe {
            Ring::new(&raw mut (*udsp).udsp_on_list).init();
            sides.iter().for_each(|side| clear(*side));
        }
        let word = |at: usize| {
            bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_ne_bytes(*word))
        };
        let is_whole = word(0) == bulk_size && is_action(word(12));
        let Some(criteria) = bytes.get(UDSP..).and_then(unmarshal).filter(|_| is_whole) else {
            return Errno::Invalid.to_c();
        };
        // SAFETY: parts of the rule, which the call may write.
        unsafe {
            (&raw mut (*udsp).udsp_idx).write(word(8));
            (&raw mut (*udsp).udsp_action_type).write(word(12));
            (&raw mut (*udsp).udsp_priority).write(word(20));
        }
        for (side, selector) in sides.iter().zip(&criteria) {
            let Some(selector) = selector else { continue };
            // SAFETY: a part of the rule, cleared above.
            if !unsafe { fill(*side, selector) } {
                // SAFETY: parts of the rule, cleared above, and filled by this call alone.
                unsafe { sides.iter().for_each(|side| free(*side)) };
                return Errno::NoMemory.to_c();
            }
        }
        0
    })
}

/// Whether the number is an `enum lnet_udsp_action_type`.
const fn is_action(number: u32) -> bool {
    number <= lnet_udsp_action_type::EN_LNET_UDSP_ACTION_PREFERRED_LIST as u32
}

/// The criteria of a rule; `None` for NULL, and for an invalid rule.
///
/// # Safety
/// `udsp` is NULL or a rule that does not change during the call.
unsafe fn criteria(udsp: *mut lnet_udsp) -> Option<Criteria> {
    if udsp.is_null() {
        return None;
    }
    // SAFETY: checked for NULL; parts of a rule of the calling program's, which is there and unchanged until the C function returns.
    unsafe {
        Some([
            selector(&raw mut (*udsp).udsp_src)?,
            selector(&raw mut (*udsp).udsp_dst)?,
            selector(&raw mut (*udsp).udsp_rte)?,
        ])
    }
}

/// The selector of a descriptor. `None`: not a valid descriptor; `Some(None)`: an absent one.
///
/// # Safety
/// `descriptor` is that of a rule, which does not change during the call.
#[allow(clippy::option_option, reason = "see above")]
unsafe fn selector(descriptor: *mut lnet_ud_nid_descr) -> Option<Option<Selector>> {
    // SAFETY: a descriptor in a rule of the calling program's, which is there and unchanged until the C function returns; its rings hold
    // expressions, or are zeros.
    let (kind, numbers, addresses) = unsafe {
        let net = &raw mut (*descriptor).ud_net_id;
        let numbers = Ring::new(&raw mut (*net).udn_net_num_range);
        ((*net).udn_net_type, numbers, Ring::new(&raw mut (*descriptor).ud_addr_range))
    };
    if kind == 0 {
        return Some(None);
    }
    let kind = NetType(u16::try_from(kind).ok()?);
    let (numbers, mut addresses) = (expressions(numbers), expressions(addresses));
    let ranges: Vec<_> = numbers.iter().flat_map(|numbers| numbers.ranges()).copied().collect();
    let numbers = (!ranges.is_empty()).then(|| Expression::from_ranges(ranges));
    let addresses = match addresses.len() {
        0 => None,
        1 => addresses.pop().map(AddressRange::Number),
        _ => Some(AddressRange::Ip(IpRange::from_octets(addresses.try_into().ok()?))),
    };
    Selector::from_parts(kind, numbers, addresses).map(Some)
}

/// The expressions in a ring of them.
fn expressions(ring: Ring) -> Vec<Expression> {
    ring.items().map(|item| from_c(ExprList::of_link(item))).collect()
}

/// # Safety
/// `side` may be written.
unsafe fn clear(side: *mut lnet_ud_nid_descr) {
    // SAFETY: a descriptor in a rule of the calling program's, which is there until the C function returns and may be written.
    unsafe {
        (*side).ud_net_id.udn_net_type = 0;
        rings(side).into_iter().for_each(Ring::init);
    }
}

/// Fills a descriptor. Returns whether there was memory.
///
/// # Safety
/// `side` has been cleared.
unsafe fn fill(side: *mut lnet_ud_nid_descr, selector: &Selector) -> bool {
    // What comes from a descriptor is no IPv6 pattern: that has none.
    let addresses = match selector.addresses() {
        None => Vec::new(),
        Some(AddressRange::Ip(range)) => range.octets().map(Vec::from).unwrap_or_default(),
        Some(AddressRange::Number(expression)) => vec![expression.clone()],
    };
    // SAFETY: a descriptor in a rule of the calling program's, which is there until the C function returns and may be written. It has been
    // cleared, so its rings are valid.
    let [of_numbers, of_addresses] = unsafe {
        (*side).ud_net_id.udn_net_type = selector.kind().0.into();
        rings(side)
    };
    selector.numbers().is_none_or(|numbers| add(numbers, of_numbers))
        && addresses.iter().all(|octet| add(octet, of_addresses))
}

/// The rings of the expressions for the numbers of nets and for addresses.
///
/// # Safety
/// `side` may be written, and stays as long as the result is used.
unsafe fn rings(side: *mut lnet_ud_nid_descr) -> [Ring; 2] {
    // SAFETY: parts of a descriptor in a rule of the calling program's, which is there until the C function returns, and so longer than the
    // rings are used.
    unsafe {
        let numbers = Ring::new(&raw mut (*side).ud_net_id.udn_net_num_range);
        [numbers, Ring::new(&raw mut (*side).ud_addr_range)]
    }
}

/// Adds an expression at the end of a ring. Returns whether there was memory.
fn add(expression: &Expression, ring: Ring) -> bool {
    ExprList::made(expression).map(|list| ring.add_tail(list.link())).is_some()
}

/// # Safety
/// `side` has been cleared, and filled.
unsafe fn free(side: *mut lnet_ud_nid_descr) {
    // SAFETY: a descriptor in a rule of the calling program's, which is there until the C function returns. This file has cleared and
    // filled it, so its expressions are `malloc`'s; nobody uses them any more.
    unsafe {
        rings(side).into_iter().for_each(|ring| crate::expression::_cfs_expr_list_free_list(Some(ring)));
        clear(side);
    }
}
