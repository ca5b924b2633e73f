//! PUTs in the bodies of records, in place: most operations are PUTs.

use super::Operation;
use super::field::{halves, words_of_target};
use lnet_core::{MdHandle, Target};
use lnet_wire::{Nid, Pid};

/// The kind of [`Operation::Put`].
pub const PUT: u32 = 7;
/// The number of words in the body of a [`PlainPut`].
pub const PUT_WORDS: usize = 9;

/// An [`Operation::Put`] that names no interface to send from, to a NID of at most eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainPut {
    /// The MD with the data.
    pub md: MdHandle,
    /// Whether an ACK is wanted.
    pub ack: bool,
    /// Where the data go.
    pub target: Target,
    /// 64 bits for the target's event.
    pub hdr_data: u64,
}

impl PlainPut {
    /// Encodes it as the operation is encoded. `None` for a target without a NID of at most eight bytes.
    #[inline(always)]
    pub fn encode(&self, number: u64) -> Option<[u64; PUT_WORDS]> {
        let Self { md, ack, target, hdr_data } = self;
        target.nid?.to_u64()?;
        let [nid, process, match_bits, offset] = words_of_target(target);
        let (no_interface, ack) = (0, u64::from(*ack));
        Some([number, no_interface, md.cookie(), ack, nid, process, match_bits, offset, *hdr_data])
    }

    /// Decodes the body of an operation of the kind [`PUT`] and this length. `None` if it is another one, or malformed.
    #[inline(always)]
    pub fn decode(body: &[u64; PUT_WORDS]) -> Option<(u64, Self)> {
        let [number, no_interface, md, ack, nid, process, match_bits, offset, hdr_data] = *body;
        let (pid, portal) = halves(process);
        let offset = u32::try_from(offset).ok()?;
        let target = Target { nid: Some(Nid::from_u64(nid)?), pid: Pid(pid), portal, match_bits, offset };
        let put = Self { md: MdHandle::from_cookie(md), ack: ack == 1, target, hdr_data };
        (no_interface == 0 && ack <= 1).then_some((number, put))
    }
}

impl From<PlainPut> for Operation {
    fn from(PlainPut { md, ack, target, hdr_data }: PlainPut) -> Self {
        Self::Put { from: None, md, ack, target, hdr_data }
    }
}
