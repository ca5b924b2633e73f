//! All replies.

use super::batch::BatchReply;
use super::features::Features;
use super::fields::{Fields, Message};
use super::header::{Header, begin};
use super::ping::PingReply;
use super::service::Service;
use super::session::{DebugReply, JoinReply, MakeSessionReply, SessionReply};
use super::session_id::SessionId;
use super::stat::StatReply;
use super::status::Status;
use lnet_wire::byte_order::ByteOrder;

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "none is larger than a message")]
pub enum Reply {
    /// The reply to [`Service::MakeSession`].
    MakeSession(MakeSessionReply),
    /// The reply to [`Service::RemoveSession`].
    RemoveSession(SessionReply),
    /// The reply to [`Service::Debug`].
    Debug(DebugReply),
    /// The reply to [`Service::Batch`].
    Batch(BatchReply),
    /// The reply to [`Service::AddTest`].
    AddTest(SessionReply),
    /// The reply to [`Service::QueryStat`].
    QueryStat(StatReply),
    /// The reply to [`Service::Join`].
    Join(JoinReply),
    /// The reply to [`Service::Brw`].
    Brw(Status),
    /// The reply to [`Service::Ping`].
    Ping(PingReply),
}

/// A reply as it was received, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingReply {
    /// The order of the sender, in which its bulk data is, too.
    pub order: ByteOrder,
    /// The features in the header.
    pub features: Features,
    /// The reply.
    pub reply: Reply,
}

/// The message is no reply to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no reply to the request")]
pub struct BadReply;

impl IncomingReply {
    /// Reads the reply of a service. Fields that have no meaning in a case are read too, and the caller must ignore them:
    /// nodes may leave data of an earlier reply there (selftest 17).
    pub fn parse(service: Service, bytes: &[u8]) -> Result<Self, BadReply> {
        let message: &Message = bytes.try_into().map_err(|_| BadReply)?;
        let header = Header::parse(message).filter(|it| it.kind == service.reply_type()).ok_or(BadReply)?;
        let fields = Fields { order: header.order, bytes: message };
        let reply = match service {
            Service::MakeSession => Reply::MakeSession(MakeSessionReply::read(fields)),
            Service::RemoveSession => Reply::RemoveSession(SessionReply::read(fields)),
            Service::Debug => Reply::Debug(DebugReply::read(fields)),
            Service::Batch => Reply::Batch(BatchReply::read(fields)),
            Service::AddTest => Reply::AddTest(SessionReply::read(fields)),
            Service::QueryStat => Reply::QueryStat(StatReply::read(fields)),
            Service::Join => Reply::Join(JoinReply::read(fields)),
            Service::Brw => Reply::Brw(fields.status()),
            Service::Ping => Reply::Ping(PingReply::read(fields)),
        };
        Ok(Self { order: header.order, features: header.features, reply })
    }
}

impl Reply {
    /// The message.
    pub fn write(&self, features: Features) -> Message {
        let mut writer = begin(self.service().reply_type(), features);
        match self {
            Self::MakeSession(body) => body.write(&mut writer),
            Self::RemoveSession(body) | Self::AddTest(body) => body.write(&mut writer),
            Self::Debug(body) => body.write(&mut writer),
            Self::Batch(body) => body.write(&mut writer),
            Self::QueryStat(body) => body.write(&mut writer),
            Self::Join(body) => body.write(&mut writer),
            Self::Brw(status) => writer.status(*status),
            Self::Ping(body) => body.write(&mut writer),
        }
        writer.finish()
    }

    /// A message whose body has only a status.
    pub fn write_status_alone(service: Service, features: Features, status: Status) -> Message {
        let mut writer = begin(service.reply_type(), features);
        writer.status(status);
        writer.finish()
    }

    /// The service that replies.
    pub const fn service(&self) -> Service {
        match self {
            Self::MakeSession(_) => Service::MakeSession,
            Self::RemoveSession(_) => Service::RemoveSession,
            Self::Debug(_) => Service::Debug,
            Self::Batch(_) => Service::Batch,
            Self::AddTest(_) => Service::AddTest,
            Self::QueryStat(_) => Service::QueryStat,
            Self::Join(_) => Service::Join,
            Self::Brw(_) => Service::Brw,
            Self::Ping(_) => Service::Ping,
        }
    }

    /// The result of the operation at the node.
    pub const fn status(&self) -> Status {
        match self {
            Self::MakeSession(body) => body.status,
            Self::RemoveSession(body) | Self::AddTest(body) => body.status,
            Self::Debug(body) => body.status,
            Self::Batch(body) => body.status,
            Self::QueryStat(body) => body.status,
            Self::Join(body) => body.status,
            Self::Brw(status) => *status,
            Self::Ping(body) => body.status,
        }
    }

    /// The session that the node has, if this is a reply of the framework.
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::MakeSession(body) => body.session,
            Self::RemoveSession(body) | Self::AddTest(body) => body.session,
            Self::Debug(body) => body.session,
            Self::Batch(body) => body.session,
            Self::QueryStat(body) => body.session,
            Self::Join(body) => body.session,
            Self::Brw(_) | Self::Ping(_) => None,
        }
    }
}
