//! The requests of this node that its shutdown ends: how many are still to be sent, and how many were lost.

use super::DataPath;
use crate::model::is_reserved;
use crate::sync::{Mutex, lock};
use lnet_log::LogClass;
use lnet_wire::{Body, Errno, Nid};

/// The requests of programs that the shutdown has ended.
#[derive(Debug, Default)]
pub(crate) struct LostRequests(Mutex<LostCount>);

#[derive(Clone, Copy, Debug, Default)]
struct LostCount {
    count: u64,
    /// The target of the first lost request.
    first: Option<Nid>,
}

impl DataPath {
    /// The number of PUTs and GETs of programs that may not have left this node, or, where the receiver gives delivery ACKs,
    /// may not have arrived there: their SEND events are still to come. Missing responses to them are not counted.
    pub fn unsent_requests(&self) -> usize {
        let mds = self.objects.mds();
        mds.iter().filter(|md| md.attached().is_none() && !md.is_of_node()).map(|md| md.busy() as usize).sum()
    }

    /// Counts a request to `target` that ends with `status`, if the shutdown has ended it.
    #[inline]
    pub(crate) fn note_if_lost(&self, target: Option<Nid>, body: &Body, status: Result<(), Errno>) {
        if status == Err(Errno::Shutdown) && self.env.is_ending() && !is_reserved(body) {
            let lost = &mut *lock(&self.lost_requests.0);
            lost.count += 1;
            lost.first = lost.first.or(target);
        }
    }

    /// Logs the number of requests that the shutdown has ended.
    pub(crate) fn log_lost_requests(&self) {
        let LostCount { count, first: Some(first) } = *lock(&self.lost_requests.0) else { return };
        self.env.log(
            LogClass::RequestsLost,
            "shutdown",
            format_args!(
                "shutdown: {count} PUTs and GETs are not known to have arrived, the first to {first} (the node ended before \
                 their SEND events); dropped: wait for those events, or for ACKs, before LNetNIFini"
            ),
        );
    }
}
