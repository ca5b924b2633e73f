//! Selection rules in one piece of memory, as the design document has them: `lnet_udsp_marshal` and its like.
//!
//! The piece is a `struct lnet_ioctl_udsp` without a pointer, and behind it the descriptors (core-behaviour 8.5).

use super::types::{lnet_ud_nid_descr, lnet_udsp, lnet_udsp_action_type};
use crate::ctl::udsp::UDSP;
use crate::entry::helper;
use crate::expression::{from_c, to_c};
use crate::list;
use crate::types::{__u32, cfs_expr_list, list_head};
use crate::udsp_bytes::{Criteria, marshal, unmarshal};
use lnet_core::Errno;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, IpRange, NetType, Selector};
use std::ffi::{c_int, c_void};

/// Bytes that lnet_udsp_marshal needs for a selection rule; -EINVAL for one that is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_get_udsp_size(udsp: *mut lnet_udsp) -> c_int {
    helper(Errno::Invalid.to_c(), || {
        // SAFETY: by contract NULL or a rule.
        let size = unsafe { criteria(udsp) }.and_then(|criteria| Some(UDSP + marshal(&criteria)?.len()));
        size.and_then(|size| c_int::try_from(size).ok()).unwrap_or(Errno::Invalid.to_c())
    })
}

/// Stores a selection rule in one piece in the *bulk_size bytes of bulk, and in *bulk_size how many they are. Returns 0; -ENOSPC for
/// too few, -EINVAL for what is no rule.
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
        // SAFETY: by contract NULL or a rule.
        let Some(criteria) = (unsafe { criteria(udsp) }) else { return Errno::Invalid.to_c() };
        let Some(descriptors) = marshal(&criteria) else { return Errno::Invalid.to_c() };
        let size = UDSP + descriptors.len();
        // SAFETY: not NULL, by contract a rule and the size of `bulk`.
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
        // SAFETY: by contract `bulk` has that many bytes, which are the caller's to write.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), bulk.cast(), size);
            bulk_size.write(stored);
        }
        0
    })
}

/// Makes *udsp the selection rule that lnet_udsp_marshal has stored in the bulk_size bytes of bulk. It is on no list. The caller frees its
/// ranges, each with cfs_expr_list_free_list. Returns 0; -EINVAL for other bytes, -ENOMEM; the rule has no ranges then.
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
        // SAFETY: by contract `bulk` has that many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bulk.cast::<u8>(), bulk_size as usize) };
        // SAFETY: by contract `udsp` is the caller's to write; it may be uninitialised, so no reference is made.
        let sides =
            unsafe { [&raw mut (*udsp).udsp_src, &raw mut (*udsp).udsp_dst, &raw mut (*udsp).udsp_rte] };
        // SAFETY: as above.
        unsafe {
            list::init(&raw mut (*udsp).udsp_on_list);
            sides.iter().for_each(|side| clear(*side));
        }
        let word = |at: usize| {
            bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_ne_bytes(*word))
        };
        let is_whole = word(0) == bulk_size && is_action(word(12));
        let Some(criteria) = bytes.get(UDSP..).and_then(unmarshal).filter(|_| is_whole) else {
            return Errno::Invalid.to_c();
        };
        // SAFETY: as above.
        unsafe {
            (&raw mut (*udsp).udsp_idx).write(word(8));
            (&raw mut (*udsp).udsp_action_type).write(word(12));
            (&raw mut (*udsp).udsp_priority).write(word(20));
        }
        for (side, selector) in sides.iter().zip(&criteria) {
            let Some(selector) = selector else { continue };
            // SAFETY: initialized above.
            if !unsafe { fill(*side, selector) } {
                // SAFETY: as above.
                unsafe { sides.iter().for_each(|side| free(*side)) };
                return Errno::NoMemory.to_c();
            }
        }
        0
    })
}

/// Whether this is an `enum lnet_udsp_action_type`.
const fn is_action(number: u32) -> bool {
    number <= lnet_udsp_action_type::EN_LNET_UDSP_ACTION_PREFERRED_LIST as u32
}

/// The criteria of a rule; `None` for NULL, and for what is none.
///
/// # Safety
/// `udsp` is NULL or a rule, which nobody changes during the call.
unsafe fn criteria(udsp: *mut lnet_udsp) -> Option<Criteria> {
    if udsp.is_null() {
        return None;
    }
    // SAFETY: this function's contract.
    unsafe {
        Some([
            selector(&raw mut (*udsp).udsp_src)?,
            selector(&raw mut (*udsp).udsp_dst)?,
            selector(&raw mut (*udsp).udsp_rte)?,
        ])
    }
}

/// `None`: not a descriptor; `Some(None)`: one that is absent.
///
/// # Safety
/// `descriptor` is one of a rule, which nobody changes during the call.
#[allow(clippy::option_option, reason = "see above")]
unsafe fn selector(descriptor: *mut lnet_ud_nid_descr) -> Option<Option<Selector>> {
    // SAFETY: this function's contract.
    let (kind, numbers, addresses) = unsafe {
        let net = &raw mut (*descriptor).ud_net_id;
        ((*net).udn_net_type, &raw mut (*net).udn_net_num_range, &raw mut (*descriptor).ud_addr_range)
    };
    if kind == 0 {
        return Some(None);
    }
    let kind = NetType(u16::try_from(kind).ok()?);
    // SAFETY: this function's contract; the rings hold expressions.
    let (numbers, mut addresses) = unsafe { (expressions(numbers), expressions(addresses)) };
    let ranges: Vec<_> = numbers.iter().flat_map(|numbers| numbers.ranges()).copied().collect();
    let numbers = (!ranges.is_empty()).then(|| Expression::from_ranges(ranges));
    let addresses = match addresses.len() {
        0 => None,
        1 => addresses.pop().map(AddressRange::Number),
        _ => Some(AddressRange::Ip(IpRange::from_octets(addresses.try_into().ok()?))),
    };
    Selector::from_parts(kind, numbers, addresses).map(Some)
}

/// # Safety
/// `ring` is a ring of expressions, each of which begins with its link, which nobody changes during the call; or zeroes.
unsafe fn expressions(ring: *mut list_head) -> Vec<Expression> {
    // SAFETY: this function's contract.
    unsafe {
        match (*ring).next.is_null() {
            true => Vec::new(),
            false => list::iter(ring).map(|item| from_c(item.cast::<cfs_expr_list>())).collect(),
        }
    }
}

/// # Safety
/// `side` may be written.
unsafe fn clear(side: *mut lnet_ud_nid_descr) {
    // SAFETY: this function's contract.
    unsafe {
        (*side).ud_net_id.udn_net_type = 0;
        list::init(&raw mut (*side).ud_net_id.udn_net_num_range);
        list::init(&raw mut (*side).ud_addr_range);
    }
}

/// Whether there was memory.
///
/// # Safety
/// `side` has been cleared.
unsafe fn fill(side: *mut lnet_ud_nid_descr, selector: &Selector) -> bool {
    let addresses: &[Expression] = match selector.addresses() {
        None | Some(AddressRange::Long(_)) => &[],
        Some(AddressRange::Ip(range)) => range.octets(),
        Some(AddressRange::Number(expression)) => std::slice::from_ref(expression),
    };
    // SAFETY: this function's contract; what is added is new.
    unsafe {
        (*side).ud_net_id.udn_net_type = selector.kind().0.into();
        selector.numbers().is_none_or(|numbers| add(numbers, &raw mut (*side).ud_net_id.udn_net_num_range))
            && addresses.iter().all(|octet| add(octet, &raw mut (*side).ud_addr_range))
    }
}

/// # Safety
/// `ring` is a ring.
unsafe fn add(expression: &Expression, ring: *mut list_head) -> bool {
    let list = to_c(expression);
    if list.is_null() {
        return false;
    }
    // SAFETY: this function's contract; the expression is new.
    unsafe { list::add_tail(&raw mut (*list).el_link, ring) };
    true
}

/// # Safety
/// `side` has been cleared, and filled.
unsafe fn free(side: *mut lnet_ud_nid_descr) {
    // SAFETY: this function's contract.
    unsafe {
        crate::expression::_cfs_expr_list_free_list(&raw mut (*side).ud_net_id.udn_net_num_range);
        crate::expression::_cfs_expr_list_free_list(&raw mut (*side).ud_addr_range);
        clear(side);
    }
}
