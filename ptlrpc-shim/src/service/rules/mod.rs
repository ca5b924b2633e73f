//! Decisions of a service, pure: each is a function of a request, of what is known, and of the time.

pub(crate) mod admission;
pub(crate) mod connect;
pub(crate) mod duplicates;
pub(crate) mod early_reply;
pub(crate) mod service_estimate;
