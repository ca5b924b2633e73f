//! Fault rules: the messages that match, the share of them that is hit, and the effect (ST-20 to ST-24).

use crate::health::{Cause, Delivery, SendFailure};
use lnet_wire::{Body, Errno, Header, MessageType, Nid, NidPattern};
use std::num::NonZeroU32;
use std::time::Duration;

/// The conditions of a rule: messages match that satisfy all of these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The source NIDs.
    pub source: NidPattern,
    /// The destination NIDs.
    pub dest: NidPattern,
    /// The local NIDs that send or receive.
    pub local: NidPattern,
    /// The message types.
    pub kinds: Kinds,
    /// The portals: bit n for portal n; 0 for all. With any other value only PUTs and GETs match.
    pub portals: u64,
}

/// A non-empty set of message types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

/// The share of the matching messages that is hit (ST-21).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odds {
    /// One message of each window of this many, at a random place.
    OneIn(NonZeroU32),
    /// One message in each interval, the first after a random time in it.
    OnePer(Duration),
    /// Each message with probability one half. The interval is only reported, as the kernel's tools require one.
    Half(Duration),
}

/// A rule that drops messages, or makes sending them fail (ST-22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRule {
    /// The messages that match the rule.
    pub filter: Filter,
    /// The place and the share of the loss.
    pub loss: Loss,
}

/// The place where messages are dropped, and the share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Messages are dropped on arrival, without a report to the sender.
    Arriving(Odds),
    /// Messages fail on sending, with one of these causes.
    Failing(Odds, Causes),
    /// All messages. Arriving ones are dropped. Sent ones fail with one of the causes; without any they are dropped
    /// too, and reported as sent.
    Everything(Option<Causes>),
}

/// A rule that delays messages when they are sent and when they arrive (ST-24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayRule {
    /// The messages that match the rule.
    pub filter: Filter,
    /// The share of the matching messages that is delayed.
    pub odds: Odds,
    /// The delay of each message.
    pub latency: Duration,
}

/// A non-empty set of causes of failure: bit n for number n of [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes(u32);

impl Filter {
    /// The messages from `source` to `dest`.
    pub fn between(source: impl Into<NidPattern>, dest: impl Into<NidPattern>) -> Self {
        Self { source: source.into(), dest: dest.into(), ..Self::default() }
    }

    /// Whether a message that `local` sends or receives matches.
    pub fn matches(&self, header: &Header, local: Nid) -> bool {
        self.source.matches(header.src_nid)
            && self.dest.matches(header.dest_nid)
            && self.local.matches(local)
            && self.kinds.has(header.body.kind())
            && (self.portals == 0 || portal_bit(&header.body) & self.portals != 0)
    }
}

/// The bit of the message's portal; 0 if it has none.
fn portal_bit(body: &Body) -> u64 {
    match body {
        Body::Put { portal, .. } | Body::Get { portal, .. } => 1_u64.checked_shl(*portal).unwrap_or(0),
        Body::Ack { .. } | Body::Reply { .. } => 0,
    }
}

impl Kinds {
    /// All four types.
    pub const ALL: Self = Self(0xf);

    /// The types for the bits of the C API: ACK 1, PUT 2, GET 4, REPLY 8; 0 is all. `None` if any other bit is set.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            0 => Some(Self::ALL),
            1..=0xf => Some(Self(bits as u8)),
            _ => None,
        }
    }

    /// The types as bits of the C API.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    const fn has(self, kind: MessageType) -> bool {
        let bit = match kind {
            MessageType::Ack => 1,
            MessageType::Put => 2,
            MessageType::Get => 4,
            MessageType::Reply => 8,
            MessageType::Hello => 0,
        };
        self.0 & bit != 0
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

impl From<MessageType> for Kinds {
    fn from(kind: MessageType) -> Self {
        let only = |bit: &u8| Self(*bit).has(kind);
        [1, 2, 4, 8].into_iter().find(only).map_or(Self::ALL, Self)
    }
}

impl Causes {
    /// All causes.
    pub const ALL: Self = Self(0x7fe);

    /// The causes for these bits, bit n for number n; all ones are all causes. `None` if no bit is a cause.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits & Self::ALL.0 {
            0 => None,
            bits => Some(Self(bits)),
        }
    }

    /// The causes as bits, bit n for number n.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The cause whose number is nearest to a random one (ST-22).
    pub(crate) fn pick(self, random: u64) -> Cause {
        let wanted = random % Cause::ALL.len() as u64 + 1;
        let has = |cause: &Cause| self.0 & 1 << *cause as u32 != 0;
        let nearest = Cause::ALL.into_iter().filter(has).min_by_key(|cause| wanted.abs_diff(*cause as u64));
        nearest.unwrap_or(Cause::LocalError)
    }
}

impl From<Cause> for Causes {
    fn from(cause: Cause) -> Self {
        Self(1 << cause as u32)
    }
}

impl DropRule {
    /// A rule that drops `odds` of the arriving messages.
    pub const fn arriving(filter: Filter, odds: Odds) -> Self {
        Self { filter, loss: Loss::Arriving(odds) }
    }

    /// A rule that makes `odds` of the sent messages fail.
    pub fn failing(filter: Filter, odds: Odds, causes: impl Into<Causes>) -> Self {
        Self { filter, loss: Loss::Failing(odds, causes.into()) }
    }
}

impl Loss {
    /// The share of messages that is hit; `None`: all.
    pub const fn odds(self) -> Option<Odds> {
        match self {
            Self::Arriving(odds) | Self::Failing(odds, _) => Some(odds),
            Self::Everything(_) => None,
        }
    }

    /// The causes of failed sends, if the rule makes any fail.
    pub const fn causes(self) -> Option<Causes> {
        match self {
            Self::Arriving(_) => None,
            Self::Failing(_, causes) => Some(causes),
            Self::Everything(causes) => causes,
        }
    }

    pub(crate) const fn acts_on_arrival(self) -> bool {
        matches!(self, Self::Arriving(_) | Self::Everything(_))
    }

    pub(crate) const fn acts_on_leaving(self) -> bool {
        matches!(self, Self::Failing(..) | Self::Everything(_))
    }
}

/// The failure of a message that a rule makes fail.
pub(crate) const fn failure(cause: Cause) -> SendFailure {
    let (errno, delivery) = match cause {
        Cause::LocalInterrupt => (Errno::Interrupted, Delivery::NotSent),
        Cause::LocalAborted => (Errno::ConnectionAborted, Delivery::NotSent),
        Cause::LocalNoRoute => (Errno::HostUnreachable, Delivery::NotSent),
        Cause::LocalTimeout => (Errno::TimedOut, Delivery::NotSent),
        Cause::LocalDropped | Cause::LocalError => (Errno::Io, Delivery::NotSent),
        Cause::RemoteDropped => (Errno::ConnectionRefused, Delivery::NotSent),
        Cause::RemoteError => (Errno::ConnectionReset, Delivery::Unknown),
        Cause::RemoteTimeout | Cause::NetworkTimeout => (Errno::TimedOut, Delivery::Unknown),
    };
    SendFailure { errno, cause, delivery }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lnet_wire::{Pid, WireHandle};

    fn header(source: &str, dest: &str, kind: MessageType, portal: u32) -> Header {
        let handle = WireHandle { interface_cookie: 0, object_cookie: 0 };
        let body = match kind {
            MessageType::Put => Body::Put { ack: None, match_bits: 0, hdr_data: 0, portal, offset: 0 },
            MessageType::Get => Body::Get { reply: handle, match_bits: 0, portal, offset: 0, sink_length: 0 },
            MessageType::Ack => Body::Ack { handle, match_bits: 0, accepted: 0 },
            _ => Body::Reply { handle },
        };
        Header {
            dest_nid: dest.parse().unwrap(),
            src_nid: source.parse().unwrap(),
            dest_pid: Pid(0),
            src_pid: Pid(0),
            payload_length: 0,
            body,
        }
    }

    #[test]
    fn a_filter_matches_messages_that_meet_all_of_its_conditions() {
        use MessageType::{Ack, Get, Put, Reply};
        let filter = |source: &str, dest: &str, local: &str, kinds, portals| Filter {
            source: source.parse().unwrap(),
            dest: dest.parse().unwrap(),
            local: local.parse().unwrap(),
            kinds: Kinds::from_bits(kinds).unwrap(),
            portals,
        };
        let [a, b] = ["10.0.0.1@tcp", "10.0.0.2@tcp"];
        let put = header(a, b, Put, 3);
        let table = [
            (filter("*", "*", "*", 0, 0), put, true),
            (filter(a, b, "*", 0, 0), put, true),
            (filter(b, a, "*", 0, 0), put, false),
            (filter("*@tcp", "*@tcp", b, 0, 0), put, true),
            (filter("*@tcp", "*@tcp1", "*", 0, 0), put, false),
            (filter("*", "*", a, 0, 0), put, false),
            (filter("*", "*", "*", 2, 0), put, true),
            (filter("*", "*", "*", 1 | 4 | 8, 0), put, false),
            (filter("*", "*", "*", 1, 0), header(a, b, Ack, 0), true),
            (filter("*", "*", "*", 4, 0), header(a, b, Get, 0), true),
            (filter("*", "*", "*", 8, 0), header(a, b, Reply, 0), true),
            (filter("*", "*", "*", 0, 1 << 3), put, true),
            (filter("*", "*", "*", 0, 1 << 4), put, false),
            (filter("*", "*", "*", 0, u64::MAX), header(a, b, Get, 63), true),
            (filter("*", "*", "*", 0, u64::MAX), header(a, b, Get, 64), false),
            (filter("*", "*", "*", 0, u64::MAX), header(a, b, Ack, 0), false),
            (filter("*", "*", "*", 0, u64::MAX), header(a, b, Reply, 0), false),
        ];
        for (filter, header, expected) in table {
            assert_eq!(filter.matches(&header, b.parse().unwrap()), expected, "{filter:?} {header:?}");
        }
    }

    #[test]
    fn kinds_are_known_by_their_bits() {
        let of = |kind: MessageType| Kinds::from(kind).bits();
        assert_eq!(
            [MessageType::Ack, MessageType::Put, MessageType::Get, MessageType::Reply].map(of),
            [1, 2, 4, 8]
        );
        assert_eq!(Kinds::from_bits(0), Some(Kinds::ALL));
        assert_eq!(Kinds::from_bits(16), None);
    }

    #[test]
    fn of_several_causes_the_nearest_to_the_random_number_is_taken() {
        let causes = |bits| Causes::from_bits(bits).unwrap();
        // (bits, random number, cause)
        let table = [
            (1 << 6, 0, Cause::LocalTimeout),
            (1 << 6, 9, Cause::LocalTimeout),
            (1 << 2 | 1 << 9, 0, Cause::LocalDropped),
            (1 << 2 | 1 << 9, 4, Cause::LocalDropped),
            (1 << 2 | 1 << 9, 5, Cause::RemoteTimeout),
            (u32::MAX, 0, Cause::LocalInterrupt),
            (u32::MAX, 9, Cause::NetworkTimeout),
            (u32::MAX, 10, Cause::LocalInterrupt),
        ];
        for (bits, random, expected) in table {
            assert_eq!(causes(bits).pick(random), expected, "{bits:#x} {random}");
        }
        assert_eq!(Causes::from_bits(1), None);
        assert_eq!(Causes::from_bits(1 << 11), None);
        assert_eq!(Causes::from(Cause::NetworkTimeout).bits(), 1 << 10);
    }

    #[test]
    fn a_simulated_failure_that_may_have_been_delivered_has_unknown_delivery() {
        let perhaps = Cause::ALL.into_iter().filter(|cause| failure(*cause).delivery == Delivery::Unknown);
        let expected = [Cause::RemoteError, Cause::RemoteTimeout, Cause::NetworkTimeout];
        assert_eq!(perhaps.collect::<Vec<_>>(), expected);
    }
}
