//! What goes over the Unix socket: the hello, and later the registration of memory, whose descriptors only a socket can carry.
//!
//! A message is its kind and the length of its body, 32 bits each, and the body, as in the records of the rings. All descriptors of a
//! message come with its first byte. The end of the socket is the end of the attachment.

use crate::record::{Malformed, Message, messages};
use lnet_wire::{Errno, Pid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The version of hello, rings and records. Both sides must have the same.
pub const VERSION: u32 = 6;

/// The longest body in bytes.
const MAX_BODY: usize = 4096;
/// The length of the kind and the length.
const PREFIX: usize = 8;

messages! {
    /// What a program sends to the node.
    ToNode {
        /// The first message. Its number says nothing.
        1 = Hello {
            /// The program's [`VERSION`].
            version: u32,
            /// The words for records that the program wants in the ring of operations: a power of two.
            operations: u64,
            /// The same for the ring of reports.
            reports: u64,
            /// The PID that the program wants.
            pid: Pid,
            /// The name of the program.
            program: String,
        }
        /// Memory that MDs may have pieces of, with the descriptor of its file. A [`crate::record::Report::Done`] with this number says
        /// whether it was taken.
        2 = Register {
            /// The number of the registration, which is not in use.
            registration: u32,
        }
    }
}

messages! {
    /// What a node sends to a program.
    ToProgram {
        /// The program is admitted. The descriptors of [`Descriptors`] come with it.
        1 = Welcome {
            /// The program's PID on the node.
            pid: Pid,
            /// The name of the node.
            node: String,
        }
        /// The program is not admitted.
        2 = Refused {
            /// The reason.
            errno: Errno,
            /// The same in words.
            why: String,
        }
    }
}

/// The descriptors that come with a welcome.
#[derive(Debug)]
pub struct Descriptors {
    /// The memory of the ring of operations.
    pub operations: OwnedFd,
    /// The memory of the ring of reports.
    pub reports: OwnedFd,
    /// The eventfd that wakes the node.
    pub wake_node: OwnedFd,
    /// The eventfd that wakes the program when there are reports.
    pub wake_program: OwnedFd,
    /// The eventfd that wakes a thread of the program that reads reports because it waits for an event, and sleeps.
    pub wake_reader: OwnedFd,
    /// The eventfd that wakes a thread of the program that waits for room in the ring of operations.
    pub room: OwnedFd,
}

impl Descriptors {
    /// The descriptors in the order of the message.
    pub fn all(&self) -> [BorrowedFd<'_>; 6] {
        let Self { operations, reports, wake_node, wake_program, wake_reader, room } = self;
        [operations, reports, wake_node, wake_program, wake_reader, room].map(|descriptor| descriptor.as_fd())
    }

    /// The descriptors of a message. `None` if it has another number of them.
    pub fn from_message(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let [operations, reports, wake_node, wake_program, wake_reader, room] =
            descriptors.try_into().ok()?;
        Some(Self { operations, reports, wake_node, wake_program, wake_reader, room })
    }
}

/// Sends a message. Does not wait: a socket that takes nothing is an error.
pub fn send<M: Message>(
    socket: impl AsFd,
    number: u64,
    message: &M,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    lnet_os::descriptor_passing::send_with(socket, &bytes_of(number, message), descriptors)
}

fn bytes_of<M: Message>(number: u64, message: &M) -> Vec<u8> {
    let mut body = Vec::new();
    let kind = message.encode(number, &mut body);
    let prefix = [kind, size_of_val(&body[..]) as u32].map(u32::to_ne_bytes);
    prefix.into_iter().flatten().chain(body.into_iter().flat_map(u64::to_ne_bytes)).collect()
}

/// The reason why no message can be read any more.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The other side has closed the socket.
    #[error("the connection has ended")]
    End,
    /// The other side has broken the rules.
    #[error("the other side has sent {0}")]
    Malformed(#[from] Malformed),
    /// The other side has sent a message of this length in bytes, or too many descriptors.
    #[error("the other side has sent a message of {0} bytes")]
    TooLong(usize),
    /// The system refused; [`io::ErrorKind::WouldBlock`] if nothing has come.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The messages that come from a socket.
#[derive(Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Reader {
    /// The next message with its number and descriptors. Waits as the socket is set to: an error of the kind
    /// [`io::ErrorKind::WouldBlock`] means that the rest of the message has not come.
    pub fn read<M: Message>(&mut self, socket: impl AsFd) -> Result<(u64, M, Vec<OwnedFd>), ReadError> {
        loop {
            // A message ends where a receive ends: descriptors of the next one are not among these.
            let wanted = match self.bytes.first_chunk::<PREFIX>() {
                Some([_, _, _, _, a, b, c, d]) => PREFIX + u32::from_ne_bytes([*a, *b, *c, *d]) as usize,
                None => PREFIX,
            };
            if wanted > PREFIX + MAX_BODY
                || self.descriptors.len() > lnet_os::descriptor_passing::MAX_DESCRIPTORS
            {
                return Err(ReadError::TooLong(wanted));
            }
            if self.bytes.len() >= PREFIX && self.bytes.len() == wanted {
                return self.take();
            }
            let mut buffer = [0; PREFIX + MAX_BODY];
            let room = wanted - self.bytes.len();
            let received = lnet_os::descriptor_passing::receive_with(
                &socket,
                &mut buffer[..room],
                &mut self.descriptors,
            );
            match received {
                Ok(0) => return Err(ReadError::End),
                Ok(bytes) => self.bytes.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take<M: Message>(&mut self) -> Result<(u64, M, Vec<OwnedFd>), ReadError> {
        let bytes = std::mem::take(&mut self.bytes);
        let descriptors = std::mem::take(&mut self.descriptors);
        let kind = bytes.first_chunk().map_or(0, |kind| u32::from_ne_bytes(*kind));
        let (words, rest) = bytes[PREFIX..].as_chunks();
        if !rest.is_empty() {
            return Err(Malformed::TooShort.into());
        }
        let body: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (number, message) = M::decode(kind, &body)?;
        Ok((number, message, descriptors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_os::descriptor::{new_eventfd, unix_pair};
    use lnet_os::socket::send_all;

    fn hello() -> ToNode {
        ToNode::Hello {
            version: VERSION,
            operations: 4096,
            reports: 8192,
            pid: Pid::LUSTRE,
            program: "program".to_owned(),
        }
    }

    #[test]
    fn messages_arrive_in_order_with_their_own_descriptors() {
        let (here, there) = unix_pair().unwrap();
        let fd = new_eventfd().unwrap();
        send(&here, 0, &hello(), &[]).unwrap();
        send(&here, 1, &ToNode::Register { registration: 7 }, &[fd.as_fd()]).unwrap();
        send(&here, 2, &ToNode::Register { registration: 8 }, &[fd.as_fd(), fd.as_fd()]).unwrap();
        drop(here);
        let mut reader = Reader::default();
        let mut next = || reader.read::<ToNode>(&there).map(|(number, it, fds)| (number, it, fds.len()));
        assert_eq!(next().unwrap(), (0, hello(), 0));
        assert_eq!(next().unwrap(), (1, ToNode::Register { registration: 7 }, 1));
        assert_eq!(next().unwrap(), (2, ToNode::Register { registration: 8 }, 2));
        assert!(matches!(next(), Err(ReadError::End)));
    }

    #[test]
    fn a_message_that_comes_in_parts_is_read_when_it_is_complete() {
        let (here, there) = unix_pair().unwrap();
        there.set_nonblocking(true).unwrap();
        let bytes = bytes_of(3, &hello());
        let mut reader = Reader::default();
        for byte in &bytes[..bytes.len() - 1] {
            send_all(&here, &[*byte]).unwrap();
            let error = reader.read::<ToNode>(&there).unwrap_err();
            assert!(matches!(error, ReadError::System(error) if error.kind() == io::ErrorKind::WouldBlock));
        }
        send_all(&here, &bytes[bytes.len() - 1..]).unwrap();
        assert_eq!(reader.read::<ToNode>(&there).unwrap().1, hello());
    }

    #[test]
    fn what_is_no_message_ends_the_reading() {
        for (bytes, text) in [
            (vec![0xff; 8], "the other side has sent a message of 4294967303 bytes"),
            (
                [[9, 0, 0, 0], [8, 0, 0, 0], [0; 4], [0; 4]].concat(),
                "the other side has sent a record of the unknown kind 9",
            ),
            (
                [[2, 0, 0, 0], [8, 0, 0, 0], [0; 4], [0; 4]].concat(),
                "the other side has sent a record that is too short",
            ),
        ] {
            let (here, there) = unix_pair().unwrap();
            send_all(&here, &bytes).unwrap();
            let error = Reader::default().read::<ToNode>(&there).unwrap_err();
            assert_eq!(error.to_string(), text);
        }
    }
}
