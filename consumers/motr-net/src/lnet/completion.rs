//! Translates an event of LNet to the result for the buffer that it belongs to (motr-net 3.6).

use crate::Errno;
use crate::backend::{EventKind, LnetEvent};
use crate::net::queue::Queue;
use std::ffi::c_int;

/// The result that is reported to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// 0, or a negative error number.
    pub status: c_int,
    /// The number of bytes received or fetched; 0 for sent data.
    pub len: u32,
    /// The offset of these bytes in a receive buffer.
    pub offset: u32,
    /// Whether the buffer leaves its queue.
    pub last: bool,
}

/// A REPLY that came before the SEND event of its GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyReply {
    status: c_int,
    len: u32,
}

/// The result of `event` for a buffer in `queue`; `None`: nothing is reported to the program. `early` keeps the REPLY of the
/// buffer between the two events of a GET.
pub fn completion(queue: Queue, event: LnetEvent, early: &mut Option<EarlyReply>) -> Option<Completion> {
    let LnetEvent { kind, status, unlinked, len, offset, .. } = event;
    let len = if queue.receives() { len } else { 0 };
    let last = |status, len| Some(Completion { status, len, offset: 0, last: true });
    match (queue, kind) {
        (_, EventKind::Ack) => None,
        (_, EventKind::Unlink) if status != 0 => last(status, 0),
        (_, EventKind::Unlink) => last(Errno::Cancelled.to_c(), 0),
        (Queue::MsgRecv, EventKind::Put) => Some(Completion { status, len, offset, last: unlinked }),
        (Queue::ActiveBulkRecv, EventKind::Send) if !unlinked => None,
        (Queue::ActiveBulkRecv, EventKind::Reply) if !unlinked => {
            *early = Some(EarlyReply { status, len });
            None
        }
        (Queue::ActiveBulkRecv, EventKind::Send) => match early.take() {
            _ if status != 0 => last(status, 0),
            Some(reply) => last(reply.status, reply.len),
            None => last(Errno::Cancelled.to_c(), 0),
        },
        // Every event of a descriptor for one operation is its last one.
        _ => unlinked.then_some(Completion { status, len, offset: 0, last: true }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::ProcessId;

    const CANCELED: c_int = -libc::ECANCELED;
    const IO: c_int = -libc::EIO;

    fn event(kind: EventKind, status: c_int, unlinked: bool) -> LnetEvent {
        let source = ProcessId { nid: 1, pid: 2 };
        LnetEvent { kind, status, unlinked, len: 100, offset: 40, source, header_data: 0 }
    }

    fn told(status: c_int, len: u32, offset: u32, last: bool) -> Option<Completion> {
        Some(Completion { status, len, offset, last })
    }

    #[test]
    fn one_event_decides_for_all_queues_but_active_receive() {
        use Queue::*;
        for (queue, kind, status, unlinked, expected) in [
            (MsgRecv, EventKind::Put, 0, false, told(0, 100, 40, false)),
            (MsgRecv, EventKind::Put, 0, true, told(0, 100, 40, true)),
            (MsgRecv, EventKind::Put, IO, true, told(IO, 100, 40, true)),
            (MsgRecv, EventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (MsgSend, EventKind::Send, 0, true, told(0, 0, 0, true)),
            (MsgSend, EventKind::Send, IO, true, told(IO, 0, 0, true)),
            (MsgSend, EventKind::Ack, 0, false, None),
            (MsgSend, EventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (PassiveBulkRecv, EventKind::Put, 0, true, told(0, 100, 0, true)),
            (PassiveBulkRecv, EventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (PassiveBulkSend, EventKind::Get, 0, true, told(0, 0, 0, true)),
            (ActiveBulkSend, EventKind::Send, 0, true, told(0, 0, 0, true)),
            (ActiveBulkRecv, EventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (ActiveBulkRecv, EventKind::Unlink, IO, true, told(IO, 0, 0, true)),
            // Events that no descriptor of this crate causes are not taken for the end of an operation.
            (PassiveBulkRecv, EventKind::Put, 0, false, None),
            (MsgSend, EventKind::Send, 0, false, None),
        ] {
            let got = completion(queue, event(kind, status, unlinked), &mut None);
            assert_eq!(got, expected, "{queue:?} {kind:?} {status} {unlinked}");
        }
    }

    #[test]
    fn a_get_completes_once_whichever_of_its_two_events_comes_first() {
        use EventKind::{Reply, Send, Unlink};
        for (events, expected) in [
            (vec![(Send, 0, false), (Reply, 0, true)], told(0, 100, 0, true)),
            (vec![(Reply, 0, false), (Send, 0, true)], told(0, 100, 0, true)),
            (vec![(Send, 0, false), (Reply, IO, true)], told(IO, 100, 0, true)),
            (vec![(Reply, IO, false), (Send, 0, true)], told(IO, 100, 0, true)),
            (vec![(Reply, 0, false), (Send, IO, true)], told(IO, 0, 0, true)),
            (vec![(Send, 0, true)], told(CANCELED, 0, 0, true)),
            (vec![(Send, IO, true)], told(IO, 0, 0, true)),
            (vec![(Send, 0, false), (Unlink, 0, true)], told(CANCELED, 0, 0, true)),
        ] {
            let mut early = None;
            let told: Vec<_> = events
                .iter()
                .filter_map(|(kind, status, unlinked)| {
                    completion(Queue::ActiveBulkRecv, event(*kind, *status, *unlinked), &mut early)
                })
                .collect();
            assert_eq!(told, [expected.unwrap()], "{events:?}");
        }
    }
}
