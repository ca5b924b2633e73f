//! The packet with which each end of a connection begins. That of the end which connects carries the files of the two rings.

use lnet_wire::Nid;

/// What the first bytes of every hello are.
const MAGIC: [u8; 8] = *b"lnet-shm";
/// The version of all that two nodes exchange: hellos, rings, records.
const VERSION: u32 = 1;
/// The length of a hello in bytes.
pub(crate) const HELLO_LEN: usize = 60;

/// Who is at an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) from: Nid,
    pub(crate) to: Nid,
    /// A number of this start of the sender's interface, not 0.
    pub(crate) incarnation: u64,
}

/// The reason why a packet is no hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoHello {
    #[error("no hello, but {0} bytes")]
    Length(usize),
    #[error("no hello")]
    Magic,
    #[error("a hello of version {0}; this node has version 1")]
    Version(u32),
    #[error("a hello without a NID or incarnation")]
    Empty,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let parts: [&[u8]; 5] = [
            &MAGIC,
            &VERSION.to_ne_bytes(),
            &self.from.to_wire20(),
            &self.to.to_wire20(),
            &self.incarnation.to_ne_bytes(),
        ];
        parts.concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, NoHello> {
        let bytes: &[u8; HELLO_LEN] = bytes.try_into().map_err(|_| NoHello::Length(bytes.len()))?;
        if bytes[..8] != MAGIC {
            return Err(NoHello::Magic);
        }
        let version = u32::from_ne_bytes(part(bytes, 8));
        if version != VERSION {
            return Err(NoHello::Version(version));
        }
        let nid = |at| Nid::from_wire20(part(bytes, at)).ok_or(NoHello::Empty);
        let incarnation = u64::from_ne_bytes(part(bytes, 52));
        if incarnation == 0 {
            return Err(NoHello::Empty);
        }
        Ok(Self { from: nid(12)?, to: nid(32)?, incarnation })
    }

    /// Whether a node with this NID may accept the hello of an end that connects to it.
    pub(crate) fn is_for(&self, own: Nid) -> bool {
        self.to == own && self.from != own && self.from.net() == own.net()
    }
}

/// The bytes from `at` on, which are there.
fn part<const LEN: usize>(bytes: &[u8; HELLO_LEN], at: usize) -> [u8; LEN] {
    std::array::from_fn(|index| bytes[at + index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_hello_is_refused() {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let hello = Hello { from: nid("1@shm7"), to: nid("4294967295@shm7"), incarnation: 5 };
        let good = hello.encode();
        assert_eq!(Hello::decode(&good), Ok(hello));
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let zeroed = |at: usize, len: usize| {
            let mut bytes = good.clone();
            bytes[at..at + len].fill(0);
            bytes
        };
        for (bytes, expected) in [
            (vec![], NoHello::Length(0)),
            (good[1..].to_vec(), NoHello::Length(59)),
            ([&good[..], &[0]].concat(), NoHello::Length(61)),
            (changed(0, b'L'), NoHello::Magic),
            (changed(8, 2), NoHello::Version(u32::from_ne_bytes([2, 0, 0, 0]))),
            (zeroed(52, 8), NoHello::Empty),
            ([&good[..12], &[0xff; 48]].concat(), NoHello::Empty),
        ] {
            assert_eq!(Hello::decode(&bytes), Err(expected));
        }
    }

    #[test]
    fn a_node_accepts_hellos_for_its_nid_from_other_nids_of_its_net() {
        for (from, to, expected) in [
            ("1@shm7", "2@shm7", true),
            ("1@shm7", "3@shm7", false),
            ("2@shm7", "2@shm7", false),
            ("1@shm8", "2@shm7", false),
            ("1@ptlf7", "2@shm7", false),
        ] {
            let hello = Hello { from: from.parse().unwrap(), to: to.parse().unwrap(), incarnation: 1 };
            assert_eq!(hello.is_for("2@shm7".parse().unwrap()), expected, "{from} {to}");
        }
    }
}
