//! Connect requests and connect replies.

use super::body::{Body, ExportCookie};
use super::builder::{LayoutError, MessageMut};
use super::connect_data::ConnectData;
use super::header::{BadMessage, Message};
use lnet_wire::byte_order::ByteOrder;
use std::fmt;
use thiserror::Error;

/// The buffers behind the body of a connect request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The target.
    pub target: Name,
    /// The client's UUID, the same for its lifetime.
    pub client: Name,
    /// The client's handle of the connection, which requests from the server carry.
    pub handle: ExportCookie,
    /// The data that the client supports and requests.
    pub data: ConnectData,
}

/// The buffers behind the body of a connect reply. The server's handle of the connection is in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectReply {
    /// The data that was agreed on. Its flags must be a subset of those requested (PR-10).
    pub data: ConnectData,
}

/// A name of at most 38 bytes without NUL: of a target, or a client's UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name([u8; Self::LEN]);

/// The reason why a text is not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// The text has more than 38 bytes.
    #[error("a name of {0} bytes")]
    TooLong(usize),
    /// The text contains a NUL.
    #[error("a name with a NUL in it")]
    Nul,
}

impl ConnectRequest {
    /// The lengths of the buffers. The last one is for a SELinux policy, and empty.
    pub const LENGTHS: [u32; 6] =
        [Body::LEN as u32, Name::LEN as u32, Name::LEN as u32, 8, ConnectData::LEN as u32, 0];
    /// Bytes of the message.
    pub const LEN: usize = 520;

    /// Reads the buffers behind the body. The SELinux policy is ignored, and may be missing.
    pub fn read(message: &Message<'_>) -> Result<Self, BadMessage> {
        let target = Name::read(message, 1)?;
        let client = Name::read(message, 2)?;
        let handle = message.buffer(3).filter(|bytes| bytes.len() >= 8).ok_or(BadMessage::Missing(3))?;
        let data = message.buffer(4).ok_or(BadMessage::Missing(4))?;
        Ok(Self {
            target,
            client,
            handle: ExportCookie(message.order().u64(handle, 0)),
            data: ConnectData::decode(data, message.order()),
        })
    }

    /// Writes a connect request to the beginning of `bytes`, in this machine's byte order.
    pub fn build<'a>(&self, bytes: &'a mut [u8], body: &Body) -> Result<MessageMut<'a>, LayoutError> {
        self.build_in(ByteOrder::NATIVE, bytes, body)
    }

    /// Builds the message in a byte order of the caller's choice, for tests; otherwise like [`ConnectRequest::build`].
    pub fn build_in<'a>(
        &self,
        order: ByteOrder,
        bytes: &'a mut [u8],
        body: &Body,
    ) -> Result<MessageMut<'a>, LayoutError> {
        let mut message = MessageMut::new_in(order, bytes, &Self::LENGTHS)?;
        message.set_body(body);
        message.fill(1, &self.target.0);
        message.fill(2, &self.client.0);
        let mut handle = [0; 8];
        order.put_u64(&mut handle, 0, self.handle.0);
        message.fill(3, &handle);
        message.fill(4, &self.data.encode_in(order));
        Ok(message)
    }
}

impl ConnectReply {
    /// The lengths of the buffers.
    pub const LENGTHS: [u32; 2] = [Body::LEN as u32, ConnectData::LEN as u32];
    /// Bytes of the message.
    pub const LEN: usize = 416;
    /// The bytes of the longest reply that a client expects: the server may be of a later version.
    pub const MAX_LEN: usize = Self::LEN - ConnectData::LEN + ConnectData::MAX_LEN;

    /// Reads the buffer behind the body.
    pub fn read(message: &Message<'_>) -> Result<Self, BadMessage> {
        let data = message.buffer(1).ok_or(BadMessage::Missing(1))?;
        Ok(Self { data: ConnectData::decode(data, message.order()) })
    }

    /// Writes a connect reply to the beginning of `bytes`, in this machine's byte order.
    pub fn build<'a>(&self, bytes: &'a mut [u8], body: &Body) -> Result<MessageMut<'a>, LayoutError> {
        self.build_in(ByteOrder::NATIVE, bytes, body)
    }

    /// Builds the message in a byte order of the caller's choice, for tests; otherwise like [`ConnectReply::build`].
    pub fn build_in<'a>(
        &self,
        order: ByteOrder,
        bytes: &'a mut [u8],
        body: &Body,
    ) -> Result<MessageMut<'a>, LayoutError> {
        let mut message = MessageMut::new_in(order, bytes, &Self::LENGTHS)?;
        message.set_body(body);
        message.fill(1, &self.data.encode_in(order));
        Ok(message)
    }
}

impl Name {
    /// Bytes on the wire, with a terminating NUL.
    pub const LEN: usize = 39;

    /// Makes a name of text without the terminating NUL. All bytes except NUL are accepted.
    pub fn new(text: &[u8]) -> Result<Self, NameError> {
        let mut bytes = [0; Self::LEN];
        match bytes.get_mut(..text.len()) {
            Some(to) if text.len() < Self::LEN => to.copy_from_slice(text),
            _ => return Err(NameError::TooLong(text.len())),
        }
        if text.contains(&0) {
            return Err(NameError::Nul);
        }
        Ok(Self(bytes))
    }

    /// The bytes of the name, without the terminating NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Reads a name from a buffer, in which a NUL must terminate it. Bytes behind the NUL are ignored.
    fn read(message: &Message<'_>, index: usize) -> Result<Self, BadMessage> {
        let buffer = message.buffer(index).ok_or(BadMessage::Missing(index))?;
        let end = buffer.iter().position(|byte| *byte == 0);
        end.and_then(|end| buffer.get(..end))
            .and_then(|text| Self::new(text).ok())
            .ok_or(BadMessage::Name(index))
    }
}

impl std::str::FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text.as_bytes())
    }
}

/// Bytes that are not printable ASCII are shown as escapes: names come from the network.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
