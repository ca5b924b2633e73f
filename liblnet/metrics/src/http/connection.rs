//! One connection of a client: its request is read, its response written, and then the connection ends, unless it becomes a stream.

use super::request::{HttpRequest, MAX_HEAD};
use super::response::HttpResponse;
use lnet_os::socket::{Wait, send};
use rustix::event::PollFlags;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The time from the connection to the last byte of the request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for the client to take the response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for the client to close the connection. A close with bytes unread would make the system discard the response.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The most bytes that are read after the response.
const MAX_DISCARDED: usize = 64 * 1024;

/// A connection, which never waits for its client. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    phase: Phase,
    deadline: Instant,
}

#[derive(Debug)]
enum Phase {
    Reading(Vec<u8>),
    Writing { bytes: Vec<u8>, sent: usize },
    Closing { discarded: usize },
    Streaming,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A response, after which the connection ends.
    Response(HttpResponse),
    /// Events, as long as the client reads them.
    Stream,
}

impl Connection {
    /// Takes over a connection that was accepted at `now`.
    pub(crate) fn new(socket: TcpStream, now: Instant) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, phase: Phase::Reading(Vec::new()), deadline: now + REQUEST_TIMEOUT })
    }

    /// The socket, to be polled for [`Connection::events`].
    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The events that the connection waits for.
    pub(crate) const fn events(&self) -> PollFlags {
        match self.phase {
            Phase::Reading(_) | Phase::Closing { .. } | Phase::Streaming => PollFlags::IN,
            Phase::Writing { .. } => PollFlags::OUT,
        }
    }

    /// The time at which the connection ends unless it is further then.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the request has not arrived yet.
    pub(crate) const fn is_reading(&self) -> bool {
        matches!(self.phase, Phase::Reading(_))
    }

    /// Whether the request was answered with a stream.
    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self.phase, Phase::Streaming)
    }

    /// The socket of a connection that has become a stream.
    pub(crate) fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// Does what is possible without waiting. Returns whether the connection goes on; `answer` makes the answer to the request
    /// when that is complete.
    pub(crate) fn advance(&mut self, now: Instant, answer: impl FnOnce(&HttpRequest) -> Answer) -> bool {
        self.try_advance(now, answer).unwrap_or(false)
    }

    fn try_advance(&mut self, now: Instant, answer: impl FnOnce(&HttpRequest) -> Answer) -> io::Result<bool> {
        if let Phase::Reading(bytes) = &mut self.phase {
            let room = MAX_HEAD.saturating_sub(bytes.len());
            let mut buffer = [0; 2048];
            let length = room.min(buffer.len());
            let Some(count) = done(self.socket.read(buffer.get_mut(..length).unwrap_or_default()))? else {
                return Ok(true);
            };
            if count == 0 {
                return Ok(false);
            }
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            let bytes = match HttpRequest::parse(bytes) {
                Ok(None) => return Ok(true),
                Ok(Some(request)) => match answer(&request) {
                    Answer::Response(response) => response.into_bytes(request.head_only),
                    Answer::Stream => {
                        self.phase = Phase::Streaming;
                        return Ok(true);
                    }
                },
                Err(status) => HttpResponse::refusal(status).into_bytes(false),
            };
            self.phase = Phase::Writing { bytes, sent: 0 };
            self.deadline = now + RESPONSE_TIMEOUT;
        }
        if let Phase::Writing { bytes, sent } = &mut self.phase {
            while let Some(rest) = bytes.get(*sent..).filter(|rest| !rest.is_empty()) {
                match done(send(&self.socket, &[IoSlice::new(rest)], Wait::Never))? {
                    Some(count) => *sent += count,
                    None => return Ok(true),
                }
            }
            self.socket.shutdown(Shutdown::Write)?;
            self.phase = Phase::Closing { discarded: 0 };
            self.deadline = now + CLOSE_TIMEOUT;
        }
        if let Phase::Closing { discarded } = &mut self.phase {
            let mut buffer = [0; 4096];
            while let Some(count) = done(self.socket.read(&mut buffer))? {
                *discarded += count;
                if count == 0 || *discarded > MAX_DISCARDED {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The result of a call that does not wait; `None` if it would have to.
pub(super) fn done(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
