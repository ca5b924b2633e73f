//! Trees from values and values from trees.

use super::MAX_DEPTH;
use super::node::{self, ARRAY, EnumCyamlType, FALSE, NUMBER, OBJECT, STRING, TRUE, cYAML};
use lnet_dlc::Value;
use std::ptr;

/// `struct cYAML **`: where a call adds what it has to say.
///
/// Contract: NULL, or a variable of the program's that is NULL or a tree of nodes that functions of this library have made; nobody else
/// uses the variable or the tree during the call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct TreeOut(*mut *mut cYAML);

impl TreeOut {
    /// Whether the program does not want it.
    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Adds the mapping `value` as [`merge`] does, if the program wants it.
    pub(crate) fn add(self, value: &Value) {
        if !self.is_null() {
            // SAFETY: not NULL, so a variable that is NULL or a tree, and that is this call's alone: the contract of the type, which C
            // vouches for.
            unsafe { merge(self.0, value) };
        }
    }
}

/// Adds the mapping `value` to the tree `*root`, as accumulating calls do: sequences and mappings under a
/// key that both have become one, other keys are appended. A missing tree is made, but not for nothing.
///
/// # Safety
/// `root` is valid; `*root` is NULL or a tree of our nodes.
pub(crate) unsafe fn merge(root: *mut *mut cYAML, value: &Value) {
    let Value::Map(entries) = value else { return };
    // SAFETY: this function's contract; what is pushed is new.
    unsafe {
        if (*root).is_null() && !entries.is_empty() {
            *root = node::new(OBJECT);
        }
        if (*root).is_null() {
            return;
        }
        for (key, value) in entries {
            let same = node::children(*root).find(|child| {
                (**child).cy_type == kind_of(value) && node::key(*child) == Some(key.as_bytes())
            });
            match same {
                Some(known) if matches!(value, Value::Seq(_) | Value::Map(_)) => fill(known, value),
                _ => {
                    let made = keyed(key, value);
                    if !made.is_null() {
                        node::push(*root, made);
                    }
                }
            }
        }
    }
}

/// The value of a node, without its key. What is below [`MAX_DEPTH`] levels is left out.
///
/// # Safety
/// `node` is a tree.
pub(crate) unsafe fn to_value(node: *mut cYAML) -> Value {
    // SAFETY: this function's contract.
    unsafe { value(node, MAX_DEPTH) }
}

/// A node as an entry of a mapping.
///
/// # Safety
/// `node` is a tree.
pub(crate) unsafe fn keyed_value(node: *mut cYAML) -> (String, Value) {
    // SAFETY: this function's contract.
    unsafe { entry(node, MAX_DEPTH) }
}

const fn kind_of(value: &Value) -> EnumCyamlType {
    match value {
        Value::Null | Value::Map(_) => OBJECT,
        Value::Int(_) | Value::Float(_) => NUMBER,
        Value::Text(_) | Value::Quoted(_) => STRING,
        Value::Seq(_) => ARRAY,
    }
}

/// A new tree with this key; NULL when there is no memory.
fn keyed(key: &str, value: &Value) -> *mut cYAML {
    let made = tree(value);
    if !made.is_null() {
        // SAFETY: new, and ours.
        unsafe { (*made).cy_string = node::new_string(key.as_bytes()) };
    }
    made
}

/// A new tree; NULL when there is no memory. Values are made by this library and not deep.
fn tree(value: &Value) -> *mut cYAML {
    let made = node::new(kind_of(value));
    if made.is_null() {
        return made;
    }
    // SAFETY: new, and ours.
    unsafe {
        match value {
            Value::Null => {}
            Value::Int(number) => {
                (*made).cy_valueint = *number;
                (*made).cy_valuedouble = *number as f64;
            }
            Value::Float(number) => {
                (*made).cy_valueint = *number as i64;
                (*made).cy_valuedouble = *number;
            }
            Value::Text(text) => (*made).cy_valuestring = node::new_string(text.as_bytes()),
            Value::Quoted(text) => {
                (*made).cy_valuestring = node::new_string(format!("\"{text}\"").as_bytes());
            }
            Value::Seq(_) | Value::Map(_) => fill(made, value),
        }
    }
    made
}

/// Appends what `value` has to the children of `parent`.
///
/// # Safety
/// `parent` is a node.
unsafe fn fill(parent: *mut cYAML, value: &Value) {
    let new: Vec<*mut cYAML> = match value {
        Value::Seq(items) => items.iter().map(tree).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| keyed(key, value)).collect(),
        _ => return,
    };
    let mut last: *mut cYAML = ptr::null_mut();
    for node in new.into_iter().filter(|node| !node.is_null()) {
        // SAFETY: this function's contract; the new nodes are ours.
        unsafe {
            match last.is_null() {
                true => node::push(parent, node),
                false => node::push_after(last, node),
            }
        }
        last = node;
    }
}

/// # Safety
/// `node` is a tree.
unsafe fn value(node: *mut cYAML, levels: usize) -> Value {
    // SAFETY: this function's contract.
    unsafe {
        match (*node).cy_type {
            FALSE => Value::Int(0),
            TRUE => Value::Int(1),
            NUMBER => number((*node).cy_valueint, (*node).cy_valuedouble),
            STRING => Value::Text(text(node::string((*node).cy_valuestring))),
            ARRAY if levels > 0 => Value::Seq(items(node, levels - 1)),
            OBJECT if levels > 0 => {
                Value::Map(node::children(node).map(|child| entry(child, levels - 1)).collect())
            }
            _ => Value::Null,
        }
    }
}

/// # Safety
/// `node` is a tree.
unsafe fn entry(node: *mut cYAML, levels: usize) -> (String, Value) {
    // SAFETY: this function's contract.
    unsafe { (text(node::key(node)), value(node, levels)) }
}

/// The items of a sequence. liblnetconfig's own trees have keys directly below a sequence: there an item
/// ends where a key of its comes again.
///
/// # Safety
/// `node` is a tree.
unsafe fn items(node: *mut cYAML, levels: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut open: Vec<(String, Value)> = Vec::new();
    // SAFETY: this function's contract.
    unsafe {
        for child in node::children(node) {
            let keyed = node::key(child).is_some().then(|| entry(child, levels));
            let goes_on = keyed.as_ref().is_some_and(|(key, _)| open.iter().all(|(known, _)| known != key));
            if !goes_on && !open.is_empty() {
                items.push(Value::Map(std::mem::take(&mut open)));
            }
            match keyed {
                Some(entry) => open.push(entry),
                None => items.push(value(child, levels)),
            }
        }
    }
    if !open.is_empty() {
        items.push(Value::Map(open));
    }
    items
}

/// The number that both members mean; where they differ beyond the fraction, the second.
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

    #[test]
    fn a_tree_has_the_text_of_the_value_that_it_was_made_from() {
        let mut tree = ptr::null_mut();
        // SAFETY: the tree is NULL or made here, and freed once.
        unsafe {
            merge(&mut tree, &shown());
            assert_eq!(to_value(tree).to_yaml(), shown().to_yaml());
            _cYAML_free_tree(tree);
        }
    }

    #[test]
    fn trees_are_merged_as_values_are() {
        let mut tree = ptr::null_mut();
        let mut value = Value::map();
        // SAFETY: as above.
        unsafe {
            merge(&mut tree, &value);
            assert!(tree.is_null());
            let more = Value::map().with("global", Value::map().with("discovery", 1)).with("new", "x");
            for part in [&shown(), &more, &shown()] {
                merge(&mut tree, part);
                value.merge(part.clone());
            }
            assert_eq!(to_value(tree).to_yaml(), value.to_yaml());
            _cYAML_free_tree(tree);
        }
    }
}
