//! The list of a test's destinations, which a node fetches from the console (selftest 5.6).

use super::constants::{
    DESTINATION_LEN, DESTINATIONS_PER_PAGE, LST_PID, MAX_DESTINATIONS, PAGE, SAFE_DESTINATIONS,
};
use super::features::Features;
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Nid, Pid};

/// A console's list: 1 to 341 nodes. Kernel nodes read longer ones beyond their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    bytes: Vec<u8>,
    count: u32,
}

/// The length of a list of destinations that all nodes can read: 1 to 341.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DestinationCount(u32);

impl DestinationCount {
    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl Destinations {
    /// Makes a list. `None`: there are no nodes or too many, or one has a NID that does not fit in 64 bits.
    pub fn new(nodes: &[(Nid, Pid)]) -> Option<Self> {
        let count =
            u32::try_from(nodes.len()).ok().filter(|count| (1..=SAFE_DESTINATIONS).contains(count))?;
        let mut bytes = vec![0; nodes.len() * DESTINATION_LEN];
        for (record, (nid, pid)) in bytes.chunks_exact_mut(DESTINATION_LEN).zip(nodes) {
            ByteOrder::Little.put_u64(record, 0, nid.to_u64()?);
            ByteOrder::Little.put_u32(record, 8, pid.0);
        }
        Some(Self { bytes, count })
    }

    /// The number of nodes.
    pub const fn count(&self) -> DestinationCount {
        DestinationCount(self.count)
    }

    /// Returns the bytes that a node fetches: whole pages without [`Features::BULK_LEN`].
    pub fn bytes(&self, features: Features) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if !features.has_bulk_len() {
            bytes.resize(bytes.len().next_multiple_of(PAGE as usize), 0);
        }
        bytes
    }
}

/// Bytes of the list that a node fetches for this many destinations: no more than any console offers, with any features.
/// `None`: too many.
pub fn list_length(count: u32) -> Option<usize> {
    (1..=MAX_DESTINATIONS).contains(&count).then_some(count as usize * DESTINATION_LEN)
}

/// Reads the nodes in a list that was fetched. A PID, or a whole record, that was cut off at its end reads as 12345. `None`: a
/// NID is invalid.
pub fn read_destinations(list: &[u8], order: ByteOrder, count: u32) -> Option<Vec<(Nid, Pid)>> {
    (0..count).map(|index| record(list, order, index)).collect()
}

fn record(list: &[u8], order: ByteOrder, index: u32) -> Option<(Nid, Pid)> {
    let page = (index / DESTINATIONS_PER_PAGE) as usize * PAGE as usize;
    let record = list.get(page + (index % DESTINATIONS_PER_PAGE) as usize * DESTINATION_LEN..)?;
    let nid = Nid::from_u64(order.u64(record.get(..8)?, 0))?;
    let pid = record.get(8..DESTINATION_LEN).map_or(LST_PID, |bytes| order.u32(bytes, 0));
    Some((nid, Pid(pid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: u32) -> Vec<(Nid, Pid)> {
        (0..count)
            .map(|n| (Nid::from_u64(0x2_0000_0a00_0000 + u64::from(n)).unwrap(), Pid(LST_PID)))
            .collect()
    }

    #[test]
    fn a_list_has_1_to_341_nodes() {
        for (count, is_safe) in [(0, false), (1, true), (341, true), (342, false), (1024, false)] {
            assert_eq!(Destinations::new(&nodes(count)).is_some(), is_safe, "{count}");
        }
    }

    #[test]
    fn what_a_console_lists_is_what_a_node_reads() {
        for features in [Features::NONE, Features::BULK_LEN] {
            for count in [1, 2, 340, 341] {
                let list = Destinations::new(&nodes(count)).unwrap().bytes(features);
                let fetched = &list[..list_length(count).unwrap()];
                assert_eq!(read_destinations(fetched, ByteOrder::Little, count), Some(nodes(count)));
            }
        }
    }

    #[test]
    fn records_begin_anew_in_each_page_and_a_cut_pid_is_12345() {
        // 342 records of twelve bytes are four bytes short, as the first page has four that are not used.
        let mut list = vec![0xff; 342 * DESTINATION_LEN];
        for (index, (nid, pid)) in nodes(342).iter().enumerate() {
            let at = if index < 341 { index * 12 } else { 4096 };
            list[at..at + 8].copy_from_slice(&nid.to_u64().unwrap().to_le_bytes());
            if at < 4096 {
                list[at + 8..at + 12].copy_from_slice(&pid.0.to_le_bytes());
            }
        }
        assert_eq!(read_destinations(&list, ByteOrder::Little, 342), Some(nodes(342)));
        assert_eq!(read_destinations(&list, ByteOrder::Little, 343), None, "a record that is not there");
    }

    #[test]
    fn a_wildcard_in_the_list_is_no_node() {
        assert_eq!(read_destinations(&[0xff; 12], ByteOrder::Little, 1), None);
    }
}
