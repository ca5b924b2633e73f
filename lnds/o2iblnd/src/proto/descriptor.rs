//! RDMA descriptors: the memory that a peer may write to, as PUT_ACK and GET_REQ announce it (wire-o2ib 3, 8.5).

use super::{MAX_FRAGMENTS, ProtoError};
use lnet_wire::byte_order::{ByteOrder, put_u32, put_u64};
use std::fmt;
use std::ops::Deref;

/// Length in bytes of what precedes the fragments.
const HEAD_LEN: usize = 8;
/// Length of a fragment on the wire in bytes; addresses are not aligned.
const FRAGMENT_LEN: usize = 12;

/// One contiguous piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Length in bytes.
    pub bytes: u32,
    /// The address in the space of the node that owns the memory, of any alignment.
    pub address: u64,
}

/// The fragments of a descriptor, 1 to [`MAX_FRAGMENTS`], read as a slice. A single one is stored in place; only several are on the
/// heap.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fragments(FragmentList);

#[derive(Clone, PartialEq, Eq, Hash)]
enum FragmentList {
    One(Fragment),
    /// Two or more.
    Several(Box<[Fragment]>),
}

impl Fragments {
    /// Makes the list of one fragment.
    pub const fn one(fragment: Fragment) -> Self {
        Self(FragmentList::One(fragment))
    }

    /// Makes a list; `None` if there are no fragments or more than [`MAX_FRAGMENTS`].
    pub fn new(fragments: &[Fragment]) -> Option<Self> {
        match fragments {
            [] => None,
            [one] => Some(Self::one(*one)),
            several if several.len() <= MAX_FRAGMENTS => Some(Self(FragmentList::Several(several.into()))),
            _ => None,
        }
    }
}

impl Deref for Fragments {
    type Target = [Fragment];

    fn deref(&self) -> &[Fragment] {
        match &self.0 {
            FragmentList::One(fragment) => std::slice::from_ref(fragment),
            FragmentList::Several(fragments) => fragments,
        }
    }
}

impl fmt::Debug for Fragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An RDMA descriptor: memory of a node that its peer may write to, in the order of the fragments. Integers are in the sender's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The remote key, which permits writing to all fragments. Opaque to the peer.
    pub rkey: u32,
    /// The memory.
    pub fragments: Fragments,
}

impl Descriptor {
    /// Number of bytes of all fragments together.
    pub fn total_bytes(&self) -> u64 {
        self.fragments.iter().map(|fragment| u64::from(fragment.bytes)).sum()
    }

    /// Length on the wire in bytes.
    pub(super) fn encoded_len(&self) -> usize {
        HEAD_LEN + FRAGMENT_LEN * self.fragments.len()
    }

    /// Reads the descriptor at `offset` of a message. The caller has checked that the first eight bytes are there (wire-o2ib 4).
    pub(super) fn decode(order: ByteOrder, message: &[u8], offset: usize) -> Result<Self, ProtoError> {
        let rkey = order.u32(message, offset);
        let count = order.u32(message, offset + 4);
        if !(1..=MAX_FRAGMENTS as u32).contains(&count) {
            return Err(ProtoError::FragmentCount(count));
        }
        let first = offset + HEAD_LEN;
        let end = first + FRAGMENT_LEN * count as usize;
        if end > message.len() {
            return Err(ProtoError::DescriptorBeyondMessage { count, end, length: message.len() });
        }
        let fragment = |index| {
            let at = first + FRAGMENT_LEN * index;
            Fragment { bytes: order.u32(message, at), address: order.u64(message, at + 4) }
        };
        let fragments = Fragments(match count {
            1 => FragmentList::One(fragment(0)),
            _ => FragmentList::Several((0..count as usize).map(fragment).collect()),
        });
        Ok(Self { rkey, fragments })
    }

    /// Writes the descriptor at `offset`, little-endian. The caller has checked the length.
    pub(super) fn encode(&self, bytes: &mut [u8], offset: usize) {
        put_u32(bytes, offset, self.rkey);
        put_u32(bytes, offset + 4, self.fragments.len() as u32);
        let places = (offset + HEAD_LEN..).step_by(FRAGMENT_LEN);
        for (fragment, at) in self.fragments.iter().zip(places) {
            put_u32(bytes, at, fragment.bytes);
            put_u64(bytes, at + 4, fragment.address);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn numbered(count: u32) -> Vec<Fragment> {
        (0..count)
            .map(|n| Fragment { bytes: 100 + n, address: 0xffff_8880_0a54_9001 + u64::from(n) })
            .collect()
    }

    #[test]
    fn a_list_has_1_to_257_fragments() {
        for (count, is_list) in [(0, false), (1, true), (2, true), (257, true), (258, false)] {
            let fragments = numbered(count);
            let list = Fragments::new(&fragments);
            assert_eq!(list.is_some(), is_list, "{count}");
            assert!(list.is_none_or(|list| list[..] == fragments[..]), "{count}");
        }
    }

    #[test]
    fn one_fragment_is_the_same_by_either_way_of_making_it() {
        let fragment = Fragment { bytes: 4096, address: 7 };
        assert_eq!(Fragments::new(&[fragment]), Some(Fragments::one(fragment)));
    }

    #[test]
    fn the_total_of_large_fragments_does_not_overflow() {
        let fragments = Fragments::new(&[Fragment { bytes: u32::MAX, address: 0 }; 257]).unwrap();
        assert_eq!(Descriptor { rkey: 0, fragments }.total_bytes(), 257 * u64::from(u32::MAX));
    }

    #[test]
    fn a_descriptor_has_the_bytes_of_the_worked_example() {
        let bytes =
            [0x6b, 0x13, 8, 0, 1, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x90, 0x54, 0x0a, 0x80, 0x88, 0xff, 0xff];
        let fragments = Fragments::one(Fragment { bytes: 4096, address: 0xffff_8880_0a54_9000 });
        let descriptor = Descriptor { rkey: 0x0008_136b, fragments };
        assert_eq!(Descriptor::decode(ByteOrder::Little, &bytes, 0), Ok(descriptor.clone()));
        let mut again = [0; 20];
        descriptor.encode(&mut again, 0);
        assert_eq!((again, descriptor.encoded_len()), (bytes, 20));
    }

    #[test]
    fn a_descriptor_of_no_fragments_or_too_many_is_refused_and_so_is_one_behind_the_end() {
        let descriptor = Descriptor { rkey: 1, fragments: Fragments::new(&numbered(257)).unwrap() };
        let mut bytes = vec![0; 16 + descriptor.encoded_len()];
        descriptor.encode(&mut bytes, 16);
        assert_eq!(Descriptor::decode(ByteOrder::Little, &bytes, 16), Ok(descriptor));
        let short = &bytes[..bytes.len() - 1];
        let length = short.len();
        let beyond = ProtoError::DescriptorBeyondMessage { count: 257, end: length + 1, length };
        assert_eq!(Descriptor::decode(ByteOrder::Little, short, 16), Err(beyond));
        for count in [0, 258, u32::MAX] {
            put_u32(&mut bytes, 20, count);
            let refused = Descriptor::decode(ByteOrder::Little, &bytes, 16);
            assert_eq!(refused, Err(ProtoError::FragmentCount(count)));
        }
    }
}
