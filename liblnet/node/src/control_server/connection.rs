//! The connection of a client: the server reads its requests, carries them out and replies, one at a time.

use super::clients::ClientSlot;
use super::listener::Access;
use lnet_dlc::frame::{self, FrameError, Response};
use lnet_dlc::{Backend, Request};
use lnet_log::LogClass;
use lnet_wire::Errno;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Serves a client until it disconnects, or sends bytes after which the connection cannot continue.
pub(super) fn serve(
    stream: &UnixStream,
    access: Access,
    backend: &dyn Backend,
    timeout: Duration,
    slot: &ClientSlot,
) {
    let reply = |response: Response| {
        frame::write(stream, &frame::encode_reply(&response), Some(Instant::now() + timeout))
    };
    loop {
        slot.idle();
        let mut reader = TimedReader { stream, timeout, deadline: None };
        let body = match frame::read(&mut reader, frame::MAX_REQUEST) {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(error) => {
                slot.log(
                    LogClass::ControlRequestFailed,
                    format_args!("control socket: request of {} not read ({error}); closing", slot.user),
                );
                if !matches!(error, FrameError::Io(_)) {
                    let _ = reply(Err(error.errno().into()).into());
                }
                return;
            }
        };
        slot.busy();
        let request = frame::decode_request(&body);
        let response = match &request {
            Ok(request) => match access.allows(request) {
                Ok(()) => carry_out(backend, request, slot),
                Err(errno) => Err(errno.into()).into(),
            },
            Err(error) => {
                slot.log(
                    LogClass::ControlRequestFailed,
                    format_args!("control socket: request of {} rejected ({error})", slot.user),
                );
                Err(error.errno().into()).into()
            }
        };
        if let Err(error) = reply(response) {
            slot.log(
                LogClass::ControlRequestFailed,
                format_args!("control socket: reply to {} not sent ({error}); closing", slot.user),
            );
            return;
        }
        // After invalid bytes the beginning of the next request is unknown.
        if matches!(request, Err(FrameError::Garbage(_))) {
            return;
        }
    }
}

/// Carries out a request. A panic while doing so does not end the node.
fn carry_out(backend: &dyn Backend, request: &Request, slot: &ClientSlot) -> Response {
    log::debug!("control socket: {request:?}");
    let mut warnings = Vec::new();
    let called =
        catch_unwind(AssertUnwindSafe(|| backend.call_with_warnings(request.clone(), &mut warnings)));
    let result = called.unwrap_or_else(|_| {
        slot.log(
            LogClass::InternalError,
            format_args!("control socket: internal error (panic) while carrying out a request, see above; please report"),
        );
        Err(Errno::Io.into())
    });
    if result.is_ok() && request.changes_configuration() {
        slot.log(
            LogClass::ConfigChanged,
            format_args!("configuration: {} by {}", request.in_words(), slot.client),
        );
    }
    Response { result, warnings }
}

/// A reader that waits for the first byte of a request without limit, and for the others until the timeout.
struct TimedReader<'a> {
    stream: &'a UnixStream,
    timeout: Duration,
    deadline: Option<Instant>,
}

impl Read for TimedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.deadline.map(frame::time_left).transpose()?)?;
        let read = (&mut &*self.stream).read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
        self.deadline.get_or_insert_with(|| Instant::now() + self.timeout);
        Ok(read)
    }
}
