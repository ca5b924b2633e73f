//! The short way of a PUT that is like the one before it: of the same MD, and to the same NID. It takes one lock for all that is known of
//! the two.

use super::AttachedNode;
use super::descriptor::ProgramMd;
use super::link::LatestPut;
use crate::record::PlainPut;
use lnd_common::sync::lock;
use lnet_core::Errno;
use lnet_wire::MAX_PORTALS;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl AttachedNode {
    /// Remembers a PUT of an MD that the node has the memory of. When it was looked whether messages leave for the target, there had been
    /// this number of failures.
    pub(super) fn note_put(&self, put: &PlainPut, its: &Arc<ProgramMd>, failures: u64) {
        let Some((nid, word)) = put.target.nid.and_then(|nid| Some((nid, nid.to_u64()?))) else { return };
        let own = nid.is_loopback().then_some(self.pid);
        let latest = LatestPut { md: put.md, its: Arc::downgrade(its), nid: word, own, failures };
        lock(&self.sender).latest = Some(latest);
    }

    /// Sends a PUT that is like the one before it. `None` for another one, and where something speaks against it: then nothing was done.
    #[inline(always)]
    pub(super) fn put_again(&self, put: &PlainPut) -> Option<Result<(), Errno>> {
        let PlainPut { md, ack, target, .. } = *put;
        let body = put.encode(0)?;
        let sender = lock(&self.sender);
        let latest = sender.latest.as_ref()?;
        let is_like_it = latest.md == md
            && target.nid?.to_u64()? == latest.nid
            && latest.failures == self.failures.load(Ordering::SeqCst);
        if !is_like_it || target.portal >= MAX_PORTALS || latest.own == Some(target.pid) {
            return None;
        }
        let its = latest.its.upgrade()?;
        // Unlocked before the MD is dropped: this may be the last reference.
        let mut sender = sender;
        if self.has_ended.load(Ordering::SeqCst) || !its.begin_posted(ack) {
            return None;
        }
        self.unsent.fetch_add(1, Ordering::SeqCst);
        Some(self.send_put(&mut sender, body, put).inspect_err(|_| {
            self.unsent.fetch_sub(1, Ordering::SeqCst);
        }))
    }
}
