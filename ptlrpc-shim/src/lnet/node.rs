//! This node of LNet: what a process has of it, and what it asks of it.

use super::count::Count;
use super::event::{handle, in_handler};
use super::md::{Md, MdSpec, Posted, Sink};
use super::{Nid, ProcessId, sys};
use crate::errno::Errno;
use std::convert::Infallible;
use std::ffi::{c_long, c_uint};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Who may match an entry, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// The sender, by its primary NID; `None`: anybody (PR-34).
    pub from: Option<ProcessId>,
    /// Match bits.
    pub bits: u64,
    /// Those of them that do not count.
    pub ignore: u64,
}

/// Whether the target of a PUT confirms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// It does.
    Wanted,
    /// It does not.
    No,
}

/// A thread that waits sits in LNet for so long at a time, and sleeps elsewhere after so many times in which nothing came.
const TURN_MS: c_long = 1;
const IDLE_TURNS: u32 = 3;

/// How far a NID is (PR-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// 0: this node; 1: on a net of this node's; more: behind so many gateways less one.
    pub hops: u32,
    /// Lower is better, among those that are as far.
    pub order: u32,
    /// The interface of this node that is nearest to it.
    pub own: Nid,
}

/// LNet, up for as long as this is there.
#[derive(Debug)]
pub struct Node {
    eq: sys::lnet_handle_eq,
    /// A thread is in [`Node::hasten`].
    hastened: AtomicBool,
    count: Arc<Count>,
    /// Dropped when all is over.
    over: Option<Sender<Infallible>>,
}

impl Node {
    /// Brings LNet up, or takes part in it where it is up. Not from an event handler.
    pub fn start() -> Result<Arc<Self>, Errno> {
        Self::start_watched(None)
    }

    /// The same; `over` is dropped when this node is gone, wherever that may be.
    pub(crate) fn start_watched(over: Option<Sender<Infallible>>) -> Result<Arc<Self>, Errno> {
        // SAFETY: takes a number.
        Errno::check(unsafe { sys::LNetNIInit(sys::LNET_PID_LUSTRE) })?;
        let mut eq = sys::lnet_handle_eq { cookie: sys::COOKIE_NONE };
        // The handler has every event. The one that the queue keeps ends a turn of `hasten`.
        // SAFETY: `handle` is there for ever, and every descriptor of this queue is made by `post`.
        match Errno::check(unsafe { sys::LNetEQAlloc(1, Some(handle), &raw mut eq) }) {
            Ok(_) => Ok(Arc::new(Self { eq, hastened: AtomicBool::new(false), count: Arc::default(), over })),
            Err(errno) => {
                // SAFETY: one for the `LNetNIInit` above.
                unsafe { sys::LNetNIFini() };
                Err(errno)
            }
        }
    }

    /// Does what LNet has to do, in place of its threads, until `done` says that it is enough or for some milliseconds nothing
    /// comes: what comes soon is had without anybody being woken. One thread at a time; others return at once.
    ///
    /// Event handlers run inside, so this must not be called from one.
    pub fn hasten(&self, done: impl Fn() -> bool) {
        if self.hastened.swap(true, Ordering::Acquire) {
            return;
        }
        let (mut eq, mut which) = (self.eq, 0);
        let mut event = MaybeUninit::uninit();
        let mut idle_turns = 0;
        while idle_turns < IDLE_TURNS && !done() {
            // SAFETY: one queue, of this node's; an event is written to where there is room for one, and not read.
            let got = unsafe { sys::LNetEQPoll(&raw mut eq, 1, TURN_MS, event.as_mut_ptr(), &raw mut which) };
            let has_come = got == 1 || Errno::check(got) == Err(Errno::OVERFLOW);
            idle_turns += u32::from(!has_come);
        }
        self.hastened.store(false, Ordering::Release);
    }

    /// Lets others reach memory at a portal: the entry goes with its descriptor, after those that are there.
    pub fn attach(
        &self,
        portal: u32,
        criteria: Criteria,
        spec: MdSpec,
        sink: Arc<dyn Sink>,
    ) -> Result<Md, Errno> {
        let any = sys::lnet_process_id { nid: sys::LNET_NID_ANY, pid: sys::LNET_PID_ANY };
        let from = criteria.from.map_or(Some(any), ProcessId::to_c).ok_or(Errno::INVALID)?;
        let mut me = super::sys::lnet_handle_me { cookie: sys::COOKIE_NONE };
        // SAFETY: numbers, and where to write a handle.
        Errno::check(unsafe {
            sys::LNetMEAttach(
                portal as c_uint,
                from,
                criteria.bits,
                criteria.ignore,
                sys::LNET_UNLINK,
                sys::LNET_INS_AFTER,
                &raw mut me,
            )
        })?;
        // SAFETY: what `post` gives; LNet calls `handle` with it until the last event.
        let attached = self
            .post(&spec, sink, |md, handle| unsafe { sys::LNetMDAttach(me, md, sys::LNET_UNLINK, handle) });
        if attached.is_err() {
            // SAFETY: a number.
            unsafe { sys::LNetMEUnlink(me) };
        }
        attached
    }

    /// Makes a descriptor to send from, or to fetch into.
    pub fn bind(&self, spec: &MdSpec, sink: Arc<dyn Sink>) -> Result<Md, Errno> {
        // SAFETY: what `post` gives; LNet calls `handle` with it until the last event.
        self.post(spec, sink, |md, handle| unsafe { sys::LNetMDBind(md, sys::LNET_UNLINK, handle) })
    }

    fn post(
        &self,
        spec: &MdSpec,
        sink: Arc<dyn Sink>,
        make: impl FnOnce(sys::lnet_md, *mut sys::lnet_handle_md) -> i32,
    ) -> Result<Md, Errno> {
        let posted = Posted { sink, _region: Arc::clone(&spec.region), _count: self.count.one() };
        let posted = Box::into_raw(Box::new(posted));
        let mut handle = sys::lnet_handle_md { cookie: sys::COOKIE_NONE };
        let made = match spec.to_c(self.eq, posted) {
            Some(md) => Errno::check(make(md, &raw mut handle)),
            None => Err(Errno::INVALID),
        };
        match made {
            Ok(_) => Ok(Md(handle)),
            Err(errno) => {
                // SAFETY: the box of above, which nobody has: there is no descriptor.
                drop(unsafe { Box::from_raw(posted) });
                Err(errno)
            }
        }
    }

    /// Ends a descriptor. Its last event comes before this returns, or when what is under way has ended. One that had its
    /// last event is left alone.
    pub fn unlink(&self, md: Md) {
        // SAFETY: a number.
        unsafe { sys::LNetMDUnlink(md.0) };
    }

    /// Sends a descriptor's memory. `from`: the interface to send from, or whichever is best. An error here means that there
    /// will be no event of it.
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
        let to = to.to_c().ok_or(Errno::INVALID)?;
        let ack = if ack == Ack::Wanted { sys::LNET_ACK_REQ } else { sys::LNET_NOACK_REQ };
        let from = self_nid(from)?;
        // SAFETY: numbers.
        Errno::check(unsafe { sys::LNetPut(from, md.0, ack, to, portal, match_bits, offset, hdr_data) })
            .map(drop)
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
        let to = to.to_c().ok_or(Errno::INVALID)?;
        let from = self_nid(from)?;
        // SAFETY: numbers.
        Errno::check(unsafe { sys::LNetGet(from, md.0, to, portal, match_bits, offset) }).map(drop)
    }

    /// The NID by which a peer is known. May find the peer out first, for twice a transaction time-out at most.
    pub fn primary_nid(&self, nid: Nid) -> Nid {
        let Some(raw) = nid.to_u64() else { return nid };
        // SAFETY: a number.
        Nid::from_u64(unsafe { sys::LNetPrimaryNID(raw) }).unwrap_or(nid)
    }

    /// How far a NID is.
    pub fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        let raw = nid.to_u64().ok_or(Errno::INVALID)?;
        let (mut source, mut order) = (0, 0);
        // SAFETY: a number, and where to write two.
        let distance = Errno::check(unsafe { sys::LNetDist(raw, &raw mut source, &raw mut order) })?;
        let own = Nid::from_u64(source).ok_or(Errno::INVALID)?;
        Ok(Distance { hops: distance.unsigned_abs(), order, own })
    }

    /// These NIDs are one peer, known by the first (PR-43).
    pub fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        let mut raw =
            nids.iter().map(|nid| nid.to_u64()).collect::<Option<Vec<_>>>().ok_or(Errno::INVALID)?;
        let count = raw.len().try_into().map_err(|_| Errno::INVALID)?;
        // SAFETY: that many numbers, which LNet only reads.
        Errno::check(unsafe { sys::LNetAddPeer(raw.as_mut_ptr(), count) }).map(drop)
    }

    /// Asks a peer anew which NIDs it has; its primary NID.
    pub fn rediscover(&self, peer: ProcessId) -> Result<Nid, Errno> {
        const VERSION: u32 = 0x0001_000b;
        let mut nids = [sys::lnet_process_id { nid: 0, pid: 0 }; 16];
        let ping_id = peer.to_c().ok_or(Errno::INVALID)?;
        let mut ping = sys::lnet_ioctl_ping_data::whose(ping_id, VERSION, &mut nids);
        // SAFETY: the argument of this command, with room for as many NIDs as it says.
        Errno::check(unsafe { sys::LNetCtl(sys::IOC_LIBCFS_DISCOVER, (&raw mut ping).cast()) })?;
        Nid::from_u64(ping.ping_id.nid).ok_or(Errno::INVALID)
    }

    /// The NIDs of this node, `0@lo` first.
    pub fn own_nids(&self) -> Vec<Nid> {
        let nid_of = |index| {
            let mut id = sys::lnet_process_id { nid: 0, pid: 0 };
            // SAFETY: a number, and where to write an id.
            let rc = unsafe { sys::LNetGetId(index, &raw mut id) };
            (rc == 0).then(|| Nid::from_u64(id.nid)).flatten()
        };
        (0..).map_while(nid_of).collect()
    }

    /// What comes to this portal and matches nothing waits there (PR-32), or is dropped again.
    pub fn set_lazy(&self, portal: u32, lazy: bool) -> Result<(), Errno> {
        let portal = portal.try_into().map_err(|_| Errno::INVALID)?;
        // SAFETY: a number.
        let rc = unsafe {
            match lazy {
                true => sys::LNetSetLazyPortal(portal),
                false => sys::LNetClearLazyPortal(portal),
            }
        };
        Errno::check(rc).map(drop)
    }
}

fn self_nid(from: Option<Nid>) -> Result<u64, Errno> {
    from.map_or(Some(sys::LNET_NID_ANY), Nid::to_u64).ok_or(Errno::INVALID)
}

impl Drop for Node {
    /// Waits for the last events of all descriptors, which their owners have unlinked.
    fn drop(&mut self) {
        let (eq, count, over) = (self.eq, Arc::clone(&self.count), self.over.take());
        let end = move || {
            count.wait_for_none();
            // SAFETY: a number; no descriptor is left on the queue.
            unsafe { sys::LNetEQFree(eq) };
            // SAFETY: one for the `LNetNIInit` of `start`.
            unsafe { sys::LNetNIFini() };
            drop(over);
        };
        match in_handler() {
            false => end(),
            // LNet must not be called here, and the event that is being told of is not over.
            true => drop(std::thread::spawn(end)),
        }
    }
}
