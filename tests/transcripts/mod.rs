//! The recorded output of the kernel's tool, and its comparison with that of this project's.
#![allow(dead_code, missing_docs, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod compare;
pub mod console;
pub mod differences;
pub mod reduce;
pub mod scene;
pub mod staging;
