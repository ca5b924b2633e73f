//! MKSN, RMSN, DEBUG and JOIN (selftest 3.2).

use super::fields::{Fields, Writer};
use super::name::Name;
use super::session_id::SessionId;
use super::status::Status;

/// A console makes a node a member of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeSession {
    /// The session.
    pub session: Option<SessionId>,
    /// Whether the session replaces one that the node has.
    pub force: bool,
    /// The name of the session.
    pub name: Name,
}

impl MakeSession {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self { session: fields.session(32), force: fields.u32(48) != 0, name: fields.name(52) }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.session(32, self.session);
        writer.u32(48, self.force.into());
        writer.name(52, &self.name);
    }
}

/// The reply to [`MakeSession`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeSessionReply {
    /// The result of the operation.
    pub status: Status,
    /// The session that the node has now.
    pub session: Option<SessionId>,
    /// Seconds without requests after which the node ends the session; 0: never.
    pub timeout: u32,
    /// The name of the session that the node has. Only defined with [`Status::BUSY`].
    pub name: Name,
}

impl MakeSessionReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self {
            status: fields.status(),
            session: fields.session(28),
            timeout: fields.u32(44),
            name: fields.name(48),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
        writer.u32(44, self.timeout);
        writer.name(48, &self.name);
    }
}

/// The reply to the removal of a session, and to an added test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionReply {
    /// The result of the operation.
    pub status: Status,
    /// The session that the node has now.
    pub session: Option<SessionId>,
}

impl SessionReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self { status: fields.status(), session: fields.session(28) }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
    }
}

/// The reply to the question for a node's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugReply {
    /// The result of the operation.
    pub status: Status,
    /// The session of the node.
    pub session: Option<SessionId>,
    /// Seconds without requests after which the node ends the session.
    pub timeout: u32,
    /// The number of batches; kernel nodes leave it 0.
    pub batches: u32,
    /// The name of the session.
    pub name: Name,
}

impl DebugReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self {
            status: fields.status(),
            session: fields.session(28),
            timeout: fields.u32(44),
            batches: fields.u32(48),
            name: fields.name(52),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
        writer.u32(44, self.timeout);
        writer.u32(48, self.batches);
        writer.name(52, &self.name);
    }
}

/// A node asks a console to be in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// The session; `None`: whichever the console has.
    pub session: Option<SessionId>,
    /// The group.
    pub group: Name,
}

impl JoinRequest {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self { session: fields.session(32), group: fields.name(48) }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.session(32, self.session);
        writer.name(48, &self.group);
    }
}

/// The reply to [`JoinRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinReply {
    /// The result of the operation.
    pub status: Status,
    /// The console's session.
    pub session: Option<SessionId>,
    /// Seconds without commands after which the console ends the session.
    pub timeout: u32,
    /// The name of the session.
    pub name: Name,
}

impl JoinReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self {
            status: fields.status(),
            session: fields.session(28),
            timeout: fields.u32(44),
            name: fields.name(48),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
        writer.u32(44, self.timeout);
        writer.name(48, &self.name);
    }
}
