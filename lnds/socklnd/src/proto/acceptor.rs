//! The connection request: the first bytes that the active side sends, and the decision of the passive side about
//! them (wire-tcp 1.3 and 1.4).
//!
//! An accepted request has no response of its own: the HELLO follows at once. The sixteen bytes of
//! [`REFUSAL`] are the only response.

use super::hello;
use lnet_wire::Nid;
use lnet_wire::byte_order::{ByteOrder, array, put_u32, put_u64};

/// The first four bytes of a request, in the sender's order.
pub const MAGIC: u32 = 0xacce_7100;
/// Length in bytes of a request that names an eight-byte NID (version 1).
pub const REQUEST_LEN: usize = 16;
/// Length in bytes of a request that names a twenty-byte NID (version 2).
pub const LONG_REQUEST_LEN: usize = 28;

/// The response to a request of an unknown kind: the acceptor's magic, version 1, NID 0.
pub const REFUSAL: [u8; REQUEST_LEN] = [0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Highest privileged source port: only root, or a process with the right to do so, can bind ports up to this one.
pub const LAST_PRIVILEGED_PORT: u16 = 1023;

/// The peers from which connections are accepted (`accept`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptFrom {
    /// Privileged source ports only.
    #[default]
    Secure,
    /// All source ports.
    All,
    /// No source port: this node only connects to others.
    None,
}

/// Encodes the request for a connection to the interface `target`, little-endian.
pub fn encode_request(target: Nid) -> Vec<u8> {
    match target.to_u64() {
        Some(short) => {
            let mut out = vec![0; REQUEST_LEN];
            put_u32(&mut out, 0, MAGIC);
            put_u32(&mut out, 4, 1);
            put_u64(&mut out, 8, short);
            out
        }
        None => {
            let mut out = vec![0; LONG_REQUEST_LEN];
            put_u32(&mut out, 0, MAGIC);
            put_u32(&mut out, 4, 2);
            out[8..].copy_from_slice(&target.to_wire20());
            out
        }
    }
}

/// The reason for which an inbound connection is closed without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The source port is above 1023 and the mode is secure.
    #[error("its port {0} is not privileged and accept is \"secure\"")]
    InsecurePort(u16),
    /// The accept mode is "none".
    #[error("accept is \"none\"")]
    NotAccepting,
    /// The bytes are not the start of a request.
    #[error("it sent {0:#010x} where a connection request starts")]
    BadMagic(u32),
    /// The requested NID is not one of this node's.
    #[error("it asked for {}, which is no interface of this node", asked_for(.0))]
    NotMine(Option<Nid>),
}

fn asked_for(nid: &Option<Nid>) -> String {
    nid.as_ref().map_or_else(|| "a NID that names no single interface".to_owned(), Nid::to_string)
}

/// The decision about a connecting peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Read until this many bytes of the request are there.
    Need(usize),
    /// Send [`REFUSAL`], then close without reading the rest of the bytes that the peer sent.
    Refuse,
    /// Close without a response.
    Close(Rejected),
    /// The request is complete and valid; the HELLO follows.
    Accept {
        /// The NI that the peer wants.
        target: Nid,
        /// Length of the request in bytes.
        len: usize,
    },
}

/// Checks whether a connecting peer from `source_port` is accepted at all, before a byte is read.
pub const fn admit_port(accept: AcceptFrom, source_port: u16) -> Result<(), Rejected> {
    match accept {
        AcceptFrom::None => Err(Rejected::NotAccepting),
        AcceptFrom::Secure if source_port > LAST_PRIVILEGED_PORT => Err(Rejected::InsecurePort(source_port)),
        AcceptFrom::Secure | AcceptFrom::All => Ok(()),
    }
}

/// Decides about a connecting peer that has sent `bytes` so far. `is_mine` says whether a NID is one of this
/// node's that take TCP connections. The order of the checks is the kernel's (wire-tcp 1.4).
pub fn decide(bytes: &[u8], is_mine: impl FnOnce(Nid) -> bool) -> Decision {
    if bytes.len() < 4 {
        return Decision::Need(4);
    }
    let magic: [u8; 4] = array(bytes, 0);
    let Some(order) = ByteOrder::detect(magic, MAGIC) else {
        // A HELLO without a request before it.
        return match ByteOrder::detect(magic, hello::MAGIC) {
            Some(_) => Decision::Refuse,
            None => Decision::Close(Rejected::BadMagic(u32::from_le_bytes(magic))),
        };
    };
    if bytes.len() < 8 {
        return Decision::Need(8);
    }
    let len = match order.u32(bytes, 4) {
        1 => REQUEST_LEN,
        2 => LONG_REQUEST_LEN,
        _ => return Decision::Refuse,
    };
    if bytes.len() < len {
        return Decision::Need(len);
    }
    let target = match len {
        REQUEST_LEN => Nid::from_u64(order.u64(bytes, 8)),
        _ => Nid::from_wire20(array(bytes, 8)),
    };
    match target {
        Some(target) if is_mine(target) => Decision::Accept { target, len },
        other => Decision::Close(Rejected::NotMine(other)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use lnet_wire::{NetId, NetType};
    use proptest::prelude::*;

    const MINE: Nid = Nid::new(NetId::new(NetType::TCP, 0), 0x0a00_0002);
    const MINE_LONG: Nid = Nid::new_long(NetId::new(NetType::TCP, 0), [7; 16]);

    fn at(bytes: &[u8]) -> Decision {
        decide(bytes, |nid| nid == MINE || nid == MINE_LONG)
    }

    #[test]
    fn a_request_has_the_bytes_of_the_worked_example() {
        let want = [0, 0x71, 0xce, 0xac, 1, 0, 0, 0, 2, 0, 0, 0x0a, 0, 0, 2, 0];
        assert_eq!(encode_request(MINE), want);
        assert_eq!(at(&want), Decision::Accept { target: MINE, len: 16 });
    }

    #[test]
    fn a_long_nid_is_asked_for_with_version_2() {
        let request = encode_request(MINE_LONG);
        assert_eq!(request.len(), LONG_REQUEST_LEN);
        assert_eq!(at(&request), Decision::Accept { target: MINE_LONG, len: 28 });
    }

    #[test]
    fn the_port_decides_before_any_byte_is_read() {
        for (accept, port, ok) in [
            (AcceptFrom::Secure, 1023, true),
            (AcceptFrom::Secure, 1, true),
            (AcceptFrom::Secure, 1024, false),
            (AcceptFrom::All, 1024, true),
            (AcceptFrom::All, 65535, true),
            (AcceptFrom::None, 1023, false),
        ] {
            assert_eq!(admit_port(accept, port).is_ok(), ok, "{accept:?} {port}");
        }
    }

    #[test]
    fn the_acceptor_decides_by_the_table() {
        let le = |parts: &[u32]| parts.iter().flat_map(|p| p.to_le_bytes()).collect::<Vec<u8>>();
        let be = |parts: &[u32]| parts.iter().flat_map(|p| p.to_be_bytes()).collect::<Vec<u8>>();
        let mut big = be(&[MAGIC, 1]);
        big.extend(MINE.to_u64().unwrap().to_be_bytes());
        let mut foreign = le(&[MAGIC, 1]);
        foreign.extend(0x0002_0009_0a00_0002_u64.to_le_bytes());
        let mut wildcard = le(&[MAGIC, 1]);
        wildcard.extend([0xff; 8]);
        let mut loopback = le(&[MAGIC, 1]);
        loopback.extend(Nid::LOOPBACK.to_u64().unwrap().to_le_bytes());
        let rows: Vec<(&str, Vec<u8>, Decision)> = vec![
            ("nothing yet", vec![], Decision::Need(4)),
            ("three bytes", vec![0, 0x71, 0xce], Decision::Need(4)),
            ("unified magic", le(&[hello::MAGIC]), Decision::Refuse),
            ("unified magic, other order", be(&[hello::MAGIC]), Decision::Refuse),
            ("very old HELLO", le(&[0xeebc_0ded]), Decision::Close(Rejected::BadMagic(0xeebc_0ded))),
            ("rubbish", le(&[1]), Decision::Close(Rejected::BadMagic(1))),
            ("magic only", le(&[MAGIC]), Decision::Need(8)),
            ("version 99", le(&[MAGIC, 99]), Decision::Refuse),
            ("version 0", le(&[MAGIC, 0]), Decision::Refuse),
            ("version 1 so far", le(&[MAGIC, 1]), Decision::Need(16)),
            ("version 2 so far", le(&[MAGIC, 2, 0, 0]), Decision::Need(28)),
            ("big-endian", big, Decision::Accept { target: MINE, len: 16 }),
            (
                "another net",
                foreign,
                Decision::Close(Rejected::NotMine(Nid::from_u64(0x0002_0009_0a00_0002))),
            ),
            ("wildcard", wildcard, Decision::Close(Rejected::NotMine(None))),
            ("loopback", loopback, Decision::Close(Rejected::NotMine(Some(Nid::LOOPBACK)))),
            (
                "version 2 of zeros",
                [le(&[MAGIC, 2]), vec![0; 20]].concat(),
                Decision::Close(Rejected::NotMine(Some(Nid::new(NetId::new(NetType(0), 0), 0)))),
            ),
        ];
        for (name, bytes, want) in rows {
            assert_eq!(at(&bytes), want, "{name}");
        }
    }

    #[test]
    fn the_refusal_is_the_captured_one() {
        let mut want = vec![0; 16];
        put_u32(&mut want, 0, MAGIC);
        put_u32(&mut want, 4, 1);
        assert_eq!(REFUSAL[..], want);
    }

    proptest! {
        #[test]
        fn no_bytes_ask_for_more_than_28_or_fewer_than_they_have(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Decision::Need(n) = at(&bytes) {
                prop_assert!(n > bytes.len() && n <= LONG_REQUEST_LEN);
            }
        }
    }
}
