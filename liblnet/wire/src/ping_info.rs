//! The ping information block: the NIDs and features of a node (wire-tcp 6.2 to 6.4).
//!
//! A node responds to every ping with it and pushes it to its peers. The first entry of the block is always `0@lo`, whose
//! status word holds the block's sequence number; here that is a field, and the entries are the real interfaces.

use crate::byte_order::{ByteOrder, array, put_u32, put_u64};
use crate::nid::{NetId, Nid, Pid};
use std::ops::{BitAnd, BitOr};
use thiserror::Error;

/// The first four bytes of a block, in the sender's order.
pub const PING_MAGIC: u32 = 0x7069_6e67;
/// Length in bytes of the part before the first entry.
pub const PING_HEADER_LEN: usize = 16;
/// Length in bytes of an entry with an eight-byte NID.
pub const PING_ENTRY_LEN: usize = 16;
/// Length in bytes of an entry with an IPv6 NID.
pub const PING_LONG_ENTRY_LEN: usize = 24;

/// The ping information of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingInfo {
    /// The capabilities of the node. Encoding sets [`Features::LARGE_ADDR`], [`Features::PRIMARY_LARGE`] and
    /// [`Features::METADATA`] as the entries demand; decoding leaves them as received.
    pub features: Features,
    /// The PID of the node.
    pub pid: Pid,
    /// Number of the node's state, which grows with each change, from 1.
    pub sequence: u32,
    /// The node's interfaces without `0@lo`, the primary one first. On the wire those with four-byte addresses
    /// come before the others, so the order of the rest may differ after a round trip.
    pub entries: Vec<PingEntry>,
}

/// An interface of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingEntry {
    /// The NID of the interface.
    pub nid: Nid,
    /// The status of the interface.
    pub status: NiStatus,
}

/// The status of an interface, as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiStatus {
    /// The interface works.
    Up,
    /// The interface does not work.
    Down,
    /// Any other word, kept as received.
    Invalid(u32),
}

/// The feature bits of a ping block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(pub u32);

/// The part of a block that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedPingInfo {
    /// The information in that part.
    pub info: PingInfo,
    /// Whether a part that is to be kept is missing: ask again with a buffer of [`ReceivedPingInfo::claimed_len`].
    pub truncated: bool,
    /// The number of sixteen-byte entries that the sender announces, `0@lo` counted.
    pub claimed_count: u32,
    /// Length of the block in bytes, as the sender announces it, with as many interfaces as are kept.
    pub claimed_len: usize,
    /// The number of interfaces that the sender announces beyond the ones kept here.
    pub ignored: u32,
}

/// The reason why bytes are not a ping block. Such data is refused as a whole (DI-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PingInfoError {
    /// Too short: the first entry is missing.
    #[error("{0} bytes, too few for a ping block")]
    TooShort(usize),
    /// The magic is another one.
    #[error("bad magic {0:#010x}")]
    BadMagic(u32),
    /// The sender's features do not say that its status words are valid.
    #[error("features {0:#x} without interface status")]
    NoStatus(u32),
    /// There are no entries, not even `0@lo`.
    #[error("no entries")]
    NoEntries,
    /// The first entry is not `0@lo`.
    #[error("the first entry is {0:#018x}, not 0@lo")]
    NoLoopback(u64),
    /// An entry is the wildcard, or of an unknown form.
    #[error("entry {0} does not name one interface")]
    NotANid(u32),
    /// The announced size has no space for the entries.
    #[error("a total size of {0} bytes")]
    BadSize(u32),
}

impl Features {
    /// The base protocol: very old nodes, with a bare ping.
    pub const BASE: Self = Self(1);
    /// The status words are valid; without it a block is refused.
    pub const NI_STATUS: Self = Self(2);
    /// The node is not a router.
    pub const RTE_DISABLED: Self = Self(4);
    /// The node may have several interfaces.
    pub const MULTI_RAIL: Self = Self(8);
    /// The node discovers its peers.
    pub const DISCOVERY: Self = Self(16);
    /// Entries with long addresses follow the others (2.16 and later).
    pub const LARGE_ADDR: Self = Self(32);
    /// The first of the entries with long addresses is the primary one (2.16 and later).
    pub const PRIMARY_LARGE: Self = Self(64);
    /// Data of drivers follows everything else (2.17, EFA only). Never sent; ignored when received.
    pub const METADATA: Self = Self(128);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these features with the bits of `other` set, or without them.
    #[must_use]
    pub const fn with(self, other: Self, set: bool) -> Self {
        if set { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Features {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl NiStatus {
    /// Reads the word on the wire.
    pub const fn from_u32(word: u32) -> Self {
        match word {
            0x15aa_c0de => Self::Up,
            0xdead_face => Self::Down,
            other => Self::Invalid(other),
        }
    }

    /// The word on the wire.
    pub const fn to_u32(self) -> u32 {
        match self {
            Self::Up => 0x15aa_c0de,
            Self::Down => 0xdead_face,
            Self::Invalid(word) => word,
        }
    }
}

/// Length in bytes of a receive buffer for `count` sixteen-byte entries, `0@lo` counted: 16 + 16 * `count`.
pub const fn ping_buffer_len(count: u32) -> usize {
    PING_HEADER_LEN + PING_ENTRY_LEN * count as usize
}

/// Maximum length in bytes of a receive buffer for a block of which the receiver keeps `interfaces` entries of either size.
pub const fn max_kept_len(interfaces: u32) -> usize {
    ping_buffer_len(1) + (PING_ENTRY_LEN + PING_LONG_ENTRY_LEN) * interfaces as usize
}

impl PingInfo {
    /// Length in bytes of the result of [`PingInfo::encode`].
    pub fn encoded_len(&self) -> usize {
        let entry_len = |entry: &PingEntry| match entry.nid.to_u64() {
            Some(_) => PING_ENTRY_LEN,
            None => PING_LONG_ENTRY_LEN,
        };
        ping_buffer_len(1) + self.entries.iter().map(entry_len).sum::<usize>()
    }

    /// Encodes the block, little-endian. A receiver with a shorter buffer gets its beginning.
    pub fn encode(&self) -> Vec<u8> {
        let len = self.encoded_len();
        let mut out = Vec::with_capacity(len);
        let any_long = self.entries.iter().any(|entry| entry.nid.to_u64().is_none());
        push_short_entry(&mut out, 0, 0); // The header's sixteen bytes, filled in below.
        push_short_entry(&mut out, LOOPBACK, self.sequence);
        if any_long {
            put_u32(&mut out, LARGE_SIZE_OFFSET, len as u32);
        }
        let mut count = 1;
        for entry in &self.entries {
            if let Some(nid) = entry.nid.to_u64() {
                push_short_entry(&mut out, nid, entry.status.to_u32());
                count += 1;
            }
        }
        for entry in self.entries.iter().filter(|entry| entry.nid.to_u64().is_none()) {
            out.extend_from_slice(&entry.status.to_u32().to_le_bytes());
            out.extend_from_slice(&entry.nid.to_wire20());
        }
        put_u32(&mut out, 0, PING_MAGIC);
        put_u32(&mut out, 4, self.features_on_the_wire(any_long).0);
        put_u32(&mut out, 8, self.pid.0);
        put_u32(&mut out, 12, count);
        out
    }

    /// Decodes a block, in either byte order, as far as `bytes` go. Of the interfaces the first `max_interfaces` are kept
    /// (`lnet_interfaces_max`): the primary one, then those with eight-byte NIDs, then the others. Further `0@lo` entries are
    /// left out, as are long entries of an unknown size.
    pub fn decode(bytes: &[u8], max_interfaces: u32) -> Result<ReceivedPingInfo, PingInfoError> {
        let head = Head::decode(bytes, max_interfaces)?;
        let mut short = Vec::new();
        let shorts =
            bytes[..ping_buffer_len(1 + head.kept_short).min(bytes.len())].chunks_exact(PING_ENTRY_LEN);
        for (index, entry) in (1..).zip(shorts.skip(2)) {
            let nid = Nid::from_u64(head.order.u64(entry, 0)).ok_or(PingInfoError::NotANid(index))?;
            short.push(PingEntry { nid, status: NiStatus::from_u32(head.order.u32(entry, 8)) });
        }
        let long_bytes = bytes.get(head.short_len..head.claimed_len.min(bytes.len())).unwrap_or_default();
        let long = decode_long_entries(long_bytes, head.order, head.claimed_count)?;
        let mut entries = short;
        let at = if head.features.contains(Features::PRIMARY_LARGE) { 0 } else { entries.len() };
        let mut long = long.into_iter();
        if let Some(first) = long.next() {
            entries.insert(at, first);
        }
        entries.extend(long);
        entries.retain(|entry| !entry.nid.is_loopback());
        entries.truncate(max_interfaces as usize);
        Ok(ReceivedPingInfo {
            info: Self { features: head.features, pid: head.pid, sequence: head.sequence, entries },
            truncated: bytes.len() < head.claimed_len,
            claimed_count: head.claimed_count,
            claimed_len: head.claimed_len,
            ignored: head.ignored,
        })
    }

    fn features_on_the_wire(&self, any_long: bool) -> Features {
        let primary_long = self.entries.first().is_some_and(|entry| entry.nid.to_u64().is_none());
        self.features
            .with(Features::LARGE_ADDR, any_long)
            .with(Features::PRIMARY_LARGE, primary_long)
            .with(Features::METADATA, false)
    }
}

/// `0@lo` as an eight-byte NID.
const LOOPBACK: u64 = (NetId::LOOPBACK.to_u32() as u64) << 32;
/// Offset of the word in the loopback entry that holds the size of a block with long addresses.
const LARGE_SIZE_OFFSET: usize = PING_HEADER_LEN + 12;

/// The checked part before the interfaces.
struct Head {
    order: ByteOrder,
    features: Features,
    pid: Pid,
    sequence: u32,
    claimed_count: u32,
    /// The sixteen-byte entries that are kept, without `0@lo`.
    kept_short: u32,
    /// Offset of the end of the sixteen-byte entries.
    short_len: usize,
    /// Offset of the end of the part that is kept.
    claimed_len: usize,
    ignored: u32,
}

impl Head {
    fn decode(bytes: &[u8], max_interfaces: u32) -> Result<Self, PingInfoError> {
        if bytes.len() < ping_buffer_len(1) {
            return Err(PingInfoError::TooShort(bytes.len()));
        }
        let order = ByteOrder::detect(array(bytes, 0), PING_MAGIC)
            .ok_or_else(|| PingInfoError::BadMagic(ByteOrder::Little.u32(bytes, 0)))?;
        let features = Features(order.u32(bytes, 4));
        if !features.contains(Features::NI_STATUS) {
            return Err(PingInfoError::NoStatus(features.0));
        }
        let claimed_count = order.u32(bytes, 12);
        let announced = claimed_count.checked_sub(1).ok_or(PingInfoError::NoEntries)?;
        let first = order.u64(bytes, PING_HEADER_LEN);
        if first != LOOPBACK {
            return Err(PingInfoError::NoLoopback(first));
        }
        let short_len = ping_buffer_len(claimed_count);
        let long_len = match features.contains(Features::LARGE_ADDR) {
            true => {
                let size = order.u32(bytes, LARGE_SIZE_OFFSET);
                ((size & !3) as usize).checked_sub(short_len).ok_or(PingInfoError::BadSize(size))?
            }
            false => 0,
        };
        let long = u32::try_from(long_len / PING_LONG_ENTRY_LEN).unwrap_or(u32::MAX);
        let kept_short = announced.min(max_interfaces);
        // The primary interface is kept wherever it stands.
        let is_primary_long = u32::from(long > 0 && features.contains(Features::PRIMARY_LARGE));
        let kept_long = (max_interfaces - kept_short).max(is_primary_long).min(long);
        let with_long =
            short_len + if kept_long == long { long_len } else { kept_long as usize * PING_LONG_ENTRY_LEN };
        // Long entries stand behind all others: too far, if these are many more than are kept.
        let reaches_long =
            (kept_long > 0 || kept_short == announced) && with_long <= max_kept_len(max_interfaces);
        Ok(Self {
            order,
            features,
            pid: Pid(order.u32(bytes, 8)),
            sequence: order.u32(bytes, PING_HEADER_LEN + 8),
            claimed_count,
            kept_short,
            short_len,
            claimed_len: if reaches_long { with_long } else { ping_buffer_len(1 + kept_short) },
            ignored: announced.saturating_add(long).saturating_sub(max_interfaces),
        })
    }
}

/// Reads whole entries of a status and a NID cut to its used length, until `bytes` end.
fn decode_long_entries(
    mut bytes: &[u8],
    order: ByteOrder,
    first_index: u32,
) -> Result<Vec<PingEntry>, PingInfoError> {
    let mut entries = Vec::new();
    let mut index = first_index;
    while let Some([extra, kind]) = bytes.get(4..6) {
        let nid_len = 8 + usize::from(*extra);
        let Some(nid_bytes) = bytes.get(4..4 + nid_len) else { break };
        if *kind == ANY_KIND {
            return Err(PingInfoError::NotANid(index));
        }
        let mut nid = [0; 20];
        if let Some(used) = nid.get_mut(..nid_len) {
            used.copy_from_slice(nid_bytes);
            entries.extend(
                Nid::from_wire20(nid)
                    .map(|nid| PingEntry { nid, status: NiStatus::from_u32(order.u32(bytes, 0)) }),
            );
        }
        bytes = bytes.get((4 + nid_len).next_multiple_of(4)..).unwrap_or_default();
        index += 1;
    }
    Ok(entries)
}

/// The network type that makes a twenty-byte NID the wildcard.
const ANY_KIND: u8 = 0xff;

fn push_short_entry(out: &mut Vec<u8>, nid: u64, status: u32) {
    let at = out.len();
    out.resize(at + PING_ENTRY_LEN, 0);
    put_u64(out, at, nid);
    put_u32(out, at + 8, status);
}

#[cfg(test)]
#[path = "ping_info_tests.rs"]
mod tests;
