//! The private data of the connection manager, which are padded: what is behind a connection request, its acceptance or reject data
//! does not count, and each means the same when encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use o2iblnd::proto::{Body, CONN_MESSAGE_LEN, Message, REJECT_LEN, Reject, Version};

fuzz_target!(|bytes: &[u8]| {
    let padded = [bytes, &[0xee; 40]].concat();
    if let Ok(message) = Message::decode(bytes)
        && matches!(message.body, Body::ConnReq(_) | Body::ConnAck(_))
    {
        assert_eq!(Message::decode(&padded).as_ref(), Ok(&message));
        let mut again = [0; CONN_MESSAGE_LEN];
        assert_eq!(message.encode(&mut again), Ok(CONN_MESSAGE_LEN));
        assert_eq!(Message::decode(&again).as_ref(), Ok(&message));
    }
    if let Ok(reject) = Reject::decode(bytes) {
        let is_complete = reject.version > Version::V1.number() && bytes.len() >= REJECT_LEN;
        assert_eq!(reject.details.is_some(), is_complete);
        if bytes.len() >= REJECT_LEN {
            assert_eq!(Reject::decode(&padded), Ok(reject));
            assert_eq!(Reject::decode(&reject.encode()), Ok(reject));
        }
    }
});
