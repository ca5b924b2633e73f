//! Messages that become others, and memory that is used again.

use super::*;
use crate::environment::time::Time;
use crate::memory::RecvBuffer;
use crate::model::{BufferPlace, CarriedOrigin, RouterBuffer};
use lnet_wire::{NetId, NetType};
use std::num::NonZeroU64;

const HERE: Nid = Nid::new(NetId::new(NetType::TCP, 0), 1);
const PEER: Nid = Nid::new(NetId::new(NetType::TCP, 0), 2);
const GATEWAY: Nid = Nid::new(NetId::new(NetType::TCP, 0), 3);
const CARRIED: CarriedOrigin = CarriedOrigin {
    origin: MessageOrigin { node: NonZeroU64::MIN, id: NonZeroU64::MIN },
    may_have_arrived: true,
};

fn put(payload_length: u32) -> Header {
    let body = Body::Put { ack: None, match_bits: 5, hdr_data: 0, portal: 7, offset: 0 };
    Header { dest_nid: HERE, src_nid: PEER, dest_pid: Pid(12), src_pid: Pid(34), payload_length, body }
}

fn ack() -> Body {
    let handle = WireHandle { interface_cookie: 1, object_cookie: 2 };
    Body::Ack { handle, match_bits: 5, accepted: 4 }
}

fn in_transit(pool: &MessagePool) -> Pooled<TransitMessage> {
    let mut message: Pooled<TransitMessage> = pool.take(put(4));
    message.from = GATEWAY;
    message.origin = Some(CARRIED);
    message
}

fn buffer() -> Box<RouterBuffer> {
    Box::new(RouterBuffer::new(RecvBuffer::new(4096), BufferPlace { cpt: 0, size: 0 }))
}

#[test]
fn the_response_to_a_message_goes_to_its_source_by_the_node_that_it_came_from() {
    let mut message: Pooled<IncomingMessage> = MessagePool::default().take(put(4));
    message.from = GATEWAY;
    let response = message.into_response(ack(), Pid(56), Asker::None);
    let Header { dest_nid, src_nid, dest_pid, src_pid, payload_length, body } = *response.header();
    assert_eq!((dest_nid, src_nid, dest_pid, src_pid), (PEER, HERE, Pid(34), Pid(56)));
    assert_eq!((payload_length, body, response.payload_len()), (0, ack(), 0));
    assert_eq!((response.next_hop().nid, response.is_forwarded()), (GATEWAY, false));
}

#[test]
fn a_message_for_another_node_is_forwarded_once_it_has_a_buffer() {
    let pool = MessagePool::default();
    let message = in_transit(&pool).into_forwarded().map(drop);
    assert!(message.is_err(), "without a buffer there is nothing to send");
    let mut message = in_transit(&pool);
    message.buffer = Some(buffer());
    let Ok(message) = message.into_forwarded() else { panic!() };
    assert_eq!((*message.header(), message.payload().remaining()), (put(4), 4));
    assert_eq!((message.carried_origin(), message.is_forwarded()), (Some(CARRIED), true));
}

/// Fails if memory keeps anything of the message that it was used for before.
#[test]
fn a_message_in_used_memory_is_like_one_in_new_memory() {
    fn fresh<M: Part + Default + std::fmt::Debug>() -> String {
        let mut message = M::default();
        message.head_mut().header = put(0);
        format!("{message:?}")
    }
    let pool = MessagePool::default();
    let mut message = in_transit(&pool);
    message.buffer = Some(buffer());
    let Ok(mut message) = message.into_forwarded() else { panic!() };
    message.set_message_id(NonZeroU64::MIN);
    message.attempts.failed.push((HERE, PEER));
    message.attempts.resends = 3;
    message.held.peer = true;
    (message.next_hop, message.deadline) = (OutgoingMessage::default().next_hop, Time::START);
    pool.put(message);
    let outgoing: Pooled<OutgoingMessage> = pool.take(put(0));
    assert_eq!(format!("{outgoing:?}"), fresh::<OutgoingMessage>());
    pool.put(outgoing);
    let mut transit: Pooled<TransitMessage> = pool.take(put(0));
    transit.from = TransitMessage::default().from;
    assert_eq!(format!("{transit:?}"), fresh::<TransitMessage>());
    pool.put(transit);
    let mut incoming: Pooled<IncomingMessage> = pool.take(put(0));
    incoming.from = IncomingMessage::default().from;
    assert_eq!(format!("{incoming:?}"), fresh::<IncomingMessage>());
}

/// Fails if memory that one peer's pool has no room for is not used for messages of another: a router would allocate.
#[test]
fn what_a_pool_has_no_room_for_another_takes_from_the_pool_of_the_node() {
    let (of_node, of_one, of_other) =
        (MessagePool::default(), MessagePool::default(), MessagePool::default());
    let burst: Vec<Pooled<TransitMessage>> =
        (0..SPARE_MESSAGES_OF_THREAD + SPARE_MESSAGES + 3).map(|_| of_one.take_with(&of_node)).collect();
    burst.into_iter().for_each(|message| of_one.put_with(&of_node, message));
    assert_eq!((of_one.len(), of_node.len()), (SPARE_MESSAGES, 3));
    let taken: Vec<Pooled<OutgoingMessage>> =
        (0..SPARE_MESSAGES_OF_THREAD + 2).map(|_| of_other.take_with(&of_node)).collect();
    assert_eq!((of_one.len(), of_node.len()), (SPARE_MESSAGES, 1));
    taken.into_iter().for_each(|message| of_other.put_with(&of_node, message));
    assert_eq!((of_other.len(), of_node.len()), (2, 1));
}
