//! One client: its requests are read, carried out and answered, one after the other.

use super::clients::Seat;
use super::door::Access;
use lnet_dlc::frame::{self, FrameError};
use lnet_dlc::{Backend, Reply, Request};
use lnet_wire::Errno;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Serves a client until it goes, or does what ends its connection.
pub(super) fn serve(
    stream: &UnixStream,
    access: Access,
    backend: &dyn Backend,
    patience: Duration,
    seat: &Seat,
) {
    let answer =
        |result| frame::write(stream, &frame::encode_reply(&result), Some(Instant::now() + patience));
    loop {
        seat.idle();
        let mut reader = Patient { stream, patience, deadline: None };
        let body = match frame::read(&mut reader, frame::MAX_REQUEST) {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(error) => {
                log::warn!("control socket: a client's request was not read: {error}");
                if !matches!(error, FrameError::Io(_)) {
                    let _ = answer(Err(error.errno()));
                }
                return;
            }
        };
        seat.busy();
        let request = frame::decode_request(&body);
        let result = match &request {
            Ok(request) => access.allows(request).and_then(|()| carry_out(backend, request)),
            Err(error) => {
                log::warn!("control socket: a client's request: {error}");
                Err(error.errno())
            }
        };
        if let Err(error) = answer(result) {
            log::warn!("control socket: a client did not take its answer: {error}");
            return;
        }
        // Who does not speak the protocol may have lost its place in it, too.
        if matches!(request, Err(FrameError::Garbage(_))) {
            return;
        }
    }
}

/// What is broken in one request shall not take the node along.
fn carry_out(backend: &dyn Backend, request: &Request) -> Result<Reply, Errno> {
    log::debug!("control socket: {request:?}");
    catch_unwind(AssertUnwindSafe(|| backend.call(request.clone()))).unwrap_or_else(|_| {
        log::error!(
            "control socket: internal error (panic) while carrying out a request, see above; please report"
        );
        Err(Errno::Io)
    })
}

/// Waits for the first byte of a request for ever, and for the others as long as patience lasts.
struct Patient<'a> {
    stream: &'a UnixStream,
    patience: Duration,
    deadline: Option<Instant>,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.deadline.map(frame::time_left).transpose()?)?;
        let read = (&mut &*self.stream).read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
        self.deadline.get_or_insert_with(|| Instant::now() + self.patience);
        Ok(read)
    }
}
