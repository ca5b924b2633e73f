//! Both sides of the handshake as state machines without I/O: each takes received bytes and returns the next step.
//!
//! Each machine reports how many bytes it still needs and gets no more than these, so that no bytes of the messages
//! after a HELLO are read.

use crate::proto::acceptor::{self, Decision, Rejected};
use crate::proto::hello::{Decoded, HelloError};
use crate::proto::{ConnectionType, Hello, Version};
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Nid, Pid, ProcessId};

/// The fields of a HELLO that describe this node's NI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalNi {
    pub(crate) nid: Nid,
    pub(crate) pid: Pid,
    pub(crate) incarnation: u64,
    /// The number by which nodes of this implementation recognise this node, or 0.
    pub(crate) identity: u64,
}

impl LocalNi {
    /// Makes a HELLO to `dest`: destination PID is 0, as every kernel sends it; the destination incarnation, which no
    /// kernel checks, carries the number of this node.
    pub(crate) fn hello(self, version: Version, dest: Nid, kind: Option<ConnectionType>) -> Hello {
        Hello {
            version,
            src_nid: self.nid,
            dest_nid: (version != Version::V1).then_some(dest),
            src_pid: self.pid,
            dest_pid: Pid(0),
            src_incarnation: self.incarnation,
            dest_incarnation: if version == Version::V1 { 0 } else { self.identity },
            connection_type: kind,
            ips: Vec::new(),
        }
    }
}

/// The passive side: a connection request, then a HELLO.
#[derive(Debug)]
pub(crate) struct Passive {
    bytes: Vec<u8>,
    /// The NI that the peer wants, once the request has arrived.
    target: Option<Nid>,
    need: usize,
    pieces: u32,
}

/// The next step of the passive side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PassiveStep {
    /// Continue reading.
    More,
    /// Send [`acceptor::REFUSAL`] and close.
    RefuseRequest,
    /// Send a HELLO of type none in the version of this implementation, with the local NID as destination, and close: so the
    /// connecting peer learns which version this node supports.
    OfferVersion {
        /// The NI that the peer wants.
        target: Nid,
    },
    /// Close without a response.
    Close(PassiveError),
    /// The HELLO is complete.
    Hello {
        /// The NI that the peer wants.
        target: Nid,
        /// The connecting peer's HELLO.
        hello: Hello,
        /// The connecting peer's byte order.
        order: ByteOrder,
    },
}

/// The reason for which the passive side closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PassiveError {
    #[error(transparent)]
    Request(#[from] Rejected),
    #[error(transparent)]
    Hello(#[from] HelloError),
}

impl Passive {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::with_capacity(80), target: None, need: 4, pieces: 0 }
    }

    /// Returns the number of bytes to read now.
    pub(crate) fn wants(&self) -> usize {
        self.need.saturating_sub(self.bytes.len())
    }

    /// The NI that the peer wants, once it is known.
    pub(crate) fn target(&self) -> Option<Nid> {
        self.target
    }

    /// Takes bytes, at most [`Passive::wants`] of them.
    pub(crate) fn feed(&mut self, bytes: &[u8], is_mine: impl FnOnce(Nid) -> bool) -> PassiveStep {
        self.bytes.extend_from_slice(bytes);
        let Some(target) = self.target else {
            return match acceptor::decide(&self.bytes, is_mine) {
                Decision::Need(need) => self.more(need),
                Decision::Refuse => PassiveStep::RefuseRequest,
                Decision::Close(why) => PassiveStep::Close(why.into()),
                Decision::Accept { target, .. } => {
                    self.target = Some(target);
                    self.bytes.clear();
                    self.more(4)
                }
            };
        };
        match Hello::decode(&self.bytes) {
            Ok(Decoded::Need(need)) => self.more(need),
            Ok(Decoded::Done { hello, order, .. }) => PassiveStep::Hello { target, hello, order },
            Err(HelloError::UnknownVersion(_)) => PassiveStep::OfferVersion { target },
            Err(why) => PassiveStep::Close(why.into()),
        }
    }

    /// Returns the number of completed parts of the handshake: each part has its own time limit.
    pub(crate) fn pieces(&self) -> u32 {
        self.pieces
    }

    fn more(&mut self, need: usize) -> PassiveStep {
        if need != self.need || self.bytes.is_empty() {
            self.pieces += 1;
        }
        self.need = need;
        PassiveStep::More
    }
}

/// The active side: it has sent a request and a HELLO and waits for the response.
#[derive(Debug)]
pub(crate) struct Active {
    peer: ProcessId,
    version: Version,
    kind: ConnectionType,
    bytes: Vec<u8>,
    need: usize,
}

/// The next step of the active side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActiveStep {
    /// Continue reading.
    More,
    /// The connection is established.
    Open {
        /// The version that the peer chose.
        version: Version,
        /// The peer's incarnation.
        incarnation: u64,
        /// The peer's number, if it is a node of this implementation.
        identity: u64,
        /// The peer's byte order.
        order: ByteOrder,
    },
    /// Connect later: there is a connection race, or there are enough connections.
    TryLater,
    /// Connect again at once, with this version.
    UseVersion(Version),
    /// Close: the peer breaks the protocol.
    Close(ActiveError),
}

/// The reason for which the active side closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ActiveError {
    #[error("its acceptor refused the connection request")]
    RequestRefused,
    #[error(transparent)]
    Hello(#[from] HelloError),
    #[error("it answered as {0}")]
    SomebodyElse(ProcessId),
    #[error("it answered with connection type {answered} to {requested}")]
    WrongType { requested: ConnectionType, answered: ConnectionType },
}

impl Active {
    pub(crate) fn new(peer: ProcessId, version: Version, kind: ConnectionType) -> Self {
        Self { peer, version, kind, bytes: Vec::with_capacity(80), need: 4 }
    }

    /// Returns the bytes to send first, request and HELLO. `None` when a NID does not fit in the version.
    pub(crate) fn opening(&self, own: LocalNi) -> Option<Vec<u8>> {
        let hello = own.hello(self.version, self.peer.nid, Some(self.kind)).encode()?;
        Some([acceptor::encode_request(self.peer.nid), hello].concat())
    }

    /// The requested type.
    pub(crate) fn kind(&self) -> ConnectionType {
        self.kind
    }

    /// Returns the number of bytes to read now.
    pub(crate) fn wants(&self) -> usize {
        self.need.saturating_sub(self.bytes.len())
    }

    /// Takes bytes, at most [`Active::wants`] of them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> ActiveStep {
        self.bytes.extend_from_slice(bytes);
        match Hello::decode(&self.bytes) {
            Ok(Decoded::Need(need)) => {
                self.need = need;
                ActiveStep::More
            }
            Ok(Decoded::Done { hello, order, .. }) => self.check_response(&hello, order),
            Err(HelloError::BadMagic(acceptor::MAGIC)) => ActiveStep::Close(ActiveError::RequestRefused),
            Err(why) => ActiveStep::Close(why.into()),
        }
    }

    fn check_response(&self, hello: &Hello, order: ByteOrder) -> ActiveStep {
        let answered = ProcessId { nid: hello.src_nid, pid: hello.src_pid };
        if answered != self.peer {
            return ActiveStep::Close(ActiveError::SomebodyElse(answered));
        }
        match hello.connection_type {
            None if hello.version == self.version => ActiveStep::TryLater,
            None => ActiveStep::UseVersion(hello.version),
            Some(answered) if answered.mirror() != self.kind => {
                ActiveStep::Close(ActiveError::WrongType { requested: self.kind, answered })
            }
            Some(_) => ActiveStep::Open {
                version: hello.version,
                incarnation: hello.src_incarnation,
                identity: hello.dest_incarnation,
                order,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::proto::ConnectionType::{BulkIn, BulkOut, Control};
    use lnet_wire::{NetId, NetType};

    fn nid(address: u32) -> Nid {
        Nid::new(NetId::new(NetType::TCP, 0), address)
    }

    fn active_ni() -> LocalNi {
        LocalNi { nid: nid(1), pid: Pid::LUSTRE, incarnation: 0x11, identity: 0x111 }
    }

    fn passive_ni() -> LocalNi {
        LocalNi { nid: nid(2), pid: Pid::LUSTRE, incarnation: 0x22, identity: 0x222 }
    }

    #[test]
    fn the_reasons_for_refusing_a_connection_are_plain_sentences() {
        use crate::decide::admit::Refusal;
        use acceptor::Rejected;
        let other = ProcessId { nid: nid(7), pid: Pid::LUSTRE };
        let texts = [
            Rejected::NotMine(Some(nid(9))).to_string(),
            Rejected::NotMine(None).to_string(),
            Rejected::InsecurePort(40_000).to_string(),
            Rejected::NotAccepting.to_string(),
            PassiveError::Request(Rejected::NotMine(Some(nid(9)))).to_string(),
            PassiveError::Hello(HelloError::UnknownType(7)).to_string(),
            ActiveError::SomebodyElse(other).to_string(),
            ActiveError::WrongType { requested: BulkIn, answered: Control }.to_string(),
            Refusal::OtherIncarnation.to_string(),
            Refusal::ConnectionRace.to_string(),
            Refusal::Duplicate.to_string(),
        ];
        assert_eq!(texts[0], "it asked for 0.0.0.9@tcp, which is no interface of this node");
        assert_eq!(texts[6], "it answered as 12345-0.0.0.7@tcp");
        assert_eq!(texts[7], "it answered with connection type control to bulk in");
        // Nor the names of Rust's types and fields.
        let is_rust = |word: &str| word.contains(['{', '}', '(', '_']) || word.contains("::");
        let of_rust: Vec<_> = texts.iter().filter(|line| line.split(' ').any(is_rust)).collect();
        assert!(of_rust.is_empty(), "{of_rust:?}");
    }

    /// Feeds all bytes in pieces of the wanted size; returns the last step and the number of bytes taken.
    fn play_passive(mut bytes: &[u8]) -> (PassiveStep, usize) {
        let all = bytes.len();
        let mut passive = Passive::new();
        loop {
            let n = passive.wants().min(bytes.len());
            match passive.feed(&bytes[..n], |nid| nid == passive_ni().nid) {
                PassiveStep::More if n < bytes.len() || passive.wants() == 0 => bytes = &bytes[n..],
                PassiveStep::More => return (PassiveStep::More, all),
                step => return (step, all - bytes.len() + n),
            }
        }
    }

    fn request() -> Vec<u8> {
        acceptor::encode_request(passive_ni().nid)
    }

    fn v3(kind: Option<ConnectionType>) -> Hello {
        active_ni().hello(Version::V3, passive_ni().nid, kind)
    }

    #[test]
    fn the_passive_side_answers_odd_requests_by_the_table() {
        let hello = |hello: &Hello| hello.encode().unwrap();
        let edit = |offset: usize, with: &[u8]| {
            let mut bytes = hello(&v3(Some(Control)));
            bytes[offset..offset + with.len()].copy_from_slice(with);
            bytes
        };
        let offer = PassiveStep::OfferVersion { target: passive_ni().nid };
        let close = |why: HelloError| PassiveStep::Close(why.into());
        let open =
            |hello: Hello| PassiveStep::Hello { target: passive_ni().nid, hello, order: ByteOrder::Little };
        let with_ips = Hello { ips: vec![1, 2], ..v3(Some(Control)) };
        let v2 = active_ni().hello(Version::V2, passive_ni().nid, Some(Control));
        let v4 = active_ni().hello(Version::V4, passive_ni().nid, Some(Control));
        for (name, bytes, want) in [
            ("v3", hello(&v3(Some(Control))), open(v3(Some(Control)))),
            ("v2", hello(&v2), open(v2.clone())),
            ("v4", hello(&v4), open(v4.clone())),
            ("v4 as short as v3", edit(4, &[4]), PassiveStep::More),
            ("version 99", edit(4, &[99]), offer),
            ("wrong magic", edit(0, &[0; 4]), close(HelloError::BadMagic(0))),
            ("no HELLO", vec![], PassiveStep::More),
            ("type 7", edit(48, &[7]), close(HelloError::UnknownType(7))),
            ("type none", hello(&v3(None)), open(v3(None))),
            ("source any", edit(8, &[0xff; 8]), close(HelloError::SourceNotConcrete)),
            ("17 IPs", edit(52, &[17]), close(HelloError::BadIpList(68))),
            ("2 IPs", hello(&with_ips), open(with_ips.clone())),
            (
                "destination is another node",
                edit(16, &[9]),
                open(Hello { dest_nid: Some(nid(9)), ..v3(Some(Control)) }),
            ),
        ] {
            let (step, _) = play_passive(&[request(), bytes].concat());
            assert_eq!(step, want, "{name}");
        }
    }

    #[test]
    fn a_bad_request_is_not_read_further() {
        let mut bytes = request();
        bytes[4] = 99;
        assert_eq!(play_passive(&bytes), (PassiveStep::RefuseRequest, 8));
        bytes[0] = 1;
        let (step, read) = play_passive(&bytes);
        assert!(matches!(step, PassiveStep::Close(PassiveError::Request(Rejected::BadMagic(_)))));
        assert_eq!(read, 4);
    }

    #[test]
    fn bytes_behind_the_hello_are_not_consumed() {
        let opening =
            Active::new(ProcessId { nid: passive_ni().nid, pid: Pid::LUSTRE }, Version::V3, Control)
                .opening(active_ni())
                .unwrap();
        let (step, read) = play_passive(&[&opening[..], &[0xc1; 500]].concat());
        assert!(matches!(step, PassiveStep::Hello { .. }));
        assert_eq!(read, opening.len());
        assert_eq!(read, 72);
    }

    fn play_active(requested: ConnectionType, bytes: &[u8]) -> ActiveStep {
        let peer = ProcessId { nid: passive_ni().nid, pid: Pid::LUSTRE };
        let mut active = Active::new(peer, Version::V3, requested);
        let mut rest = bytes;
        loop {
            let n = active.wants().min(rest.len());
            let step = active.feed(&rest[..n]);
            rest = &rest[n..];
            if step != ActiveStep::More || rest.is_empty() {
                return step;
            }
        }
    }

    #[test]
    fn the_active_side_acts_on_a_hello_by_the_table() {
        let response = |version, kind| passive_ni().hello(version, active_ni().nid, kind);
        let open = |version| ActiveStep::Open {
            version,
            incarnation: 0x22,
            identity: 0x222,
            order: ByteOrder::Little,
        };
        let other = Hello { src_nid: nid(3), ..response(Version::V3, Some(Control)) };
        let process = Hello { src_pid: Pid(1), ..response(Version::V3, Some(Control)) };
        let somebody =
            |nid, pid| ActiveStep::Close(ActiveError::SomebodyElse(ProcessId { nid, pid: Pid(pid) }));
        let wrong = ActiveError::WrongType { requested: BulkIn, answered: BulkIn };
        for (name, requested, hello, want) in [
            ("accepted", Control, response(Version::V3, Some(Control)), open(Version::V3)),
            ("mirrored", BulkIn, response(Version::V3, Some(BulkOut)), open(Version::V3)),
            ("not mirrored", BulkIn, response(Version::V3, Some(BulkIn)), ActiveStep::Close(wrong)),
            ("older version", Control, response(Version::V2, Some(Control)), open(Version::V2)),
            ("try later", Control, response(Version::V3, None), ActiveStep::TryLater),
            ("other version", Control, response(Version::V2, None), ActiveStep::UseVersion(Version::V2)),
            ("another node", Control, other, somebody(nid(3), 12345)),
            ("another process", Control, process, somebody(nid(2), 1)),
        ] {
            assert_eq!(play_active(requested, &hello.encode().unwrap()), want, "{name}");
        }
        assert_eq!(play_active(Control, &acceptor::REFUSAL), ActiveStep::Close(ActiveError::RequestRefused));
        assert!(matches!(play_active(Control, &[0; 8]), ActiveStep::Close(ActiveError::Hello(_))));
        assert!(matches!(
            play_active(Control, &[0x63, 0x69, 0x72, 0x45, 9, 0, 0, 0]),
            ActiveStep::Close(ActiveError::Hello(HelloError::UnknownVersion(9)))
        ));
    }
}
