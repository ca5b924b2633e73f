//! Start, state and abandonment of operations.

use crate::ledger::{Op, OpKind, OpSpec, Start};
use crate::match_bits::{MATCH_BITS, OpId, PORTAL, operation_bits};
use crate::node::{lock, owned_memory};
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::{Clock, Core, Errno, Target, Time};
use lnet_wire::{Nid, Pid};

/// Operations.
impl World {
    /// Starts a PUT or GET from a node to a NID. `None` when the node is down or frozen.
    pub fn start_op(&mut self, node: NodeId, nid: Nid, ask: OpKind) -> Option<OpId> {
        self.start_op_with(node, nid, OpSpec { ask, ..OpSpec::default() })
    }

    /// Starts an operation as [`World::start_op`], with all parameters.
    pub fn start_op_with(&mut self, node: NodeId, nid: Nid, spec: OpSpec) -> Option<OpId> {
        if self.violation.is_some() {
            return None;
        }
        let core = self.core(node).filter(|_| !self.is_frozen(node))?;
        self.note(node, || format!("asks {nid}: {:?}", spec.ask));
        // On other portals there may be no response.
        let served = spec.portal == PORTAL;
        let paths = if served { self.paths(&core, node, nid, spec.source) } else { Vec::new() };
        let now = self.clock.now();
        let id = lock(&self.ledger).start(Start {
            node,
            target: nid,
            ask: spec.ask,
            bytes: spec.bytes,
            started: now,
            paths,
        });
        if let Err(errno) = self.begin(&core, id, node, nid, spec) {
            self.fail(format!("{node} cannot start an operation to {nid}: {}", errno.text()));
        }
        self.settle(node);
        Some(id)
    }

    fn begin(&self, core: &Core, id: OpId, node: NodeId, nid: Nid, spec: OpSpec) -> Result<(), Errno> {
        let OpSpec { ask, source, bytes, portal } = spec;
        let Some(incarnation) = self.nodes.get(node.0 as usize).and_then(|it| it.incarnation.as_ref()) else {
            return Err(Errno::Shutdown);
        };
        let threshold = if ask == OpKind::Put { 1 } else { 2 };
        let spec = incarnation.md_spec(id.0, threshold, bytes, 0);
        let (memory, owner) = owned_memory(bytes, operation_bits(id));
        let md = core.data_path().bind_owned(spec, memory, true, owner)?;
        lock(&self.ledger).set_md(id, md);
        let match_bits = MATCH_BITS | operation_bits(id);
        let target = Target { nid: Some(nid), pid: Pid::LUSTRE, portal, match_bits, offset: 0 };
        match ask {
            OpKind::Put => core.data_path().put(source, md, false, target, 0),
            OpKind::PutWithAck => core.data_path().put(source, md, true, target, 0),
            OpKind::Get => core.data_path().get(source, md, target),
        }
    }

    /// Returns the paths from a node to another, as far as it knows them.
    fn paths(&self, core: &Core, node: NodeId, nid: Nid, source: Option<Nid>) -> Vec<(Nid, Nid)> {
        if !self.deduplicates() {
            return Vec::new();
        }
        let nets = core.nets();
        let own = nets.nis().map(|ni| ni.nid()).filter(|own| source.is_none_or(|source| source == *own));
        let own: Vec<Nid> = own.collect();
        // A node that was restarted meanwhile responds on the path of the request, as it knows no other.
        if !self.owner(nid).is_some_and(|other| self.knows_all_nids(other, node)) {
            return Vec::new();
        }
        let known = core.admin().peer(nid).map(|(peer, _)| peer.nids.clone());
        let others = known.unwrap_or_else(|| vec![nid]);
        let pairs = own.iter().flat_map(|own| others.iter().map(|other| (*own, *other)));
        let reaches = |own: Nid, other: Nid| self.spec(node).is_some_and(|spec| spec.reaches(own, other));
        pairs.filter(|(own, other)| own.net() == other.net() && reaches(*own, *other)).collect()
    }

    /// Whether a node knows that all NIDs of another belong to one node.
    fn knows_all_nids(&self, node: NodeId, other: NodeId) -> bool {
        let nids = self.nids(other);
        nids.first().is_some_and(|first| {
            let believed = self.believed(node, *first);
            nids.iter().all(|nid| believed.contains(nid))
        })
    }

    /// Returns an operation with its state.
    pub fn op(&self, id: OpId) -> Option<Op> {
        lock(&self.ledger).op(id).cloned()
    }

    /// All operations, in the order in which they were started.
    pub fn ops(&self) -> Vec<Op> {
        lock(&self.ledger).all().to_vec()
    }

    /// Starts to note the operations that end, for [`World::take_ended_ops`].
    pub fn note_ended_ops(&mut self) {
        lock(&self.ledger).ended.get_or_insert_default();
    }

    /// Takes the operations that have ended since the last call, in the order of their ends; none unless
    /// [`World::note_ended_ops`] was called. Those of a node that has crashed do not end.
    pub fn take_ended_ops(&mut self) -> Vec<(OpId, Op)> {
        let ledger = &mut *lock(&self.ledger);
        let ids = ledger.ended.as_mut().map(std::mem::take).unwrap_or_default();
        ids.into_iter().filter_map(|id| Some((id, ledger.op(id)?.clone()))).collect()
    }

    /// Forgets the operations if all have ended, so that a measurement excludes the ledger.
    pub fn forget_ended_ops(&mut self) {
        lock(&self.ledger).forget_if_all_ended();
    }

    /// Returns the number of operations that have not ended.
    pub fn open_ops(&self) -> usize {
        lock(&self.ledger).count_open()
    }

    /// Returns the number of PUTs and GETs that nodes served.
    pub fn served(&self) -> u64 {
        lock(&self.ledger).served
    }

    /// Returns the number of operations that one incarnation of a node served twice; not counted with
    /// [`crate::Delivery::Socket`].
    pub fn doubled(&self) -> u64 {
        lock(&self.ledger).doubled
    }

    /// Gives up the operations that began before `before` and have not ended, as an application finally does.
    pub fn give_up_ops(&mut self, before: Time) {
        let late: Vec<OpId> = {
            let ledger = lock(&self.ledger);
            ledger.open().filter(|(_, op)| op.started <= before).map(|(id, _)| id).collect()
        };
        late.into_iter().for_each(|id| self.give_up(id));
    }

    fn give_up(&mut self, id: OpId) {
        let Some((node, Some(md))) = lock(&self.ledger).op(id).map(|op| (op.node, op.md)) else { return };
        let Some(core) = self.core(node) else { return };
        self.note(node, || format!("gives up operation {}", id.0));
        lock(&self.ledger).given_up(id);
        // The unlink may be under way already.
        let _ = core.data_path().md_unlink(md);
        self.settle(node);
    }

    pub(crate) fn give_up_send_failed(&mut self) {
        let send_failed = std::mem::take(&mut lock(&self.ledger).send_failed);
        for id in send_failed {
            let Some((node, Some(md))) = lock(&self.ledger).op(id).map(|op| (op.node, op.md)) else {
                continue;
            };
            if let Some(core) = self.core(node) {
                let _ = core.data_path().md_unlink(md);
            }
        }
    }
}
