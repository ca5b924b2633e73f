//! Decisions of a service, as pure functions of a request, of the known state, and of the time.

pub(crate) mod admission;
pub(crate) mod connect;
pub(crate) mod duplicates;
pub(crate) mod early_reply;
pub(crate) mod service_estimate;
