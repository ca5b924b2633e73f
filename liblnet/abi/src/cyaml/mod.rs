//! cYAML: YAML as a tree of C structures, which liblnetconfig returns and accepts.
//!
//! | module | functions |
//! | --- | --- |
//! | `node` | the structure; `cYAML_free_tree` `cYAML_clean_usr_data` |
//! | `create` | `cYAML_create_*` `cYAML_insert_*` `cYAML_build_error` |
//! | `find` | `cYAML_get_object_item` `cYAML_get_next_seq_item` `cYAML_is_sequence` `cYAML_find_object` |
//! | `read` | `cYAML_load` `cYAML_build_tree` |
//! | `print` | `cYAML_print_tree` `cYAML_print_tree2file` `cYAML_dump` |
//! | `convert` | conversion of values to trees and of trees to values |
//!
//! Functions here are not recursive, or at most [`MAX_DEPTH`] deep: a tree may have any depth.

pub mod create;
pub mod find;
pub mod node;
pub mod print;
pub mod read;

pub(crate) mod convert;
pub(crate) mod file;

/// The most levels that are read and printed; the configuration has eight.
pub(crate) const MAX_DEPTH: usize = 128;
