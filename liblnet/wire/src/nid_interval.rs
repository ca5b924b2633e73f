//! Check whether a NID list is one contiguous run of addresses, and its ends
//! (`cfs_nidrange_is_contiguous`, `cfs_nidrange_find_min_max`).

use crate::expression::Expression;
use crate::ip_range::AddressPart;
use crate::nid::{Address, Nid};
use crate::nid_range::{AddressRange, Addresses, NidList, NidRange};

/// Maximum number of steps for joining the intervals of a list; a list that takes more is rejected.
const MAX_STEPS: usize = 1 << 16;

impl NidList {
    /// Returns the first and the last NID of a list that names one net and, taken together, every address
    /// between; `None` for any other list.
    pub fn interval(&self) -> Option<(Nid, Nid)> {
        match self.nets() {
            [range] => range.interval(),
            _ => None,
        }
    }
}

impl NidRange {
    /// Returns the first and the last NID, if every address between is in the set as well; `None` for addresses of both families.
    pub fn interval(&self) -> Option<(Nid, Nid)> {
        let entries = match &self.addresses {
            Addresses::All => return Some((Nid::new(self.net, 0), Nid::new(self.net, u32::MAX))),
            Addresses::These(entries) => entries,
        };
        let is_long = |entry: &AddressRange| matches!(entry, AddressRange::Ip(range) if range.is_v6());
        let long = entries.first().is_some_and(is_long);
        if entries.iter().any(|entry| is_long(entry) != long) {
            return None;
        }
        let mut steps = MAX_STEPS;
        let sets: Option<Vec<AddressSet>> =
            entries.iter().map(|entry| AddressSet::new(entry, &mut steps)).collect();
        let (first, last) = interval(&sets?)?;
        let nid = |bits: u128| match long {
            true => Address::Long(bits.to_be_bytes()).on(self.net),
            false => Nid::new(self.net, bits as u32),
        };
        Some((nid(first), nid(last)))
    }
}

/// Follows the runs from the least address on; returns the ends if that leads to the greatest address.
fn interval(sets: &[AddressSet]) -> Option<(u128, u128)> {
    let first = sets.iter().filter_map(AddressSet::first).min()?;
    let last = sets.iter().filter_map(AddressSet::last).max()?;
    let mut next = first;
    for _ in 0..MAX_STEPS {
        let reached = sets.iter().filter_map(|set| set.run_from(next)).max()?;
        if reached >= last {
            return Some((first, last));
        }
        next = reached + 1;
    }
    None
}

/// The addresses whose parts are all among the numbers of these.
struct AddressSet {
    parts: Vec<AddressPart>,
}

impl AddressSet {
    /// The addresses of an entry; takes as many steps as it has runs of numbers, and is `None` if there are not so many left.
    fn new(entry: &AddressRange, steps: &mut usize) -> Option<Self> {
        let parts = match entry {
            AddressRange::Ip(range) => range.parts(),
            AddressRange::Number(expression) => vec![numbers(expression, *steps)?],
        };
        let runs = parts.iter().map(|part| part.runs.len()).sum();
        *steps = steps.checked_sub(runs)?;
        Some(Self { parts })
    }

    fn first(&self) -> Option<u128> {
        self.pick(|runs| runs.first().map(|(lo, _)| *lo))
    }

    fn last(&self) -> Option<u128> {
        self.pick(|runs| runs.last().map(|(_, hi)| *hi))
    }

    fn pick(&self, which: impl Fn(&[(u128, u128)]) -> Option<u128>) -> Option<u128> {
        self.parts.iter().try_fold(0, |address, part| Some(joined(address, part, which(&part.runs)?)))
    }

    /// Returns the end of a run of addresses in the set that starts at `start`; `None` if `start` is not in it.
    fn run_from(&self, start: u128) -> Option<u128> {
        let mut numbers = Vec::with_capacity(self.parts.len());
        let mut rest = start;
        for part in self.parts.iter().rev() {
            numbers.push(rest & part.last());
            rest = rest.checked_shr(part.bits.into()).unwrap_or(0);
        }
        numbers.reverse();
        let run = |part: &AddressPart, number| {
            let at = part.runs.partition_point(|(_, hi)| *hi < number);
            part.runs.get(at).filter(|(lo, _)| *lo <= number).map(|(_, hi)| *hi)
        };
        let ends: Option<Vec<u128>> =
            self.parts.iter().zip(&numbers).map(|(part, number)| run(part, *number)).collect();
        for ((part, number), end) in self.parts.iter().zip(&mut numbers).zip(ends?).rev() {
            *number = end;
            // The next number of the part before continues the run only if this part has all numbers.
            if part.runs != [(0, part.last())] {
                break;
            }
        }
        Some(self.parts.iter().zip(numbers).fold(0, |address, (part, number)| joined(address, part, number)))
    }
}

/// The address whose last part is `number`, and whose parts before it are `address`.
fn joined(address: u128, part: &AddressPart, number: u128) -> u128 {
    // A mask is one part of all bits, with nothing before it.
    address.checked_shl(part.bits.into()).unwrap_or(0) | number
}

/// Numbers of 32 bits as ascending runs; `None` if there are more than `max`.
fn numbers(expression: &Expression, max: usize) -> Option<AddressPart> {
    let strided = expression.ranges().iter().filter(|range| range.stride.get() > 1);
    if strided.map(|range| range.count()).sum::<u64>() > max as u64 {
        return None;
    }
    let mut found: Vec<(u128, u128)> = Vec::new();
    for range in expression.ranges() {
        match range.stride.get() {
            1 if range.lo <= range.hi => found.push((range.lo.into(), range.hi.into())),
            1 => {}
            _ => found.extend(range.values().map(|value| (value.into(), value.into()))),
        }
    }
    found.sort_unstable();
    let mut runs: Vec<(u128, u128)> = Vec::new();
    for (lo, hi) in found {
        match runs.last_mut() {
            Some((_, end)) if lo <= *end + 1 => *end = hi.max(*end),
            _ => runs.push((lo, hi)),
        }
    }
    Some(AddressPart { bits: 32, runs })
}

#[cfg(test)]
#[path = "nid_interval_tests.rs"]
mod tests;
