//! Values in the body of a record. Both processes run on one machine, so that numbers are in its byte order.

use super::{Answer, Malformed, ProgramMemory};
use lnet_core::{
    EqHandle, Errno, EventKind, EventParty, InsertPosition, MatchId, MdHandle, MdOptions, MdSpec, MeHandle,
    Near, Target,
};
use lnet_wire::{Nid, Pid};

/// A value that is put into bodies, and taken from them. What was put is taken as the same value.
pub(crate) trait Field: Sized {
    /// Appends the value.
    fn put(&self, to: &mut Vec<u8>);

    /// Takes the value from the beginning of `from`.
    fn take(from: &mut &[u8]) -> Result<Self, Malformed>;
}

/// The first bytes of `from`, which it then begins behind.
fn bytes<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (first, rest) = from.split_first_chunk::<N>().ok_or(Malformed::TooShort)?;
    *from = rest;
    Ok(*first)
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Field for $number {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_ne_bytes());
            }

            fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
                Ok(Self::from_ne_bytes(bytes(from)?))
            }
        }
    )*};
}

numbers!(u8, u32, i32, u64);

impl Field for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::take(from)? {
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
            fn put(&self, to: &mut Vec<u8>) {
                let number: fn(&Self) -> $number = $put;
                number(self).put(to);
            }

            fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
                let value: fn($number) -> Option<Self> = $take;
                value(<$number>::take(from)?).ok_or(Malformed::Value($what))
            }
        }
    )*};
}

stands_for! {
    Pid: u32, |its| its.0, |number| Some(Self(number)), "a PID";
    MdHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an MD's handle";
    MeHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an ME's handle";
    EqHandle: u64, |its| its.cookie(), |cookie| Some(Self::from_cookie(cookie)), "an EQ's handle";
    MdOptions: u32, |its| its.0, |bits| Some(Self(bits)), "options of an MD";
    usize: u64, |its| *its as u64, |number| Self::try_from(number).ok(), "an address";
    Errno: i32, |its| its.number(), Self::from_number, "an error number";
    InsertPosition: u8, |its| *its as u8, |number| POSITIONS.get(usize::from(number)).copied(), "a position";
    EventKind: u8, |its| *its as u8, |number| KINDS.into_iter().find(|kind| *kind as u8 == number), "a kind of event";
}

const POSITIONS: [InsertPosition; 3] = [InsertPosition::Before, InsertPosition::After, InsertPosition::Local];
const KINDS: [EventKind; 6] =
    [EventKind::Get, EventKind::Put, EventKind::Reply, EventKind::Ack, EventKind::Send, EventKind::Unlink];

impl Field for Nid {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.to_wire20());
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        Self::from_wire20(bytes(from)?).ok_or(Malformed::Value("a NID"))
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        if bool::take(from)? { T::take(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Field, E: Field> Field for Result<T, E> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_ok().put(to);
        match self {
            Ok(value) => value.put(to),
            Err(error) => error.put(to),
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        if bool::take(from)? { T::take(from).map(Ok) } else { E::take(from).map(Err) }
    }
}

impl Field for String {
    fn put(&self, to: &mut Vec<u8>) {
        // A body is far shorter than 4 GiB.
        (self.len() as u32).put(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let len = u32::take(from)? as usize;
        let (text, rest) = from.split_at_checked(len).ok_or(Malformed::TooShort)?;
        *from = rest;
        Self::from_utf8(text.to_vec()).map_err(|_| Malformed::Value("a text"))
    }
}

impl Field for () {
    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(())
    }
}

/// Enumerations: the number of the variant, and its fields.
macro_rules! choices {
    ($($type:ident: $what:literal { $($number:literal = $variant:ident $(($($item:ident),*))? $({ $($field:ident),* })?),* $(,)? })*) => {$(
        impl Field for $type {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($item),*))? $({ $($field),* })? => {
                        $number.put(to);
                        $($($item.put(to);)*)?
                        $($($field.put(to);)*)?
                    })*
                }
            }

            fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
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
    fn put(&self, to: &mut Vec<u8>) {
        // A body is far shorter than 4 GiB.
        (self.len() as u32).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        // Not with this capacity: the number may be wrong.
        let mut all = Self::new();
        for _ in 0..u32::take(from)? {
            all.push(T::take(from)?);
        }
        Ok(all)
    }
}

/// The fields of a structure in their order.
macro_rules! structures {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::record::field::Field for $type {
            fn put(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::record::field::Field::put($field, to);)*
            }

            fn take(from: &mut &[u8]) -> Result<Self, $crate::record::Malformed> {
                $(let $field = $crate::record::field::Field::take(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    )*};
}
pub(crate) use structures;

structures! {
    MatchId { nid, pid }
    Target { nid, pid, portal, match_bits, offset }
    MdSpec { start, length, threshold, max_size, options, user_ptr, eq }
    EventParty { nid, pid }
}
