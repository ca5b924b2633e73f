//! The parts of a service that hold state or call LNet. None of them refers to the service: each takes the
//! [`Environment`](environment::Environment) as an argument, and work that event handlers may not do is passed
//! on through a trait that the composition implements.

pub(crate) mod bulk;
pub(crate) mod descriptors;
pub(crate) mod difficult_reply;
pub(crate) mod early_reply_times;
pub(crate) mod environment;
pub(crate) mod incoming_request;
pub(crate) mod reply_message;
pub(crate) mod reply_sender;
pub(crate) mod request_buffers;
pub(crate) mod request_queue;
pub(crate) mod shared_estimate;
pub(crate) mod timer_queue;
