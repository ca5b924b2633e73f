//! The numbers that drivers have beside those of every driver, by their names in YAML.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The names, in the order in which `lnetctl net show -v` has them. A driver says which it has; others mean nothing for it.
const NAMES: [&str; 7] = [
    "peercredits_hiw",
    "map_on_demand",
    "concurrent_sends",
    "fmr_pool_size",
    "fmr_flush_trigger",
    "fmr_cache",
    "ntx",
];

/// The names of which 0 stands for a number of the driver's own.
const CHOSEN_AT_0: [&str; 2] = ["peercredits_hiw", "concurrent_sends"];

/// Numbers of a driver; on the control socket an object with those that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LndNumbers([Option<u32>; NAMES.len()]);

impl LndNumbers {
    /// All names.
    pub const fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// These numbers; names that no driver has are left out.
    pub fn new<'a>(numbers: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|(name, number)| all.set(name, Some(number)));
        all
    }

    /// Whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Sets or removes a number; a name that no driver has changes nothing.
    pub fn set(&mut self, name: &str, number: Option<u32>) {
        if let Some(index) = NAMES.iter().position(|its| *its == name) {
            self.0[index] = number;
        }
    }

    /// The number with this name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.iter().find(|(its, _)| *its == name).map(|(_, number)| number)
    }

    /// The numbers with their names, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
        NAMES.into_iter().zip(self.0).filter_map(|(name, number)| Some((name, number?)))
    }

    /// Whether an interface with the number `now` is as one for which `asked` is given.
    pub fn is_as_asked(name: &str, asked: u32, now: u32) -> bool {
        asked == now || asked == 0 && CHOSEN_AT_0.contains(&name)
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
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for LndNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = BTreeMap::<String, u32>::deserialize(deserializer)?;
        if let Some(unknown) = numbers.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(D::Error::custom(format_args!("no driver has {unknown}")));
        }
        Ok(Self::new(numbers.iter().map(|(name, number)| (name.as_str(), *number))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_an_object_with_those_that_there_are() {
        let numbers = LndNumbers::new([("ntx", 512), ("peercredits_hiw", 4), ("nobody_has_it", 1)]);
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(text, r#"{"peercredits_hiw":4,"ntx":512}"#);
        assert_eq!(serde_json::from_str::<LndNumbers>(&text).unwrap(), numbers);
        assert!(serde_json::from_str::<LndNumbers>(r#"{"nobody_has_it":1}"#).is_err());
        assert!(LndNumbers::default().is_empty() && !numbers.is_empty());
    }

    #[test]
    fn zero_asks_for_what_the_driver_has_chosen_where_it_chooses() {
        let table = [("concurrent_sends", 0, 8, true), ("ntx", 0, 512, false), ("ntx", 512, 512, true)];
        for (name, asked, now, expected) in table {
            assert_eq!(LndNumbers::is_as_asked(name, asked, now), expected, "{name} {asked} {now}");
        }
    }
}
