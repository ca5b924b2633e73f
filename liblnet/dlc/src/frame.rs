//! The control socket's messages: four bytes of length, little-endian, and as many bytes of JSON.
//!
//! A client sends `{"version":1,"request":...}` and gets, in the order of its requests, `{"version":1,"reply":...}`
//! or `{"version":1,"errno":-19,"text":"interface eth9: ..."}`, without `text` if only the number is known. Beside `reply` may be
//! `"warnings":["NI ..."]`, see [`Backend::call_with_warnings`](crate::Backend::call_with_warnings).

use crate::request::{Reply, Request, RequestError};
use lnet_os::socket::{Wait, send};
use lnet_wire::Errno;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The version of the protocol. Other versions are refused with [`Errno::ProtocolNotSupported`].
pub const VERSION: u32 = 1;
/// The most bytes of JSON that a request may have.
pub const MAX_REQUEST: u32 = 1 << 20;
/// The most bytes of JSON that a reply may have.
pub const MAX_REPLY: u32 = 64 << 20;

/// The reasons why a message cannot be read.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The connection failed; [`io::ErrorKind::UnexpectedEof`] if it ended within a message.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The message is longer than allowed.
    #[error("a message of {length} bytes; {limit} are allowed")]
    TooLong {
        /// The length of the message, in bytes.
        length: u64,
        /// The longest allowed message, in bytes.
        limit: u32,
    },
    /// The bytes are not a message of this protocol.
    #[error("no message of the control protocol: {0}")]
    Garbage(serde_json::Error),
    /// A message of another version of the protocol.
    #[error("version {0} of the control protocol; this is version {VERSION}")]
    Version(u32),
    /// A well-formed message with an unknown request.
    #[error("not understood: {0}")]
    Unknown(serde_json::Error),
}

impl FrameError {
    /// The error that is sent to the other side.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Io(error) => error.into(),
            Self::TooLong { .. } => Errno::MessageSize,
            Self::Garbage(_) => Errno::Protocol,
            Self::Version(_) => Errno::ProtocolNotSupported,
            Self::Unknown(_) => Errno::NotSupported,
        }
    }
}

/// Encodes a request as the bytes to be sent.
pub fn encode_request(request: &Request) -> Result<Vec<u8>, FrameError> {
    encode(&RequestOut { version: VERSION, request }, MAX_REQUEST)
}

/// The outcome of a request, as it is sent to the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The reply, or the error.
    pub result: Result<Reply, RequestError>,
    /// The warnings that go with a reply; an error has none.
    pub warnings: Vec<String>,
}

impl From<Result<Reply, RequestError>> for Response {
    fn from(result: Result<Reply, RequestError>) -> Self {
        Self { result, warnings: Vec::new() }
    }
}

/// Encodes the outcome of a request as the bytes to be sent. A reply that is too long for a message becomes [`Errno::Overflow`].
pub fn encode_reply(response: &Response) -> Vec<u8> {
    let (encoded, otherwise) = match &response.result {
        Ok(reply) => {
            let outcome = OutcomeOut::Reply(reply);
            let message = ReplyOut { version: VERSION, outcome, text: None, warnings: &response.warnings };
            (encode(&message, MAX_REPLY), Errno::Overflow)
        }
        Err(RequestError { errno, text }) => {
            let outcome = OutcomeOut::Errno(errno.to_c());
            let message = ReplyOut { version: VERSION, outcome, text: text.as_deref(), warnings: &[] };
            (encode(&message, MAX_REPLY), *errno)
        }
    };
    encoded.unwrap_or_else(|_| encode_errno(otherwise))
}

/// Decodes the request in the JSON of a message.
pub fn decode_request(body: &[u8]) -> Result<Request, FrameError> {
    check_version(body)?;
    serde_json::from_slice(body).map(|it: RequestIn| it.request).map_err(FrameError::Unknown)
}

/// Decodes the reply in the JSON of a message. An errno that LNet has no name for is [`Errno::Io`].
pub fn decode_reply(body: &[u8]) -> Result<Response, FrameError> {
    check_version(body)?;
    let message: ReplyIn = serde_json::from_slice(body).map_err(FrameError::Unknown)?;
    let result = match message.outcome {
        OutcomeIn::Reply(reply) => Ok(reply),
        OutcomeIn::Errno(number) => Err(RequestError { errno: Errno::from_c(number), text: message.text }),
    };
    Ok(Response { result, warnings: message.warnings })
}

/// Reads the JSON of the next message, of at most `limit` bytes; `None` if the connection ended before it.
/// Memory is allocated as bytes arrive, so it does not depend on the length that the peer announces.
pub fn read(reader: &mut impl Read, limit: u32) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = [0; 4];
    let first = loop {
        match reader.read(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    let missing = length.get_mut(first..).unwrap_or_default();
    reader.read_exact(missing)?;
    let length = u32::from_le_bytes(length);
    if length > limit {
        return Err(FrameError::TooLong { length: length.into(), limit });
    }
    let mut body = Vec::new();
    reader.by_ref().take(length.into()).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(Some(body))
}

/// Writes a message. It must have been passed to the socket by `deadline`, if there is one, else
/// [`io::ErrorKind::TimedOut`]. A connection that the other side has closed is an error and raises no signal, which
/// would end a C program.
pub fn write(stream: &UnixStream, mut message: &[u8], deadline: Option<Instant>) -> io::Result<()> {
    while !message.is_empty() {
        if let Some(deadline) = deadline {
            stream.set_write_timeout(Some(time_left(deadline)?))?;
        }
        match send(stream, &[IoSlice::new(message)], Wait::AsSet) {
            Ok(sent) => message = message.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time until `deadline`, or [`io::ErrorKind::TimedOut`] if it has passed.
pub fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[derive(Serialize)]
struct RequestOut<'a> {
    version: u32,
    request: &'a Request,
}

#[derive(Deserialize)]
struct RequestIn {
    request: Request,
}

#[derive(Serialize)]
struct ReplyOut<'a> {
    version: u32,
    #[serde(flatten)]
    outcome: OutcomeOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeOut<'a> {
    Reply(&'a Reply),
    Errno(i32),
}

#[derive(Deserialize)]
struct ReplyIn {
    #[serde(flatten)]
    outcome: OutcomeIn,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeIn {
    Reply(Reply),
    Errno(i32),
}

/// The part of a message that is common to all versions of the protocol.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

fn check_version(body: &[u8]) -> Result<(), FrameError> {
    match serde_json::from_slice::<Versioned>(body) {
        Ok(message) if message.version == VERSION => Ok(()),
        Ok(message) => Err(FrameError::Version(message.version)),
        Err(error) => Err(FrameError::Garbage(error)),
    }
}

fn encode(message: &impl Serialize, limit: u32) -> Result<Vec<u8>, FrameError> {
    let body = serde_json::to_vec(message).map_err(FrameError::Garbage)?;
    match u32::try_from(body.len()) {
        Ok(length) if length <= limit => Ok([&length.to_le_bytes(), body.as_slice()].concat()),
        _ => Err(FrameError::TooLong { length: body.len() as u64, limit }),
    }
}

fn encode_errno(errno: Errno) -> Vec<u8> {
    let body = format!("{{\"version\":{VERSION},\"errno\":{}}}", errno.to_c());
    [&(body.len() as u32).to_le_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Configure, NodeInfo, Setting};
    use lnet_wire::Nid;
    use proptest::prelude::*;

    /// A reader that returns one byte at a time.
    struct Drop(io::Cursor<Vec<u8>>);

    impl Read for Drop {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }

    /// Fails if a client and a node of which one does not know large NIDs do not understand each other.
    #[test]
    fn a_start_without_large_nids_is_a_flag_alone() {
        for (nets, large_nids, form) in
            [(true, false, "true"), (false, true, r#"{"nets":false,"large_nids":true}"#)]
        {
            let request = Request::Configure(Configure { nets, large_nids });
            let text = format!(r#"{{"version":1,"request":{{"configure":{form}}}}}"#);
            assert_eq!(decode_request(text.as_bytes()).unwrap(), request);
            assert_eq!(encode_request(&request).unwrap()[4..], *text.as_bytes());
        }
    }

    #[test]
    fn requests_and_replies_round_trip_even_byte_by_byte() {
        let requests = [
            Request::GetNode,
            Request::FailNid(Some(Nid::LOOPBACK), u32::MAX),
            Request::SetTunable(Setting::Discovery, -1),
        ];
        for request in requests {
            let mut reader = Drop(io::Cursor::new(encode_request(&request).unwrap()));
            let body = read(&mut reader, MAX_REQUEST).unwrap().unwrap();
            assert_eq!(decode_request(&body).unwrap(), request);
            assert!(read(&mut reader, MAX_REQUEST).unwrap().is_none(), "nothing is behind it");
        }
        let node =
            NodeInfo { version: "1".into(), name: "a".into(), process: 7, started_ms: None, selftest: None };
        let told = RequestError { errno: Errno::NoDevice, text: Some("interface \"eth9\": missing".into()) };
        for result in [Ok(Reply::Done), Ok(Reply::Node(node)), Err(Errno::Exists.into()), Err(told)] {
            let response = Response::from(result);
            let mut reader = Drop(io::Cursor::new(encode_reply(&response)));
            let body = read(&mut reader, MAX_REPLY).unwrap().unwrap();
            assert_eq!(decode_reply(&body).unwrap(), response);
        }
    }

    #[test]
    fn a_reply_carries_warnings_and_readers_do_without_fields_that_they_expect_or_know() {
        let warned = Response { result: Ok(Reply::Number(7)), warnings: vec!["NI A: shared".into()] };
        let bytes = encode_reply(&warned);
        let body = br#"{"version":1,"reply":{"number":7},"warnings":["NI A: shared"]}"#;
        assert!(bytes.ends_with(body), "{}", bytes.escape_ascii());
        assert_eq!(decode_reply(body).unwrap(), warned);
        // A reply of a server without warnings, and one of a server that sends a field which this client does not know.
        let without = Response::from(Ok(Reply::Number(7)));
        assert_eq!(decode_reply(br#"{"version":1,"reply":{"number":7}}"#).unwrap(), without);
        assert_eq!(decode_reply(br#"{"version":1,"reply":{"number":7},"later":["x"]}"#).unwrap(), without);
        // An error says what there is to say.
        let refused = Response { result: Err(Errno::Exists.into()), ..warned };
        assert!(encode_reply(&refused).ends_with(br#"{"version":1,"errno":-17}"#));
    }

    #[test]
    fn the_bytes_are_as_documented() {
        assert_eq!(
            encode_request(&Request::GetNode).unwrap(),
            [&34_u32.to_le_bytes()[..], br#"{"version":1,"request":"get_node"}"#].concat()
        );
        let body = br#"{"version":1,"errno":-17}"#;
        let mut expected = (body.len() as u32).to_le_bytes().to_vec();
        expected.extend_from_slice(body);
        assert_eq!(encode_reply(&Err(Errno::Exists.into()).into()), expected);
        let told = RequestError { errno: Errno::NoDevice, text: Some("why".into()) };
        let body = br#"{"version":1,"errno":-19,"text":"why"}"#;
        assert!(encode_reply(&Err(told).into()).ends_with(body));
    }

    #[test]
    fn an_invalid_request_is_described() {
        let table: [(&[u8], Errno); 6] = [
            (b"", Errno::Protocol),
            (b"\xff\xff", Errno::Protocol),
            (b"[]", Errno::Protocol),
            (br#"{"version":2,"request":"get_node"}"#, Errno::ProtocolNotSupported),
            (br#"{"version":1,"request":"fly"}"#, Errno::NotSupported),
            (br#"{"version":1}"#, Errno::NotSupported),
        ];
        for (body, errno) in table {
            assert_eq!(decode_request(body).unwrap_err().errno(), errno, "{}", body.escape_ascii());
        }
    }

    #[test]
    fn a_message_that_is_too_long_or_ends_early_is_refused() {
        let mut long = io::Cursor::new(11_u32.to_le_bytes().to_vec());
        assert!(matches!(read(&mut long, 10), Err(FrameError::TooLong { length: 11, limit: 10 })));
        for bytes in [&[3][..], &[3, 0, 0, 0], &[3, 0, 0, 0, b'a', b'b']] {
            let error = read(&mut io::Cursor::new(bytes), 10).unwrap_err();
            let FrameError::Io(error) = error else { panic!("{error}") };
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            if let Ok(Some(body)) = read(&mut io::Cursor::new(&bytes), 64) {
                let _ = (decode_request(&body), decode_reply(&body));
            }
            let _ = (decode_request(&bytes), decode_reply(&bytes));
        }
    }
}
