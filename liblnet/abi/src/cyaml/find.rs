//! Finding something in a tree.

use super::convert::TreeOut;
use super::node::{self, ARRAY, Node, YamlNode};
use crate::entry::{InConstString, helper};

/// The first node with the key name; NULL if there is none. The search goes through parent itself, all nodes below it, and
/// then the siblings that follow it: if an item of a sequence lacks the key, the key of a later item
/// is found. To search one item alone, iterate over its cy_child and their cy_next.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_get_object_item(parent: YamlNode, name: InConstString<'_>) -> YamlNode {
    helper(None, || {
        let name = name.get()?.to_bytes();
        node::walk(parent).find(|node| node.key() == Some(name))
    })
}

/// Does the same as cYAML_get_object_item.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_find_object(root: YamlNode, key: InConstString<'_>) -> YamlNode {
    _cYAML_get_object_item(root, key)
}

/// The item of the sequence seq that follows *itm, or its first where *itm is NULL, and stores it in *itm.
/// After the last one NULL, and *itm remains the last one.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_get_next_seq_item(seq: YamlNode, itm: TreeOut) -> YamlNode {
    let seq = seq.filter(|seq| !itm.is_null() && seq.kind() == ARRAY)?;
    let next = itm.node().map_or_else(|| seq.child(), Node::next)?;
    itm.set(next);
    Some(next)
}

/// Whether node is a sequence; false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_is_sequence(node: YamlNode) -> bool {
    node.is_some_and(|node| node.kind() == ARRAY)
}
