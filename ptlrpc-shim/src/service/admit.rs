//! Which requests are served: pure (PR-70).

use super::counts::Dropped;
use crate::errno::Errno;
use crate::message::{BadMessage, Body, ByteOrder, Message, MessageFlags, MessageKind, Service as Protocol};
use std::time::Instant;
use thiserror::Error;

/// What is known of a request when it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) body: Body,
    pub(super) order: ByteOrder,
    /// The client understands early replies, and has room for one before the reply.
    pub(super) at_support: bool,
}

/// Why there is nothing to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unreadable {
    #[error("{0}")]
    Bad(#[from] BadMessage),
    #[error("a {0:?} where requests are served")]
    NoRequest(MessageKind),
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Serve,
    /// Answer with an error, of kind 4712: nobody has looked at what it asks for.
    Refuse(Errno),
    Drop(Dropped),
}

/// What decides beside the request itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    pub(super) now: Instant,
    /// Until when the client waits.
    pub(super) deadline: Instant,
    /// How often the client has connected; `None`: it has no connection by this handle.
    pub(super) conn_cnt: Option<u32>,
    /// What the service speaks.
    pub(super) protocol: Protocol,
    /// Whether the program, or the service itself, serves this operation.
    pub(super) is_served: bool,
}

/// Reads what decides, whatever the bytes.
pub(super) fn unpack(bytes: &[u8]) -> Result<Head, Unreadable> {
    let message = Message::parse(bytes)?;
    let body = message.body()?;
    if body.kind != MessageKind::Request {
        return Err(Unreadable::NoRequest(body.kind));
    }
    let at_support = message.flags().contains(MessageFlags::AT_SUPPORT);
    Ok(Head { body, order: message.order(), at_support })
}

impl Unreadable {
    pub(super) const fn dropped(self) -> Dropped {
        match self {
            Self::Bad(_) => Dropped::Unreadable,
            Self::NoRequest(_) => Dropped::NoRequest,
        }
    }
}

/// Judges a request that could be read, but for whether it came before.
pub(super) fn admit(body: &Body, scene: &Scene) -> Admission {
    if body.timeout == 0 {
        return Admission::Drop(Dropped::NoTimeout);
    }
    if scene.now >= scene.deadline {
        return Admission::Drop(Dropped::Late);
    }
    if !body.opcode.is_connect() {
        match scene.conn_cnt {
            None => return Admission::Refuse(Errno::NOT_CONNECTED),
            Some(latest) if body.conn_cnt < latest => return Admission::Drop(Dropped::OldConnection),
            Some(_) => {}
        }
    }
    let spoken = body.version.service();
    if spoken != scene.protocol && ![Protocol::OBD, Protocol::DLM, Protocol::LOG].contains(&spoken) {
        return Admission::Refuse(Errno::PROTOCOL);
    }
    if !scene.is_served {
        return Admission::Refuse(Errno::NOT_SUPPORTED);
    }
    Admission::Serve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{MessageMut, Opcode, Version};
    use proptest::prelude::*;
    use std::time::Duration;

    fn message(kind: MessageKind, flags: MessageFlags) -> Vec<u8> {
        let mut bytes = vec![0; 224];
        let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).unwrap();
        message.set_body(&Body { kind, ..Body::request(Protocol::OST, Opcode::PING) });
        message.set_flags(flags);
        bytes
    }

    #[test]
    fn what_cannot_be_served_is_told_from_what_can() {
        let good = message(MessageKind::Request, MessageFlags::AT_SUPPORT);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        for (name, bytes, want) in [
            ("a request", good.clone(), None),
            ("nothing", Vec::new(), Some(Dropped::Unreadable)),
            ("half a header", good[..16].to_vec(), Some(Dropped::Unreadable)),
            ("no magic", with(8, 0), Some(Dropped::Unreadable)),
            ("no buffer", with(0, 0), Some(Dropped::Unreadable)),
            ("more buffers than bytes", with(0, 30), Some(Dropped::Unreadable)),
            ("a buffer that goes on behind the end", with(33, 1), Some(Dropped::Unreadable)),
            ("a buffer of 4 GiB", with(35, 0xff), Some(Dropped::Unreadable)),
            ("a body that is too short", with(32, 100), Some(Dropped::Unreadable)),
            ("a security flavour", with(4, 1), Some(Dropped::Unreadable)),
            ("no known kind", with(48, 0), Some(Dropped::Unreadable)),
            ("a reply", message(MessageKind::Reply, MessageFlags::NONE), Some(Dropped::NoRequest)),
            ("an error", message(MessageKind::Error, MessageFlags::NONE), Some(Dropped::NoRequest)),
        ] {
            assert_eq!(unpack(&bytes).err().map(Unreadable::dropped), want, "{name}");
        }
        assert!(unpack(&good).unwrap().at_support);
        assert!(!unpack(&message(MessageKind::Request, MessageFlags::NONE)).unwrap().at_support);
    }

    #[test]
    fn who_is_served() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let scene = Scene {
            now: at(1),
            deadline: at(10),
            conn_cnt: Some(4),
            protocol: Protocol::OST,
            is_served: true,
        };
        let read = Body { timeout: 10, conn_cnt: 4, ..Body::request(Protocol::OST, Opcode::OST_READ) };
        let connect =
            Body { conn_cnt: 0, opcode: Opcode::OST_CONNECT, version: Version::of(Protocol::OBD), ..read };
        let nobody = Scene { conn_cnt: None, ..scene };
        for (name, body, scene, want) in [
            ("a request", read, scene, Admission::Serve),
            ("the time is up", read, Scene { now: at(10), ..scene }, Admission::Drop(Dropped::Late)),
            ("no time-out", Body { timeout: 0, ..read }, scene, Admission::Drop(Dropped::NoTimeout)),
            ("nobody", read, nobody, Admission::Refuse(Errno::NOT_CONNECTED)),
            (
                "a ping of nobody",
                Body { opcode: Opcode::PING, ..read },
                nobody,
                Admission::Refuse(Errno::NOT_CONNECTED),
            ),
            (
                "nobody leaves",
                Body { opcode: Opcode::OST_DISCONNECT, ..read },
                nobody,
                Admission::Refuse(Errno::NOT_CONNECTED),
            ),
            ("nobody, too late", read, Scene { now: at(11), ..nobody }, Admission::Drop(Dropped::Late)),
            ("somebody new connects", connect, nobody, Admission::Serve),
            ("somebody connects again", connect, scene, Admission::Serve),
            (
                "an old connection",
                Body { conn_cnt: 3, ..read },
                scene,
                Admission::Drop(Dropped::OldConnection),
            ),
            ("a later connection", Body { conn_cnt: 5, ..read }, scene, Admission::Serve),
            ("a lock", Body { version: Version::of(Protocol::DLM), ..read }, scene, Admission::Serve),
            (
                "another protocol",
                Body { version: Version::of(Protocol::MDS), ..read },
                scene,
                Admission::Refuse(Errno::PROTOCOL),
            ),
            (
                "nobody does that",
                read,
                Scene { is_served: false, ..scene },
                Admission::Refuse(Errno::NOT_SUPPORTED),
            ),
            (
                "nobody asks for what nobody does",
                read,
                Scene { is_served: false, ..nobody },
                Admission::Refuse(Errno::NOT_CONNECTED),
            ),
        ] {
            assert_eq!(admit(&body, &scene), want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_there_is_a_verdict(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            at in 0_usize..224,
            byte: u8,
        ) {
            let _ = unpack(&bytes);
            let mut changed = message(MessageKind::Request, MessageFlags::NONE);
            changed[at] = byte;
            let _ = unpack(&changed);
        }
    }
}
