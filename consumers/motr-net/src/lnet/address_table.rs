//! The addresses of transfer machines in use in this process (motr-net 3.2). The node has those of other processes.

use super::address::{Address, StartAddress, Tmid};
use crate::Errno;
use std::collections::HashMap;

/// The addresses in use.
#[derive(Debug, Default)]
pub struct AddressTable(HashMap<Place, Tmids>);

/// The PID and portal that transfer machines with different TMIDs may share. Match bits do not distinguish NIDs: a message to one
/// of two machines with the same portal and TMID, on two NIDs of the node, could arrive at the other.
type Place = (u32, u32);

/// A set of TMIDs.
#[derive(Debug)]
struct Tmids([u64; WORDS]);

const WORDS: usize = (Tmid::MAX.number() as usize + 1) / u64::BITS as usize;

impl AddressTable {
    /// Claims an address; without a TMID the highest that is free.
    ///
    /// Errors: `EADDRINUSE`; `EADDRNOTAVAIL`: all TMIDs are in use.
    pub fn claim(&mut self, wanted: StartAddress) -> Result<Address, Errno> {
        let place = (wanted.pid, wanted.portal);
        let used = self.0.entry(place).or_insert(Tmids([0; WORDS]));
        let tmid = match wanted.tmid {
            Some(tmid) if used.has(tmid) => return Err(Errno::AddressInUse),
            Some(tmid) => tmid,
            None => used.highest_free().ok_or(Errno::AddressNotAvailable)?,
        };
        used.set(tmid, true);
        Ok(wanted.with(tmid))
    }

    /// Releases an address.
    pub fn release(&mut self, address: &Address) {
        let place = (address.pid, address.portal);
        if let Some(used) = self.0.get_mut(&place) {
            used.set(address.tmid, false);
            if used.0.iter().all(|word| *word == 0) {
                self.0.remove(&place);
            }
        }
    }
}

impl Tmids {
    fn has(&self, tmid: Tmid) -> bool {
        let (word, bit) = Self::at(tmid);
        self.0[word] & bit != 0
    }

    fn set(&mut self, tmid: Tmid, is_used: bool) {
        let (word, bit) = Self::at(tmid);
        self.0[word] = if is_used { self.0[word] | bit } else { self.0[word] & !bit };
    }

    fn highest_free(&self) -> Option<Tmid> {
        let (at, word) = self.0.iter().enumerate().rfind(|(_, word)| **word != u64::MAX)?;
        Tmid::new(at as u32 * u64::BITS + (u64::BITS - 1 - word.leading_ones()))
    }

    fn at(tmid: Tmid) -> (usize, u64) {
        let (word, bit) = (tmid.number() / u64::BITS, tmid.number() % u64::BITS);
        (word as usize, 1 << bit)
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
        assert_eq!(claim(&mut table, "10.0.0.2@tcp:12345:30:*"), Ok(4092), "another NID");
    }

    #[test]
    fn an_address_has_one_transfer_machine() {
        let mut table = AddressTable::default();
        let fixed = "10.0.0.1@tcp0:12345:30:7";
        assert_eq!(claim(&mut table, fixed), Ok(7));
        assert_eq!(claim(&mut table, "10.0.0.1@tcp:12345:30:7"), Err(Errno::AddressInUse));
        assert_eq!(claim(&mut table, "10.0.0.2@tcp:12345:30:7"), Err(Errno::AddressInUse), "another NID");
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
        assert_eq!(claim(&mut table, dynamic), Err(Errno::AddressNotAvailable));
    }
}
