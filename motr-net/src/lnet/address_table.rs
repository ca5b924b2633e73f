//! The addresses that transfer machines have (motr-net 3.2): unique in this process.

use super::address::{Address, StartAddress, Tmid};
use crate::errno::Errno;
use std::collections::HashSet;

/// Addresses in use.
#[derive(Debug, Default)]
pub struct AddressTable(HashSet<Address>);

impl AddressTable {
    /// Takes an address; without a TMID the highest that is free.
    ///
    /// Errors: `EADDRINUSE`; `EADDRNOTAVAIL`: all TMIDs are in use.
    pub fn claim(&mut self, wanted: StartAddress) -> Result<Address, Errno> {
        let address = match wanted.tmid {
            Some(tmid) => {
                Some(wanted.with(tmid)).filter(|it| !self.0.contains(it)).ok_or(Errno::ADDRESS_IN_USE)
            }
            None => (0..=Tmid::MAX.number())
                .rev()
                .filter_map(Tmid::new)
                .map(|tmid| wanted.with(tmid))
                .find(|address| !self.0.contains(address))
                .ok_or(Errno::NO_ADDRESS_LEFT),
        }?;
        self.0.insert(address);
        Ok(address)
    }

    /// Gives an address back.
    pub fn release(&mut self, address: &Address) {
        self.0.remove(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(text: &str) -> StartAddress {
        text.parse().unwrap()
    }

    fn claim(table: &mut AddressTable, text: &str) -> Result<u32, Errno> {
        table.claim(start(text)).map(|address| address.tmid.number())
    }

    #[test]
    fn dynamic_identifiers_go_from_high_to_low_and_gaps_are_used_again() {
        let mut table = AddressTable::default();
        let dynamic = "10.0.0.1@tcp:12345:30:*";
        assert_eq!([(); 3].map(|()| claim(&mut table, dynamic)), [Ok(4095), Ok(4094), Ok(4093)]);
        table.release(&"10.0.0.1@tcp:12345:30:4094".parse().unwrap());
        assert_eq!(claim(&mut table, dynamic), Ok(4094));
        assert_eq!(claim(&mut table, "10.0.0.1@tcp:12345:31:*"), Ok(4095), "another portal");
        assert_eq!(claim(&mut table, "10.0.0.2@tcp:12345:30:*"), Ok(4095), "another NID");
    }

    #[test]
    fn an_address_has_one_transfer_machine() {
        let mut table = AddressTable::default();
        let fixed = "10.0.0.1@tcp0:12345:30:7";
        assert_eq!(claim(&mut table, fixed), Ok(7));
        assert_eq!(claim(&mut table, "10.0.0.1@tcp:12345:30:7"), Err(Errno::ADDRESS_IN_USE));
        table.release(&fixed.parse().unwrap());
        assert_eq!(claim(&mut table, fixed), Ok(7));
    }

    #[test]
    fn all_identifiers_can_be_in_use() {
        let mut table = AddressTable::default();
        let dynamic = "10.0.0.1@tcp:12345:30:*";
        for expected in (0..=4095).rev() {
            assert_eq!(claim(&mut table, dynamic), Ok(expected));
        }
        assert_eq!(claim(&mut table, dynamic), Err(Errno::NO_ADDRESS_LEFT));
    }
}
