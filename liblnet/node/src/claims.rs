//! The match bits that programs of a node have claimed: no two have the same.

use lnd_common::sync::lock;
use lnet_attach::record::ClaimedBits;
use lnet_core::Errno;
use lnet_wire::{MAX_PORTALS, RESERVED_PORTAL};
use std::collections::HashMap;
use std::sync::Mutex;

/// The number of claims of one program.
const MAX_CLAIMS: usize = 4096;

/// The claims on a node.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<HashMap<u32, Vec<Claim>>>);

/// A claim at a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    owner: Owner,
    pid: u32,
    bits: ClaimedBits,
}

/// The owner of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The process of the node.
    NodeProcess,
    /// The attached program with this number.
    Program(u64),
}

impl Claims {
    /// Claims match bits for messages to a PID. [`Errno::AddressInUse`] if a claim has some of them, also one of the same owner;
    /// [`Errno::Invalid`] for an invalid portal; [`Errno::NoMemory`] for too many claims.
    pub(crate) fn claim(&self, owner: Owner, pid: u32, bits: ClaimedBits) -> Result<(), Errno> {
        if bits.portal >= MAX_PORTALS || bits.portal == RESERVED_PORTAL {
            return Err(Errno::Invalid);
        }
        let mut all = lock(&self.0);
        if all.values().flatten().filter(|claim| claim.owner == owner).count() >= MAX_CLAIMS {
            return Err(Errno::NoMemory);
        }
        let at_portal = all.entry(bits.portal).or_default();
        if at_portal.iter().any(|claim| claim.pid == pid && overlap(claim.bits, bits)) {
            return Err(Errno::AddressInUse);
        }
        at_portal.push(Claim { owner, pid, bits });
        Ok(())
    }

    /// Ends a claim of this owner. [`Errno::NotFound`] if it has no such claim.
    pub(crate) fn release(&self, owner: Owner, bits: ClaimedBits) -> Result<(), Errno> {
        let mut all = lock(&self.0);
        let at_portal = all.get_mut(&bits.portal).ok_or(Errno::NotFound)?;
        let is_meant = |claim: &Claim| claim.owner == owner && claim.bits == bits;
        let at = at_portal.iter().position(is_meant).ok_or(Errno::NotFound)?;
        at_portal.swap_remove(at);
        Ok(())
    }

    /// Ends all claims of this owner.
    pub(crate) fn release_all(&self, owner: Owner) {
        lock(&self.0).values_mut().for_each(|claims| claims.retain(|claim| claim.owner != owner));
    }
}

/// Whether there are match bits that both contain.
const fn overlap(one: ClaimedBits, other: ClaimedBits) -> bool {
    (one.match_bits ^ other.match_bits) & !(one.ignore_bits | other.ignore_bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn bits(portal: u32, match_bits: u64, ignore_bits: u64) -> ClaimedBits {
        ClaimedBits { portal, match_bits, ignore_bits }
    }

    #[test]
    fn match_bits_of_a_pid_have_one_owner() {
        let (one, other) = (Owner::Program(1), Owner::Program(2));
        for (owner, pid, claimed, expected) in [
            (other, 7, bits(30, 0x5f, 0), Err(Errno::AddressInUse)),
            (one, 7, bits(30, 0x5f, 0), Err(Errno::AddressInUse)),
            (other, 7, bits(30, 0, u64::MAX), Err(Errno::AddressInUse)),
            (other, 7, bits(30, 0x60, 0xf), Ok(())),
            (other, 7, bits(31, 0x5f, 0), Ok(())),
            (other, 8, bits(30, 0x5f, 0), Ok(())),
            (other, 7, bits(0, 0, 0), Err(Errno::Invalid)),
            (other, 7, bits(64, 0, 0), Err(Errno::Invalid)),
        ] {
            let claims = Claims::default();
            claims.claim(one, 7, bits(30, 0x50, 0xf)).unwrap();
            assert_eq!(claims.claim(owner, pid, claimed), expected, "{owner:?} {pid} {claimed:?}");
        }
    }

    #[test]
    fn bits_that_were_released_can_be_claimed_again() {
        let (one, other) = (Owner::Program(1), Owner::NodeProcess);
        let claims = Claims::default();
        let all = [bits(30, 1, 0), bits(30, 2, 0), bits(31, 1, 0)];
        for claimed in all {
            claims.claim(one, 7, claimed).unwrap();
        }
        assert_eq!(claims.release(other, all[0]), Err(Errno::NotFound));
        assert_eq!(claims.release(one, bits(30, 3, 0)), Err(Errno::NotFound));
        assert_eq!(claims.release(one, all[0]), Ok(()));
        let outcomes = all.map(|claimed| claims.claim(other, 7, claimed));
        assert_eq!(outcomes, [Ok(()), Err(Errno::AddressInUse), Err(Errno::AddressInUse)]);
        claims.release_all(one);
        assert_eq!(all.map(|claimed| claims.claim(one, 7, claimed).is_ok()), [false, true, true]);
    }

    #[test]
    fn a_program_has_a_limited_number_of_claims() {
        let claims = Claims::default();
        let claim = |owner, number: usize| claims.claim(Owner::Program(owner), 7, bits(30, number as u64, 0));
        assert!((0..MAX_CLAIMS).all(|number| claim(1, number).is_ok()));
        assert_eq!(claim(1, MAX_CLAIMS), Err(Errno::NoMemory));
        assert_eq!(claim(2, MAX_CLAIMS), Ok(()));
    }
}
