//! Events in the bodies of records: all are of one length, but for NIDs with sixteen-byte addresses. Two values of 32 bits share a word.

use super::Malformed;
use super::field::{Field, halves, pair, put_long, put_nid, word_of_nid, words};
use lnet_core::{Errno, Event, EventKind, MdHandle, MdOptions, MdSpec};
use lnet_wire::Nid;

/// The bits of the first word that say that the MD has ended, and that a SEND is that of a GET. The kind is below them, the status in the
/// upper half.
const UNLINKED: u64 = 1 << 8;
const OF_GET: u64 = 1 << 9;
const KINDS: [EventKind; 6] =
    [EventKind::Get, EventKind::Put, EventKind::Reply, EventKind::Ack, EventKind::Send, EventKind::Unlink];

/// The words of an event before its long NIDs.
pub(super) const WORDS: usize = 12;

/// The words of an event before its long NIDs; `word_of` gives those of NIDs.
#[inline(always)]
pub(super) fn words_of_event(event: &Event, word_of: impl Fn(Option<Nid>) -> u64) -> [u64; WORDS] {
    let Event { kind, target, initiator, source, sender, portal, match_bits, rlength, mlength, .. } = *event;
    let Event { md_handle, md, hdr_data, status, unlinked, of_get, offset, .. } = *event;
    let status = status.err().map_or(0, Errno::number);
    let flags = if unlinked { UNLINKED } else { 0 } | if of_get { OF_GET } else { 0 };
    [
        pair(kind as u32, status.cast_unsigned()) | flags,
        word_of(target.nid),
        word_of(initiator.nid),
        word_of(source.nid),
        word_of(sender),
        pair(target.pid.0, initiator.pid.0),
        pair(source.pid.0, portal),
        match_bits,
        pair(rlength, mlength),
        md_handle.cookie(),
        pair(md.threshold.cast_unsigned(), offset),
        hdr_data,
    ]
}

/// Whether an event has a NID that is longer than eight bytes.
#[inline]
pub(super) fn has_long_nid(event: &Event) -> bool {
    let is_long = |nid: Option<Nid>| nid.is_some_and(|nid| nid.to_u64().is_none());
    is_long(event.target.nid)
        || is_long(event.initiator.nid)
        || is_long(event.source.nid)
        || is_long(event.sender)
}

/// Takes an event in place of what `event` holds; its place in the queue and what is not told of the MD stay. The words come before the long
/// NIDs, which are at the beginning of `long`. After an error some of it has been taken.
#[inline(always)]
pub(super) fn take_in_place(
    words: &mut impl Iterator<Item = u64>,
    long: &mut &[u64],
    event: &mut Event,
) -> Result<(), Malformed> {
    let mut next = || words.next().ok_or(Malformed::TooShort);
    let first = next()?;
    let (kind, status) = halves(first & !(UNLINKED | OF_GET));
    let kind = KINDS.get((kind as usize).wrapping_sub(1));
    event.kind = *kind.ok_or(Malformed::Value("a kind of event"))?;
    event.status = status_of(status)?;
    event.unlinked = first & UNLINKED != 0;
    event.of_get = first & OF_GET != 0;
    put_nid(next()?, long, &mut event.target.nid)?;
    put_nid(next()?, long, &mut event.initiator.nid)?;
    put_nid(next()?, long, &mut event.source.nid)?;
    put_nid(next()?, long, &mut event.sender)?;
    (event.target.pid.0, event.initiator.pid.0) = halves(next()?);
    (event.source.pid.0, event.portal) = halves(next()?);
    event.match_bits = next()?;
    (event.rlength, event.mlength) = halves(next()?);
    event.md_handle = MdHandle::from_cookie(next()?);
    let (threshold, offset) = halves(next()?);
    (event.md.threshold, event.offset) = (threshold.cast_signed(), offset);
    event.hdr_data = next()?;
    Ok(())
}

/// An event without its place in the queue, and with no more of its MD than the threshold.
impl Field for Event {
    fn put(&self, to: &mut Vec<u64>) {
        to.extend_from_slice(&words_of_event(self, word_of_nid));
        let nids = [self.target.nid, self.initiator.nid, self.source.nid, self.sender];
        nids.into_iter().flatten().filter(|nid| nid.to_u64().is_none()).for_each(|nid| put_long(nid, to));
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        let words: [u64; WORDS] = words(from)?;
        let mut event = untold();
        take_in_place(&mut words.into_iter(), from, &mut event)?;
        Ok(event)
    }
}

/// An event of which nothing is told yet.
pub(super) const fn untold() -> Event {
    Event::unlink(MdHandle::from_cookie(0), UNTOLD)
}

/// The MD of an event, of which only the threshold is told: the program has the rest.
pub(super) const UNTOLD: MdSpec =
    MdSpec { start: 0, length: 0, threshold: 0, max_size: 0, options: MdOptions(0), user_ptr: 0, eq: None };

#[inline]
fn status_of(number: u32) -> Result<Result<(), Errno>, Malformed> {
    match number {
        0 => Ok(Ok(())),
        number => match Errno::from_number(number.cast_signed()) {
            Some(errno) => Ok(Err(errno)),
            None => Err(Malformed::Value("an error number")),
        },
    }
}
