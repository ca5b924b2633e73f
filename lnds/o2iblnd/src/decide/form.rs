//! The form in which an LNet message leaves: with its payload, or by RDMA (wire-o2ib 7).

use crate::proto::MAX_IMMEDIATE_PAYLOAD;
use lnet_wire::{Body, Header};

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One message with the payload.
    Immediate,
    /// PUT_REQ: the payload goes to the memory that the peer names.
    PutRequest,
    /// GET_REQ: the peer writes the data to memory of this node.
    GetRequest,
}

/// The form of a message to a peer NI. `is_direct`: the peer NI is the destination, and this node the source. A GET is sent as GET_REQ only to a peer that
/// `writes_every_byte`: a kernel node does not write the last bytes of a REPLY that is shorter than the sink (wire-o2ib 8.4), and how
/// long the REPLY will be is not known here.
pub(crate) fn form(header: &Header, is_direct: bool, writes_every_byte: bool) -> Form {
    let is_short = |len: u32| len as usize <= MAX_IMMEDIATE_PAYLOAD;
    match header.body {
        Body::Ack { .. } => Form::Immediate,
        Body::Put { .. } | Body::Reply { .. } if is_short(header.payload_length) => Form::Immediate,
        Body::Put { .. } | Body::Reply { .. } => Form::PutRequest,
        Body::Get { sink_length, .. } if is_short(sink_length) || !is_direct || !writes_every_byte => {
            Form::Immediate
        }
        Body::Get { .. } => Form::GetRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::{Nid, Pid, WireHandle};

    #[test]
    fn the_form_follows_the_table_of_the_specification() {
        let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
        let put = Body::Put { ack: None, match_bits: 0, hdr_data: 0, portal: 0, offset: 0 };
        let reply = Body::Reply { handle };
        let ack = Body::Ack { handle, match_bits: 0, accepted: 0 };
        let get = |sink_length| Body::Get { reply: handle, match_bits: 0, portal: 0, offset: 0, sink_length };
        // (body, payload, direct, writes every byte, form)
        for (body, payload_length, is_direct, writes_every_byte, expected) in [
            (ack, 0, true, true, Form::Immediate),
            (put, 0, true, true, Form::Immediate),
            (put, 3976, true, true, Form::Immediate),
            (put, 3977, true, true, Form::PutRequest),
            (put, 1 << 20, false, false, Form::PutRequest),
            (reply, 3976, true, false, Form::Immediate),
            (reply, 3977, true, false, Form::PutRequest),
            (get(3976), 0, true, true, Form::Immediate),
            (get(3977), 0, true, true, Form::GetRequest),
            (get(1 << 20), 0, true, true, Form::GetRequest),
            (get(1 << 20), 0, true, false, Form::Immediate),
            (get(1 << 20), 0, false, true, Form::Immediate),
        ] {
            let (nid, pid) = (Nid::LOOPBACK, Pid(0));
            let header =
                Header { dest_nid: nid, src_nid: nid, dest_pid: pid, src_pid: pid, payload_length, body };
            assert_eq!(form(&header, is_direct, writes_every_byte), expected, "{header:?}");
        }
    }
}
