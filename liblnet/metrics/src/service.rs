//! The pages that are served, and what they say.

use crate::health;
use crate::http::{Answer, HttpRequest, HttpResponse, Status, format_for};
use crate::nodes::{MAX_PEERS, NamedNode, Nodes};
use crate::page::{self, Feed, Update};
use crate::text::{NodeSample, exposition};
use lnet_dlc::ops::sample::Sample;
use lnet_wire::Nid;
use std::sync::Arc;
use std::time::Duration;

/// The pages of a server.
pub(crate) struct Service {
    pub(crate) nodes: Arc<dyn Nodes>,
    pub(crate) expected: Vec<Nid>,
    pub(crate) lustre_names: bool,
}

impl Service {
    /// The answer to a request. `may_stream`: whether there may be one stream more.
    pub(crate) fn answer(&self, request: &HttpRequest, may_stream: bool) -> Answer {
        Answer::Response(match request.path.as_str() {
            "/metrics" => self.metrics(&request.accept),
            "/healthz" => self.health(),
            "/" => page::response(),
            "/events" if request.head_only => {
                HttpResponse { content_type: "text/event-stream", ..HttpResponse::text(Status::Ok, "") }
            }
            "/events" if may_stream => return Answer::Stream,
            "/events" => HttpResponse::text(Status::Unavailable, "as many pages are open as there may be\n"),
            _ => HttpResponse::text(Status::NotFound, "there are /, /events, /metrics and /healthz\n"),
        })
    }

    /// Reads the nodes for open pages; `now` is the time on the clock of the feed.
    pub(crate) fn read(&self, feed: &mut Feed, now: Duration) -> Update {
        feed.read(now, &self.nodes.all(), &self.expected)
    }

    fn metrics(&self, accept: &str) -> HttpResponse {
        let read =
            |NamedNode { name, backend }| NodeSample { name, sample: Sample::read(&*backend, MAX_PEERS) };
        let nodes: Vec<_> = self.nodes.all().into_iter().map(read).collect();
        let format = format_for(accept);
        let body = exposition(&nodes, format, self.lustre_names);
        HttpResponse { content_type: format.content_type(), ..HttpResponse::text(Status::Ok, body) }
    }

    /// One line for each reason for which a node is not healthy, or `ok`.
    fn health(&self) -> HttpResponse {
        let nodes = self.nodes.all();
        let several = nodes.len() > 1;
        let mut lines = String::new();
        for NamedNode { name, backend } in &nodes {
            for reason in health::reasons(&**backend, &self.expected) {
                if several {
                    lines.push_str(name);
                    lines.push_str(": ");
                }
                lines.push_str(&reason);
                lines.push('\n');
            }
        }
        if nodes.is_empty() {
            lines.push_str("no node runs\n");
        }
        match lines.is_empty() {
            true => HttpResponse::text(Status::Ok, "ok\n"),
            false => HttpResponse::text(Status::Unavailable, lines),
        }
    }
}
