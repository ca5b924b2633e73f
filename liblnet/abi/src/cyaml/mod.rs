//! cYAML: YAML as a tree of C structures, as liblnetconfig gives it out and takes it in.
//!
//! | module | functions |
//! | --- | --- |
//! | `node` | the structure; `cYAML_free_tree` `cYAML_clean_usr_data` |
//! | `create` | `cYAML_create_*` `cYAML_insert_*` `cYAML_build_error` |
//! | `find` | `cYAML_get_object_item` `cYAML_get_next_seq_item` `cYAML_is_sequence` `cYAML_find_object` |
//! | `read` | `cYAML_load` `cYAML_build_tree` |
//! | `print` | `cYAML_print_tree` `cYAML_print_tree2file` `cYAML_dump` |
//! | `convert` | the tree that a value comes to, and the value that a tree comes to |
//!
//! No function here calls itself, or only as often as [`MAX_DEPTH`] says: a tree may be as deep as it likes.

pub mod create;
pub mod find;
pub mod node;
pub mod print;
pub mod read;

pub(crate) mod convert;
pub(crate) mod file;

/// Levels that are read and printed; the configuration has eight.
pub(crate) const MAX_DEPTH: usize = 128;
