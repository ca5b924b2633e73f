//! As much of HTTP as metrics need: one request for each connection, GET and HEAD, answers of known length, and server-sent events.

mod accept;
mod connection;
mod request;
mod response;
mod stream;

pub use accept::format_for;
pub(crate) use connection::{Answer, Connection};
pub use request::{HttpRequest, MAX_HEAD};
pub(crate) use response::HttpResponse;
pub use response::Status;
pub(crate) use stream::Stream;
