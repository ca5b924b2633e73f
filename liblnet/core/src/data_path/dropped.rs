//! Arriving messages that are dropped: their log lines and their counts.

use super::DataPath;
use crate::memory::PortalPlace;
use crate::model::lnd::RxAction;
use crate::model::message::{IncomingMessage, Pooled};
use crate::objects::DropReason;
use crate::stats::MessageOutcome;
use lnet_log::LogClass;
use lnet_wire::{Body, Header};

impl DataPath {
    pub(crate) fn discard(&self, message: Pooled<IncomingMessage>, why: impl Into<DropReason>) -> RxAction {
        self.count_drop(message, why);
        RxAction::Discard
    }

    /// Logs that an arrived message is dropped, counts it, and recycles it (dbg-025).
    pub(crate) fn count_drop(&self, message: Pooled<IncomingMessage>, why: impl Into<DropReason>) {
        self.log_drop(&message.header, why);
        self.forget_dropped(message);
    }

    pub(super) fn forget_dropped(&self, message: Pooled<IncomingMessage>) {
        self.count(&message, MessageOutcome::Dropped);
        self.forget(message);
    }

    /// Logs that a message is dropped that has arrived for this node, or that it does not take for another one (dbg-025).
    pub(crate) fn log_drop(&self, header: &Header, why: impl Into<DropReason>) {
        let kind = header.body.kind();
        let (from, to) = (header.src_nid, header.dest_nid);
        let length = match header.body {
            Body::Get { sink_length, .. } => sink_length,
            _ => header.payload_length,
        };
        let why: DropReason = why.into();
        let (cause, remedy) = (why.text(), why.remedy());
        match (PortalPlace::of(&header.body), remedy) {
            (Some(place), Some(remedy)) => self.env.log(
                LogClass::MessageDropped,
                from,
                format_args!(
                    "{kind} {from} -> {to} of {length} bytes dropped ({cause}); {place}; its sender gets no answer: {remedy}"
                ),
            ),
            _ => self.env.log(
                drop_class(&header.body),
                from,
                format_args!("{kind} {from} -> {to} of {length} bytes dropped ({cause})"),
            ),
        }
    }
}

/// The log class of a dropped message. A response that nothing waits for is no failure: its request has ended before.
const fn drop_class(body: &Body) -> LogClass {
    match body {
        Body::Ack { .. } | Body::Reply { .. } => LogClass::ResponseUnclaimed,
        Body::Put { .. } | Body::Get { .. } => LogClass::MessageDropped,
    }
}
