//! Conversion of values to trees and of trees to values.

use super::MAX_DEPTH;
use super::node::{self, ARRAY, EnumCyamlType, FALSE, NUMBER, Node, OBJECT, STRING, TRUE, YamlNode};
use lnet_dlc::Value;

/// `struct cYAML **`: the variable whose tree a call adds its output to.
///
/// Contract: NULL, or a variable of the program that is NULL or a tree of nodes that functions of this library have made; no
/// other thread uses the variable or the tree during the call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct TreeOut(*mut YamlNode);

impl TreeOut {
    /// Whether the pointer is NULL: the program does not want the output.
    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The node in the variable; `None` also if there is no variable.
    pub(crate) fn node(self) -> YamlNode {
        // SAFETY: NULL, or a variable of the program's that is NULL or a node, and that is this call's alone: the contract of the type.
        unsafe { self.0.as_ref() }.copied().flatten()
    }

    /// Stores a node in the variable, if there is one.
    pub(crate) fn set(self, node: Node) {
        // SAFETY: as in `node`.
        if let Some(variable) = unsafe { self.0.as_mut() } {
            *variable = Some(node);
        }
    }

    /// The tree in the variable, created if the variable is NULL; `None` without a variable or memory.
    pub(crate) fn root(self) -> YamlNode {
        if self.is_null() {
            return None;
        }
        let root = self.node().or_else(|| node::new(OBJECT))?;
        self.set(root);
        Some(root)
    }

    /// Adds the mapping `value` to the tree: sequences and mappings under a key that both have are joined, other keys are
    /// appended. A missing tree is created, unless `value` is empty.
    pub(crate) fn add(self, value: &Value) {
        let Value::Map(entries) = value else { return };
        if entries.is_empty() {
            return;
        }
        let Some(root) = self.root() else { return };
        for (key, value) in entries {
            let same = root
                .children()
                .find(|child| child.kind() == kind_of(value) && child.key() == Some(key.as_bytes()));
            match same {
                Some(known) if matches!(value, Value::Seq(_) | Value::Map(_)) => fill(known, value),
                _ => {
                    if let Some(made) = keyed(key, value) {
                        root.push(made);
                    }
                }
            }
        }
    }
}

/// The value of a node, without its key. Nodes more than [`MAX_DEPTH`] levels down are left out.
pub(crate) fn to_value(node: Node) -> Value {
    value(node, MAX_DEPTH)
}

/// A node as an entry of a mapping.
pub(crate) fn keyed_value(node: Node) -> (String, Value) {
    entry(node, MAX_DEPTH)
}

const fn kind_of(value: &Value) -> EnumCyamlType {
    match value {
        Value::Null | Value::Map(_) => OBJECT,
        Value::Int(_) | Value::Float(_) => NUMBER,
        Value::Text(_) | Value::Quoted(_) => STRING,
        Value::Seq(_) => ARRAY,
    }
}

/// A new tree with this key; `None` if there is no memory.
fn keyed(key: &str, value: &Value) -> YamlNode {
    let made = tree(value)?;
    made.with(|node| node.cy_string = node::new_string(key.as_bytes()));
    Some(made)
}

/// A new tree; `None` if there is no memory. Values are made by this library and not deep.
fn tree(value: &Value) -> YamlNode {
    let made = node::new(kind_of(value))?;
    match value {
        Value::Null => {}
        Value::Int(number) => made.with(|node| {
            node.cy_valueint = *number;
            node.cy_valuedouble = *number as f64;
        }),
        Value::Float(number) => made.with(|node| {
            node.cy_valueint = *number as i64;
            node.cy_valuedouble = *number;
        }),
        Value::Text(text) => made.with(|node| node.cy_valuestring = node::new_string(text.as_bytes())),
        Value::Quoted(text) => {
            let text = format!("\"{text}\"");
            made.with(|node| node.cy_valuestring = node::new_string(text.as_bytes()));
        }
        Value::Seq(_) | Value::Map(_) => fill(made, value),
    }
    Some(made)
}

/// Appends the entries or items of `value` to the children of `parent`.
fn fill(parent: Node, value: &Value) {
    let new: Vec<YamlNode> = match value {
        Value::Seq(items) => items.iter().map(tree).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| keyed(key, value)).collect(),
        _ => return,
    };
    let mut last: YamlNode = None;
    for node in new.into_iter().flatten() {
        match last {
            None => parent.push(node),
            Some(last) => last.push_after(node),
        }
        last = Some(node);
    }
}

fn value(node: Node, levels: usize) -> Value {
    match node.kind() {
        FALSE => Value::Int(0),
        TRUE => Value::Int(1),
        NUMBER => node.with(|node| number(node.cy_valueint, node.cy_valuedouble)),
        STRING => Value::Text(text(node.text())),
        ARRAY if levels > 0 => Value::Seq(items(node, levels - 1)),
        OBJECT if levels > 0 => Value::Map(node.children().map(|child| entry(child, levels - 1)).collect()),
        _ => Value::Null,
    }
}

fn entry(node: Node, levels: usize) -> (String, Value) {
    (text(node.key()), value(node, levels))
}

/// The items of a sequence. Trees of liblnetconfig have keys directly below a sequence: an item
/// ends before a key that it already has.
fn items(node: Node, levels: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut open: Vec<(String, Value)> = Vec::new();
    for child in node.children() {
        let keyed = child.key().is_some().then(|| entry(child, levels));
        let goes_on = keyed.as_ref().is_some_and(|(key, _)| open.iter().all(|(known, _)| known != key));
        if !goes_on && !open.is_empty() {
            items.push(Value::Map(std::mem::take(&mut open)));
        }
        match keyed {
            Some(entry) => open.push(entry),
            None => items.push(value(child, levels)),
        }
    }
    if !open.is_empty() {
        items.push(Value::Map(open));
    }
    items
}

/// The number in the two members; the second one if they differ by more than the fraction.
fn number(int: i64, double: f64) -> Value {
    if int as f64 == double {
        return Value::Int(int);
    }
    match double.fract() == 0.0 && double.abs() < i64::MAX as f64 {
        true => Value::Int(double as i64),
        false => Value::Float(double),
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyaml::node::_cYAML_free_tree;

    fn shown() -> Value {
        let ni = Value::map()
            .with("nid", "192.0.2.10@tcp")
            .with("interfaces", Value::map().with("0", "eth0"))
            .with("lnd tunables", Value::map())
            .with("share", Value::Float(0.25))
            .with("CPT", Value::Quoted("[0,1]".into()));
        Value::map()
            .with("net", vec![Value::map().with("net type", "tcp").with("local NI(s)", vec![ni.clone(), ni])])
            .with("nids", vec![Value::from("a"), Value::from(-7_i64)])
            .with("global", Value::map().with("numa_range", i64::MAX))
    }

    /// A variable for a tree.
    fn out(variable: &mut YamlNode) -> TreeOut {
        TreeOut(variable)
    }

    fn yaml(tree: YamlNode) -> Option<String> {
        let text = tree.map(|tree| to_value(tree).to_yaml());
        // SAFETY: the tree of a test, which uses it no more.
        unsafe { _cYAML_free_tree(tree) };
        text
    }

    #[test]
    fn a_tree_has_the_text_of_the_value_that_it_was_made_from() {
        let mut tree = None;
        out(&mut tree).add(&shown());
        assert_eq!(yaml(tree), Some(shown().to_yaml()));
    }

    #[test]
    fn trees_are_merged_as_values_are() {
        let mut tree = None;
        let mut value = Value::map();
        out(&mut tree).add(&value);
        assert_eq!(tree, None);
        let more = Value::map().with("global", Value::map().with("discovery", 1)).with("new", "x");
        for part in [&shown(), &more, &shown()] {
            out(&mut tree).add(part);
            value.merge(part.clone());
        }
        assert_eq!(yaml(tree), Some(value.to_yaml()));
    }
}
