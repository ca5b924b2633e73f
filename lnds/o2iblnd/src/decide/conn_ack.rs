//! Whether the acceptance of a connection is one (wire-o2ib 6.5).

use crate::proto::{Body, ConnParams, MESSAGE_SIZE, Message, ProtoError, Version};
use lnet_wire::Nid;

/// The request that was accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) version: Version,
    pub(crate) depth: u16,
    pub(crate) fragments: u16,
    pub(crate) local: Nid,
    pub(crate) local_stamp: u64,
    pub(crate) peer: Nid,
}

/// What is wrong with an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AckError {
    #[error("its bytes are invalid: {0}")]
    Invalid(#[from] ProtoError),
    #[error("it is no CONNACK")]
    NotConnAck,
    #[error("its version is not the one that was asked for")]
    OtherVersion,
    #[error(
        "it allows {depth} messages and {fragments} fragments of {size} bytes, which is 0 or more than was asked for"
    )]
    Params { depth: u16, fragments: u16, size: u32 },
    #[error("it is from another NID, or for another")]
    OtherNid,
    #[error("it is for another incarnation of this interface")]
    OtherStamp,
}

/// The peer's incarnation and the limits of the connection that `private_data` accepts.
pub(crate) fn check(private_data: &[u8], asked: Asked) -> Result<(u64, ConnParams), AckError> {
    let message = Message::decode(private_data)?;
    let Body::ConnAck(params) = message.body else { return Err(AckError::NotConnAck) };
    let ConnParams { queue_depth: depth, max_fragments: fragments, max_message_size: size } = params;
    if message.version != asked.version {
        return Err(AckError::OtherVersion);
    }
    if !(1..=asked.depth).contains(&depth)
        || !(1..=asked.fragments).contains(&fragments)
        || size as usize > MESSAGE_SIZE
    {
        return Err(AckError::Params { depth, fragments, size });
    }
    if message.dst_nid != asked.local || message.src_nid != asked.peer {
        return Err(AckError::OtherNid);
    }
    if message.dst_stamp != asked.local_stamp {
        return Err(AckError::OtherStamp);
    }
    Ok((message.src_stamp, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = Box<dyn Fn(&mut Message<'_>)>;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    fn asked() -> Asked {
        let (local, peer) = (nid("10.99.0.11@o2ib"), nid("10.99.0.12@o2ib"));
        Asked { version: Version::V2, depth: 8, fragments: 257, local, local_stamp: 7, peer }
    }

    fn ack(change: impl FnOnce(&mut Message<'_>)) -> Vec<u8> {
        let params = ConnParams { queue_depth: 8, max_fragments: 257, max_message_size: 4096 };
        let mut message = Message {
            version: Version::V2,
            credits: 0,
            src_nid: asked().peer,
            src_stamp: 9,
            dst_nid: asked().local,
            dst_stamp: 7,
            body: Body::ConnAck(params),
        };
        change(&mut message);
        let mut bytes = vec![0; 196];
        message.encode(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn an_acceptance_may_lower_the_limits_and_change_nothing_else() {
        let params = |queue_depth, max_fragments, max_message_size| {
            Body::ConnAck(ConnParams { queue_depth, max_fragments, max_message_size })
        };
        let refused = |depth, fragments, size| AckError::Params { depth, fragments, size };
        let table: [(Change, Result<u16, AckError>); 12] = [
            (Box::new(|_| ()), Ok(8)),
            (Box::new(move |m| m.body = params(4, 1, 4096)), Ok(4)),
            (Box::new(move |m| m.body = params(9, 257, 4096)), Err(refused(9, 257, 4096))),
            (Box::new(move |m| m.body = params(0, 257, 4096)), Err(refused(0, 257, 4096))),
            (Box::new(move |m| m.body = params(8, 258, 4096)), Err(refused(8, 258, 4096))),
            (Box::new(move |m| m.body = params(8, 0, 4096)), Err(refused(8, 0, 4096))),
            (Box::new(move |m| m.body = params(8, 257, 4097)), Err(refused(8, 257, 4097))),
            (Box::new(|m| m.body = Body::Noop), Err(AckError::NotConnAck)),
            (Box::new(|m| m.version = Version::V1), Err(AckError::OtherVersion)),
            (Box::new(|m| m.dst_stamp = 8), Err(AckError::OtherStamp)),
            (Box::new(|m| m.dst_nid = nid("10.99.0.13@o2ib")), Err(AckError::OtherNid)),
            (Box::new(|m| m.src_nid = nid("10.99.0.13@o2ib")), Err(AckError::OtherNid)),
        ];
        for (index, (change, expected)) in table.into_iter().enumerate() {
            let got = check(&ack(change), asked());
            assert_eq!(
                got.map(|(stamp, params)| params.queue_depth * u16::from(stamp == 9)),
                expected,
                "{index}"
            );
        }
        assert!(matches!(check(&[0; 196], asked()), Err(AckError::Invalid(_))));
    }
}
