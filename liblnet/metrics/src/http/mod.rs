//! As much of HTTP as metrics need: one request for each connection, GET and HEAD, answers of known length.

mod accept;
mod connection;
mod request;
mod response;

pub(crate) use accept::format_for;
pub(crate) use connection::Connection;
pub(crate) use request::HttpRequest;
pub(crate) use response::{HttpResponse, Status};
