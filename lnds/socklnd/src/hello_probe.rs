//! A question that a node over TCP answers without a connection: a HELLO of a version that no node has. The node answers with a HELLO
//! of its own, from the NID that was asked for, and closes (wire-tcp 2.8). It keeps nothing of the one that asked.

use crate::decide::identity::IpNid;
use crate::proto::acceptor;
use crate::proto::hello::{self, Decoded, Hello, HelloError, Version};
use crate::sockets::{self, ConnectFrom, Connecting};
use lnd_common::ip_interfaces;
use lnet_os::socket::send_all;
use lnet_wire::Nid;
use lnet_wire::byte_order::{ByteOrder, array};
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

/// A version that no node has.
const NO_VERSION: u32 = u32::MAX;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A HELLO, as every node sends one.
    Hello {
        /// The version that the node speaks.
        version: Version,
        /// The NID that it has.
        nid: Nid,
    },
    /// A HELLO of a version that this library does not have.
    UnknownVersion(u32),
    /// The refusal of an acceptor that has another version of the connection request, which is its own.
    UnknownRequest(u32),
    /// Bytes of another protocol: the first ones.
    Foreign(Vec<u8>),
    /// A close, before anything else.
    Closed,
    /// Nothing until the timeout.
    Nothing,
}

/// The answer, and where it was asked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whether it was asked from a port that a node in secure mode accepts.
    pub from_low_port: bool,
    /// What came back.
    pub answer: Answer,
}

/// Asks the node at `remote` for its HELLO as `target`, from the address of `local`, or from that of its interface of the other family. An
/// error is that of the connection: nothing was asked. Waits for at most `timeout` for the connection, and for each part of the answer.
pub fn ask(local: Nid, remote: SocketAddr, target: Nid, timeout: Duration) -> io::Result<Asked> {
    let local = ip_interfaces::source_address(local.ip(), remote.ip())
        .map_err(|error| io::Error::from_raw_os_error(error.errno.number()))?;
    let from = ConnectFrom { local, device: None, tos: None, longest: timeout };
    let Connecting { socket, privileged } = sockets::connect(from, remote)?;
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(timeout))?;
    socket.set_read_timeout(Some(timeout))?;
    // Waits for the connection first.
    match send_all(&socket, &question(target)) {
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            return Ok(Asked { from_low_port: privileged, answer: Answer::Closed });
        }
        sent => sent?,
    }
    let mut bytes = Vec::with_capacity(hello::MAX_LEN);
    let answer = loop {
        if let Some(answer) = answer(&bytes) {
            break answer;
        }
        let mut more = [0; hello::MAX_LEN];
        match (&socket).read(&mut more) {
            Ok(0) => break cut(bytes, Answer::Closed),
            Ok(got) => bytes.extend_from_slice(&more[..got]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break cut(bytes, Answer::Nothing);
            }
            Err(_) => break cut(bytes, Answer::Closed),
        }
    };
    Ok(Asked { from_low_port: privileged, answer })
}

/// The connection request, and the beginning of a HELLO: nobody reads more of one whose version is not known.
fn question(target: Nid) -> Vec<u8> {
    let mut bytes = acceptor::encode_request(target);
    bytes.extend(hello::MAGIC.to_le_bytes());
    bytes.extend(NO_VERSION.to_le_bytes());
    bytes
}

/// Reads an answer from its first bytes; `None`: there are too few.
fn answer(bytes: &[u8]) -> Option<Answer> {
    if bytes.len() >= 8
        && let Some(order) = ByteOrder::detect(array(bytes, 0), acceptor::MAGIC)
    {
        return Some(Answer::UnknownRequest(order.u32(bytes, 4)));
    }
    match Hello::decode(bytes) {
        Ok(Decoded::Need(_)) => None,
        Ok(Decoded::Done { hello, .. }) => Some(Answer::Hello { version: hello.version, nid: hello.src_nid }),
        Err(HelloError::UnknownVersion(version)) => Some(Answer::UnknownVersion(version)),
        // The magic of an acceptor, whose version is still to come.
        Err(_) if bytes.len() < 8 => None,
        Err(_) => Some(Answer::Foreign(bytes.to_vec())),
    }
}

/// The answer that ends before it can be read: `empty` if nothing has come.
fn cut(bytes: Vec<u8>, empty: Answer) -> Answer {
    if bytes.is_empty() { empty } else { Answer::Foreign(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::Pid;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    #[test]
    fn answers_are_told_apart_by_their_first_bytes() {
        let hello = |version| Hello {
            version,
            src_nid: nid("192.0.2.1@tcp"),
            dest_nid: Some(nid("192.0.2.1@tcp")),
            src_pid: Pid::LUSTRE,
            dest_pid: Pid(0),
            src_incarnation: 7,
            dest_incarnation: 0,
            connection_type: None,
            ips: Vec::new(),
        };
        let edited = |version: u32| {
            let mut bytes = hello(Version::V3).encode().unwrap();
            bytes[4..8].copy_from_slice(&version.to_le_bytes());
            bytes
        };
        let of = |version| Some(Answer::Hello { version, nid: nid("192.0.2.1@tcp") });
        let table: [(Vec<u8>, Option<Answer>); 9] = [
            (Vec::new(), None),
            (hello(Version::V3).encode().unwrap(), of(Version::V3)),
            (hello(Version::V4).encode().unwrap(), of(Version::V4)),
            (hello(Version::V3).encode().unwrap()[..20].to_vec(), None),
            (edited(9), Some(Answer::UnknownVersion(9))),
            (acceptor::REFUSAL.to_vec(), Some(Answer::UnknownRequest(1))),
            (acceptor::REFUSAL[..6].to_vec(), None),
            (b"SSH-".to_vec(), None),
            (b"SSH-2.0-x\r\n".to_vec(), Some(Answer::Foreign(b"SSH-2.0-x\r\n".to_vec()))),
        ];
        for (bytes, expected) in table {
            assert_eq!(answer(&bytes), expected, "{bytes:?}");
        }
        assert_eq!(cut(Vec::new(), Answer::Nothing), Answer::Nothing);
        assert_eq!(cut(b"ok".to_vec(), Answer::Closed), Answer::Foreign(b"ok".to_vec()));
    }
}
