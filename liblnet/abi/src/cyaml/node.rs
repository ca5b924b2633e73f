//! The structure, and its memory: nodes and strings are `malloc`'s, so that C may take a string over.
#![allow(non_camel_case_types)]

use crate::entry::helper;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr;

/// An `enum cYAML_object_type` from C: any number.
pub type EnumCyamlType = c_uint;

/// `CYAML_TYPE_FALSE` in C.
pub(crate) const FALSE: EnumCyamlType = 0;
/// `CYAML_TYPE_TRUE` in C.
pub(crate) const TRUE: EnumCyamlType = 1;
/// `CYAML_TYPE_NULL` in C.
pub(crate) const NULL: EnumCyamlType = 2;
/// `CYAML_TYPE_NUMBER` in C.
pub(crate) const NUMBER: EnumCyamlType = 3;
/// `CYAML_TYPE_STRING` in C.
pub(crate) const STRING: EnumCyamlType = 4;
/// `CYAML_TYPE_ARRAY` in C.
pub(crate) const ARRAY: EnumCyamlType = 5;
/// `CYAML_TYPE_OBJECT` in C.
pub(crate) const OBJECT: EnumCyamlType = 6;

/// A node of a tree. The root is an object without a key, and so are the items of a sequence that have
/// keys of their own. Nodes come from the functions of this header and go with cYAML_free_tree.
#[repr(C)]
#[derive(Debug)]
pub struct cYAML {
    /// The next among the children of the same parent.
    pub cy_next: *mut Self,
    /// The one before.
    pub cy_prev: *mut Self,
    /// The first child of an array or object.
    pub cy_child: *mut Self,
    /// What it is.
    pub cy_type: EnumCyamlType,
    /// The text of a string. In a tree that was read also that of a number or truth value, as it stood.
    pub cy_valuestring: *mut c_char,
    /// A number, without its fraction; 1 for true.
    pub cy_valueint: i64,
    /// A number.
    pub cy_valuedouble: f64,
    /// The key; NULL in an item of a sequence.
    pub cy_string: *mut c_char,
    /// The user's. cYAML_free_tree leaves alone what it points to.
    pub cy_user_data: *mut c_void,
}

const _: () = assert!(size_of::<cYAML>() == 9 * size_of::<*mut c_void>());

/// Frees what the user hung on a node.
pub type cYAML_user_data_free_cb = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// Frees a node, all below it and all siblings that follow it. The caller makes sure that nothing points
/// there any more; for a whole tree, give its root. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_free_tree(node: *mut cYAML) {
    helper((), || {
        // SAFETY: by contract NULL or a tree of our nodes that nobody else uses; the walk has read a node's
        // links before it gives it out.
        unsafe {
            for node in walk(node) {
                libc::free((*node).cy_valuestring.cast());
                libc::free((*node).cy_string.cast());
                libc::free(node.cast());
            }
        }
    });
}

/// Calls free_cb for the cy_user_data of the node, of all below it and of all siblings that follow it,
/// where it is not NULL, and makes it NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_clean_usr_data(node: *mut cYAML, free_cb: cYAML_user_data_free_cb) {
    helper((), || {
        // SAFETY: by contract NULL or a tree, which the function that is called does not change.
        unsafe {
            for node in walk(node) {
                let data = (*node).cy_user_data;
                (*node).cy_user_data = ptr::null_mut();
                if let (Some(free), false) = (free_cb, data.is_null()) {
                    free(data);
                }
            }
        }
    });
}

/// A new node without key, value and relations; NULL when there is no memory.
pub(crate) fn new(kind: EnumCyamlType) -> *mut cYAML {
    // SAFETY: `calloc` may be called with any size.
    let node: *mut cYAML = unsafe { libc::calloc(1, size_of::<cYAML>()) }.cast();
    if !node.is_null() {
        // SAFETY: new, large enough, and all zeros is a value of the structure.
        unsafe { (*node).cy_type = kind };
    }
    node
}

/// A copy of a text for C, up to its first NUL; NULL when there is no memory.
pub(crate) fn new_string(text: &[u8]) -> *mut c_char {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    // SAFETY: `malloc` may be called with any size; the copy is one longer than the text.
    unsafe {
        let copy: *mut u8 = libc::malloc(text.len() + 1).cast();
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
        }
        copy.cast()
    }
}

/// Makes `node` the last child of `parent`.
///
/// # Safety
/// Both are nodes, and `node` has no parent. With several children, `parent`'s are a chain that ends.
pub(crate) unsafe fn push(parent: *mut cYAML, node: *mut cYAML) {
    // SAFETY: this function's contract.
    unsafe {
        if (*parent).cy_child.is_null() {
            (*parent).cy_child = node;
            (*node).cy_prev = ptr::null_mut();
        } else {
            push_after((*parent).cy_child, node);
        }
    }
}

/// Puts `node` behind the last sibling of `first`.
///
/// # Safety
/// As [`push`].
pub(crate) unsafe fn push_after(first: *mut cYAML, node: *mut cYAML) {
    // SAFETY: this function's contract.
    unsafe {
        let mut last = first;
        while !(*last).cy_next.is_null() {
            last = (*last).cy_next;
        }
        (*last).cy_next = node;
        (*node).cy_prev = last;
    }
}

/// The children of a node, in order.
///
/// # Safety
/// `node` is NULL or a node, whose children stay as they are while the iterator is used.
pub(crate) unsafe fn children(node: *mut cYAML) -> impl Iterator<Item = *mut cYAML> {
    let mut next = match node.is_null() {
        true => node,
        // SAFETY: not NULL, and this function's contract.
        false => unsafe { (*node).cy_child },
    };
    std::iter::from_fn(move || {
        let child = next;
        if child.is_null() {
            return None;
        }
        // SAFETY: a child, by this function's contract.
        next = unsafe { (*child).cy_next };
        Some(child)
    })
}

/// A node, all below it, and all siblings that follow it, in the order in which they are printed. What is
/// given out may be freed.
///
/// # Safety
/// `start` is NULL or a node, and every link that leads on is NULL or a node.
pub(crate) unsafe fn walk(start: *mut cYAML) -> impl Iterator<Item = *mut cYAML> {
    let mut waiting = vec![start];
    std::iter::from_fn(move || {
        loop {
            let node = waiting.pop()?;
            if !node.is_null() {
                // SAFETY: not NULL, and this function's contract.
                waiting.extend(unsafe { [(*node).cy_next, (*node).cy_child] });
                return Some(node);
            }
        }
    })
}

/// The key of a node.
///
/// # Safety
/// `node` is a node that is not changed during `'a`.
pub(crate) unsafe fn key<'a>(node: *mut cYAML) -> Option<&'a [u8]> {
    // SAFETY: this function's contract.
    unsafe { string((*node).cy_string) }
}

/// The bytes of a node's string.
///
/// # Safety
/// `text` is NULL or a string that does not change during `'a`.
pub(crate) unsafe fn string<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: not NULL, and this function's contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}
