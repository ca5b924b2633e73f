//! STAT: the counters of a node (selftest 9).

use super::fields::{Fields, Writer};
use super::session_id::SessionId;
use super::status::Status;

/// The reply to the question for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatReply {
    /// The result of the operation.
    pub status: Status,
    /// The session that the node has.
    pub session: Option<SessionId>,
    /// The counters; zeros unless the status is success.
    pub stats: Stats,
}

/// The counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Counters of the node's session.
    pub framework: FrameworkCounters,
    /// Counters of the node's RPCs, since it was started.
    pub rpc: RpcCounters,
    /// Counters of the node's LNet.
    pub lnet: LnetCounters,
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameworkCounters {
    /// Milliseconds since the session was made.
    pub running_ms: u32,
    /// Batches that run.
    pub active_batches: u32,
    /// Sessions that have ended except for RPCs in flight.
    pub zombie_sessions: u32,
    /// RPCs of brw that failed.
    pub brw_errors: u32,
    /// RPCs of ping that failed.
    pub ping_errors: u32,
}

/// Counters of RPCs (selftest 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RpcCounters {
    /// Events of LNet with an error.
    pub errors: u32,
    /// Requests sent.
    pub rpcs_sent: u32,
    /// Requests received.
    pub rpcs_rcvd: u32,
    /// Requests received that got no reply.
    pub rpcs_dropped: u32,
    /// Requests sent whose timeout has expired.
    pub rpcs_expired: u32,
    /// Bytes that the node fetched for others' writes.
    pub bulk_get: u64,
    /// Bytes that the node sent for others' reads.
    pub bulk_put: u64,
}

/// Counters of a node's LNet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LnetCounters {
    /// Messages in the node now.
    pub msgs_alloc: u32,
    /// The most that there were at once.
    pub msgs_max: u32,
    /// Messages that could not be sent or understood.
    pub errors: u32,
    /// Messages sent.
    pub send_count: u32,
    /// Messages received.
    pub recv_count: u32,
    /// Messages forwarded.
    pub route_count: u32,
    /// Messages dropped.
    pub drop_count: u32,
    /// Bytes sent.
    pub send_length: u64,
    /// Bytes received.
    pub recv_length: u64,
    /// Bytes forwarded.
    pub route_length: u64,
    /// Bytes dropped.
    pub drop_length: u64,
}

/// Defines the fields of a block at their offsets in the message.
macro_rules! block {
    ($block:ident: $($integer:ident $name:ident at $offset:literal),* $(,)?) => {
        impl $block {
            fn read(fields: Fields<'_>) -> Self {
                Self { $($name: fields.$integer($offset),)* }
            }

            fn write(&self, writer: &mut Writer) {
                $(writer.$integer($offset, self.$name);)*
            }
        }
    };
}

block! { FrameworkCounters:
    u32 running_ms at 44,
    u32 active_batches at 48,
    u32 zombie_sessions at 52,
    u32 brw_errors at 56,
    u32 ping_errors at 60,
}

block! { RpcCounters:
    u32 errors at 64,
    u32 rpcs_sent at 68,
    u32 rpcs_rcvd at 72,
    u32 rpcs_dropped at 76,
    u32 rpcs_expired at 80,
    u64 bulk_get at 84,
    u64 bulk_put at 92,
}

block! { LnetCounters:
    u32 msgs_alloc at 100,
    u32 msgs_max at 104,
    u32 errors at 108,
    u32 send_count at 112,
    u32 recv_count at 116,
    u32 route_count at 120,
    u32 drop_count at 124,
    u64 send_length at 128,
    u64 recv_length at 136,
    u64 route_length at 144,
    u64 drop_length at 152,
}

impl StatReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        let stats = Stats {
            framework: FrameworkCounters::read(fields),
            rpc: RpcCounters::read(fields),
            lnet: LnetCounters::read(fields),
        };
        Self { status: fields.status(), session: fields.session(28), stats }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
        self.stats.framework.write(writer);
        self.stats.rpc.write(writer);
        self.stats.lnet.write(writer);
    }
}
