//! The node as the C API uses it: one in this process, or one that this process is attached to.

use lnet_attach::client::AttachedNode;
use lnet_attach::record::{ClaimedBits, MatchEntry};
use lnet_core::event::EventHandler;
use lnet_core::topology::Distance;
use lnet_core::{DiscoveryMode, EqHandle, Errno, MdHandle, MdMemory, MdSpec, MeHandle, Polled, Target};
use lnet_dlc::request::{Ping, PingResponse};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, PingRequest, describe_peer};
use lnet_os::shared_memory::SharedMemory;
use lnet_wire::{Features, Nid, ProcessId};
use std::sync::Arc;
use std::time::Duration;

/// The calls of programs that have to do with messages and peers. Each is the C function of its name; the core's functions of these names
/// say more.
pub(crate) trait ProgramNode: Send + Sync {
    fn me_attach(&self, portal: u32, entry: MatchEntry) -> Result<MeHandle, Errno>;
    fn me_insert(&self, beside: MeHandle, entry: MatchEntry) -> Result<MeHandle, Errno>;
    fn me_unlink(&self, me: MeHandle) -> Result<(), Errno>;
    /// Unlinks an ME without an MD. [`Errno::Busy`] if it has one.
    fn me_unlink_unused(&self, me: MeHandle) -> Result<(), Errno>;
    /// `announce` gets the handle before the first event.
    fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno>;
    fn md_bind(&self, spec: MdSpec, memory: MdMemory, unlink: bool) -> Result<MdHandle, Errno>;
    fn md_unlink(&self, md: MdHandle) -> Result<(), Errno>;
    /// Waits for the MD's handler if that is running, but not in a handler.
    fn md_unlink_and_wait(&self, md: MdHandle) -> Result<(), Errno>;
    fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno>;
    fn eq_free(&self, eq: EqHandle) -> Result<(), Errno>;
    fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno>;
    /// `read` gets the event, if there is one, with the index of its queue. It is brief, and calls nothing of the node.
    fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
        read: &mut dyn FnMut(usize, &Polled),
    ) -> Result<(), Errno>;
    fn put(
        &self,
        from: Option<Nid>,
        md: MdHandle,
        ack: bool,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Errno>;
    fn get(&self, from: Option<Nid>, md: MdHandle, target: Target) -> Result<(), Errno>;
    fn set_lazy_portal(&self, portal: u32, is_lazy: bool) -> Result<(), Errno>;
    fn claim(&self, bits: ClaimedBits) -> Result<(), Errno>;
    fn release(&self, bits: ClaimedBits) -> Result<(), Errno>;
    fn ni_by_index(&self, index: u32) -> Result<ProcessId, Errno>;
    fn dist(&self, nid: Nid) -> Result<Distance, Errno>;
    fn primary_nid(&self, nid: Nid) -> Result<Nid, Errno>;
    fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno>;
    fn peer_discovered(&self, nid: Nid) -> Result<(), Errno>;
    fn discovers(&self) -> Result<bool, Errno>;
    /// Lines about a peer.
    fn describe_peer(&self, nid: Nid) -> Result<String, Errno>;
    /// The distance of CPU partitions; the largest of the machine without one.
    fn cpt_distance(&self, one: Option<u32>, other: Option<u32>) -> Result<u32, Errno>;
    /// The CPU partition of a NUMA node.
    fn cpt_of_node(&self, node: u32) -> Result<Option<u32>, Errno>;
    /// Lets the node access memory of this process in place, where that makes a difference.
    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno>;
    /// Ends the effect of `add_memory`.
    fn remove_memory(&self, memory: &SharedMemory);
    /// The NIDs of a node that responds to a ping.
    fn ping(&self, request: PingRequest) -> Result<PingResponse, Errno>;
}

impl ProgramNode for Node {
    fn me_attach(&self, portal: u32, entry: MatchEntry) -> Result<MeHandle, Errno> {
        let MatchEntry { from, match_bits, ignore_bits, unlink, position } = entry;
        self.core().data_path().me_attach(portal, from, match_bits, ignore_bits, unlink, position)
    }

    fn me_insert(&self, beside: MeHandle, entry: MatchEntry) -> Result<MeHandle, Errno> {
        let MatchEntry { from, match_bits, ignore_bits, unlink, position } = entry;
        self.core().data_path().me_insert(beside, from, match_bits, ignore_bits, unlink, position)
    }

    fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        self.core().data_path().me_unlink(me)
    }

    fn me_unlink_unused(&self, me: MeHandle) -> Result<(), Errno> {
        self.core().data_path().me_unlink_unused(me)
    }

    fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        self.core().data_path().md_attach(me, spec, memory, unlink, announce)
    }

    fn md_bind(&self, spec: MdSpec, memory: MdMemory, unlink: bool) -> Result<MdHandle, Errno> {
        self.core().data_path().md_bind(spec, memory, unlink)
    }

    fn md_unlink(&self, md: MdHandle) -> Result<(), Errno> {
        self.core().data_path().md_unlink(md)
    }

    fn md_unlink_and_wait(&self, md: MdHandle) -> Result<(), Errno> {
        self.core().data_path().md_unlink_and_wait(md)
    }

    fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        self.core().data_path().eq_alloc(count, handler)
    }

    fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.core().data_path().eq_free(eq)
    }

    fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.core().data_path().eq_get(eq)
    }

    fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
        read: &mut dyn FnMut(usize, &Polled),
    ) -> Result<(), Errno> {
        self.eq_poll_with(eqs, timeout, read).map(|_| ())
    }

    fn put(
        &self,
        from: Option<Nid>,
        md: MdHandle,
        ack: bool,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Errno> {
        self.core().data_path().put(from, md, ack, target, hdr_data)
    }

    fn get(&self, from: Option<Nid>, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.core().data_path().get(from, md, target)
    }

    fn set_lazy_portal(&self, portal: u32, is_lazy: bool) -> Result<(), Errno> {
        match is_lazy {
            true => self.core().data_path().set_lazy_portal(portal),
            false => self.core().data_path().clear_lazy_portal(portal),
        }
    }

    fn claim(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.claim(bits)
    }

    fn release(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.release(bits)
    }

    fn ni_by_index(&self, index: u32) -> Result<ProcessId, Errno> {
        self.core().ni_by_index(index).ok_or(Errno::NotFound)
    }

    fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        self.core().dist(nid)
    }

    fn primary_nid(&self, nid: Nid) -> Result<Nid, Errno> {
        Ok(self.core().admin().primary_nid(nid))
    }

    fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        self.core().admin().add_peer(nids)
    }

    fn peer_discovered(&self, nid: Nid) -> Result<(), Errno> {
        self.core().admin().peer_discovered(nid)
    }

    fn discovers(&self) -> Result<bool, Errno> {
        Ok(self.core().settings().discovery != DiscoveryMode::Off)
    }

    fn describe_peer(&self, nid: Nid) -> Result<String, Errno> {
        Ok(describe_peer(self.core(), nid))
    }

    fn cpt_distance(&self, one: Option<u32>, other: Option<u32>) -> Result<u32, Errno> {
        Ok(self.core().cpt_table().distance(one, other))
    }

    fn cpt_of_node(&self, node: u32) -> Result<Option<u32>, Errno> {
        Ok(self.core().cpt_table().of_node(node))
    }

    fn add_memory(&self, _: &Arc<SharedMemory>) -> Result<(), Errno> {
        Ok(())
    }

    fn remove_memory(&self, _: &SharedMemory) {}

    fn ping(&self, request: PingRequest) -> Result<PingResponse, Errno> {
        let info = self.ping(request)?.info;
        Ok(PingResponse {
            primary: request.target.nid,
            pid: info.pid.0,
            multi_rail: info.features.contains(Features::MULTI_RAIL),
            nids: info.entries.iter().map(|entry| entry.nid).collect(),
        })
    }
}

/// A node of another process, with the client that configures it.
pub(crate) struct Attached {
    pub(super) node: Arc<AttachedNode>,
    pub(super) control: Arc<dyn Backend + Send + Sync>,
}

impl ProgramNode for Attached {
    fn me_attach(&self, portal: u32, entry: MatchEntry) -> Result<MeHandle, Errno> {
        self.node.me_attach(portal, entry)
    }

    fn me_insert(&self, beside: MeHandle, entry: MatchEntry) -> Result<MeHandle, Errno> {
        self.node.me_insert(beside, entry)
    }

    fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        self.node.me_unlink(me)
    }

    fn me_unlink_unused(&self, me: MeHandle) -> Result<(), Errno> {
        self.node.me_unlink_unused(me)
    }

    fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        self.node.md_attach(me, spec, memory, unlink, announce)
    }

    fn md_bind(&self, spec: MdSpec, memory: MdMemory, unlink: bool) -> Result<MdHandle, Errno> {
        self.node.md_bind(spec, memory, unlink)
    }

    fn md_unlink(&self, md: MdHandle) -> Result<(), Errno> {
        self.node.md_unlink(md)
    }

    fn md_unlink_and_wait(&self, md: MdHandle) -> Result<(), Errno> {
        // It waits in any case.
        self.node.md_unlink(md)
    }

    fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        self.node.eq_alloc(count, handler)
    }

    fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.node.eq_free(eq)
    }

    fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.node.eq_get(eq)
    }

    fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
        read: &mut dyn FnMut(usize, &Polled),
    ) -> Result<(), Errno> {
        if let Some((at, polled)) = self.node.eq_poll(eqs, timeout)? {
            read(at, &polled);
        }
        Ok(())
    }

    fn put(
        &self,
        from: Option<Nid>,
        md: MdHandle,
        ack: bool,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Errno> {
        self.node.put(from, md, ack, target, hdr_data)
    }

    fn get(&self, from: Option<Nid>, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.node.get(from, md, target)
    }

    fn set_lazy_portal(&self, portal: u32, is_lazy: bool) -> Result<(), Errno> {
        self.node.set_lazy_portal(portal, is_lazy)
    }

    fn claim(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.node.claim(bits)
    }

    fn release(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.node.release(bits)
    }

    fn ni_by_index(&self, index: u32) -> Result<ProcessId, Errno> {
        self.node.ni_by_index(index)
    }

    fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        self.node.dist(nid)
    }

    fn primary_nid(&self, nid: Nid) -> Result<Nid, Errno> {
        self.node.primary_nid(nid)
    }

    fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        self.node.add_peer(nids)
    }

    fn peer_discovered(&self, nid: Nid) -> Result<(), Errno> {
        self.node.peer_discovered(nid)
    }

    fn discovers(&self) -> Result<bool, Errno> {
        self.node.discovers()
    }

    fn describe_peer(&self, nid: Nid) -> Result<String, Errno> {
        self.node.describe_peer(nid)
    }

    fn cpt_distance(&self, one: Option<u32>, other: Option<u32>) -> Result<u32, Errno> {
        self.node.cpt_distance(one, other)
    }

    fn cpt_of_node(&self, node: u32) -> Result<Option<u32>, Errno> {
        self.node.cpt_of_node(node)
    }

    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno> {
        self.node.add_memory(memory)
    }

    fn remove_memory(&self, memory: &SharedMemory) {
        // The node may be another one than at the time of the allocation.
        _ = self.node.remove_memory(memory.address());
    }

    fn ping(&self, request: PingRequest) -> Result<PingResponse, Errno> {
        if lnet_core::event::in_handler() {
            return Err(Errno::Busy);
        }
        let PingRequest { target, source, max_entries, timeout } = request;
        let timeout_ms = timeout.and_then(|timeout| u32::try_from(timeout.as_millis()).ok());
        let control: &dyn Backend = &*self.control;
        control.ask(Request::PingPeer(Ping { target, source, timeout_ms, max_nids: max_entries }))
    }
}
