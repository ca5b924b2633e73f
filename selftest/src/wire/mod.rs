//! Constants and messages of LNet selftest. Pure: nothing here reads or writes anything but its arguments.
