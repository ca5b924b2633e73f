//! Messages that need no credits, and responses that take another path.

use super::*;
use crate::model::message::{Asker, MessagePool, Response, Role};
use crate::model::{CreditWaiver, NiConfig, NiTunables};
use crate::topology::PeerTable;
use lnet_wire::{Body, Header, Nid, Pid, ProcessId, WireHandle};
use std::num::NonZeroUsize;
use std::sync::Arc;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

/// An ACK with `payload_length` bytes to a NID of net `tcp`, over `next_hop`.
fn message(payload_length: u32, next_hop: &Arc<PeerNi>, dest: Nid, ni: &Arc<Ni>) -> Pooled<OutgoingMessage> {
    let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let body = Body::Ack { handle, match_bits: 5, accepted: 4 };
    let (dest_pid, src_pid) = (Pid(12), Pid(34));
    let header = Header { dest_nid: dest, src_nid: ni.nid(), dest_pid, src_pid, payload_length, body };
    let mut message: Pooled<OutgoingMessage> = MessagePool::default().take(header);
    message.next_hop = ProcessId { nid: next_hop.nid(), pid: Pid(12) };
    (message.ni, message.peer_ni) = (Some(Arc::clone(ni)), Some(Arc::clone(next_hop)));
    message
}

fn ni() -> Arc<Ni> {
    let config = NiConfig::from(NiTunables::default());
    Arc::new(Ni::new(nid("10.0.0.1@tcp"), config, NonZeroUsize::MIN).unwrap())
}

#[test]
fn small_messages_need_no_credits_while_their_driver_waives_them_and_none_waits() {
    let (sending, peers, ni) = (Sending::default(), PeerTable::new(), ni());
    let peer_ni = peers.get_or_add(nid("10.0.0.2@tcp"), 1);
    let other = peers.get_or_add(nid("10.0.0.3@tcp"), 1);
    let to = |length, peer_ni: &Arc<PeerNi>| message(length, peer_ni, peer_ni.nid(), &ni);
    let waives = |length| sending.waives(&to(length, &peer_ni));
    assert!(!waives(0));
    let mut waiver = None;
    CreditWaiver::renew(&mut waiver, &to(0, &peer_ni), 8);
    assert_eq!([0, 7, 8].map(waives), [true, true, false]);
    assert!(!sending.waives(&to(0, &other)));
    let routed = message(0, &peer_ni, nid("10.0.1.1@tcp1"), &ni);
    assert!(!sending.waives(&routed), "a gateway has buffers for messages with credits");
    let mut first = to(0, &peer_ni);
    assert!(sending.try_admit(&mut first) && !waives(0), "the next message waits for the credit of this one");
    sending.release(&mut first, |_| panic!("none waits"));
    assert!(waives(0));
    CreditWaiver::renew(&mut waiver, &to(0, &other), 8);
    assert!(!waives(0) && sending.waives(&to(0, &other)));
    drop(waiver);
    assert!(!sending.waives(&to(0, &other)));
}

#[test]
fn a_response_is_counted_at_the_peer_ni_that_asked_whichever_way_it_goes() {
    let (peers, ni) = (PeerTable::new(), ni());
    let [asked, first, second] =
        ["10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.0.4@tcp"].map(|it| peers.get_or_add(nid(it), 1));
    let mut response = message(0, &asked, asked.nid(), &ni);
    let asker = Asker::OfMessage;
    response.role = Role::Response(Response { asker, ..Response::default() });
    for path in [&first, &second] {
        response.change_peer_ni(Some(Arc::clone(path)));
        let Role::Response(Response { asker, .. }) = &response.role else { panic!() };
        assert_eq!(asker.peer_ni(&response).unwrap().nid(), asked.nid());
        assert_eq!(response.peer_ni.as_ref().unwrap().nid(), path.nid());
    }
}
