//! The small types of Motr that programs in C touch.
