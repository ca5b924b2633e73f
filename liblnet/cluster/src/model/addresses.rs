//! The addresses of one interface of all nodes of a class.

use lnet_wire::nid::Address;
use std::fmt;

/// Consecutive addresses of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first address.
    pub first: Address,
    /// The number of addresses; at least 1, and not beyond the last address of the family.
    pub count: u64,
}

impl Run {
    /// The address at `index`, from 0.
    pub fn at(&self, index: u64) -> Address {
        let number = number_of(self.first).saturating_add(index.into());
        match self.first {
            Address::Short(_) => Address::Short(u32::try_from(number).unwrap_or(u32::MAX)),
            Address::Long(_) => Address::Long(number.to_be_bytes()),
        }
    }

    /// The index of an address in the run.
    pub fn index_of(&self, address: Address) -> Option<u64> {
        if is_long(self.first) != is_long(address) {
            return None;
        }
        let index = number_of(address).checked_sub(number_of(self.first))?;
        u64::try_from(index).ok().filter(|index| *index < self.count)
    }
}

/// The addresses of one interface, one for each node of the class in the order of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    runs: Vec<Run>,
}

impl Addresses {
    /// No addresses: the files do not say them.
    pub const UNKNOWN: Self = Self { runs: Vec::new() };

    /// The address of the only node of a class.
    pub fn one(address: Address) -> Self {
        Self { runs: vec![Run { first: address, count: 1 }] }
    }

    /// Whether the addresses are known.
    pub fn is_known(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Whether some address has four bytes.
    pub fn has_ipv4(&self) -> bool {
        self.runs.iter().any(|run| !is_long(run.first))
    }

    /// Whether some address has sixteen bytes.
    pub fn has_ipv6(&self) -> bool {
        self.runs.iter().any(|run| is_long(run.first))
    }

    /// The number of addresses.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// The runs, in the order of the nodes.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The address of the node with this index.
    pub fn at(&self, node: u64) -> Option<Address> {
        let mut index = node;
        for run in &self.runs {
            match index.checked_sub(run.count) {
                None => return Some(run.at(index)),
                Some(rest) => index = rest,
            }
        }
        None
    }

    /// Adds the addresses of further nodes; consecutive ones extend the last run.
    pub fn push(&mut self, run: Run) {
        if let Some(last) = self.runs.last_mut()
            && is_long(last.first) == is_long(run.first)
            && number_of(last.first).checked_add(last.count.into()) == Some(number_of(run.first))
        {
            last.count += run.count;
            return;
        }
        self.runs.push(run);
    }

    /// The first `count` addresses.
    pub fn truncate(&mut self, count: u64) {
        let mut left = count;
        self.runs.retain_mut(|run| {
            run.count = run.count.min(left);
            left -= run.count;
            run.count > 0
        });
    }
}

/// Writes the runs as `first-last`, with blanks between.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.runs.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{}", run.first.ip())?;
            if run.count > 1 {
                write!(f, "-{}", run.at(run.count - 1).ip())?;
            }
        }
        Ok(())
    }
}

/// An address as a number, by which addresses of one family are ordered.
pub(crate) const fn number_of(address: Address) -> u128 {
    match address {
        Address::Short(number) => number as u128,
        Address::Long(bytes) => u128::from_be_bytes(bytes),
    }
}

/// Whether an address has sixteen bytes.
pub(crate) const fn is_long(address: Address) -> bool {
    matches!(address, Address::Long(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_addresses_are_one_run() {
        let mut all = Addresses::UNKNOWN;
        assert!(!all.is_known());
        for number in [1, 2, 3, 9, 10] {
            all.push(Run { first: Address::Short(0x0a00_0000 + number), count: 1 });
        }
        assert_eq!(all.to_string(), "10.0.0.1-10.0.0.3 10.0.0.9-10.0.0.10");
        assert_eq!((all.runs().len(), all.count()), (2, 5));
        assert_eq!(all.at(3), Some(Address::Short(0x0a00_0009)));
        assert_eq!(all.at(5), None);
        all.truncate(4);
        assert_eq!(all.to_string(), "10.0.0.1-10.0.0.3 10.0.0.9");
    }

    #[test]
    fn a_run_finds_its_own_addresses_only() {
        let run = Run { first: Address::Short(100), count: 10 };
        for (address, expected) in [(99, None), (100, Some(0)), (109, Some(9)), (110, None)] {
            assert_eq!(run.index_of(Address::Short(address)), expected, "{address}");
        }
        assert_eq!(run.index_of(Address::Long([0; 16])), None);
    }
}
