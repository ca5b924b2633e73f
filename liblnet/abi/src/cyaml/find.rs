//! Finding something in a tree.

use super::node::{self, ARRAY, cYAML};
use crate::entry::{bytes_of, helper};
use std::ffi::c_char;
use std::ptr;

/// The first node with the key name; NULL if there is none. Looks at parent itself, at all below it, and
/// then at the siblings that follow it: in an item of a sequence that lacks the key, that of a later item
/// is found. To look at one item alone, walk its cy_child and their cy_next.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_get_object_item(parent: *mut cYAML, name: *const c_char) -> *mut cYAML {
    helper(ptr::null_mut(), || {
        // SAFETY: by contract `parent` is NULL or a node, `name` NULL or a string.
        unsafe {
            let Some(name) = bytes_of(name) else { return ptr::null_mut() };
            node::walk(parent).find(|node| node::key(*node) == Some(name)).unwrap_or(ptr::null_mut())
        }
    })
}

/// As cYAML_get_object_item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_find_object(root: *mut cYAML, key: *const c_char) -> *mut cYAML {
    // SAFETY: the contract is the same.
    unsafe { _cYAML_get_object_item(root, key) }
}

/// The item of the sequence seq that follows *itm, or its first where *itm is NULL, and stores it in *itm.
/// After the last one NULL, and *itm remains the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_get_next_seq_item(seq: *mut cYAML, itm: *mut *mut cYAML) -> *mut cYAML {
    if seq.is_null() || itm.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: not NULL; by contract `seq` is a node, `itm` the caller's, and `*itm` NULL or one of its items.
    unsafe {
        if (*seq).cy_type != ARRAY {
            return ptr::null_mut();
        }
        let next = if (*itm).is_null() { (*seq).cy_child } else { (**itm).cy_next };
        if !next.is_null() {
            *itm = next;
        }
        next
    }
}

/// Whether node is a sequence; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_is_sequence(node: *mut cYAML) -> bool {
    // SAFETY: not NULL, and by contract a node.
    !node.is_null() && unsafe { (*node).cy_type } == ARRAY
}
