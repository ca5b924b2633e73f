//! Conversion of events to the structure of 2.15 (c-abi 4.2).

use super::types::{lnet_event_2_15, lnet_nid, lnet_processid};
use crate::event::{kind_to_c, status_to_c};
use crate::types::{lnet_handle_md, lnet_msg_type};
use lnet_core::{Event, EventKind, EventParty};
use std::ffi::{c_ulong, c_void};

/// The C form of an event. An UNLINK has no initiator and target: these fields are 0, not the wildcard.
pub(crate) fn event_to_c(event: &Event) -> lnet_event_2_15 {
    let unlink = event.kind == EventKind::Unlink;
    let party = |party: EventParty| match unlink {
        true => lnet_processid::NOBODY,
        false => lnet_processid::new(party.nid, party.pid),
    };
    lnet_event_2_15 {
        target: party(event.target),
        initiator: party(event.initiator),
        source: party(event.source),
        sender: if unlink { lnet_processid::NOBODY.nid } else { lnet_nid::from_nid(event.sender) },
        r#type: kind_to_c(event.kind),
        pt_index: event.portal,
        match_bits: event.match_bits,
        rlength: event.rlength,
        mlength: event.mlength,
        md_handle: lnet_handle_md { cookie: event.md_handle.cookie() },
        md_start: event.md.start as *mut c_void,
        md_user_ptr: event.md.user_ptr as *mut c_void,
        md_options: event.md.options.0,
        hdr_data: event.hdr_data,
        msg_type: match event.kind {
            EventKind::Get => lnet_msg_type::LNET_MSG_GET,
            EventKind::Send if event.of_get => lnet_msg_type::LNET_MSG_GET,
            EventKind::Reply => lnet_msg_type::LNET_MSG_REPLY,
            EventKind::Ack => lnet_msg_type::LNET_MSG_ACK,
            EventKind::Put | EventKind::Send | EventKind::Unlink => lnet_msg_type::LNET_MSG_PUT,
        } as u32,
        status: status_to_c(event.status),
        unlinked: event.unlinked.into(),
        offset: event.offset,
        sequence: event.sequence as c_ulong,
    }
}
