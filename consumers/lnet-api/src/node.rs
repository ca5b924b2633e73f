//! The LNet node of this process: descriptors, messages, and its information about peers.

use crate::Errno;
use crate::event::{EventHandler, MdContext};
use crate::md::{Md, MdSpec};
use crate::{Counters, Nid, ProcessId, RegionOwner, sys};
use liblnet::raw::{Queue, in_handler};
use std::convert::Infallible;
use std::ffi::{c_long, c_uint};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Criteria for the messages that match an entry.
#[derive(Clone, Copy, Debug)]
pub struct MatchCriteria {
    /// The sender, by its primary NID; `None`: any (PR-34).
    pub from: Option<ProcessId>,
    /// The match bits.
    pub bits: u64,
    /// The bits that are ignored.
    pub ignore: u64,
}

/// The wish of the sender of a PUT for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// The target sends an ACK.
    Wanted,
    /// The target sends no ACK.
    No,
}

/// [`Node::progress`] polls LNet for this time, and returns after this number of polls in a row without an event.
const POLL_MS: c_long = 1;
const MAX_IDLE_POLLS: u32 = 3;

/// The distance of a NID (PR-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The number of hops: 0 for this node; 1 on a local net; otherwise the number of gateways plus one.
    pub hops: u32,
    /// Rank among equal distances: lower is better.
    pub order: u32,
    /// The nearest local NI.
    pub local_nid: Nid,
}

/// A reference on LNet, which is up as long as there is one.
#[derive(Debug)]
pub struct Node {
    /// The queue of all descriptors. It is there until this node is dropped.
    queue: Arc<Queue<MdContext>>,
    /// Whether a thread is in [`Node::progress`].
    in_progress: AtomicBool,
    /// Sender that is dropped when this node has ended.
    end_signal: Option<Sender<Infallible>>,
}

impl Node {
    /// Starts LNet, or takes a reference on it if it runs. Must not be called from an event handler.
    pub fn start() -> Result<Arc<Self>, Errno> {
        Self::start_with_end_signal(None)
    }

    /// Starts LNet like [`Node::start`]; `end_signal` is dropped when this node has ended, which may be on another thread.
    pub fn start_with_end_signal(end_signal: Option<Sender<Infallible>>) -> Result<Arc<Self>, Errno> {
        Errno::check(sys::LNetNIInit(sys::LNET_PID_LUSTRE))?;
        // The handler gets every event. The one that the queue stores ends a poll of `progress`.
        match Queue::new(1) {
            Ok(queue) => {
                Ok(Arc::new(Self { queue: Arc::new(queue), in_progress: AtomicBool::new(false), end_signal }))
            }
            Err(errno) => {
                sys::LNetNIFini();
                Err(errno_of(errno))
            }
        }
    }

    /// Makes progress in LNet on the calling thread, in place of LNet's own, until `done` returns true or no event comes
    /// for some milliseconds: events that come soon are processed without waking a thread. One thread at a time; others
    /// return at once.
    ///
    /// Event handlers run inside, so this must not be called from one.
    pub fn progress(&self, done: impl Fn() -> bool) {
        if self.in_progress.swap(true, Ordering::Acquire) {
            return;
        }
        let mut idle_polls = 0;
        while idle_polls < MAX_IDLE_POLLS && !done() {
            let has_event = self.queue.poll(POLL_MS) == Ok(true);
            idle_polls += u32::from(!has_event);
        }
        self.in_progress.store(false, Ordering::Release);
    }

    /// Attaches a descriptor at a portal, behind the existing ones. The match entry is unlinked with it.
    pub fn attach(
        &self,
        portal: u32,
        criteria: MatchCriteria,
        spec: MdSpec,
        handler: Arc<dyn EventHandler>,
    ) -> Result<Md, Errno> {
        let md = spec.to_c(&spec.region).ok_or(Errno::Invalid)?;
        // SAFETY: `md` describes memory of the region, which the owner keeps until the last event.
        unsafe {
            self.attach_md(
                portal,
                criteria,
                md,
                MdContext { handler, region: Some(spec.region), tag: spec.tag },
            )
        }
    }

    /// Attaches a descriptor of the handler's own memory, like [`Node::attach`]. The descriptor drops its share in the handler after the last
    /// event was handled.
    pub fn attach_own<H: EventHandler + RegionOwner + 'static>(
        &self,
        portal: u32,
        criteria: MatchCriteria,
        spec: &MdSpec<()>,
        handler: Arc<H>,
    ) -> Result<Md, Errno> {
        let md = spec.to_c(handler.region()).ok_or(Errno::Invalid)?;
        // SAFETY: `md` describes memory of a region that is the handler's, and the owner keeps the handler until the last event.
        unsafe { self.attach_md(portal, criteria, md, MdContext { handler, region: None, tag: spec.tag }) }
    }

    /// Attaches a descriptor at a portal.
    ///
    /// # Safety
    /// As for [`Node::post`].
    unsafe fn attach_md(
        &self,
        portal: u32,
        criteria: MatchCriteria,
        md: sys::lnet_md,
        owner: MdContext,
    ) -> Result<Md, Errno> {
        let any = sys::lnet_process_id { nid: sys::LNET_NID_ANY, pid: sys::LNET_PID_ANY };
        let from = criteria.from.map_or(Some(any), ProcessId::to_c).ok_or(Errno::Invalid)?;
        let mut me = sys::lnet_handle_me { cookie: sys::COOKIE_NONE };
        Errno::check(sys::LNetMEAttach(
            portal as c_uint,
            from,
            criteria.bits,
            criteria.ignore,
            sys::LNET_UNLINK,
            sys::LNET_INS_AFTER,
            &mut me,
        ))?;
        // SAFETY: `md.start` points into a region of the node's user, which `owner` keeps alive until the queue drops it after the last event.
        let attached =
            unsafe { self.post(owner, md, |md, handle| sys::LNetMDAttach(me, md, sys::LNET_UNLINK, handle)) };
        if attached.is_err() {
            sys::LNetMEUnlink(me);
        }
        attached
    }

    /// Makes a descriptor to send from, or to fetch into.
    pub fn bind(&self, spec: MdSpec, handler: Arc<dyn EventHandler>) -> Result<Md, Errno> {
        let md = spec.to_c(&spec.region).ok_or(Errno::Invalid)?;
        let owner = MdContext { handler, region: Some(spec.region), tag: spec.tag };
        // SAFETY: `md` describes memory of the region, which the owner keeps until the last event.
        unsafe { self.post(owner, md, |md, handle| sys::LNetMDBind(md, sys::LNET_UNLINK, handle)) }
    }

    /// Makes a descriptor by a call of `make`, which is `LNetMDAttach` or `LNetMDBind`; LNet calls the handler of the queue until the last event.
    ///
    /// # Safety
    /// `md` describes memory of a region that the owner keeps until the last event.
    unsafe fn post(
        &self,
        owner: MdContext,
        md: sys::lnet_md,
        make: impl FnOnce(sys::lnet_md, *mut sys::lnet_handle_md) -> i32,
    ) -> Result<Md, Errno> {
        // SAFETY: `md.start` points into a region of the node's user, which `owner` keeps alive until the queue drops it after the last event. What else may access the memory meanwhile is up to those who hold the region (`Region`).
        let made = unsafe { self.queue.post(owner, md, make) };
        made.map(Md).map_err(errno_of)
    }

    /// Unlinks a descriptor. Its last event comes before this returns, or when its operations in progress have ended. Has no
    /// effect after the last event.
    pub fn unlink(&self, md: Md) {
        sys::LNetMDUnlink(md.0);
    }

    /// Sends a descriptor's memory. `from`: the NI to send from; `None`: LNet selects one. After an error there is no event.
    #[allow(clippy::too_many_arguments, reason = "those of LNetPut")]
    pub fn put(
        &self,
        from: Option<Nid>,
        md: Md,
        ack: Ack,
        to: ProcessId,
        portal: u32,
        match_bits: u64,
        offset: u32,
        hdr_data: u64,
    ) -> Result<(), Errno> {
        let to = to.to_c().ok_or(Errno::Invalid)?;
        let ack = if ack == Ack::Wanted { sys::LNET_ACK_REQ } else { sys::LNET_NOACK_REQ };
        let from = self_nid(from)?;
        Errno::check(sys::LNetPut(from, md.0, ack, to, portal, match_bits, offset, hdr_data)).map(drop)
    }

    /// Fetches into a descriptor's memory.
    pub fn get(
        &self,
        from: Option<Nid>,
        md: Md,
        to: ProcessId,
        portal: u32,
        match_bits: u64,
        offset: u32,
    ) -> Result<(), Errno> {
        let to = to.to_c().ok_or(Errno::Invalid)?;
        let from = self_nid(from)?;
        Errno::check(sys::LNetGet(from, md.0, to, portal, match_bits, offset)).map(drop)
    }

    /// Returns the primary NID of a peer. May discover the peer, which takes twice a transaction timeout at most.
    pub fn primary_nid(&self, nid: Nid) -> Nid {
        let Some(raw) = nid.to_u64() else { return nid };
        Nid::from_u64(sys::LNetPrimaryNID(raw)).unwrap_or(nid)
    }

    /// Returns the distance to a NID.
    pub fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        let raw = nid.to_u64().ok_or(Errno::Invalid)?;
        let (mut source, mut order) = (0, 0);
        let distance = Errno::check(sys::LNetDist(raw, &mut source, &mut order))?;
        let local_nid = Nid::from_u64(source).ok_or(Errno::Invalid)?;
        Ok(Distance { hops: distance.unsigned_abs(), order, local_nid })
    }

    /// Declares NIDs to be one peer, the first its primary NID (PR-43).
    pub fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        let mut raw =
            nids.iter().map(|nid| nid.to_u64()).collect::<Option<Vec<_>>>().ok_or(Errno::Invalid)?;
        let count = raw.len().try_into().map_err(|_| Errno::Invalid)?;
        // SAFETY: that many numbers, which LNet only reads.
        Errno::check(unsafe { sys::LNetAddPeer(raw.as_mut_ptr(), count) }).map(drop)
    }

    /// Discovers a peer again; returns its primary NID.
    pub fn rediscover(&self, peer: ProcessId) -> Result<Nid, Errno> {
        const VERSION: u32 = 0x0001_000b;
        let mut nids = [sys::lnet_process_id { nid: 0, pid: 0 }; 16];
        let ping_id = peer.to_c().ok_or(Errno::Invalid)?;
        let mut ping = sys::lnet_ioctl_ping_data::whose(ping_id, VERSION, &mut nids);
        // SAFETY: the argument of this command, with memory for as many NIDs as it says.
        Errno::check(unsafe { sys::LNetCtl(sys::IOC_LIBCFS_DISCOVER, (&raw mut ping).cast()) })?;
        Nid::from_u64(ping.ping_id.nid).ok_or(Errno::Invalid)
    }

    /// Returns the NIDs of this node, `0@lo` first.
    pub fn local_nids(&self) -> Vec<Nid> {
        let nid_of = |index| {
            let mut id = sys::lnet_process_id { nid: 0, pid: 0 };
            let rc = sys::LNetGetId(index, &mut id);
            (rc == 0).then(|| Nid::from_u64(id.nid)).flatten()
        };
        (0..).map_while(nid_of).collect()
    }

    /// Returns the numbers of messages and bytes that the node has sent and received so far.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        sys::lnet_counters_get(&mut counters);
        counters
    }

    /// Makes a portal lazy, so that messages without a match wait there (PR-32), or ends that.
    pub fn set_lazy(&self, portal: u32, lazy: bool) -> Result<(), Errno> {
        let portal = portal.try_into().map_err(|_| Errno::Invalid)?;
        let rc = match lazy {
            true => sys::LNetSetLazyPortal(portal),
            false => sys::LNetClearLazyPortal(portal),
        };
        Errno::check(rc).map(drop)
    }
}

/// The errors of both crates are the numbers of C.
const fn errno_of(errno: liblnet::Errno) -> Errno {
    Errno::from_c(errno.to_c())
}

fn self_nid(from: Option<Nid>) -> Result<u64, Errno> {
    from.map_or(Some(sys::LNET_NID_ANY), Nid::to_u64).ok_or(Errno::Invalid)
}

impl Drop for Node {
    /// Waits for the last events of all descriptors, which their owners have unlinked.
    fn drop(&mut self) {
        let (queue, end_signal) = (Arc::clone(&self.queue), self.end_signal.take());
        let end = move || {
            queue.close();
            sys::LNetNIFini();
            drop(end_signal);
        };
        match in_handler() {
            false => end(),
            // LNet must not be called here, and the event that is being handled has not ended.
            // If the system has no thread left, LNet stays up.
            true => drop(lnet_os::thread::spawn(std::thread::Builder::new(), end)),
        }
    }
}
