//! Descriptors of nets and their interfaces in C.

use super::text;
use super::types::{IFNAMSIZ, lnet_dlc_intf_descr, lnet_dlc_network_descr};
use crate::entry::{InString, helper};
use crate::expression::{self, ExprList};
use crate::list::{Ring, RingArg};
use crate::types::{__u32, cfs_expr_list, list_head};
use lnet_dlc::{CptList, InterfaceSpec, ReturnCode};
use lnet_wire::{Expression, RawNet};
use std::ffi::{c_char, c_int};
use std::ptr;

/// The number that stands for any net, `LNET_NET_ANY`.
const NET_ANY: __u32 = __u32::MAX;

/// Makes a descriptor without a net and without interfaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_init_nw_descr(nw_descr: *mut lnet_dlc_network_descr) {
    if nw_descr.is_null() {
        return;
    }
    // SAFETY: checked for NULL; a descriptor of the program's, which the call may write.
    unsafe {
        (*nw_descr).nw_id = NET_ANY;
        Ring::new(&raw mut (*nw_descr).network_on_rule).init();
        Ring::new(&raw mut (*nw_descr).nw_intflist).init();
    }
}

/// Adds the interfaces of a list such as `eth0,eth1[0,2]` to the descriptor; in brackets are CPU partitions.
/// Addresses may replace names. Returns 0; LUSTRE_CFG_RC_BAD_PARAM if the text is not such a list or has a name
/// of more than 15 characters, LUSTRE_CFG_RC_OUT_OF_MEM: nothing is added then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_parse_interfaces(
    intf_str: InString<'_>,
    nw_descr: *mut lnet_dlc_network_descr,
) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        let parsed = text(intf_str).and_then(|text| InterfaceSpec::parse_list(&text).ok());
        let Some(specs) = parsed.filter(|_| !nw_descr.is_null()) else { return ReturnCode::BAD_PARAM.0 };
        if specs.iter().any(|spec| spec.name.len() >= IFNAMSIZ || spec.name.contains('\0')) {
            return ReturnCode::BAD_PARAM.0;
        }
        let mut added = list_head { next: ptr::null_mut(), prev: ptr::null_mut() };
        // SAFETY: the first ring is made here and lives until it is empty; the second is part of a descriptor of the program's, checked for
        // NULL above.
        let (added, interfaces) =
            unsafe { (Ring::new(&raw mut added), Ring::new(&raw mut (*nw_descr).nw_intflist)) };
        added.init();
        for spec in &specs {
            let Some(made) = to_c(spec) else {
                // SAFETY: the interfaces that were made here, which nobody else has.
                unsafe { free_interfaces(added) };
                return ReturnCode::OUT_OF_MEMORY.0;
            };
            added.add_tail(made);
        }
        while let Some(item) = added.pop() {
            interfaces.add_tail(item);
        }
        0
    })
}

/// The content of a descriptor in the form of the operations: the net's name, if it names one, and the interfaces. The list is
/// emptied and freed.
///
/// # Safety
/// `descr` is NULL or a descriptor whose interfaces are `malloc`'s.
pub(super) unsafe fn take(descr: *mut lnet_dlc_network_descr) -> (Option<String>, Vec<InterfaceSpec>) {
    if descr.is_null() {
        return (None, Vec::new());
    }
    // SAFETY: checked for NULL; a descriptor of the calling program's, which is there until the C function returns, and no other thread uses
    // it before. One of zeros, which nobody initialised, has no interfaces.
    let (net, list) = unsafe { ((*descr).nw_id, Ring::new(&raw mut (*descr).nw_intflist)) };
    let net = Some(net).filter(|net| *net != NET_ANY).map(|net| RawNet(net).to_string());
    // SAFETY: an interface, which begins with its link.
    let interfaces = list.items().map(|item| unsafe { from_c(item.as_ptr()) }).collect();
    // SAFETY: the interfaces of the calling program's descriptor, which are `malloc`'s and live until here: the program gives them up.
    unsafe { free_interfaces(list) };
    (net, interfaces)
}

/// The CPTs of an expression; `None` for NULL, and for more than the maximum.
///
/// # Safety
/// `list` is NULL or an expression.
pub(super) unsafe fn cpts(list: *mut cfs_expr_list) -> Option<CptList> {
    // SAFETY: NULL, or an expression of the calling program's, which is there and unchanged until the C function returns.
    let list = unsafe { ExprList::new(list) }?;
    expression::from_c(Some(list)).values(CptList::MAX_CPTS).ok().map(CptList::new)
}

/// # Safety
/// `head` is a ring of interfaces that were allocated by `malloc`, as were their expressions, and that are not used any more.
unsafe fn free_interfaces(head: Ring) {
    while let Some(item) = head.pop() {
        let interface: *mut lnet_dlc_intf_descr = item.as_ptr();
        // SAFETY: an interface, which begins with its link, and its expression, or NULL: both are `malloc`'s, live until here, and nobody uses
        // them any more.
        unsafe {
            expression::_cfs_expr_list_free(ExprList::new((*interface).cpt_expr));
            libc::free(interface.cast());
        }
    }
}

/// A new descriptor, in no list, by its link; `None` if there is no memory. The name has less than 16 bytes.
fn to_c(spec: &InterfaceSpec) -> RingArg {
    // SAFETY: `calloc` may be called with any size.
    let made: *mut lnet_dlc_intf_descr = unsafe { libc::calloc(1, size_of::<lnet_dlc_intf_descr>()) }.cast();
    if made.is_null() {
        return None;
    }
    // SAFETY: new and large enough, and nobody else has it; all zeros is a value of the structure. It begins with its link.
    unsafe {
        for (to, from) in (*made).intf_name.iter_mut().zip(spec.name.bytes()) {
            *to = from as c_char;
        }
        if let Some(cpts) = &spec.cpts {
            let ranges = cpts.as_slice().iter().map(|cpt| lnet_wire::expression::Range::one(*cpt));
            (*made).cpt_expr = expression::to_c(&Expression::from_ranges(ranges.collect()));
            if (*made).cpt_expr.is_null() {
                libc::free(made.cast());
                return None;
            }
        }
        Some(Ring::new(made.cast()))
    }
}

/// # Safety
/// `interface` is a descriptor.
unsafe fn from_c(interface: *mut lnet_dlc_intf_descr) -> InterfaceSpec {
    // SAFETY: a descriptor in a list of the calling program's, which is there and unchanged until the C function returns.
    unsafe {
        let name = (*interface).intf_name;
        let bytes: Vec<u8> = name.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
        InterfaceSpec {
            name: String::from_utf8_lossy(&bytes).into_owned(),
            cpts: cpts((*interface).cpt_expr),
        }
    }
}
