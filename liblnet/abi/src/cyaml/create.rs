//! Functions that make trees node by node.

use super::convert::TreeOut;
use super::node::{self, ARRAY, EnumCyamlType, NUMBER, OBJECT, STRING, YamlNode};
use crate::entry::{InString, helper};
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

/// Makes an object, the last child of parent unless that is NULL, with a copy of key unless that is NULL.
/// NULL when there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_create_object(parent: YamlNode, key: InString<'_>) -> YamlNode {
    helper(None, || create(parent, key, OBJECT))
}

/// Makes a sequence, as cYAML_create_object makes an object.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_create_seq(parent: YamlNode, key: InString<'_>) -> YamlNode {
    helper(None, || create(parent, key, ARRAY))
}

/// Makes an object without a key, the last item of the sequence seq. NULL when there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_create_seq_item(seq: YamlNode) -> YamlNode {
    helper(None, || create(seq, InString::NULL, OBJECT))
}

/// Makes a string, as cYAML_create_object makes an object, with a copy of value. The string is printed unchanged:
/// quotes are only printed if it contains them. NULL without a value, and if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_create_string(parent: YamlNode, key: InString<'_>, value: InString<'_>) -> YamlNode {
    helper(None, || {
        let copy = NonNull::new(node::new_string(value.get()?.to_bytes()))?;
        let made = create(parent, key, STRING);
        match made {
            // SAFETY: the copy of above, which nobody else has.
            None => unsafe { libc::free(copy.as_ptr().cast()) },
            Some(made) => made.with(|node| node.cy_valuestring = copy.as_ptr()),
        }
        made
    })
}

/// Makes a number, as cYAML_create_object makes an object. cy_valueint is value without its fraction.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_create_number(parent: YamlNode, key: InString<'_>, value: f64) -> YamlNode {
    helper(None, || {
        let made = create(parent, key, NUMBER)?;
        made.with(|node| {
            node.cy_valuedouble = value;
            node.cy_valueint = value as i64;
        });
        Some(made)
    })
}

/// Adds sibling, and the nodes that follow it, behind the last sibling of root. They then belong to root's tree.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_insert_sibling(root: YamlNode, sibling: YamlNode) {
    if let (Some(root), Some(sibling)) = (root, sibling) {
        root.push_after(sibling);
    }
}

/// Makes node, and the nodes that follow it, the last children of parent. They then belong to parent's tree.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_insert_child(parent: YamlNode, node: YamlNode) {
    if let (Some(parent), Some(node)) = (parent, node) {
        parent.push(node);
    }
}

/// Adds the result of an operation to the tree of errors *root, which is made if it is NULL: under the key cmd
/// an item with the key entity, which has seq_no (unless negative), errno = rc, and descr = err_str, which is not
/// changed. Items of the same cmd are adjacent.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_build_error(
    rc: c_int,
    seq_no: c_int,
    cmd: InString<'_>,
    entity: InString<'_>,
    err_str: InString<'_>,
    root: TreeOut,
) {
    helper((), || {
        let _ = build_error(rc, seq_no, cmd, entity, err_str, root);
    });
}

/// The entry of an error in its tree; `None` if there is no memory for all of it, or no variable for the tree.
fn build_error(
    rc: c_int,
    seq_no: c_int,
    cmd: InString<'_>,
    entity: InString<'_>,
    err_str: InString<'_>,
    root: TreeOut,
) -> YamlNode {
    let root = root.root()?;
    let word = cmd.get().map_or(&[][..], CStr::to_bytes);
    let known = root.children().find(|child| child.kind() == ARRAY && child.key() == Some(word));
    let seq = known.or_else(|| create(Some(root), cmd, ARRAY))?;
    let item = create(Some(seq), InString::NULL, OBJECT)?;
    let entry = create(Some(item), entity, OBJECT)?;
    if seq_no >= 0 {
        _cYAML_create_number(Some(entry), InString::of(c"seq_no"), seq_no.into());
    }
    _cYAML_create_number(Some(entry), InString::of(c"errno"), rc.into());
    _cYAML_create_string(Some(entry), InString::of(c"descr"), err_str);
    Some(entry)
}

fn create(parent: YamlNode, key: InString<'_>, kind: EnumCyamlType) -> YamlNode {
    let made = node::new(kind)?;
    if let Some(key) = key.get() {
        let copy = node::new_string(key.to_bytes());
        made.with(|node| node.cy_string = copy);
        if copy.is_null() {
            // SAFETY: new, and nobody else has it.
            unsafe { made.free() };
            return None;
        }
    }
    if let Some(parent) = parent {
        parent.push(made);
    }
    Some(made)
}
