//! The functions of the C API, with the results and errors that a node of this process has.

use super::AttachedNode;
use super::descriptor::{NewMd, ProgramMd};
use crate::record::{Answer, ClaimedBits, Descriptor, MatchEntry, Operation, PlainPut};
use lnd_common::outputs::PassOutputs;
use lnd_common::sync::lock;
use lnet_core::event::{EventHandler, EventQueue, in_handler};
use lnet_core::topology::Distance;
use lnet_core::{EqHandle, Errno, MdHandle, MdMemory, MdSpec, MeHandle, Target};
use lnet_wire::{MAX_PAYLOAD, MAX_PORTALS, Nid, ProcessId};
use rustix::event::Timespec;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The time that PUTs and GETs have to leave when the program ends the attachment, and the interval of looking whether they have.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The time that the node has to end what the program has on it.
const LEAVE_TIMEOUT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

impl AttachedNode {
    /// The name of the node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `LNetMEAttach`.
    pub fn me_attach(&self, portal: u32, entry: MatchEntry) -> Result<MeHandle, Errno> {
        self.cookie(&Operation::MeAttach { portal, entry }).map(MeHandle::from_cookie)
    }

    /// `LNetMEInsert`.
    pub fn me_insert(&self, beside: MeHandle, entry: MatchEntry) -> Result<MeHandle, Errno> {
        self.cookie(&Operation::MeInsert { beside, entry }).map(MeHandle::from_cookie)
    }

    /// `LNetMEUnlink`.
    pub fn me_unlink(&self, me: MeHandle) -> Result<(), Errno> {
        self.nothing(&Operation::MeUnlink { me })
    }

    /// The end of an ME without an MD, after an `LNetMDAttach` of 2.15 that has failed. [`Errno::Busy`] if it has one.
    pub fn me_unlink_unused(&self, me: MeHandle) -> Result<(), Errno> {
        self.nothing(&Operation::MeUnlinkUnused { me })
    }

    /// `LNetMDAttach`. `announce` gets the handle before the first event. PUTs that waited for the MD are delivered by the calling thread.
    pub fn md_attach(
        &self,
        me: MeHandle,
        spec: MdSpec,
        memory: MdMemory,
        unlink: bool,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        let make = |md| Operation::MdAttach { me, md };
        self.make_md(NewMd { spec, memory }, unlink, make, announce)
    }

    /// `LNetMDBind`.
    pub fn md_bind(&self, spec: MdSpec, memory: MdMemory, unlink: bool) -> Result<MdHandle, Errno> {
        let mut handle = None;
        let make = |md| Operation::MdBind { md };
        self.make_md(NewMd { spec, memory }, unlink, make, &mut |md| handle = Some(md))?;
        handle.ok_or(Errno::Protocol)
    }

    fn make_md(
        &self,
        new: NewMd,
        unlink: bool,
        make: impl FnOnce(Descriptor) -> Operation,
        announce: &mut dyn FnMut(MdHandle),
    ) -> Result<(), Errno> {
        let (spec, near) = (new.spec, new.memory.near());
        let (md, memory) = self.new_md(new)?;
        // The node has a queue of its own for all MDs of the program.
        let descriptor = Descriptor {
            spec: MdSpec { eq: None, ..spec },
            memory,
            unlink,
            near,
            has_handler: md.has_handler(),
        };
        let made = || {
            if let Some(handle) = md.handle() {
                announce(handle);
                self.open(&md);
            }
        };
        self.call_for_md(&make(descriptor), &md, made).map(|_| ()).inspect_err(|_| Self::discard(&md))
    }

    /// `LNetMDUnlink`. An idle MD reports UNLINK before this returns.
    pub fn md_unlink(&self, handle: MdHandle) -> Result<(), Errno> {
        let md = self.md(handle)?;
        self.nothing(&Operation::MdUnlink { md: handle })?;
        self.wait_until_delivered(&md);
        Ok(())
    }

    /// `LNetEQAlloc`.
    pub fn eq_alloc(&self, count: u32, handler: Option<EventHandler>) -> Result<EqHandle, Errno> {
        let queue = Arc::new(EventQueue::new(count, handler)?);
        let handle = lock(&self.queues).insert(queue)?;
        // The end of the attachment ends the queues that are there by then.
        if self.has_ended.load(Ordering::SeqCst) {
            self.end_queues();
            return Err(Errno::NetworkDown);
        }
        Ok(handle)
    }

    /// `LNetEQFree`.
    pub fn eq_free(&self, eq: EqHandle) -> Result<(), Errno> {
        self.queue(eq)?.wait_unused()?;
        let queue = lock(&self.queues).remove(eq)?;
        queue.end(Errno::NotFound);
        Ok(())
    }

    pub(super) fn queue(&self, eq: EqHandle) -> Result<Arc<EventQueue>, Errno> {
        lock(&self.queues).find(eq).map(Arc::clone)
    }

    /// `LNetPut`. Does not wait for the node if there is no reason for the PUT to fail at once; its events come later.
    pub fn put(
        &self,
        from: Option<Nid>,
        md: MdHandle,
        ack: bool,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Errno> {
        let put = PlainPut { md, ack, target, hdr_data };
        match from {
            None => self.put_again(&put).unwrap_or_else(|| self.put_anew(None, &put)),
            Some(_) => self.put_anew(from, &put),
        }
    }

    /// Sends any PUT, and remembers it for [`AttachedNode::put_again`].
    #[inline(never)]
    fn put_anew(&self, from: Option<Nid>, put: &PlainPut) -> Result<(), Errno> {
        let PlainPut { md, ack, target, hdr_data } = *put;
        let its = self.md(md)?;
        its.copy_out();
        let failures = self.failures.load(Ordering::SeqCst);
        let may_be_posted = self.leads_on(from, target, its.len());
        let operation = Operation::Put { from, md, ack, target, hdr_data };
        self.request(&its, ack, may_be_posted, &operation)?;
        if from.is_none() && may_be_posted && !its.is_copied() {
            self.note_put(put, &its, failures);
        }
        Ok(())
    }

    /// `LNetGet`, as [`AttachedNode::put`].
    pub fn get(&self, from: Option<Nid>, md: MdHandle, target: Target) -> Result<(), Errno> {
        let its = self.md(md)?;
        let may_be_posted = self.leads_on(from, target, its.len());
        self.request(&its, true, may_be_posted, &Operation::Get { from, md, target })
    }

    /// Whether a message on this way has left before, and one of `len` bytes may. To the program itself over the loopback the events
    /// come before the call returns, as those of a node of this process do, and so do those of a first failure.
    fn leads_on(&self, from: Option<Nid>, target: Target, len: u32) -> bool {
        let Some(nid) = target.nid else { return false };
        if target.portal >= MAX_PORTALS || len > MAX_PAYLOAD || (nid.is_loopback() && target.pid == self.pid)
        {
            return false;
        }
        let reached = lock(&self.reached);
        reached.get(&nid).is_some_and(|origins| from.is_none_or(|from| origins.contains(&from)))
    }

    /// Sends a PUT or GET. `responds`: whether an ACK or REPLY is wanted.
    fn request(
        &self,
        md: &ProgramMd,
        responds: bool,
        may_be_posted: bool,
        operation: &Operation,
    ) -> Result<(), Errno> {
        self.unsent.fetch_add(1, Ordering::SeqCst);
        let sent = match may_be_posted && md.begin_posted(responds) {
            true if self.has_ended.load(Ordering::SeqCst) => Err(Errno::NetworkDown),
            true => self.send(0, operation),
            false => {
                let result = self.nothing(operation);
                if result.is_ok() {
                    md.note_request(responds);
                }
                result
            }
        };
        sent.inspect_err(|_| {
            self.unsent.fetch_sub(1, Ordering::SeqCst);
        })
    }

    /// `LNetSetLazyPortal`, `LNetClearLazyPortal`.
    pub fn set_lazy_portal(&self, portal: u32, is_lazy: bool) -> Result<(), Errno> {
        self.nothing(&Operation::Lazy { portal, is_lazy })
    }

    /// `LNetClaimBits`.
    pub fn claim(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.nothing(&Operation::Claim { bits })
    }

    /// `LNetReleaseBits`.
    pub fn release(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.nothing(&Operation::Release { bits })
    }

    /// `LNetGetId`.
    pub fn ni_by_index(&self, index: u32) -> Result<ProcessId, Errno> {
        match self.call(&Operation::Interface { index })? {
            Answer::Process(nid, pid) => Ok(ProcessId { nid, pid }),
            _ => Err(Errno::Protocol),
        }
    }

    /// `LNetDist`.
    pub fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        match self.call(&Operation::Distance { nid })? {
            Answer::Distance { hops, order, source } => Ok(Distance { hops, source, order }),
            _ => Err(Errno::Protocol),
        }
    }

    /// `LNetPrimaryNID`.
    pub fn primary_nid(&self, nid: Nid) -> Result<Nid, Errno> {
        match self.call(&Operation::PrimaryNid { nid })? {
            Answer::Process(nid, _) => Ok(nid),
            _ => Err(Errno::Protocol),
        }
    }

    /// `LNetAddPeer`. [`Errno::Busy`] in an event handler.
    pub fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        if in_handler() {
            return Err(Errno::Busy);
        }
        self.nothing(&Operation::AddPeer { nids: nids.to_vec() })
    }

    /// `LNetPeerDiscovered`.
    pub fn peer_discovered(&self, nid: Nid) -> Result<(), Errno> {
        self.nothing(&Operation::PeerDiscovered { nid })
    }

    /// `LNetGetPeerDiscoveryStatus`: whether the node discovers others.
    pub fn discovers(&self) -> Result<bool, Errno> {
        self.cookie(&Operation::DiscoveryStatus).map(|number| number != 0)
    }

    /// What the node knows of a peer, for `LNetDebugPeer`.
    pub fn describe_peer(&self, nid: Nid) -> Result<String, Errno> {
        match self.call(&Operation::DescribePeer { nid })? {
            Answer::Text(text) => Ok(text),
            _ => Err(Errno::Protocol),
        }
    }

    /// `cfs_cpt_distance`: the distance of CPU partitions; the largest of the machine without one.
    pub fn cpt_distance(&self, one: Option<u32>, other: Option<u32>) -> Result<u32, Errno> {
        let number = self.cookie(&Operation::CptDistance { one, other })?;
        u32::try_from(number).map_err(|_| Errno::Protocol)
    }

    /// `cfs_cpt_of_node`: the CPU partition of a NUMA node.
    pub fn cpt_of_node(&self, node: u32) -> Result<Option<u32>, Errno> {
        match self.cookie(&Operation::CptOfNode { node }) {
            Ok(number) => Ok(u32::try_from(number).ok()),
            Err(Errno::NotFound) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Ends the attachment: the MEs, MDs and queues are gone, without events, and the PID is free; waits for handlers that are running.
    /// PUTs and GETs have two seconds to leave. A second call has no effect.
    pub fn shutdown(&self) {
        let begun = Instant::now();
        while self.unsent.load(Ordering::SeqCst) > 0
            && !self.has_ended.load(Ordering::SeqCst)
            && begun.elapsed() < DRAIN_TIMEOUT
        {
            thread::sleep(POLL_INTERVAL);
        }
        self.is_ending.store(true, Ordering::SeqCst);
        _ = self.stream.shutdown(Shutdown::Write);
        self.wait_for_end(&LEAVE_TIMEOUT);
        _ = self.stream.shutdown(Shutdown::Both);
        self.wake_owner();
        self.threads.join();
        self.wait_for_handlers();
    }

    fn nothing(&self, operation: &Operation) -> Result<(), Errno> {
        self.call(operation).map(|_| ())
    }

    fn cookie(&self, operation: &Operation) -> Result<u64, Errno> {
        match self.call(operation)? {
            Answer::Number(cookie) => Ok(cookie),
            _ => Err(Errno::Protocol),
        }
    }
}
