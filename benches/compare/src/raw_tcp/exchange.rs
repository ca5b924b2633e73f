//! Messages both ways over a socket that is polled, with a bound on the number in flight.

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Maximum number of bytes that one call moves if messages are smaller than that: many leave and come at a time.
pub(super) const BATCH: usize = 64 << 10;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The state of an end while nothing arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The end polls the socket again and again.
    Polling,
    /// The end sleeps in poll(2).
    Asleep,
}

impl Waits {
    pub(super) const fn argument(self) -> &'static str {
        match self {
            Self::Polling => "polling",
            Self::Asleep => "asleep",
        }
    }

    /// Reads the argument of a server's command line.
    pub(crate) fn parse(argument: &str) -> Result<Self, Error> {
        let found = [Self::Polling, Self::Asleep].into_iter().find(|it| it.argument() == argument);
        found.ok_or_else(|| format!("{argument}: not a way to wait"))
    }
}

/// One end of the exchange. Messages are sent as far as the other end allows; the end that responds allows one for each that
/// arrived.
pub(super) struct Exchange {
    outgoing: Outgoing,
    incoming: Incoming,
    waits: Waits,
}

impl Exchange {
    /// Makes an end that sends and receives messages of these sizes.
    pub(super) fn new(outgoing_size: usize, incoming_size: usize, waits: Waits) -> Self {
        let outgoing = Outgoing {
            buffer: vec![0x5a; buffer_length(outgoing_size)],
            size: outgoing_size,
            place: 0,
            owed: 0,
        };
        let buffer = vec![0; buffer_length(incoming_size)];
        let incoming = Incoming { buffer, size: incoming_size, filled: 0 };
        Self { outgoing, incoming, waits }
    }

    /// Allows `messages` more messages to leave.
    pub(super) fn allow(&mut self, messages: usize) {
        self.outgoing.owed += messages * self.outgoing.size;
    }

    /// Sends the allowed messages and reads once; may wait until it can do more. Returns the number of messages that came,
    /// perhaps 0.
    pub(super) fn turn(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        let mut is_full = false;
        if let Some(bytes) = self.outgoing.bytes() {
            match stream.write(bytes) {
                Ok(length) => self.outgoing.advance(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_full = true,
                Err(error) => return Err(error),
            }
        }
        match stream.read(self.incoming.rest()) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(self.incoming.advance(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match self.waits {
                    Waits::Polling if is_full => poll_until_ready(stream)?,
                    Waits::Polling => {}
                    Waits::Asleep => sleep_until_ready(stream, self.outgoing.bytes().is_some())?,
                }
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

/// Waits until the socket is ready. The kernel calls it writable when a good part of its buffer is free: that avoids many
/// small writes.
fn poll_until_ready(stream: &TcpStream) -> io::Result<()> {
    let mut sockets = [PollFd::new(stream, PollFlags::IN | PollFlags::OUT)];
    while poll(&mut sockets, Some(&AT_ONCE))? == 0 {}
    Ok(())
}

/// Sleeps until bytes can be read, or written if `writes`.
fn sleep_until_ready(stream: &TcpStream, writes: bool) -> io::Result<()> {
    let flags = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    poll(&mut [PollFd::new(stream, flags)], None)?;
    Ok(())
}

/// Returns the length of a buffer for whole messages only.
fn buffer_length(size: usize) -> usize {
    size * (BATCH / size).max(1)
}

struct Outgoing {
    /// Equal messages, as many as leave with one call.
    buffer: Vec<u8>,
    size: usize,
    /// Position of the next byte in the buffer.
    place: usize,
    /// Number of bytes that may leave.
    owed: usize,
}

impl Outgoing {
    fn bytes(&self) -> Option<&[u8]> {
        let end = self.buffer.len().min(self.place + self.owed);
        self.buffer.get(self.place..end).filter(|bytes| !bytes.is_empty())
    }

    fn advance(&mut self, length: usize) {
        self.owed -= length;
        self.place += length;
        // All messages are equal: the next one is sent from the first place, which is in the caches.
        if self.place.is_multiple_of(self.size) {
            self.place = 0;
        }
    }
}

struct Incoming {
    /// Space for a large message, or for as many small ones as come with one call.
    buffer: Vec<u8>,
    size: usize,
    filled: usize,
}

impl Incoming {
    fn rest(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// Counts received bytes. Returns the number of messages that are complete with them.
    fn advance(&mut self, length: usize) -> usize {
        let before = self.filled / self.size;
        self.filled += length;
        let messages = self.filled / self.size - before;
        if self.filled.is_multiple_of(self.size) {
            self.filled = 0;
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_the_stream_cuts_them() {
        for (size, lengths, expected) in [
            (8, &[8, 16, 3, 5, 4, 20][..], &[1, 2, 0, 1, 0, 3][..]),
            (1 << 20, &[1 << 19, (1 << 19) - 1, 1, 1 << 20], &[0, 0, 1, 1]),
        ] {
            let mut incoming = Incoming { buffer: vec![0; buffer_length(size)], size, filled: 0 };
            let counted: Vec<usize> = lengths.iter().map(|length| incoming.advance(*length)).collect();
            assert_eq!(counted, expected, "{size}");
            assert_eq!(incoming.filled, 0, "{size}");
        }
    }

    #[test]
    fn no_more_leaves_than_credits_allow() {
        let mut end = Exchange::new(1000, 8, Waits::Polling);
        end.allow(3);
        assert_eq!(end.outgoing.bytes().map(<[u8]>::len), Some(3000));
        end.outgoing.advance(2500);
        assert_eq!(end.outgoing.bytes().map(<[u8]>::len), Some(500));
        end.outgoing.advance(500);
        assert_eq!(end.outgoing.bytes(), None);
        end.allow(70);
        assert_eq!(end.outgoing.bytes().map(<[u8]>::len), Some(65_000));
    }

    #[test]
    fn a_buffer_holds_whole_messages() {
        for (size, length) in [(8, BATCH), (1000, 65_000), (BATCH, BATCH), (1 << 20, 1 << 20)] {
            assert_eq!(buffer_length(size), length, "{size}");
        }
    }
}
