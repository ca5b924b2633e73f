//! The services of tests: brw moves bulk data (selftest 8), ping makes round trips (selftest 7).
//!
//! | file | holds |
//! |---|---|
//! | `pattern` | fills bulk data, and checks it: pure |
//! | `brw_server`, `brw_client` | brw at either end |
//! | `ping_server`, `ping_client` | ping at either end |

pub(crate) mod brw_client;
pub(crate) mod brw_server;
pub(crate) mod pattern;
pub(crate) mod ping_client;
pub(crate) mod ping_server;
