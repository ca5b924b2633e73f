//! A connection that stays: server-sent events go to its client until the client closes it, or does not read.

use super::connection::done;
use super::response::STREAM_HEAD;
use lnet_os::socket::{Wait, send};
use rustix::event::PollFlags;
use std::io::{self, IoSlice, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time for the client to take what it was sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// A stream, which never waits for its client. It ends when it is dropped. It holds at most one text that the client has not taken;
/// the text is shared with other streams.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: TcpStream,
    outgoing: Option<Outgoing>,
    /// Whether the client has been sent anything, and whether that was everything so far.
    has_begun: bool,
    is_current: bool,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Arc<[u8]>,
    sent: usize,
    deadline: Instant,
}

impl Stream {
    /// Takes over a connection whose request has arrived. The head of the response is sent first.
    pub(crate) fn new(socket: TcpStream, now: Instant) -> Self {
        let outgoing = Outgoing::new(Arc::from(STREAM_HEAD.as_bytes()), now);
        Self { socket, outgoing: Some(outgoing), has_begun: false, is_current: false }
    }

    /// The socket, to be polled for [`Stream::events`].
    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The events that the stream waits for.
    pub(crate) fn events(&self) -> PollFlags {
        if self.outgoing.is_some() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }

    /// The time at which the stream ends unless its client has read by then.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.outgoing.as_ref().map(|outgoing| outgoing.deadline)
    }

    /// Whether anything was offered to the client that it takes.
    pub(crate) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Sends what is new to a client that has everything before it, and all to one that has not. One that is still reading misses
    /// this text, and gets all the next time.
    pub(crate) fn offer(&mut self, new: &Arc<[u8]>, all: &Arc<[u8]>, now: Instant) {
        if self.outgoing.is_some() {
            self.is_current = false;
            return;
        }
        let bytes = Arc::clone(if self.is_current { new } else { all });
        self.outgoing = Some(Outgoing::new(bytes, now));
        (self.has_begun, self.is_current) = (true, true);
    }

    /// Does what is possible without waiting. Returns whether the stream goes on: not when the client has closed it, or says
    /// anything more.
    pub(crate) fn advance(&mut self, now: Instant) -> bool {
        self.deadline().is_none_or(|deadline| now < deadline) && self.try_advance().unwrap_or(false)
    }

    fn try_advance(&mut self) -> io::Result<bool> {
        if done(self.socket.read(&mut [0; 64]))?.is_some() {
            return Ok(false);
        }
        if let Some(outgoing) = &mut self.outgoing {
            while let Some(rest) = outgoing.bytes.get(outgoing.sent..).filter(|rest| !rest.is_empty()) {
                match done(send(&self.socket, &[IoSlice::new(rest)], Wait::Never))? {
                    Some(count) => outgoing.sent += count,
                    None => return Ok(true),
                }
            }
            self.outgoing = None;
        }
        Ok(true)
    }
}

impl Outgoing {
    fn new(bytes: Arc<[u8]>, now: Instant) -> Self {
        Self { bytes, sent: 0, deadline: now + SEND_TIMEOUT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        server.set_nonblocking(true).unwrap();
        (server, client)
    }

    fn text(text: &str) -> Arc<[u8]> {
        Arc::from(text.as_bytes())
    }

    fn receive(client: &mut TcpStream, expected: &str) {
        let mut bytes = vec![0; expected.len()];
        client.read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn a_client_gets_all_at_first_and_then_what_is_new() {
        let (server, mut client) = pair();
        let now = Instant::now();
        let mut stream = Stream::new(server, now);
        assert!(stream.advance(now));
        receive(&mut client, STREAM_HEAD);
        for (offered, expected) in [(["new1", "all1"], "all1"), (["new2", "all2"], "new2")] {
            stream.offer(&text(offered[0]), &text(offered[1]), now);
            assert!(stream.advance(now));
            receive(&mut client, expected);
        }
        assert_eq!(stream.deadline(), None);
    }

    /// Fails if a client that does not read makes the server keep more and more, or is kept for ever.
    #[test]
    fn a_client_that_does_not_read_misses_texts_and_is_closed_in_time() {
        let (server, mut client) = pair();
        let now = Instant::now();
        let mut stream = Stream::new(server, now);
        assert!(stream.advance(now));
        receive(&mut client, STREAM_HEAD);
        // More than the buffers of the system take.
        let long = "x".repeat(64 << 20);
        stream.offer(&text("new"), &text(&long), now);
        assert!(stream.advance(now) && stream.deadline() == Some(now + SEND_TIMEOUT));
        stream.offer(&text("missed"), &text("missed"), now + SEND_TIMEOUT / 2);
        let late = stream.deadline().unwrap();
        assert_eq!(late, now + SEND_TIMEOUT);
        let reader = std::thread::spawn(move || {
            receive(&mut client, &"x".repeat(64 << 20));
            client
        });
        while stream.deadline().is_some() {
            assert!(stream.advance(now));
        }
        let mut client = reader.join().unwrap();
        stream.offer(&text("new"), &text("all again"), now);
        assert!(stream.advance(now));
        receive(&mut client, "all again");
        stream.offer(&text(&long), &text(&long), now);
        assert!(stream.advance(now) && !stream.advance(late));
    }

    #[test]
    fn a_client_that_closes_or_says_more_ends_its_stream() {
        for more in ["", "GET / HTTP/1.1\r\n\r\n"] {
            let (server, mut client) = pair();
            let mut stream = Stream::new(server, Instant::now());
            assert!(stream.advance(Instant::now()));
            client.write_all(more.as_bytes()).unwrap();
            if more.is_empty() {
                drop(client);
            }
            while stream.advance(Instant::now()) {
                std::thread::yield_now();
            }
        }
    }
}
