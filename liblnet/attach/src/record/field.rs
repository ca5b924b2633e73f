//! Values in the body of a record, which is a list of words of 64 bits: a number takes a word, whatever its size. Both processes run on one
//! machine, so that words are in its byte order.

use super::{Answer, Malformed, ProgramMemory};
use lnet_core::{
    EqHandle, Errno, InsertPosition, MatchId, MdHandle, MdOptions, MdSpec, MeHandle, Near, Target,
};
use lnet_wire::{Nid, Pid};

/// A value that is put into bodies, and taken from them. What was put is taken as the same value.
pub(crate) trait Field: Sized {
    /// Appends the value.
    fn put(&self, to: &mut Vec<u64>);

    /// Takes the value from the beginning of `from`.
    fn take(from: &mut &[u64]) -> Result<Self, Malformed>;
}

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// The first words of `from`, which it then begins behind.
#[inline]
pub(super) fn words<const N: usize>(from: &mut &[u64]) -> Result<[u64; N], Malformed> {
    let (first, rest) = from.split_first_chunk::<N>().ok_or(Malformed::TooShort)?;
    *from = rest;
    Ok(*first)
}

impl Field for u64 {
    #[inline]
    fn put(&self, to: &mut Vec<u64>) {
        to.push(*self);
    }

    #[inline]
    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        words(from).map(|[word]| word)
    }
}

impl Field for bool {
    fn put(&self, to: &mut Vec<u64>) {
        u64::from(*self).put(to);
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        match u64::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value("a truth value")),
        }
    }
}

/// A value that another one stands for.
macro_rules! stands_for {
    ($($type:ty: $number:ty, $put:expr, $take:expr, $what:literal;)*) => {$(
        impl Field for $type {
            #[inline]
            fn put(&self, to: &mut Vec<u64>) {
                let number: fn(&Self) -> $number = $put;
                number(self).put(to);
            }

            #[inline]
            fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
                let value: fn($number) -> Option<Self> = $take;
                value(<$number>::take(from)?).ok_or(Malformed::Value($what))
            }
        }
    )*};
}

stands_for! {
    u8: u64, |its| u64::from(*its), |word| Self::try_from(word).ok(), "a number of 8 bits";
    u32: u64, |its| u64::from(*its), |word| Self::try_from(word).ok(), "a number of 32 bits";
    i32: u64, |its| i64::from(*its).cast_unsigned(), |word| Self::try_from(word.cast_signed()).ok(), "a number of 32 bits";
    Pid: u32, |its| its.0, |number| Some(Self(number)), "a PID";
    MdHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an MD's handle";
    MeHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an ME's handle";
    EqHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an EQ's handle";
    MdOptions: u32, |its| its.0, |bits| Some(Self(bits)), "options of an MD";
    usize: u64, |its| *its as u64, |number| Self::try_from(number).ok(), "an address";
    Errno: i32, |its| its.number(), Self::from_number, "an error number";
    InsertPosition: u8, |its| *its as u8, |number| POSITIONS.get(usize::from(number)).copied(), "a position";
}

const POSITIONS: [InsertPosition; 3] = [InsertPosition::Before, InsertPosition::After, InsertPosition::Local];

/// The bytes of the twenty-byte form of a NID.
const WIRE20: usize = 20;
/// The word before the twenty-byte form of a NID that has no form of eight bytes, in which it is none.
const LONG: u64 = u64::MAX - 1;
/// The word for no NID: as in the C API, and the eight-byte form of none.
const NO_NID_WORD: u64 = u64::MAX;

impl Field for Nid {
    fn put(&self, to: &mut Vec<u64>) {
        if let Some(short) = self.to_u64() {
            return short.put(to);
        }
        LONG.put(to);
        put_long(*self, to);
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        let word = u64::take(from)?;
        nid_of(word, from)?.ok_or(NO_NID)
    }
}

/// The error for words that are no NID.
const NO_NID: Malformed = Malformed::Value("a NID");

/// Appends the twenty-byte form of a NID.
pub(super) fn put_long(nid: Nid, to: &mut Vec<u64>) {
    let mut padded = [0; 3 * WORD];
    padded[..WIRE20].copy_from_slice(&nid.to_wire20());
    padded.as_chunks().0.iter().for_each(|word| u64::from_ne_bytes(*word).put(to));
}

/// Takes the twenty-byte form of a NID that has no form of eight bytes.
fn take_long(from: &mut &[u64]) -> Result<Nid, Malformed> {
    let words = words::<3>(from)?.map(u64::to_ne_bytes);
    let nid = match words.as_flattened().split_first_chunk() {
        Some((wire20, [0, 0, 0, 0])) => Nid::from_wire20(*wire20).filter(|nid| nid.to_u64().is_none()),
        _ => None,
    };
    nid.ok_or(NO_NID)
}

impl<T: Field> Field for Option<T> {
    fn put(&self, to: &mut Vec<u64>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        if bool::take(from)? { T::take(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Field, E: Field> Field for Result<T, E> {
    fn put(&self, to: &mut Vec<u64>) {
        self.is_ok().put(to);
        match self {
            Ok(value) => value.put(to),
            Err(error) => error.put(to),
        }
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        if bool::take(from)? { T::take(from).map(Ok) } else { E::take(from).map(Err) }
    }
}

impl Field for String {
    fn put(&self, to: &mut Vec<u64>) {
        (self.len() as u64).put(to);
        for bytes in self.as_bytes().chunks(WORD) {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word).put(to);
        }
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        let len = usize::try_from(u64::take(from)?).map_err(|_| Malformed::TooShort)?;
        let (text, rest) = from.split_at_checked(len.div_ceil(WORD)).ok_or(Malformed::TooShort)?;
        *from = rest;
        let mut bytes: Vec<u8> = text.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let is_filled_up = bytes.split_off(len).iter().all(|byte| *byte == 0);
        let text = Self::from_utf8(bytes).ok().filter(|_| is_filled_up);
        text.ok_or(Malformed::Value("a text"))
    }
}

impl Field for () {
    fn put(&self, _: &mut Vec<u64>) {}

    fn take(_: &mut &[u64]) -> Result<Self, Malformed> {
        Ok(())
    }
}

/// Enumerations: the number of the variant, and its fields.
macro_rules! choices {
    ($($type:ident: $what:literal { $($number:literal = $variant:ident $(($($item:ident),*))? $({ $($field:ident),* })?),* $(,)? })*) => {$(
        impl Field for $type {
            fn put(&self, to: &mut Vec<u64>) {
                match self {
                    $(Self::$variant $(($($item),*))? $({ $($field),* })? => {
                        $number.put(to);
                        $($($item.put(to);)*)?
                        $($($field.put(to);)*)?
                    })*
                }
            }

            fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
                Ok(match u8::take(from)? {
                    $($number => {
                        $($(let $item = Field::take(from)?;)*)?
                        $($(let $field = Field::take(from)?;)*)?
                        Self::$variant $(($($item),*))? $({ $($field),* })?
                    })*
                    _ => return Err(Malformed::Value($what)),
                })
            }
        }
    )*};
}

choices! {
    Near: "a hint" { 0_u8 = Md(md), 1_u8 = Cpt(cpt) }
    ProgramMemory: "memory" { 0_u8 = InPlace(pieces), 1_u8 = Copied(pieces), 2_u8 = OnDemand(len) }
    Answer: "an answer" {
        0_u8 = Nothing, 1_u8 = Number(number), 2_u8 = Process(nid, pid), 3_u8 = Distance { hops, order, source }, 4_u8 = Text(text),
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, to: &mut Vec<u64>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        // Not with this capacity: the number may be wrong.
        let mut all = Self::new();
        for _ in 0..u64::take(from)? {
            all.push(T::take(from)?);
        }
        Ok(all)
    }
}

/// A target: the words of all are of one length, but for NIDs with sixteen-byte addresses, which follow.
impl Field for Target {
    fn put(&self, to: &mut Vec<u64>) {
        to.extend_from_slice(&words_of_target(self));
        self.nid.filter(|nid| nid.to_u64().is_none()).into_iter().for_each(|nid| put_long(nid, to));
    }

    fn take(from: &mut &[u64]) -> Result<Self, Malformed> {
        let [nid, process, match_bits, offset] = words(from)?;
        let (pid, portal) = halves(process);
        let offset = u32::take(&mut &[offset][..])?;
        Ok(Self { nid: nid_of(nid, from)?, pid: Pid(pid), portal, match_bits, offset })
    }
}

/// The words of a target before its long NID.
#[inline]
pub(super) fn words_of_target(target: &Target) -> [u64; 4] {
    let Target { nid, pid, portal, match_bits, offset } = *target;
    [word_of_nid(nid), pair(pid.0, portal), match_bits, offset.into()]
}

/// Two numbers of 32 bits in a word.
#[inline]
pub(super) const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// The lower half and the upper one.
#[inline]
pub(super) const fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The word of a NID, or of none: [`LONG`] for one that has no form of eight bytes.
#[inline]
pub(super) fn word_of_nid(nid: Option<Nid>) -> u64 {
    nid.map_or(NO_NID_WORD, |nid| nid.to_u64().unwrap_or(LONG))
}

/// The word of a NID of eight bytes, or of none.
#[inline]
pub(super) fn word_of_short(nid: Option<Nid>) -> u64 {
    nid.and_then(Nid::to_u64).unwrap_or(NO_NID_WORD)
}

/// Puts the NID of a word, or of the words that follow, to its place.
#[inline(always)]
pub(super) fn put_nid(word: u64, long: &mut &[u64], place: &mut Option<Nid>) -> Result<(), Malformed> {
    match Nid::from_u64(word) {
        Some(short) => *place = Some(short),
        None if word == NO_NID_WORD => *place = None,
        None => *place = Some(unusual_nid(word, long)?),
    }
    Ok(())
}

#[cold]
fn unusual_nid(word: u64, long: &mut &[u64]) -> Result<Nid, Malformed> {
    if word == LONG { take_long(long) } else { Err(NO_NID) }
}

/// The NID of a word, or of the words that follow.
fn nid_of(word: u64, long: &mut &[u64]) -> Result<Option<Nid>, Malformed> {
    let mut nid = None;
    put_nid(word, long, &mut nid)?;
    Ok(nid)
}

/// The fields of a structure in their order.
macro_rules! structures {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::record::field::Field for $type {
            fn put(&self, to: &mut Vec<u64>) {
                let Self { $($field),* } = self;
                $($crate::record::field::Field::put($field, to);)*
            }

            fn take(from: &mut &[u64]) -> Result<Self, $crate::record::Malformed> {
                $(let $field = $crate::record::field::Field::take(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    )*};
}
pub(crate) use structures;

structures! {
    MatchId { nid, pid }
    MdSpec { start, length, threshold, max_size, options, user_ptr, eq }
}
