//! The message of a request: pure.

use super::spec::Request;
use crate::Errno;
use crate::import::connect_state::ActiveConnection;
use crate::message::builder::size_behind_body;
use crate::message::{Body, BodyFlags, ConnectOps, MessageFlags, MessageMut, Service, Xid};
use std::time::Duration;

/// The fields of a message that are not part of its [`Request`].
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageFields<'a> {
    pub(super) connection: &'a ActiveConnection,
    pub(super) service: Service,
    /// All requests up to this one have a reply.
    pub(super) last_xid: Xid,
    /// The slot; 0: none.
    pub(super) tag: u16,
    pub(super) mbits: u64,
    pub(super) is_resent: bool,
    pub(super) is_connect: bool,
    /// Whether the request is a connect request, and no attempt has succeeded before.
    pub(super) initial: bool,
    pub(super) timeout: Duration,
    /// Early replies are understood.
    pub(super) adaptive: bool,
    pub(super) reply_len: u32,
}

/// A request and the fields of its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestMessage<'a> {
    pub(super) request: &'a Request,
    pub(super) fields: MessageFields<'a>,
}

impl RequestMessage<'_> {
    /// Bytes of the message. `EINVAL`: it would be too long.
    pub(super) fn len(&self) -> Result<usize, Errno> {
        size_behind_body(self.request.buffers.iter().map(Vec::len)).ok_or(Errno::Invalid)
    }

    /// Writes the message.
    pub(super) fn write(&self, bytes: &mut [u8]) -> Result<(), Errno> {
        let fields = &self.fields;
        let op_flags = match (fields.is_connect, fields.initial) {
            (true, true) => ConnectOps::INITIAL.union(ConnectOps::NEXT_VER),
            (true, false) => ConnectOps::NEXT_VER,
            (false, _) => ConnectOps::NONE,
        };
        let body = Body {
            handle: fields.connection.handle,
            last_xid: fields.last_xid,
            tag: fields.tag,
            flags: if fields.is_resent { BodyFlags::RESENT } else { BodyFlags::NONE },
            op_flags,
            conn_cnt: fields.connection.conn_cnt,
            timeout: whole_seconds(fields.timeout),
            mbits: fields.mbits,
            ..Body::request(fields.service, self.request.opcode)
        };
        let mut message =
            MessageMut::compose(bytes, &body, &self.request.buffers).map_err(|bad| bad.errno())?;
        message.set_repsize(fields.reply_len);
        message.set_flags(if fields.adaptive { MessageFlags::AT_SUPPORT } else { MessageFlags::NONE });
        Ok(())
    }
}

/// Converts a time to whole seconds, at least one: a service drops a request with a timeout of 0.
fn whole_seconds(time: Duration) -> u32 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more).clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_whole_seconds_and_never_zero() {
        for (millis, want) in [(0, 1), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), want, "{millis} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX), u32::MAX);
    }
}
