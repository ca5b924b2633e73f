//! The events of messages: the PUT, GET, ACK and REPLY events of those that arrive, and the SEND events of requests.

use super::DataPath;
use crate::event::{Event, EventKind, EventParty};
use crate::md::Md;
use crate::memory::MdSpec;
use crate::model::message::{Operation, SendReport};
use crate::model::response_to;
use lnet_wire::{Body, Errno, Header, Nid, Pid};

impl DataPath {
    /// Reports the end of an operation in which a message from a peer takes part to the owner of the MD. `header` and `from` are those
    /// of the message.
    #[inline(never)]
    pub(crate) fn complete(
        &self,
        operation: &Operation,
        header: &Header,
        from: Nid,
        status: Result<(), Errno>,
    ) {
        self.objects
            .complete(&operation.md, |event| write_arrival_event(event, header, from, operation, status));
        self.send_deferred();
    }

    /// Reports the end of a PUT or GET of this node to the process `pid`. After a failure, the MD no longer waits for the response.
    pub(crate) fn report_request(
        &self,
        md: &Md,
        report: SendReport,
        pid: Pid,
        body: &Body,
        status: Result<(), Errno>,
    ) {
        let response = response_to(body).filter(|_| status.is_err());
        let own = md.pid(self.env.pid());
        self.note_if_lost(report.target, body, status);
        self.objects.complete_without(md, response, |event| {
            write_send_event(event, own, md, report, pid, body, status)
        });
        self.send_deferred();
    }
}

/// Writes the event of a message that arrived from the node `from` for an operation, without what the MD decides (c-abi 2.7).
#[inline(always)]
fn write_arrival_event(
    event: &mut Event,
    header: &Header,
    from: Nid,
    operation: &Operation,
    status: Result<(), Errno>,
) {
    let Operation { md, offset, length, threshold, initiator, fetched: _ } = operation;
    let party = |nid| EventParty { nid: Some(nid), pid: header.src_pid };
    let (kind, portal, match_bits, rlength, hdr_data) = match header.body {
        Body::Put { portal, match_bits, hdr_data, .. } => {
            (EventKind::Put, portal, match_bits, header.payload_length, hdr_data)
        }
        Body::Get { portal, match_bits, sink_length, .. } => {
            (EventKind::Get, portal, match_bits, sink_length, 0)
        }
        Body::Ack { match_bits, .. } => (EventKind::Ack, 0, match_bits, 0, 0),
        Body::Reply { .. } => (EventKind::Reply, 0, 0, header.payload_length, 0),
    };
    event.kind = kind;
    event.target = EventParty { nid: Some(header.dest_nid), pid: header.dest_pid };
    event.initiator = party(*initiator);
    event.source = party(header.src_nid);
    event.sender = Some(from);
    event.portal = portal;
    event.match_bits = match_bits;
    event.rlength = rlength;
    event.mlength = *length;
    event.md_handle = md.handle();
    event.md = MdSpec { threshold: *threshold, ..*md.spec() };
    event.hdr_data = hdr_data;
    event.status = status;
    event.offset = *offset;
}

/// Writes the SEND event of a request with this body to the process `pid`; `own` is that of the program whose request it is.
#[inline(always)]
fn write_send_event(
    event: &mut Event,
    own: Pid,
    md: &Md,
    report: SendReport,
    pid: Pid,
    body: &Body,
    status: Result<(), Errno>,
) {
    let this_node = EventParty { nid: None, pid: own };
    let (portal, match_bits, hdr_data, offset) = match *body {
        Body::Put { portal, match_bits, hdr_data, offset, .. } => (portal, match_bits, hdr_data, offset),
        Body::Get { portal, match_bits, offset, .. } => (portal, match_bits, 0, offset),
        Body::Ack { .. } | Body::Reply { .. } => (0, 0, 0, 0),
    };
    event.kind = EventKind::Send;
    event.of_get = matches!(body, Body::Get { .. });
    event.target = EventParty { nid: report.target, pid };
    event.initiator = this_node;
    event.source = this_node;
    event.sender = None;
    event.portal = portal;
    event.match_bits = match_bits;
    event.rlength = md.memory().len();
    event.mlength = md.memory().len();
    event.md_handle = md.handle();
    event.md = MdSpec { threshold: report.threshold, ..*md.spec() };
    event.hdr_data = hdr_data;
    event.status = status;
    event.offset = offset;
}
