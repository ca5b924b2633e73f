//! The enum of all requests.

use super::batch::{BatchRequest, IncomingBatch};
use super::brw::{BrwRequest, IncomingBrw};
use super::constants::{MESSAGE_LEN, VERSION};
use super::features::Features;
use super::fields::{BODY, Fields, Message};
use super::header::{BULK_BITS, Header, begin};
use super::ping::PingRequest;
use super::service::Service;
use super::session::{JoinRequest, MakeSession};
use super::session_id::SessionId;
use super::test::{AddTest, IncomingTest, Instance, InvalidTest};
use lnet_wire::byte_order::ByteOrder;

/// A request that we send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Makes a node a member of a session.
    MakeSession(MakeSession),
    /// Removes a node from a session.
    RemoveSession(SessionId),
    /// Asks for the session of a node.
    Debug(SessionId),
    /// An operation on a batch.
    Batch(BatchRequest),
    /// Adds a test to a batch.
    AddTest(AddTest),
    /// Asks for the counters of a node.
    QueryStat(SessionId),
    /// The request of a node to a console: the node asks to join a group.
    Join(JoinRequest),
    /// A transfer of the brw test.
    Brw(BrwRequest),
    /// A round trip of the ping test.
    Ping(PingRequest),
}

impl Request {
    /// The service that the request goes to.
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

    /// Whether the request has bulk data.
    pub const fn has_bulk(&self) -> bool {
        match self {
            Self::Brw(_) => true,
            Self::AddTest(test) => matches!(test.instance, Instance::Client { .. }),
            _ => false,
        }
    }

    /// Writes the message. `reply_bits` and `bulk_bits` are the match bits of the descriptors for the reply and for bulk data;
    /// the latter are 0 without bulk data.
    pub fn write(&self, features: Features, reply_bits: u64, bulk_bits: u64) -> Message {
        let mut writer = begin(self.service().request_type(), features);
        writer.u64(BODY, reply_bits);
        match self {
            Self::MakeSession(body) => body.write(&mut writer),
            Self::RemoveSession(session) | Self::Debug(session) | Self::QueryStat(session) => {
                writer.session(32, Some(*session));
            }
            Self::Batch(body) => body.write(&mut writer),
            Self::AddTest(body) => {
                writer.u64(BULK_BITS, bulk_bits);
                body.write(&mut writer, features);
            }
            Self::Join(body) => body.write(&mut writer),
            Self::Brw(body) => {
                writer.u64(BULK_BITS, bulk_bits);
                body.write(&mut writer);
            }
            Self::Ping(body) => body.write(&mut writer),
        }
        writer.finish()
    }
}

/// A request as it was received, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingRequest {
    /// The order of the sender, in which its bulk data is, too.
    pub order: ByteOrder,
    /// The features in the header.
    pub features: Features,
    /// The match bits of the reply.
    pub reply_bits: u64,
    /// The operation that is asked for.
    pub body: ReceivedBody,
}

/// The operation that a request asks for, with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedBody {
    /// The message is of another version; nothing is known of its body.
    OtherVersion,
    /// The node becomes a member of a session.
    MakeSession(MakeSession),
    /// The node ceases to be a member of a session.
    RemoveSession(Option<SessionId>),
    /// Requests the session of the node. The session in the request is ignored.
    Debug,
    /// An operation on a batch.
    Batch(IncomingBatch),
    /// A test is added to a batch.
    AddTest(Result<IncomingTest, InvalidTest>),
    /// Requests the counters of the node.
    QueryStat(Option<SessionId>),
    /// A node wants to be in a group.
    Join(JoinRequest),
    /// A transfer.
    Brw(IncomingBrw),
    /// A round trip.
    Ping(PingRequest),
}

/// A request gets no reply, and its sender waits until its time is up (selftest 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// The message is not 160 bytes long.
    #[error("not {MESSAGE_LEN} bytes")]
    Length,
    /// The magic number is not that of LNet selftest.
    #[error("wrong magic")]
    Magic,
    /// The message is not of the service that it was sent to.
    #[error("wrong type")]
    Kind,
    /// The magic of the ping test is wrong.
    #[error("wrong magic of a ping")]
    PingMagic,
}

impl IncomingRequest {
    /// Reads a message that was sent to a service.
    pub fn parse(service: Service, bytes: &[u8]) -> Result<Self, Unanswerable> {
        let message: &Message = bytes.try_into().map_err(|_| Unanswerable::Length)?;
        let header = Header::parse(message).ok_or(Unanswerable::Magic)?;
        if header.kind != service.request_type() {
            return Err(Unanswerable::Kind);
        }
        let (order, features) = (header.order, header.features);
        let fields = Fields { order, bytes: message };
        let body = match service {
            _ if header.version != VERSION => ReceivedBody::OtherVersion,
            Service::MakeSession => ReceivedBody::MakeSession(MakeSession::read(fields)),
            Service::RemoveSession => ReceivedBody::RemoveSession(fields.session(32)),
            Service::Debug => ReceivedBody::Debug,
            Service::Batch => ReceivedBody::Batch(IncomingBatch::read(fields)),
            Service::AddTest => ReceivedBody::AddTest(IncomingTest::read(fields, features)),
            Service::QueryStat => ReceivedBody::QueryStat(fields.session(32)),
            Service::Join => ReceivedBody::Join(JoinRequest::read(fields)),
            Service::Brw => ReceivedBody::Brw(IncomingBrw::read(fields, features)),
            Service::Ping => ReceivedBody::Ping(PingRequest::read(fields).ok_or(Unanswerable::PingMagic)?),
        };
        Ok(Self { order, features, reply_bits: fields.u64(BODY), body })
    }
}
