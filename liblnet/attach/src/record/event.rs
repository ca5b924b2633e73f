//! Events in the bodies of records: all are of one length, but for NIDs with sixteen-byte addresses. Two values of 32 bits share a word.

use super::Malformed;
use super::field::{Field, LONG, NO_NID, put_long, take_long, words};
use lnet_core::{Errno, Event, EventKind, EventParty, MdHandle, MdOptions, MdSpec};
use lnet_wire::{Nid, Pid};

/// The word of a party without a NID. It is the eight-byte form of none.
const NO_NID_WORD: u64 = u64::MAX - 1;
/// The bit of the first word that says that the MD has ended. The kind is below it, the status in the upper half.
const UNLINKED: u64 = 1 << 8;
const KINDS: [EventKind; 6] =
    [EventKind::Get, EventKind::Put, EventKind::Reply, EventKind::Ack, EventKind::Send, EventKind::Unlink];

/// The words of an event before its long NIDs.
pub(super) const WORDS: usize = 12;

/// The words of an event before its long NIDs, and whether it has any of those.
pub(super) fn words_of_event(event: &Event) -> ([u64; WORDS], bool) {
    let Event { kind, target, initiator, source, sender, portal, match_bits, rlength, mlength, .. } = *event;
    let Event { md_handle, md, hdr_data, status, unlinked, offset, .. } = *event;
    let status = status.err().map_or(0, Errno::number);
    let unlinked = if unlinked { UNLINKED } else { 0 };
    let nids = [target.nid, initiator.nid, source.nid, sender].map(word_of_nid);
    let [one, two, three, four] = nids;
    let words = [
        pair(kind as u32, status.cast_unsigned()) | unlinked,
        one,
        two,
        three,
        four,
        pair(target.pid.0, initiator.pid.0),
        pair(source.pid.0, portal),
        match_bits,
        pair(rlength, mlength),
        md_handle.cookie(),
        pair(md.threshold.cast_unsigned(), offset),
        hdr_data,
    ];
    (words, nids.contains(&LONG))
}

/// An event without its place in the queue, and with no more of its MD than the threshold.
impl Field for Event {
    fn put(&self, to: &mut Vec<u64>) {
        let (words, has_long) = words_of_event(self);
        to.extend_from_slice(&words);
        if has_long {
            let nids = [self.target.nid, self.initiator.nid, self.source.nid, self.sender];
            nids.into_iter().flatten().filter(|nid| nid.to_u64().is_none()).for_each(|nid| put_long(nid, to));
        }
    }

    #[inline]
    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        let [first, one, two, three, four, pids, source, match_bits, lengths, md_handle, md, hdr_data] =
            words(from)?;
        let (kind, status) = halves(first & !UNLINKED);
        let kind = KINDS.get((kind as usize).wrapping_sub(1)).copied();
        let mut party = |word| nid_of(word, from);
        let (target, initiator, source_nid, sender) = (party(one)?, party(two)?, party(three)?, party(four)?);
        let (target_pid, initiator_pid) = halves(pids);
        let (source_pid, portal) = halves(source);
        let (rlength, mlength) = halves(lengths);
        let (threshold, offset) = halves(md);
        Ok(Self {
            kind: kind.ok_or(Malformed::Value("a kind of event"))?,
            target: EventParty { nid: target, pid: Pid(target_pid) },
            initiator: EventParty { nid: initiator, pid: Pid(initiator_pid) },
            source: EventParty { nid: source_nid, pid: Pid(source_pid) },
            sender,
            portal,
            match_bits,
            rlength,
            mlength,
            md_handle: MdHandle::from_cookie(md_handle),
            md: MdSpec { threshold: threshold.cast_signed(), ..UNTOLD },
            hdr_data,
            status: status_of(status)?,
            unlinked: first & UNLINKED != 0,
            offset,
            sequence: 0,
        })
    }
}

/// The MD of an event, of which only the threshold is told: the program has the rest.
pub(super) const UNTOLD: MdSpec =
    MdSpec { start: 0, length: 0, threshold: 0, max_size: 0, options: MdOptions(0), user_ptr: 0, eq: None };

const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// The lower half and the upper one.
const fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[inline]
fn word_of_nid(nid: Option<Nid>) -> u64 {
    nid.map_or(NO_NID_WORD, |nid| nid.to_u64().unwrap_or(LONG))
}

#[inline]
fn nid_of(word: u64, long: &mut &[u64]) -> Result<Option<Nid>, Malformed> {
    match word {
        NO_NID_WORD => Ok(None),
        LONG => take_long(long).map(Some),
        short => Nid::from_u64(short).map(Some).ok_or(NO_NID),
    }
}

fn status_of(number: u32) -> Result<Result<(), Errno>, Malformed> {
    match number {
        0 => Ok(Ok(())),
        number => match Errno::from_number(number.cast_signed()) {
            Some(errno) => Ok(Err(errno)),
            None => Err(Malformed::Value("an error number")),
        },
    }
}
