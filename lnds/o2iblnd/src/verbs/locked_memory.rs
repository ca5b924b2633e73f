//! The limit of locked memory, which registered memory counts against.

use crate::device::{OpenError, Setup};
use crate::proto::MAX_FRAGMENTS;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// KiB for bounce buffers and the device's own queues, beside the connections.
const BASE: u64 = 1024;
/// The connections that an interface should be able to have.
const CONNECTIONS: u64 = 4;

/// Checks that the process may lock the memory that an interface with this queue depth needs at least.
pub(super) fn check(depth: u16) -> Result<(), OpenError> {
    let limit = getrlimit(Resource::Memlock).current;
    let is_exempt = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    match limit {
        Some(bytes) if !is_exempt && bytes / 1024 < needed(depth) => {
            Err(OpenError::LockedMemory { limit: bytes / 1024, needed: needed(depth) })
        }
        _ => Ok(()),
    }
}

/// KiB that an interface needs: a buffer of 4 KiB for each message of a connection.
fn needed(depth: u16) -> u64 {
    let setup = Setup::new(depth, MAX_FRAGMENTS as u16);
    BASE + CONNECTIONS * 4 * u64::from(setup.receives + setup.chains)
}

#[cfg(test)]
mod tests {
    use super::needed;

    #[test]
    fn deeper_queues_need_more_memory() {
        assert_eq!([needed(8), needed(64)], [1024 + 16 * 28, 1024 + 16 * 196]);
    }
}
