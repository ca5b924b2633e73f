//! Messages of PtlRPC in both byte orders: a message that can be read is within its bytes, and means the same when written
//! again, in the same order or in the other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptlrpc::message::checksum::{checksum, early_reply_is_intact};
use ptlrpc::message::header::MAX_BUFFERS;
use ptlrpc::message::{Body, ByteOrder, ConnectReply, ConnectRequest, Message, MessageMut, size_of_message};

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::parse(bytes) else { return };
    let count = message.buffer_count();
    assert!((1..=MAX_BUFFERS).contains(&count));
    assert!(message.buffer(count).is_none());
    let buffers: Vec<&[u8]> = (0..count).filter_map(|index| message.buffer(index)).collect();
    assert_eq!(buffers.len(), count);
    let lengths: Vec<u32> = buffers.iter().map(|buffer| buffer.len() as u32).collect();
    let size = size_of_message(&lengths);
    assert_eq!(size, Some(message.as_bytes().len()));
    assert!(bytes.starts_with(message.as_bytes()));
    assert_eq!(early_reply_is_intact(&message), checksum(buffers[0]) == message.cksum());

    if buffers[0].len() < Body::V2_LEN {
        assert!(message.body().is_err());
        return;
    }
    // The message as it is, into memory that is not zeroed.
    let mut out = vec![0xee; message.as_bytes().len()];
    let mut copy = MessageMut::new_in(message.order(), &mut out, &lengths).expect("it has a size and a body");
    copy.set_repsize(message.repsize());
    copy.set_flags(message.flags());
    copy.set_cksum(message.cksum());
    for (index, buffer) in buffers.iter().enumerate() {
        copy.buffer_mut(index).expect("as many").copy_from_slice(buffer);
    }
    let copy = Message::parse(&out).expect("what we wrote is refused");
    assert_eq!(
        (copy.repsize(), copy.flags(), copy.cksum()),
        (message.repsize(), message.flags(), message.cksum())
    );
    assert!((0..count).all(|index| copy.buffer(index) == message.buffer(index)));
    assert_eq!(copy.body(), message.body());

    // The contents of the message's buffers.
    let Ok(body) = message.body() else { return };
    for order in [ByteOrder::Little, ByteOrder::Big] {
        assert_eq!(Body::decode(&body.encode_in(order), order), Ok(body));
        let mut out = [0xee; ConnectRequest::LEN];
        if let Ok(request) = ConnectRequest::read(&message) {
            request.build_in(order, &mut out, &body).expect("it has its length");
            let again = Message::parse(&out).expect("what we wrote is refused");
            assert_eq!((again.body(), ConnectRequest::read(&again)), (Ok(body), Ok(request)));
        }
        if let Ok(reply) = ConnectReply::read(&message) {
            reply.build_in(order, &mut out, &body).expect("it has its length");
            let again = Message::parse(&out).expect("what we wrote is refused");
            assert_eq!((again.body(), ConnectReply::read(&again)), (Ok(body), Ok(reply)));
        }
    }
});
