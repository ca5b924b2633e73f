//! Translates an event of LNet to the result for the buffer that it belongs to (motr-net 3.6).

use crate::Errno;
use crate::backend::{LnetEvent, MdEventKind};
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
        (_, MdEventKind::Ack) => None,
        (_, MdEventKind::Unlink) if status != 0 => last(status, 0),
        (_, MdEventKind::Unlink) => last(Errno::Cancelled.to_c(), 0),
        (Queue::MsgRecv, MdEventKind::Put) => Some(Completion { status, len, offset, last: unlinked }),
        (Queue::ActiveBulkRecv, MdEventKind::Send) if !unlinked => None,
        (Queue::ActiveBulkRecv, MdEventKind::Reply) if !unlinked => {
            *early = Some(EarlyReply { status, len });
            None
        }
        (Queue::ActiveBulkRecv, MdEventKind::Send) => match early.take() {
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

    fn event(kind: MdEventKind, status: c_int, unlinked: bool) -> LnetEvent {
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
            (MsgRecv, MdEventKind::Put, 0, false, told(0, 100, 40, false)),
            (MsgRecv, MdEventKind::Put, 0, true, told(0, 100, 40, true)),
            (MsgRecv, MdEventKind::Put, IO, true, told(IO, 100, 40, true)),
            (MsgRecv, MdEventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (MsgSend, MdEventKind::Send, 0, true, told(0, 0, 0, true)),
            (MsgSend, MdEventKind::Send, IO, true, told(IO, 0, 0, true)),
            (MsgSend, MdEventKind::Ack, 0, false, None),
            (MsgSend, MdEventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (PassiveBulkRecv, MdEventKind::Put, 0, true, told(0, 100, 0, true)),
            (PassiveBulkRecv, MdEventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (PassiveBulkSend, MdEventKind::Get, 0, true, told(0, 0, 0, true)),
            (ActiveBulkSend, MdEventKind::Send, 0, true, told(0, 0, 0, true)),
            (ActiveBulkRecv, MdEventKind::Unlink, 0, true, told(CANCELED, 0, 0, true)),
            (ActiveBulkRecv, MdEventKind::Unlink, IO, true, told(IO, 0, 0, true)),
            // Events that no descriptor of this crate causes are not taken for the end of an operation.
            (PassiveBulkRecv, MdEventKind::Put, 0, false, None),
            (MsgSend, MdEventKind::Send, 0, false, None),
        ] {
            let got = completion(queue, event(kind, status, unlinked), &mut None);
            assert_eq!(got, expected, "{queue:?} {kind:?} {status} {unlinked}");
        }
    }

    #[test]
    fn a_get_completes_once_whichever_of_its_two_events_comes_first() {
        use MdEventKind::{Reply, Send, Unlink};
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
