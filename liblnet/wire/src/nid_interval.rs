//! Check whether a NID list is one contiguous run of addresses, and its ends
//! (`cfs_nidrange_is_contiguous`, `cfs_nidrange_find_min_max`).

use crate::expression::{Expression, Range};
use crate::ip_range::IpRange;
use crate::nid::{NetId, Nid};
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
    /// Returns the first and the last NID, if every address between is in the set as well.
    pub fn interval(&self) -> Option<(Nid, Nid)> {
        let entries = match &self.addresses {
            Addresses::All => return Some((Nid::new(self.net, 0), Nid::new(self.net, u32::MAX))),
            Addresses::These(entries) => entries,
        };
        let long: Vec<u128> = entries.iter().filter_map(long_address).collect();
        if long.is_empty() {
            let sets: Vec<ShortSet> = entries.iter().filter_map(ShortSet::new).collect();
            let (first, last) = short_interval(&sets)?;
            Some((Nid::new(self.net, first), Nid::new(self.net, last)))
        } else if long.len() == entries.len() {
            long_interval(self.net, long)
        } else {
            None
        }
    }
}

fn long_address(entry: &AddressRange) -> Option<u128> {
    match entry {
        AddressRange::Long(address) => Some(u128::from_be_bytes(*address)),
        _ => None,
    }
}

fn long_interval(net: NetId, mut addresses: Vec<u128>) -> Option<(Nid, Nid)> {
    addresses.sort_unstable();
    addresses.dedup();
    let nid = |address: u128| Nid::new_long(net, address.to_be_bytes());
    let unbroken = addresses.windows(2).all(|w| w[1] - w[0] == 1);
    Some((nid(*addresses.first()?), nid(*addresses.last()?))).filter(|_| unbroken)
}

/// Follows the runs from the least address on; returns the ends if that leads to the greatest address.
fn short_interval(sets: &[ShortSet]) -> Option<(u32, u32)> {
    let first = sets.iter().filter_map(ShortSet::first).min()?;
    let last = sets.iter().filter_map(ShortSet::last).max()?;
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

/// A set of four-byte addresses, in the form that makes runs quick to find.
enum ShortSet<'a> {
    Numbers(&'a [Range]),
    Ip(Box<[[bool; 256]; 4]>),
}

impl<'a> ShortSet<'a> {
    fn new(entry: &'a AddressRange) -> Option<Self> {
        match entry {
            AddressRange::Number(expression) => Some(Self::Numbers(expression.ranges())),
            AddressRange::Ip(range) => Some(Self::Ip(Box::new(octets(range)))),
            AddressRange::Long(_) => None,
        }
    }

    fn first(&self) -> Option<u32> {
        match self {
            Self::Numbers(ranges) => ranges.iter().filter(|r| r.lo <= r.hi).map(|r| r.lo).min(),
            Self::Ip(octets) => pick(octets, |octet| octet.iter().position(|set| *set)),
        }
    }

    fn last(&self) -> Option<u32> {
        match self {
            Self::Numbers(ranges) => {
                ranges.iter().filter_map(|r| r.hi.checked_sub(r.lo).map(|span| r.hi - span % r.stride)).max()
            }
            Self::Ip(octets) => pick(octets, |octet| octet.iter().rposition(|set| *set)),
        }
    }

    /// Returns the end of a run of addresses in the set that starts at `start`; `None` if `start` is not in it.
    fn run_from(&self, start: u32) -> Option<u32> {
        match self {
            Self::Numbers(ranges) => ranges
                .iter()
                .filter(|r| r.contains(start))
                .map(|r| if r.stride.get() == 1 { r.hi } else { start })
                .max(),
            Self::Ip(octets) => {
                let mut end = start.to_be_bytes();
                if !octets.iter().zip(end).all(|(octet, value)| octet[usize::from(value)]) {
                    return None;
                }
                for (octet, value) in octets.iter().zip(&mut end).rev() {
                    let run = octet[usize::from(*value)..].iter().take_while(|set| **set).count();
                    *value += (run - 1) as u8;
                    if octet.contains(&false) {
                        break;
                    }
                }
                Some(u32::from_be_bytes(end))
            }
        }
    }
}

fn octets(range: &IpRange) -> [[bool; 256]; 4] {
    let set = |expression: &Expression| std::array::from_fn(|value| expression.matches(value as u32));
    range.octets().each_ref().map(set)
}

fn pick(octets: &[[bool; 256]; 4], which: impl Fn(&[bool; 256]) -> Option<usize>) -> Option<u32> {
    octets.iter().try_fold(0, |address, octet| Some(address << 8 | which(octet)? as u32))
}

#[cfg(test)]
#[path = "nid_interval_tests.rs"]
mod tests;
