//! Conversion of NIDs and process IDs of 20 and 24 bytes.

use super::types::{lnet_nid, lnet_processid};
use crate::types::PID_ANY;
use lnet_core::{Errno, MatchId, Target};
use lnet_wire::{Nid, Pid};
use std::ptr::NonNull;

/// The wildcard: what becomes of `LNET_NID_ANY` if it is converted.
const ANY: lnet_nid = lnet_nid { nid_size: 0, nid_type: 0xff, nid_num: u16::MAX, nid_addr: [u32::MAX; 4] };

/// All bytes 0: the parties of an event that has none.
const ZERO: lnet_nid = lnet_nid { nid_size: 0, nid_type: 0, nid_num: 0, nid_addr: [0; 4] };

impl lnet_nid {
    /// The NID; `Ok(None)` for the wildcard. [`Errno::Invalid`] for what is not a NID.
    pub(crate) fn to_nid(self) -> Result<Option<Nid>, Errno> {
        if self.nid_type == 0xff {
            return Ok(None);
        }
        let mut bytes = [0; 20];
        bytes[0] = self.nid_size;
        bytes[1] = self.nid_type;
        // The fields are in network byte order already.
        bytes[2..4].copy_from_slice(&{ self.nid_num }.to_ne_bytes());
        for (to, word) in bytes[4..].chunks_exact_mut(4).zip(self.nid_addr) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        Nid::from_wire20(bytes).map(Some).ok_or(Errno::Invalid)
    }

    /// The C form of a NID, or of the wildcard.
    pub(crate) fn from_nid(nid: Option<Nid>) -> Self {
        let Some(nid) = nid else { return ANY };
        let [size, kind, n0, n1, address @ ..] = nid.to_wire20();
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(address.chunks_exact(4)) {
            *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Self { nid_size: size, nid_type: kind, nid_num: u16::from_ne_bytes([n0, n1]), nid_addr: words }
    }
}

impl lnet_processid {
    /// The party of an event that has none.
    pub(crate) const NOBODY: Self = Self { nid: ZERO, pid: 0 };

    /// The C form.
    pub(crate) fn new(nid: Option<Nid>, pid: Pid) -> Self {
        Self { nid: lnet_nid::from_nid(nid), pid: pid.0 }
    }

    /// The senders that a match entry takes. [`Errno::Invalid`] for what is not a NID.
    pub(crate) fn to_match_id(self) -> Result<MatchId, Errno> {
        Ok(MatchId { nid: self.nid.to_nid()?, pid: (self.pid != PID_ANY).then_some(Pid(self.pid)) })
    }

    /// The target of a PUT or GET. What is no NID is like the wildcard: the SEND event says that it cannot be sent.
    pub(crate) fn to_target(self, portal: u32, match_bits: u64, offset: u32) -> Target {
        Target { nid: self.nid.to_nid().ok().flatten(), pid: Pid(self.pid), portal, match_bits, offset }
    }
}

/// Reads a NID of the program's: `Ok(None)` for the wildcard.
///
/// # Safety
/// `nid` is NULL, or valid for a read.
pub(crate) unsafe fn read_nid(nid: *const lnet_nid) -> Result<Option<Nid>, Errno> {
    let nid = NonNull::new(nid.cast_mut()).ok_or(Errno::Fault)?;
    // SAFETY: checked for NULL; a variable of the calling program's, which is there and unchanged until the C function returns.
    unsafe { nid.read_unaligned() }.to_nid()
}

/// Reads the interface to send from: NULL is the wildcard. [`Errno::Invalid`] for what is no NID.
///
/// # Safety
/// As for [`read_nid`].
pub(crate) unsafe fn read_self(nid: *const lnet_nid) -> Result<Option<Nid>, Errno> {
    if nid.is_null() {
        return Ok(None);
    }
    // SAFETY: checked for NULL; a variable of the calling program's, which is there and unchanged until the C function returns.
    unsafe { read_nid(nid) }
}

/// Reads a process ID of the program's.
///
/// # Safety
/// `id` is NULL, or valid for a read.
pub(crate) unsafe fn read_id(id: *const lnet_processid) -> Result<lnet_processid, Errno> {
    let id = NonNull::new(id.cast_mut()).ok_or(Errno::Fault)?;
    // SAFETY: checked for NULL; a variable of the calling program's, which is there and unchanged until the C function returns.
    Ok(unsafe { id.read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::NetId;

    #[test]
    fn nids_of_both_sizes_and_the_wildcard_survive_both_directions() {
        let long: Nid = "2001:db8::1@tcp1".parse().unwrap();
        let short: Nid = "10.0.0.1@o2ib3".parse().unwrap();
        for nid in [Some(long), Some(short), Some(Nid::LOOPBACK), None] {
            assert_eq!(lnet_nid::from_nid(nid).to_nid(), Ok(nid));
        }
    }

    #[test]
    fn the_first_eight_bytes_of_a_short_nid_are_lnet_nid_t_in_network_order() {
        let nid = Nid::new(NetId::from_u32(0x0005_0003).unwrap(), 0x0a00_0002);
        let lnet_nid { nid_size, nid_type, nid_num, nid_addr } = lnet_nid::from_nid(Some(nid));
        assert_eq!((nid_size, nid_type), (0, 5));
        assert_eq!(({ nid_num }, { nid_addr }), (3_u16.to_be(), [0x0a00_0002_u32.to_be(), 0, 0, 0]));
    }

    #[test]
    fn a_size_that_no_nid_has_is_an_error_and_not_the_wildcard() {
        for size in [1, 4, 11, 13, 255] {
            let nid = lnet_nid { nid_size: size, ..lnet_nid::from_nid(Some(Nid::LOOPBACK)) };
            assert_eq!(nid.to_nid(), Err(Errno::Invalid), "{size}");
        }
    }
}
