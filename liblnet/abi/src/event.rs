//! Conversion of events to the C structure (c-abi 2.7).

use crate::ni::nid_to_c;
use crate::types::{
    COOKIE_NONE, NID_ANY, lnet_event, lnet_event_kind, lnet_handle_eq, lnet_handle_md, lnet_md,
    lnet_process_id,
};
use lnet_core::{Errno, Event, EventKind, EventParty, MdSpec, Polled};
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::NonNull;

/// Stores a fetched event; returns the return value of the fetching function.
///
/// # Safety
/// `to` is valid for a write.
pub(crate) unsafe fn polled_to_c(polled: &Polled, to: NonNull<lnet_event>) -> c_int {
    // SAFETY: not NULL; a variable of the calling program's, which is there until the C function returns and may be written.
    unsafe { to.write(event_to_c(&polled.event)) };
    if polled.lost { Errno::Overflow.to_c() } else { 1 }
}

/// The C form of an event. An UNLINK has no initiator and target: these fields are 0, not the wildcard. A sender whose primary NID does
/// not fit into eight bytes is named by the NID that the message came from, which match entries take for it, too.
pub(crate) fn event_to_c(event: &Event) -> lnet_event {
    let unlink = event.kind == EventKind::Unlink;
    let party = |party: EventParty| match unlink {
        true => lnet_process_id { nid: 0, pid: 0 },
        false => lnet_process_id { nid: nid_to_c(party.nid), pid: party.pid.0 },
    };
    let (mut initiator, source) = (party(event.initiator), party(event.source));
    if initiator.nid == NID_ANY {
        initiator.nid = source.nid;
    }
    lnet_event {
        target: party(event.target),
        initiator,
        source,
        sender: if unlink { 0 } else { nid_to_c(event.sender) },
        r#type: kind_to_c(event.kind),
        pt_index: event.portal,
        match_bits: event.match_bits,
        rlength: event.rlength,
        mlength: event.mlength,
        md_handle: lnet_handle_md { cookie: event.md_handle.cookie() },
        md: md_to_c(&event.md),
        hdr_data: event.hdr_data,
        status: status_to_c(event.status),
        unlinked: event.unlinked.into(),
        offset: event.offset,
        sequence: event.sequence as c_ulong,
    }
}

/// The type of an event, which is the same in all releases.
pub(crate) const fn kind_to_c(kind: EventKind) -> lnet_event_kind {
    match kind {
        EventKind::Get => lnet_event_kind::LNET_EVENT_GET,
        EventKind::Put => lnet_event_kind::LNET_EVENT_PUT,
        EventKind::Reply => lnet_event_kind::LNET_EVENT_REPLY,
        EventKind::Ack => lnet_event_kind::LNET_EVENT_ACK,
        EventKind::Send => lnet_event_kind::LNET_EVENT_SEND,
        EventKind::Unlink => lnet_event_kind::LNET_EVENT_UNLINK,
    }
}

/// The status of an event.
pub(crate) fn status_to_c(status: Result<(), Errno>) -> c_int {
    status.map_or_else(|errno| listed(errno).to_c(), |()| 0)
}

/// The errno among those that c-abi 1.6 lists: a peer that refuses connections cannot be reached.
fn listed(errno: Errno) -> Errno {
    match errno {
        Errno::ConnectionRefused => Errno::HostUnreachable,
        errno => errno,
    }
}

fn md_to_c(md: &MdSpec) -> lnet_md {
    lnet_md {
        start: md.start as *mut c_void,
        length: md.length,
        threshold: md.threshold,
        max_size: md.max_size,
        options: md.options.0,
        user_ptr: md.user_ptr as *mut c_void,
        eq_handle: lnet_handle_eq { cookie: md.eq.map_or(COOKIE_NONE, |eq| eq.cookie()) },
        bulk_handle: lnet_handle_md { cookie: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::{Event, MdHandle};
    use lnet_wire::{Nid, Pid};

    fn event(initiator: &str, source: &str) -> Event {
        let party = |text: &str| EventParty { nid: text.parse().ok(), pid: Pid::LUSTRE };
        Event {
            kind: EventKind::Put,
            initiator: party(initiator),
            source: party(source),
            target: party("10.0.0.1@tcp"),
            sender: source.parse().ok(),
            ..Event::unlink(MdHandle::from_cookie(0), MdSpec::EMPTY)
        }
    }

    #[test]
    fn a_sender_with_an_ipv6_primary_nid_is_named_by_the_ipv4_nid_that_its_message_came_from() {
        let short = |text: &str| text.parse::<Nid>().ok().and_then(Nid::to_u64).unwrap_or(NID_ANY);
        for (primary, source, shown) in [
            ("10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.0.2@tcp"),
            ("fd99::2@tcp", "10.0.0.3@tcp", "10.0.0.3@tcp"),
            ("10.0.0.2@tcp", "fd99::2@tcp", "10.0.0.2@tcp"),
            ("fd99::2@tcp", "fd99::2@tcp", "none"),
        ] {
            let shown_event = event_to_c(&event(primary, source));
            assert_eq!(shown_event.initiator.nid, short(shown), "{primary} {source}");
            assert_eq!(shown_event.source.nid, short(source));
        }
    }
}
