//! Trees as text.

use super::convert::{keyed_value, to_value};
use super::file;
use super::node::{self, cYAML};
use crate::entry::helper;
use std::ffi::c_char;

/// Writes a node and all below it, but not its siblings, to standard output, in the form of lnetctl. NULL
/// does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_print_tree(node: *mut cYAML) {
    // SAFETY: the contract is the same.
    unsafe { _cYAML_print_tree2file(file::standard_output(), node) };
}

/// As cYAML_print_tree, to another file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_print_tree2file(f: *mut libc::FILE, node: *mut cYAML) {
    helper((), || {
        if !f.is_null() {
            // SAFETY: by contract an open file, and NULL or a tree.
            unsafe { file::write(f, &text(node)) };
        }
    });
}

/// As cYAML_print_tree, into a string that is stored in *buf and that the caller frees with free. NULL
/// where there is no node or no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_dump(node: *mut cYAML, buf: *mut *mut c_char) {
    helper((), || {
        if buf.is_null() {
            return;
        }
        // SAFETY: not NULL, by contract the caller's; NULL or a tree.
        unsafe {
            buf.write(match node.is_null() {
                true => std::ptr::null_mut(),
                false => node::new_string(text(node).as_bytes()),
            });
        }
    });
}

/// # Safety
/// `node` is NULL or a tree.
unsafe fn text(node: *mut cYAML) -> String {
    if node.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, and this function's contract.
    unsafe {
        match node::key(node) {
            Some(_) => lnet_dlc::Value::Map(vec![keyed_value(node)]),
            None => to_value(node),
        }
        .to_yaml()
    }
}
