//! Making trees by hand.

use super::node::{self, ARRAY, EnumCyamlType, NUMBER, OBJECT, STRING, cYAML};
use crate::entry::{bytes_of, helper};
use std::ffi::{c_char, c_int};
use std::ptr;

/// Makes an object, the last child of parent unless that is NULL, with a copy of key unless that is NULL.
/// NULL when there is no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_create_object(parent: *mut cYAML, key: *mut c_char) -> *mut cYAML {
    // SAFETY: by contract `parent` is NULL or a node, `key` NULL or a string.
    helper(ptr::null_mut(), || unsafe { create(parent, key, OBJECT) })
}

/// Makes a sequence, as cYAML_create_object makes an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_create_seq(parent: *mut cYAML, key: *mut c_char) -> *mut cYAML {
    // SAFETY: as above.
    helper(ptr::null_mut(), || unsafe { create(parent, key, ARRAY) })
}

/// Makes an object without a key, the last item of the sequence seq. NULL when there is no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_create_seq_item(seq: *mut cYAML) -> *mut cYAML {
    // SAFETY: as above.
    helper(ptr::null_mut(), || unsafe { create(seq, ptr::null(), OBJECT) })
}

/// Makes a string, as cYAML_create_object makes an object, with a copy of value. It is printed as it is:
/// quotes that shall be seen must be in it. NULL for no value and when there is no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_create_string(
    parent: *mut cYAML,
    key: *mut c_char,
    value: *mut c_char,
) -> *mut cYAML {
    helper(ptr::null_mut(), || {
        // SAFETY: by contract NULL or a string.
        let Some(value) = (unsafe { bytes_of(value) }) else { return ptr::null_mut() };
        let copy = node::new_string(value);
        if copy.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: by contract `parent` is NULL or a node, `key` NULL or a string; the copy is ours.
        unsafe {
            let made = create(parent, key, STRING);
            match made.is_null() {
                true => libc::free(copy.cast()),
                false => (*made).cy_valuestring = copy,
            }
            made
        }
    })
}

/// Makes a number, as cYAML_create_object makes an object. cy_valueint is value without its fraction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_create_number(
    parent: *mut cYAML,
    key: *mut c_char,
    value: f64,
) -> *mut cYAML {
    helper(ptr::null_mut(), || {
        // SAFETY: by contract `parent` is NULL or a node, `key` NULL or a string; the number is ours.
        unsafe {
            let made = create(parent, key, NUMBER);
            if !made.is_null() {
                (*made).cy_valuedouble = value;
                (*made).cy_valueint = value as i64;
            }
            made
        }
    })
}

/// Puts sibling, with what follows it, behind the last sibling of root. It then belongs to root's tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_insert_sibling(root: *mut cYAML, sibling: *mut cYAML) {
    if !root.is_null() && !sibling.is_null() {
        // SAFETY: not NULL; by contract nodes, the second without a parent.
        unsafe { node::push_after(root, sibling) };
    }
}

/// Makes node, with what follows it, the last child of parent. It then belongs to parent's tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_insert_child(parent: *mut cYAML, node: *mut cYAML) {
    if !parent.is_null() && !node.is_null() {
        // SAFETY: not NULL; by contract nodes, the second without a parent.
        unsafe { node::push(parent, node) };
    }
}

/// Adds to the tree of errors *root, which is made if it is NULL, how an operation ended: under the key cmd
/// an item with the key entity, and in that seq_no (unless negative), errno = rc, and descr = err_str as it
/// is. Items of the same cmd stand together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_build_error(
    rc: c_int,
    seq_no: c_int,
    cmd: *mut c_char,
    entity: *mut c_char,
    err_str: *mut c_char,
    root: *mut *mut cYAML,
) {
    helper((), || {
        if root.is_null() {
            return;
        }
        // SAFETY: not NULL; by contract the caller's, and NULL or a tree; the rest NULL or strings.
        unsafe {
            if (*root).is_null() {
                *root = node::new(OBJECT);
            }
            if (*root).is_null() {
                return;
            }
            let word = bytes_of(cmd).unwrap_or_default();
            let known = node::children(*root)
                .find(|child| (**child).cy_type == ARRAY && node::key(*child) == Some(word));
            let seq = known.unwrap_or_else(|| create(*root, cmd, ARRAY));
            if seq.is_null() {
                return;
            }
            let item = create(seq, ptr::null(), OBJECT);
            if item.is_null() {
                return;
            }
            let entry = create(item, entity, OBJECT);
            if entry.is_null() {
                return;
            }
            if seq_no >= 0 {
                _cYAML_create_number(entry, c"seq_no".as_ptr().cast_mut(), seq_no.into());
            }
            _cYAML_create_number(entry, c"errno".as_ptr().cast_mut(), rc.into());
            _cYAML_create_string(entry, c"descr".as_ptr().cast_mut(), err_str);
        }
    });
}

/// # Safety
/// `parent` is NULL or a node, `key` NULL or a string.
unsafe fn create(parent: *mut cYAML, key: *const c_char, kind: EnumCyamlType) -> *mut cYAML {
    let made = node::new(kind);
    if made.is_null() {
        return made;
    }
    // SAFETY: this function's contract; the node is new.
    unsafe {
        if let Some(key) = bytes_of(key) {
            (*made).cy_string = node::new_string(key);
            if (*made).cy_string.is_null() {
                libc::free(made.cast());
                return ptr::null_mut();
            }
        }
        if !parent.is_null() {
            node::push(parent, made);
        }
    }
    made
}
