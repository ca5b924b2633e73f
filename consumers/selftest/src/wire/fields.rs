//! Fields of a message at their offsets from its beginning.

use super::constants::{MESSAGE_LEN, NAME_LEN};
use super::name::Name;
use super::session_id::SessionId;
use super::status::Status;
use lnet_wire::byte_order::ByteOrder;

/// The bytes of a message on the wire.
pub type Message = [u8; MESSAGE_LEN];

/// The offset of the body.
pub(super) const BODY: usize = 24;

/// A message of a peer, whose integers are in its order. Offsets are constants within the message.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) order: ByteOrder,
    pub(super) bytes: &'a Message,
}

impl Fields<'_> {
    pub(super) const fn u8(self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(super) fn u16(self, at: usize) -> u16 {
        self.order.u16(self.bytes, at)
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        self.order.u32(self.bytes, at)
    }

    pub(super) fn i32(self, at: usize) -> i32 {
        self.u32(at).cast_signed()
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        self.order.u64(self.bytes, at)
    }

    pub(super) fn status(self) -> Status {
        Status(self.u32(BODY))
    }

    pub(super) fn session(self, at: usize) -> Option<SessionId> {
        SessionId::read(self.u64(at), self.u64(at + 8).cast_signed())
    }

    pub(super) fn name(self, at: usize) -> Name {
        let mut bytes = [0; NAME_LEN];
        bytes.copy_from_slice(&self.bytes[at..at + NAME_LEN]);
        Name::read(bytes)
    }
}

/// A message that is being written, in little-endian order. Offsets are constants within the message.
pub(super) struct Writer(Message);

impl Writer {
    const ORDER: ByteOrder = ByteOrder::Little;

    pub(super) const fn new() -> Self {
        Self([0; MESSAGE_LEN])
    }

    pub(super) const fn u8(&mut self, at: usize, value: u8) {
        self.0[at] = value;
    }

    pub(super) fn u16(&mut self, at: usize, value: u16) {
        Self::ORDER.put_u16(&mut self.0, at, value);
    }

    pub(super) fn u32(&mut self, at: usize, value: u32) {
        Self::ORDER.put_u32(&mut self.0, at, value);
    }

    pub(super) fn u64(&mut self, at: usize, value: u64) {
        Self::ORDER.put_u64(&mut self.0, at, value);
    }

    pub(super) fn status(&mut self, status: Status) {
        self.u32(BODY, status.0);
    }

    pub(super) fn session(&mut self, at: usize, session: Option<SessionId>) {
        let (nid, stamp) = SessionId::write(session);
        self.u64(at, nid);
        self.u64(at + 8, stamp.cast_unsigned());
    }

    pub(super) fn name(&mut self, at: usize, name: &Name) {
        self.0[at..at + NAME_LEN].copy_from_slice(name.bytes());
    }

    pub(super) const fn finish(self) -> Message {
        self.0
    }
}
