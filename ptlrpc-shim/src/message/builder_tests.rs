#![allow(clippy::unwrap_used)]
use super::*;
use crate::message::{Opcode, Service};

#[test]
fn messages_that_cannot_be_written_are_found() {
    use LayoutError as E;
    for (name, lengths, len, want, errno) in [
        ("no buffer", &[][..], 500, E::BufferCount(0), Errno::Invalid),
        ("33 buffers", &[184; 33], 10_000, E::BufferCount(33), Errno::Invalid),
        ("a short body", &[151], 500, E::BodyLength(151), Errno::Invalid),
        ("more than LNet carries", &[184, 1 << 20], 2 << 20, E::TooLong, Errno::MessageSize),
        ("the memory is too small", &[184], 223, E::TooSmall { needed: 224, got: 223 }, Errno::Overflow),
        ("no memory", &[184], 0, E::TooSmall { needed: 224, got: 0 }, Errno::Overflow),
    ] {
        let mut bytes = vec![0xee; len];
        assert_eq!(MessageMut::new(&mut bytes, lengths).err(), Some(want), "{name}");
        assert_eq!(want.errno(), errno, "{name}");
        assert!(bytes.iter().all(|byte| *byte == 0xee), "{name}: something was written");
    }
}

#[test]
fn a_new_message_is_zeroed() {
    let mut bytes = [0xee; 80 + 184];
    let message = MessageMut::new(&mut bytes, &[184, 1, 3]).unwrap();
    let header = &message.as_message().as_bytes()[..48];
    assert_eq!(header.iter().filter(|byte| **byte == 0xee).count(), 0);
    assert!(bytes[48..248].iter().all(|byte| *byte == 0));
    assert!(bytes[248..].iter().all(|byte| *byte == 0xee));
}

#[test]
fn a_body_is_written_to_buffers_of_any_version() {
    let body = Body { job_id: [b'j'; 32], mbits: 77, ..Body::request(Service::OBD, Opcode::PING) };
    for (length, job_id) in [(152, [0; 32]), (184, [b'j'; 32]), (200, [b'j'; 32])] {
        let mut bytes = [0; 300];
        let mut message = MessageMut::new(&mut bytes, &[length, 8]).unwrap();
        message.set_body(&body);
        let message = message.as_message();
        assert_eq!(message.body(), Ok(Body { job_id, ..body }), "{length} bytes");
        assert_eq!(message.buffer(1), Some(&[0; 8][..]), "{length} bytes");
    }
}

#[test]
fn messages_are_written_in_native_byte_order() {
    let mut bytes = [0; 224];
    assert_eq!(MessageMut::new(&mut bytes, &[184]).unwrap().order(), ByteOrder::NATIVE);
    assert_eq!(Message::parse(&bytes).unwrap().order(), ByteOrder::NATIVE);
}
