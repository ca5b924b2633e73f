//! The records in the rings: what a program asks its node for ([`Operation`]), and what the node tells the program ([`Report`]).
//!
//! A record's kind is the number of its row, its body a number and the fields of that row in their order. The number is that of an
//! operation, which its [`Report::Done`] repeats.

mod event;
pub(crate) mod field;
mod put;
#[cfg(test)]
mod tests;

pub use put::{PUT, PUT_WORDS, PlainPut};

use field::structures;
use lnet_core::{Errno, Event, InsertPosition, MatchId, MdHandle, MdSpec, MeHandle, Near, Target};
use lnet_wire::{Nid, Pid};

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

/// A part of memory that a program has registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the registration.
    pub registration: u32,
    /// The offset of the first byte in it.
    pub offset: u64,
    /// The number of bytes.
    pub len: u32,
}

/// A match entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchEntry {
    /// The peers that match.
    pub from: MatchId,
    /// The bits that match.
    pub match_bits: u64,
    /// The bits that do not count.
    pub ignore_bits: u64,
    /// Whether the entry ends with its MD.
    pub unlink: bool,
    /// The place among the others.
    pub position: InsertPosition,
}

/// The messages that a program claims for itself: those to some match bits at a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedBits {
    /// The portal.
    pub portal: u32,
    /// The match bits.
    pub match_bits: u64,
    /// The bits that do not count.
    pub ignore_bits: u64,
}

/// A memory descriptor. Its events come as [`Report::Happened`], whether or not it has a queue in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The content of the program's `struct lnet_md`, without its queue.
    pub spec: MdSpec,
    /// The memory.
    pub memory: ProgramMemory,
    /// Whether it ends when it is exhausted.
    pub unlink: bool,
    /// The hint for the choice of an interface.
    pub near: Option<Near>,
    /// Whether the program runs a handler for the events, before whose end no ACK of a PUT leaves.
    pub has_handler: bool,
}

/// The memory of an MD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramMemory {
    /// Registered memory, which is used in place.
    InPlace(Vec<Piece>),
    /// Registered memory from and to which the program copies: before a PUT, and after each event of data that arrived. The data of a
    /// GET of a peer are asked for by [`Report::Fetch`].
    Copied(Vec<Piece>),
    /// Nothing but that many bytes, which peers only GET: they are asked for by [`Report::Fetch`].
    OnDemand(u32),
}

/// What an operation gives the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing but its success.
    Nothing,
    /// The cookie of a new object, or another number.
    Number(u64),
    /// A NID and a PID.
    Process(Nid, Pid),
    /// The distance of a NID.
    Distance {
        /// The number of networks that a message crosses.
        hops: u32,
        /// The rank among paths of the same distance.
        order: u32,
        /// The interface of the node that would send.
        source: Nid,
    },
    /// Some lines.
    Text(String),
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

/// A record, or a message on the socket: something with a kind and a body.
pub trait Message: Sized {
    /// Puts the body into `body`, in place of what that holds; returns the kind.
    fn encode(&self, number: u64, body: &mut Vec<u64>) -> u32;

    /// The number and the message with this kind and body.
    fn decode(kind: u32, body: &[u64]) -> Result<(u64, Self), Malformed>;
}

/// An enumeration whose variants are kinds of messages.
macro_rules! messages {
    ($(#[$enum_doc:meta])* $name:ident { $($(#[$doc:meta])* $kind:literal = $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })?)* }) => {
        $(#[$enum_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $type),* })?,)*
        }

        impl $crate::record::Message for $name {
            fn encode(&self, number: u64, body: &mut Vec<u64>) -> u32 {
                use $crate::record::field::Field;
                body.clear();
                number.put(body);
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        $($($field.put(body);)*)?
                        $kind
                    })*
                }
            }

            fn decode(kind: u32, mut body: &[u64]) -> Result<(u64, Self), $crate::record::Malformed> {
                use $crate::record::field::Field;
                let from = &mut body;
                let number = u64::take(from)?;
                let message = match kind {
                    $($kind => Self::$variant $({ $($field: Field::take(from)?),* })?,)*
                    _ => return Err($crate::record::Malformed::Kind(kind)),
                };
                if body.is_empty() { Ok((number, message)) } else { Err($crate::record::Malformed::TooLong) }
            }
        }
    };
}
pub(crate) use messages;

/// The kind of [`Report::Happened`].
pub const EVENT: u32 = 2;
/// The number of words in the body of a [`Report::Happened`] without NIDs that are longer than eight bytes.
pub const EVENT_WORDS: usize = 1 + event::WORDS;

/// Encodes a [`Report::Happened`] as [`Message::encode`] does, in place: most reports are events. `None` for an event with a NID that is longer
/// than eight bytes.
#[inline(always)]
pub fn encode_event(number: u64, event: &Event) -> Option<[u64; EVENT_WORDS]> {
    if event::has_long_nid(event) {
        return None;
    }
    let [a, b, c, d, e, f, g, h, i, j, k, l] = event::words_of_event(event, field::word_of_short);
    Some([number, a, b, c, d, e, f, g, h, i, j, k, l])
}

/// Decodes the body of an [`EVENT`] of that length as [`Message::decode`] does, in place of what `event` holds, and takes each word once. The
/// event's place in the queue and what is not told of the MD stay as they are. Returns the number. After an error some of it is in place.
#[inline(always)]
pub fn decode_event(mut body: impl Iterator<Item = u64>, event: &mut Event) -> Result<u64, Malformed> {
    let number = body.next().ok_or(Malformed::TooShort)?;
    event::take_in_place(&mut body, &mut &[][..], event)?;
    Ok(number)
}

/// An event of which nothing is told yet, for [`decode_event`].
pub const fn untold_event() -> Event {
    event::untold()
}

structures! {
    Piece { registration, offset, len }
    MatchEntry { from, match_bits, ignore_bits, unlink, position }
    ClaimedBits { portal, match_bits, ignore_bits }
    Descriptor { spec, memory, unlink, near, has_handler }
}

messages! {
    /// What a program asks its node for. Each is answered by a [`Report::Done`] with its number,
    /// which is not 0 but where that is said.
    Operation {
        /// `LNetMEAttach`. Gives the cookie.
        1 = MeAttach {
            /// The portal.
            portal: u32,
            /// The entry.
            entry: MatchEntry,
        }
        /// `LNetMEInsert`. Gives the cookie.
        2 = MeInsert {
            /// The entry beside which the new one goes.
            beside: MeHandle,
            /// The new entry.
            entry: MatchEntry,
        }
        /// `LNetMEUnlink`.
        3 = MeUnlink {
            /// The entry.
            me: MeHandle,
        }
        /// `LNetMDAttach`. [`Report::Made`] comes before the result.
        4 = MdAttach {
            /// The entry that gets the MD.
            me: MeHandle,
            /// The MD.
            md: Descriptor,
        }
        /// `LNetMDBind`. [`Report::Made`] comes before the result.
        5 = MdBind {
            /// The MD.
            md: Descriptor,
        }
        /// `LNetMDUnlink`.
        6 = MdUnlink {
            /// The MD.
            md: MdHandle,
        }
        /// `LNetPut`. With the number 0 the only answer is [`Report::Refused`].
        7 = Put {
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
        /// `LNetGet`. The number 0 as for a PUT.
        8 = Get {
            /// The interface to send from, if the program names one.
            from: Option<Nid>,
            /// The MD for the data.
            md: MdHandle,
            /// Where the data are.
            target: Target,
        }
        /// `LNetSetLazyPortal`, `LNetClearLazyPortal`.
        9 = Lazy {
            /// The portal.
            portal: u32,
            /// Whether messages wait there for memory.
            is_lazy: bool,
        }
        /// The end of the use of registered memory. MDs with it go on.
        10 = Deregister {
            /// The number of the registration.
            registration: u32,
        }
        /// The data for a GET that [`Report::Fetch`] has asked for.
        11 = Fetched {
            /// The request for the data.
            request: u64,
            /// Where they are, until [`Report::Returned`] with the number of the request.
            data: Result<Vec<Piece>, Errno>,
        }
        /// `LNetGetId`. Gives the process.
        12 = Interface {
            /// The number of the interface.
            index: u32,
        }
        /// `LNetDist`. Gives the distance.
        13 = Distance {
            /// The NID.
            nid: Nid,
        }
        /// `LNetPrimaryNID`. Gives the process, whose PID says nothing.
        14 = PrimaryNid {
            /// A NID of the peer.
            nid: Nid,
        }
        /// `LNetAddPeer`.
        15 = AddPeer {
            /// The NIDs of the peer.
            nids: Vec<Nid>,
        }
        /// `LNetPeerDiscovered`.
        16 = PeerDiscovered {
            /// A NID of the peer.
            nid: Nid,
        }
        /// `LNetGetPeerDiscoveryStatus`. Gives 1 if the node discovers others, else 0.
        17 = DiscoveryStatus
        /// `LNetDebugPeer`. Gives the lines for the log.
        18 = DescribePeer {
            /// A NID of the peer.
            nid: Nid,
        }
        /// `cfs_cpt_distance`. Gives the distance.
        19 = CptDistance {
            /// One CPU partition.
            one: Option<u32>,
            /// The other.
            other: Option<u32>,
        }
        /// `cfs_cpt_of_node`. Gives the number of the CPU partition.
        20 = CptOfNode {
            /// The NUMA node.
            node: u32,
        }
        /// `LNetClaimBits`. From its success on the program has the PID that it asked for.
        21 = Claim {
            /// The bits.
            bits: ClaimedBits,
        }
        /// `LNetReleaseBits`.
        22 = Release {
            /// The bits.
            bits: ClaimedBits,
        }
        /// The program has handled the event of a PUT: its ACK may leave. With the number 0 there is no answer.
        23 = Handled {
            /// The number of [`Report::WantsHandling`].
            request: u64,
        }
        /// The end of an entry without an MD, after an `LNetMDAttach` of 2.15 that has failed.
        24 = MeUnlinkUnused {
            /// The entry.
            me: MeHandle,
        }
    }
}

messages! {
    /// What a node tells a program.
    Report {
        /// The end of the operation with this number, after the events that come of it at once.
        1 = Done {
            /// What it gives.
            result: Result<Answer, Errno>,
        }
        /// An event of an MD. Its number is that of the operation whose result follows and from which it comes, or 0.
        2 = Happened {
            /// The event; of its MD only the threshold is told, and its place in the queue is not.
            event: Event,
        }
        /// A peer wants to GET data of an MD whose memory only the program has: see [`Operation::Fetched`]. The number is as that of an
        /// event.
        3 = Fetch {
            /// The number of the request.
            request: u64,
            /// The MD.
            md: MdHandle,
            /// The offset of the first byte in the MD.
            offset: u32,
            /// The number of bytes.
            len: u32,
        }
        /// The memory of [`Operation::Fetched`] for the request with this number is not used any more.
        4 = Returned
        /// A PUT or GET with the number 0 was refused, and has no events.
        6 = Refused {
            /// Its MD.
            md: MdHandle,
            /// The reason.
            errno: Errno,
        }
        /// The PUT whose event of this MD was the last one wants an ACK, which leaves after [`Operation::Handled`]. The number is as that of
        /// an event.
        7 = WantsHandling {
            /// The number of the request.
            request: u64,
            /// The MD.
            md: MdHandle,
        }
        /// The operation with this number has made an MD. Comes before the first event of that.
        5 = Made {
            /// The MD.
            md: MdHandle,
        }
    }
}
