//! The numbers that drivers have beside those of every driver, by their names in YAML.

use crate::ranges::{OutOfRange, Range, TOS};
use lnet_settings::MAX_INT;
use lnet_wire::NetType;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A number of a driver.
pub(crate) struct LndNumber {
    /// The name in YAML and the numbers that can be given.
    pub(crate) range: Range,
    /// The kind of nets whose driver has it. For others it means nothing.
    pub(crate) of: NetType,
    /// The number that stands for one of the driver's own choice.
    chosen_at: Option<i64>,
    /// The number of an interface of which the driver shows none.
    unshown: Option<i64>,
    /// One sentence without its full stop.
    pub(crate) about: &'static str,
}

const fn of_o2ib(name: &'static str, chosen_at: Option<i64>) -> LndNumber {
    let about = "A number of the InfiniBand driver; ignored by others";
    LndNumber { range: Range::new(name, 0, MAX_INT), of: NetType::O2IB, chosen_at, unshown: None, about }
}

/// The numbers, in the order in which `lnetctl net show -v` has them: those of InfiniBand before `conns_per_peer`, others after it.
pub(crate) static LND_NUMBERS: [LndNumber; COUNT] = [
    of_o2ib("peercredits_hiw", Some(0)),
    of_o2ib("map_on_demand", None),
    of_o2ib("concurrent_sends", Some(0)),
    of_o2ib("fmr_pool_size", None),
    of_o2ib("fmr_flush_trigger", None),
    of_o2ib("fmr_cache", None),
    of_o2ib("ntx", None),
    LndNumber {
        range: TOS,
        of: NetType::TCP,
        chosen_at: None,
        unshown: Some(-1),
        about: "The IP type of service of all packets of connections of the TCP driver, of IPv6 the traffic class; -1: the system's own; ignored by other drivers",
    },
];

const COUNT: usize = 8;

impl LndNumber {
    /// The row with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        LND_NUMBERS.iter().find(|row| row.range.name == name)
    }

    /// A number as drivers get it: of one below 0 the bits of the signed number. `None` if it does not fit.
    fn bits(&self, number: i64) -> Option<u32> {
        match number {
            ..0 => i32::try_from(number).ok().filter(|_| self.range.least < 0).map(i32::cast_unsigned),
            _ => u32::try_from(number).ok(),
        }
    }

    /// The number that these bits are.
    fn number(&self, bits: u32) -> i64 {
        if self.range.least < 0 { bits.cast_signed().into() } else { bits.into() }
    }
}

/// A number that an existing interface has, and the other one that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherNumber {
    pub(crate) name: &'static str,
    pub(crate) now: i64,
    pub(crate) asked: i64,
}

/// Numbers of a driver; on the control socket an object with those that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LndNumbers([Option<u32>; COUNT]);

impl LndNumbers {
    /// All names.
    pub fn names() -> [&'static str; COUNT] {
        LND_NUMBERS.each_ref().map(|row| row.range.name)
    }

    /// These numbers, as drivers have them: of one below 0 the bits of the signed number. Names that no driver has are left out.
    pub fn new<'a>(numbers: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|(name, number)| all.set(name, Some(number)));
        all
    }

    /// Whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// These numbers as people write them. Those that no driver has, or that do not fit, are left out.
    pub fn written_as<'a>(numbers: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let mut all = Self::default();
        for (name, number) in numbers {
            LndNumber::named(name).into_iter().for_each(|row| all.give(row, number));
        }
        all
    }

    /// Sets or removes a number, as drivers have it; a name that no driver has changes nothing.
    pub fn set(&mut self, name: &str, number: Option<u32>) {
        if let Some(index) = LND_NUMBERS.iter().position(|row| row.range.name == name) {
            self.0[index] = number;
        }
    }

    /// Sets a number that is within its range, as people write it.
    pub(crate) fn give(&mut self, row: &LndNumber, number: i64) {
        self.set(row.range.name, row.bits(number));
    }

    /// The number with this name, as drivers have it.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.iter().find(|(its, _)| *its == name).map(|(_, number)| number)
    }

    /// The numbers with their names, in the order of the names, as drivers have them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.given().map(|(row, bits)| (row.range.name, bits))
    }

    /// The numbers as people write them, in the order of the names.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&'static LndNumber, i64)> + use<> {
        self.given().map(|(row, bits)| (row, row.number(bits)))
    }

    /// Checks the numbers that the driver of nets of this kind has.
    pub fn check(&self, kind: NetType) -> Result<(), OutOfRange> {
        let mut its = self.written().filter(|(row, _)| row.of == kind);
        its.try_for_each(|(row, number)| row.range.check(number).map(drop))
    }

    fn given(&self) -> impl Iterator<Item = (&'static LndNumber, u32)> + use<> {
        LND_NUMBERS.iter().zip(self.0).filter_map(|(row, bits)| Some((row, bits?)))
    }

    /// Returns those of these numbers, of an interface on a net of this kind, that are not as `asked`. Numbers that its driver does not
    /// have are left out.
    pub(crate) fn other_than(self, asked: Self, kind: NetType) -> impl Iterator<Item = OtherNumber> {
        asked.written().filter_map(move |(row, asked)| {
            let name = row.range.name;
            let shown = self.get(name).map(|bits| row.number(bits));
            let now = shown.or_else(|| row.unshown.filter(|_| row.of == kind))?;
            let is_as_asked = now == asked || row.chosen_at == Some(asked);
            (!is_as_asked).then_some(OtherNumber { name, now, asked })
        })
    }

    /// These numbers, completed by those of `defaults`.
    #[must_use]
    pub fn or(self, defaults: Self) -> Self {
        let mut all = self;
        all.0.iter_mut().zip(defaults.0).for_each(|(mine, theirs)| *mine = mine.or(theirs));
        all
    }
}

impl Serialize for LndNumbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.written().map(|(row, number)| (row.range.name, number)))
    }
}

impl<'de> Deserialize<'de> for LndNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::default();
        for (name, number) in BTreeMap::<String, i64>::deserialize(deserializer)? {
            let row = LndNumber::named(&name)
                .ok_or_else(|| D::Error::custom(format_args!("no driver has {name}")))?;
            let bits = row.bits(number).ok_or_else(|| {
                D::Error::custom(format_args!("{name} {number} is no number that it takes"))
            })?;
            all.set(&name, Some(bits));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_an_object_with_those_that_there_are() {
        let numbers = [("ntx", 512), ("tos", u32::MAX), ("peercredits_hiw", 4), ("nobody_has_it", 1)];
        let numbers = LndNumbers::new(numbers);
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(text, r#"{"peercredits_hiw":4,"ntx":512,"tos":-1}"#);
        assert_eq!(serde_json::from_str::<LndNumbers>(&text).unwrap(), numbers);
        for refused in [r#"{"nobody_has_it":1}"#, r#"{"ntx":-1}"#, r#"{"ntx":4294967296}"#, r#"{"tos":"4"}"#]
        {
            assert!(serde_json::from_str::<LndNumbers>(refused).is_err(), "{refused}");
        }
        assert!(LndNumbers::default().is_empty() && !numbers.is_empty());
    }

    #[test]
    fn a_number_differs_where_the_driver_has_another_and_was_not_left_to_choose() {
        let (tcp, o2ib) = (NetType::TCP, NetType::O2IB);
        let table = [
            // 0 leaves the choice to the driver.
            ("concurrent_sends", o2ib, 0, Some(8), None),
            ("ntx", o2ib, 0, Some(512), Some((512, 0))),
            ("ntx", o2ib, 512, Some(512), None),
            // The driver does not have it.
            ("ntx", tcp, 512, None, None),
            ("tos", o2ib, 16, None, None),
            ("tos", NetType::SHM, 16, None, None),
            // The driver shows none while it is the system's.
            ("tos", tcp, 16, None, Some((-1, 16))),
            ("tos", tcp, -1, None, None),
            ("tos", tcp, -1, Some(16), Some((16, -1))),
            ("tos", tcp, 0, Some(16), Some((16, 0))),
            ("tos", tcp, 16, Some(16), None),
        ];
        for (name, kind, asked, now, expected) in table {
            let one = |number| {
                let mut one = LndNumbers::default();
                one.give(LndNumber::named(name).unwrap(), number);
                one
            };
            let now = now.map_or_else(LndNumbers::default, one);
            let found: Vec<_> = now.other_than(one(asked), kind).collect();
            let expected = expected.map(|(now, asked)| OtherNumber { name, now, asked });
            assert_eq!(found, Vec::from_iter(expected), "{name} {asked} {now:?}");
        }
    }
}
