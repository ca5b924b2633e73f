//! Finding something in a tree.

use super::convert::TreeOut;
use super::node::{self, ARRAY, Node, YamlNode};
use crate::entry::{InConstString, helper};

/// The first node with the key name; NULL if there is none. Looks at parent itself, at all below it, and
/// then at the siblings that follow it: in an item of a sequence that lacks the key, that of a later item
/// is found. To look at one item alone, walk its cy_child and their cy_next.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_get_object_item(parent: YamlNode, name: InConstString<'_>) -> YamlNode {
    helper(None, || {
        let name = name.get()?.to_bytes();
        node::walk(parent).find(|node| node.key() == Some(name))
    })
}

/// As cYAML_get_object_item.
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

/// Whether node is a sequence; NULL is none.
#[unsafe(no_mangle)]
pub extern "C" fn _cYAML_is_sequence(node: YamlNode) -> bool {
    node.is_some_and(|node| node.kind() == ARRAY)
}
