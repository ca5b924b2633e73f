//! Whole messages, byte for byte.

// The linker arguments for LNet's symbols apply to all tests.
use lnet as _;
