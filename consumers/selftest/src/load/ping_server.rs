//! The server of ping (selftest 7).

use crate::rpc::Response;
use crate::wire::{Features, IncomingRequest, PingReply, PingRequest, Reply, Status};

/// Answers a ping.
pub(crate) fn handle(request: &IncomingRequest, ping: &PingRequest) -> Response {
    let (features, status) = match request.features.has_unknown() {
        true => (Features::KNOWN, Status::PROTOCOL),
        false => (request.features, Status::OK),
    };
    Response::reply(features, &Reply::Ping(PingReply { status, sequence: Some(ping.sequence) }))
}
