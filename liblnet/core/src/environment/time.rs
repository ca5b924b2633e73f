//! Time in the core: all time comes from the one [`Clock`] of the node.

pub use lnet_os::clock::{Clock, ManualClock, SystemClock, Time};
