//! The records in the rings: what a program asks its node for ([`Request`]), and what the node tells the program ([`Report`]).
//!
//! A record's kind is the number of its row, its body the fields of that row in their order.

mod field;
#[cfg(all(test, not(loom)))]
mod tests;

use field::{Field, structures};
use lnet_core::{EqHandle, Errno, Event, InsertPosition, MatchId, MdHandle, MdSpec, MeHandle, Target};
use lnet_wire::Nid;

/// The reason why a record cannot be read. Its sender has broken the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// There is no such kind.
    #[error("a record of the unknown kind {0}")]
    Kind(u32),
    /// The body ends before its last field.
    #[error("a record that is too short")]
    TooShort,
    /// The body goes on behind its last field.
    #[error("a record that is too long")]
    TooLong,
    /// A field has none of the values that it may have.
    #[error("a record with something that is not {0}")]
    Value(&'static str),
}

/// Memory of a program, as the program names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the registered memory that the piece is in; `None` for other memory of the process.
    pub registration: Option<u32>,
    /// The address of the first byte in the process, or its place in the registered memory.
    pub address: u64,
    /// The number of bytes.
    pub len: u32,
}

/// An enumeration whose variants are kinds of records.
macro_rules! records {
    ($(#[$enum_doc:meta])* $name:ident { $($(#[$doc:meta])* $kind:literal = $variant:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })* }) => {
        $(#[$enum_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant { $($(#[$field_doc])* $field: $type),* },)*
        }

        impl $name {
            /// Puts the body into `body`, in place of what that holds; returns the kind.
            pub fn encode(&self, body: &mut Vec<u8>) -> u32 {
                body.clear();
                match self {
                    $(Self::$variant { $($field),* } => {
                        $($field.put(body);)*
                        $kind
                    })*
                }
            }

            /// The record with this kind and body.
            pub fn decode(kind: u32, mut body: &[u8]) -> Result<Self, Malformed> {
                let from = &mut body;
                let record = match kind {
                    $($kind => Self::$variant { $($field: Field::take(from)?),* },)*
                    _ => return Err(Malformed::Kind(kind)),
                };
                if body.is_empty() { Ok(record) } else { Err(Malformed::TooLong) }
            }
        }
    };
}

structures! {
    Piece { registration, address, len }
    Event {
        kind, target, initiator, source, sender, portal, match_bits, rlength, mlength, md_handle, md, hdr_data, status, unlinked, offset,
        sequence,
    }
}

records! {
    /// What a program asks its node for. Each is answered by a [`Report::Done`] with its number.
    Request {
        /// `LNetMEAttach`.
        1 = MeAttach {
            /// The request's number, of the program's choice.
            number: u64,
            /// The portal.
            portal: u32,
            /// The peers that match.
            from: MatchId,
            /// The bits that match.
            match_bits: u64,
            /// The bits that do not count.
            ignore_bits: u64,
            /// Whether the entry ends with its MD.
            unlink: bool,
            /// The place in the portal's list.
            position: InsertPosition,
        }
        /// `LNetMEInsert`.
        2 = MeInsert {
            /// The request's number.
            number: u64,
            /// The entry beside which the new one goes.
            beside: MeHandle,
            /// The peers that match.
            from: MatchId,
            /// The bits that match.
            match_bits: u64,
            /// The bits that do not count.
            ignore_bits: u64,
            /// Whether the entry ends with its MD.
            unlink: bool,
            /// The place beside the other one.
            position: InsertPosition,
        }
        /// `LNetMEUnlink`.
        3 = MeUnlink {
            /// The request's number.
            number: u64,
            /// The entry.
            me: MeHandle,
        }
        /// `LNetMDAttach`.
        4 = MdAttach {
            /// The request's number.
            number: u64,
            /// The entry that gets the MD.
            me: MeHandle,
            /// The MD.
            spec: MdSpec,
            /// Its memory, in order.
            memory: Vec<Piece>,
            /// Whether it ends when it is exhausted.
            unlink: bool,
        }
        /// `LNetMDBind`.
        5 = MdBind {
            /// The request's number.
            number: u64,
            /// The MD.
            spec: MdSpec,
            /// Its memory, in order.
            memory: Vec<Piece>,
            /// Whether it ends when it is exhausted.
            unlink: bool,
        }
        /// `LNetMDUnlink`.
        6 = MdUnlink {
            /// The request's number.
            number: u64,
            /// The MD.
            md: MdHandle,
        }
        /// `LNetEQAlloc`. The queue's ring and handler are in the program.
        7 = EqAlloc {
            /// The request's number.
            number: u64,
        }
        /// `LNetEQFree`.
        8 = EqFree {
            /// The request's number.
            number: u64,
            /// The queue.
            eq: EqHandle,
        }
        /// `LNetPut`.
        9 = Put {
            /// The request's number.
            number: u64,
            /// The interface to send from, if the program names one.
            from: Option<Nid>,
            /// The MD with the data.
            md: MdHandle,
            /// Whether an ACK is wanted.
            ack: bool,
            /// Where the data go.
            target: Target,
            /// 64 bits for the target's event.
            hdr_data: u64,
        }
        /// `LNetGet`.
        10 = Get {
            /// The request's number.
            number: u64,
            /// The interface to send from, if the program names one.
            from: Option<Nid>,
            /// The MD for the data.
            md: MdHandle,
            /// Where the data are.
            target: Target,
        }
        /// `LNetSetLazyPortal`, `LNetClearLazyPortal`.
        11 = Lazy {
            /// The request's number.
            number: u64,
            /// The portal.
            portal: u32,
            /// Whether messages wait there for memory.
            is_lazy: bool,
        }
    }
}

records! {
    /// What a node tells a program.
    Report {
        /// The end of a request, before any event that follows from it.
        1 = Done {
            /// The request's number.
            number: u64,
            /// The handle that was made, or 0.
            result: Result<u64, Errno>,
        }
        /// An event in a queue of the program.
        2 = Happened {
            /// The queue.
            eq: EqHandle,
            /// The event.
            event: Event,
        }
    }
}
