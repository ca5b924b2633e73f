//! Memory that servers fetch, with a descriptor that serves the RPCs of a loop one after the other: a descriptor for each RPC would cost as
//! much as a message.

use super::outgoing::OutgoingRpc;
use super::outgoing_state::Piece;
use super::shared::Shared;
use super::workers::with_short_tasks;
use crate::wire::PORTAL_REPLIES;
use lnet_api::sync::lock;
use lnet_api::{Errno, Event, EventHandler, MatchCriteria, Md, MdSpec, Region};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Memory that never changes, for RPCs of which one is in progress at a time. Servers that an RPC was sent to may read it until this is
/// dropped, which ends an RPC in progress with an error.
///
/// After an RPC that has failed another one needs another `KeptSource`: the descriptor may be unlinked, and a late message of the RPC that
/// failed does not reach the descriptor of the next one.
#[derive(Debug)]
pub struct KeptSource(Arc<SourceDescriptor>);

/// The descriptor of a [`KeptSource`], for one RPC.
pub struct SourceDescriptor {
    shared: Arc<Shared>,
    region: Arc<Region>,
    range: Range<usize>,
    inner: Mutex<SourceState>,
}

#[derive(Default)]
struct SourceState {
    /// The descriptor with its match bits; `None`: the first RPC has not begun.
    attached: Option<(Md, u64)>,
    /// The RPC that waits for the descriptor's event.
    rpc: Option<Arc<OutgoingRpc>>,
}

impl KeptSource {
    pub(super) fn new(shared: &Arc<Shared>, region: Arc<Region>, range: Range<usize>) -> Self {
        let (shared, inner) = (Arc::clone(shared), Mutex::default());
        Self(Arc::new(SourceDescriptor { shared, region, range, inner }))
    }

    /// The descriptor, for [`Bulk::Kept`](super::Bulk::Kept).
    pub fn descriptor(&self) -> Arc<SourceDescriptor> {
        Arc::clone(&self.0)
    }
}

impl Drop for KeptSource {
    /// Unlinks the descriptor, in event handlers too: LNet does not wait there.
    fn drop(&mut self) {
        let attached = lock(&self.0.inner).attached.take();
        if let Some((md, _)) = attached {
            self.0.shared.node.unlink(md);
        }
    }
}

impl SourceDescriptor {
    /// The number of bytes.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// Begins to wait for the event of an RPC. Returns the descriptor and its match bits, if it is attached.
    pub(super) fn begin(&self, rpc: &Arc<OutgoingRpc>) -> Option<(Md, u64)> {
        let mut inner = lock(&self.inner);
        inner.rpc = Some(Arc::clone(rpc));
        inner.attached
    }

    /// Attaches the descriptor, for any sender, as those of other RPCs.
    pub(super) fn attach(self: &Arc<Self>, bits: u64) -> Result<Md, Errno> {
        // With an offset of the descriptor's own each RPC would begin behind the one before.
        let spec = MdSpec {
            gets: true,
            manage_remote: true,
            range: self.range.clone(),
            threshold: None,
            ..MdSpec::active(Arc::clone(&self.region), 1)
        };
        let criteria = MatchCriteria { from: None, bits, ignore: 0 };
        let md = self.shared.node.attach(
            PORTAL_REPLIES,
            criteria,
            spec,
            Arc::clone(self) as Arc<dyn EventHandler>,
        )?;
        lock(&self.inner).attached = Some((md, bits));
        Ok(md)
    }
}

impl EventHandler for SourceDescriptor {
    fn on_event(&self, event: &Event) {
        with_short_tasks(|| {
            // No RPC waits if a server fetches again what it has fetched.
            let rpc = lock(&self.inner).rpc.take();
            if let Some(rpc) = rpc {
                rpc.handle_last_event(Piece::Bulk, event);
            }
        });
    }
}

impl std::fmt::Debug for SourceDescriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceDescriptor({:?})", self.range)
    }
}
