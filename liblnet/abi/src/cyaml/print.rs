//! Trees as text.

use super::convert::{keyed_value, to_value};
use super::file;
use super::node::{self, Node, YamlNode};
use crate::entry::helper;
use std::ffi::c_char;

/// Writes a node and all nodes below it, but not its siblings, to standard output, in the form of lnetctl. NULL
/// does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_print_tree(node: YamlNode) {
    helper((), || file::print(&text(node)));
}

/// Does the same as cYAML_print_tree, to another file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_print_tree2file(f: *mut libc::FILE, node: YamlNode) {
    helper((), || {
        if !f.is_null() {
            // SAFETY: checked for NULL; an open file of the program's, which nobody closes during the call.
            unsafe { file::write(f, &text(node)) };
        }
    });
}

/// Does the same as cYAML_print_tree, into a string that is stored in *buf and that the caller frees with free. NULL
/// if there is no node or no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_dump(node: YamlNode, buf: *mut *mut c_char) {
    helper((), || {
        if buf.is_null() {
            return;
        }
        let dump = node.map_or(std::ptr::null_mut(), |_| node::new_string(text(node).as_bytes()));
        // SAFETY: checked for NULL; a variable of the program's, which the call may write.
        unsafe { buf.write(dump) };
    });
}

fn text(node: YamlNode) -> String {
    let value = |node: Node| match node.key() {
        Some(_) => lnet_dlc::Value::Map(vec![keyed_value(node)]),
        None => to_value(node),
    };
    node.map_or_else(String::new, |node| value(node).to_yaml())
}
