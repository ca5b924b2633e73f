//! The structure of a node and its memory: nodes and strings are allocated by `malloc`, so that C may take over a string.
#![allow(non_camel_case_types)]

use crate::entry::helper;
use lnet_os::c_pointer::Text;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr::{self, NonNull};

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
/// keys. Nodes come from the functions of this header and are freed by cYAML_free_tree.
#[repr(C)]
#[derive(Debug)]
pub struct cYAML {
    /// The next among the children of the same parent.
    pub cy_next: *mut Self,
    /// The previous node among the children of the same parent.
    pub cy_prev: *mut Self,
    /// The first child of an array or object.
    pub cy_child: *mut Self,
    /// The type of the node.
    pub cy_type: EnumCyamlType,
    /// The text of a string. In a tree that was read also the text of a number or truth value, unchanged.
    pub cy_valuestring: *mut c_char,
    /// A number, without its fraction; 1 for true.
    pub cy_valueint: i64,
    /// The value of a number.
    pub cy_valuedouble: f64,
    /// The key; NULL in an item of a sequence.
    pub cy_string: *mut c_char,
    /// Data of the program. cYAML_free_tree does not free it.
    pub cy_user_data: *mut c_void,
}

const _: () = assert!(size_of::<cYAML>() == 9 * size_of::<*mut c_void>());

/// `struct cYAML *` that is not NULL: a node.
///
/// Contract: a node that functions of this library have made, and that is not freed as long as a copy of this is used. Its
/// links are NULL or nodes too, in trees without cycles, its strings NULL or strings that the node owns. No other thread uses
/// the tree during a call. C guarantees it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node(NonNull<cYAML>);

/// `struct cYAML *`: a [`Node`], or `None` for NULL.
pub type YamlNode = Option<Node>;

/// The node that a link points to.
fn linked(link: *mut cYAML) -> YamlNode {
    NonNull::new(link).map(Node)
}

/// The pointer that a link holds.
fn link_to(node: YamlNode) -> *mut cYAML {
    node.map_or(ptr::null_mut(), |node| node.0.as_ptr())
}

impl Node {
    /// Calls `body`, which may change the members. It accesses no other node.
    pub(crate) fn with<R>(self, body: impl FnOnce(&mut cYAML) -> R) -> R {
        // SAFETY: a node that stays, and that is the call's alone: the contract of the type. The reference ends with `body`, which makes no
        // other one.
        body(unsafe { &mut *self.0.as_ptr() })
    }

    /// The type of the node.
    pub(crate) fn kind(self) -> EnumCyamlType {
        self.with(|node| node.cy_type)
    }

    /// The next among the children of the same parent.
    pub(crate) fn next(self) -> YamlNode {
        linked(self.with(|node| node.cy_next))
    }

    /// The first child.
    pub(crate) fn child(self) -> YamlNode {
        linked(self.with(|node| node.cy_child))
    }

    /// The key.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        string(self.with(|node| node.cy_string))
    }

    /// The text.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        string(self.with(|node| node.cy_valuestring))
    }

    /// The children, in order, which stay as they are meanwhile.
    pub(crate) fn children(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.child(), |child| child.next())
    }

    /// Appends `node`, which has no parent, to the children.
    pub(crate) fn push(self, node: Self) {
        match self.child() {
            Some(first) => first.push_after(node),
            None => {
                self.with(|parent| parent.cy_child = link_to(Some(node)));
                node.with(|node| node.cy_prev = ptr::null_mut());
            }
        }
    }

    /// Appends `node`, which has no parent, to the siblings.
    pub(crate) fn push_after(self, node: Self) {
        let last = std::iter::successors(Some(self), |sibling| sibling.next()).last().unwrap_or(self);
        last.with(|last| last.cy_next = link_to(Some(node)));
        node.with(|node| node.cy_prev = link_to(Some(last)));
    }

    /// Frees the node and its strings, but no other node.
    ///
    /// # Safety
    /// The node is not used after that.
    pub(crate) unsafe fn free(self) {
        let (text, key) = self.with(|node| (node.cy_valuestring, node.cy_string));
        // SAFETY: the node and its two strings, or NULL, are `malloc`'s and live until here; the strings are the node's own, and nobody uses
        // the three any more.
        unsafe {
            libc::free(text.cast());
            libc::free(key.cast());
            libc::free(self.0.as_ptr().cast());
        }
    }
}

/// A string of a node, which is valid as long as the node.
fn string<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: NULL, or a string that the node owns (`Node`).
    unsafe { Text::new(text) }.get().map(CStr::to_bytes)
}

/// Frees the data that the program has attached to a node.
pub type cYAML_user_data_free_cb = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// Frees a node, all nodes below it and all siblings that follow it. The caller ensures that nothing points
/// to them any more; to free a whole tree, pass its root. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_free_tree(node: YamlNode) {
    helper((), || {
        for node in walk(node) {
            // SAFETY: a node of the calling program's tree, which it gives up; the walk has read the node's links before it gives it out.
            unsafe { node.free() };
        }
    });
}

/// Calls free_cb for the cy_user_data of the node, of all nodes below it and of all siblings that follow it,
/// if it is not NULL, and makes it NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_clean_usr_data(node: YamlNode, free_cb: cYAML_user_data_free_cb) {
    helper((), || {
        for node in walk(node) {
            let data = node.with(|node| std::mem::replace(&mut node.cy_user_data, ptr::null_mut()));
            if let (Some(free), false) = (free_cb, data.is_null()) {
                // SAFETY: the program's function, and what the program hung on the node, which has it no more.
                unsafe { free(data) };
            }
        }
    });
}

/// A new node without key, value and relations; `None` if there is no memory.
pub(crate) fn new(kind: EnumCyamlType) -> YamlNode {
    // SAFETY: `calloc` may be called with any size; all zeros is a value of the structure.
    let node = linked(unsafe { libc::calloc(1, size_of::<cYAML>()) }.cast())?;
    node.with(|node| node.cy_type = kind);
    Some(node)
}

/// A copy of a text for C, up to its first NUL; NULL if there is no memory.
pub(crate) fn new_string(text: &[u8]) -> *mut c_char {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    // SAFETY: `malloc` may be called with any size; the copy, which nobody else has yet, is one longer than the text.
    unsafe {
        let copy: *mut u8 = libc::malloc(text.len() + 1).cast();
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
        }
        copy.cast()
    }
}

/// A node, all nodes below it, and all siblings that follow it, in the order in which they are printed. A node may be freed
/// after it was returned.
pub(crate) fn walk(start: YamlNode) -> impl Iterator<Item = Node> {
    let mut waiting = vec![start];
    std::iter::from_fn(move || {
        loop {
            if let Some(node) = waiting.pop()? {
                waiting.extend([node.next(), node.child()]);
                return Some(node);
            }
        }
    })
}
