//! A monitor of the machine's links and addresses: an interface of this node whose link or address is gone is marked as
//! down, and as up when both are back (HE-4).
//!
//! A netlink message only triggers a new listing of all links and addresses. So a message that is lost, late, or
//! about something else does no harm.

mod egress;
mod fault;
mod host_links;
pub(crate) mod host_subnets;
mod netlink;
pub(crate) mod subnet;

use host_links::LinkAddress;
use lnet_core::Core;
use lnet_core::FatalReporter;
use lnet_core::topology::Ni;
use lnet_log::{LogClass, write_line};
use lnet_os::descriptor::new_eventfd;
use lnet_os::thread::JoinHandle;
use lnet_wire::{IpPrefix, Nid};
use netlink::{NetlinkSocket, Wakeup};
use std::fmt::Debug;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use subnet::{Placed, misrouted};

/// Somebody who is told, by the thread of the monitor, that links or addresses of the machine may have changed.
pub(crate) trait LinkListener: Debug + Send + Sync {
    /// Does what follows from it. The monitor compares the interfaces of the node after that.
    fn links_changed(&self);
}

/// The link monitor of one node. Its thread, `lnet_links`, starts with the first interface that needs it, and ends
/// with [`Links::end`], not when this is dropped.
#[derive(Debug)]
pub(crate) struct Links {
    /// The process in which the thread runs: a child of `fork` does not have it.
    process: u32,
    listener: Arc<dyn LinkListener>,
    state: Mutex<LinkState>,
    /// Held while the thread is joined, so that every caller of [`Links::end`] waits; the thread itself may need the state until then.
    joining: Mutex<()>,
}

#[derive(Debug)]
enum LinkState {
    /// No interface needs the monitor yet.
    Idle,
    Watching(Watch),
    /// No netlink socket is available; that has been logged.
    Unavailable,
    Ended,
}

#[derive(Debug)]
struct Watch {
    /// An event descriptor that becomes readable when the thread should end.
    end: Arc<OwnedFd>,
    handle: JoinHandle<()>,
}

impl Links {
    /// A monitor without interfaces: its thread starts with [`Links::cover`].
    pub(crate) fn new(listener: Arc<dyn LinkListener>) -> Self {
        let process = std::process::id();
        Self { process, listener, state: Mutex::new(LinkState::Idle), joining: Mutex::default() }
    }

    /// Monitors the interface `nid` of `core`, if it is on a net over IP; its current state is known when this
    /// returns. If the machine provides no link state, that is logged once, and every interface counts as up.
    pub(crate) fn cover(&self, core: &Arc<Core>, nid: Nid) {
        let nets = core.nets();
        let is_on_ip = nets.ni(nid).is_some_and(|ni| ni.config().ip_address.is_some());
        if is_on_ip && self.watch(core) {
            check(core, Some(nid));
        }
    }

    /// Starts the thread unless it runs. Returns whether it runs.
    pub(crate) fn watch(&self, core: &Arc<Core>) -> bool {
        let state = &mut *self.state();
        if matches!(state, LinkState::Idle) {
            *state = Watch::start(core, &self.listener).map_or_else(
                |error| {
                    write_line!(
                        LogClass::LinksUnwatched,
                        "links and addresses of this machine: cannot be watched ({error}); interfaces count as up"
                    );
                    LinkState::Unavailable
                },
                LinkState::Watching,
            );
        }
        matches!(state, LinkState::Watching(_))
    }

    /// Ends the monitoring, and waits for the end of the thread. Every caller waits, except a process that
    /// does not have the thread.
    pub(crate) fn end(&self) {
        if std::process::id() != self.process {
            return;
        }
        let _joining = self.joining.lock().unwrap_or_else(PoisonError::into_inner);
        let state = std::mem::replace(&mut *self.state(), LinkState::Ended);
        if let LinkState::Watching(Watch { end, handle }) = state {
            // Cannot fail: the counter is at 0.
            let _ = rustix::io::write(&end, &1_u64.to_ne_bytes());
            if handle.join().is_none() {
                write_line!(
                    LogClass::ThreadFailed,
                    "thread lnet_links: ended by an internal error (panic), see above; please report"
                );
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Starts the thread. Subscribes before the links are listed for the first time, so that no change is missed.
    fn start(core: &Arc<Core>, listener: &Arc<dyn LinkListener>) -> io::Result<Self> {
        let netlink = NetlinkSocket::subscribe()?;
        let end = Arc::new(new_eventfd()?);
        let (core, listener, ended) = (Arc::clone(core), Arc::clone(listener), Arc::clone(&end));
        let thread = thread::Builder::new().name("lnet_links".to_owned());
        let handle = lnet_os::thread::spawn(thread, move || run(&core, &*listener, &netlink, &ended))?;
        Ok(Self { end, handle })
    }
}

/// The link that has an address, unless the links cannot be listed.
pub(crate) fn device_of(address: IpAddr) -> Option<String> {
    link_with(address, &host_links::entries().ok()?).map(|(link, _)| link)
}

/// The warnings about interfaces in the subnet of `new`, on other links, that send there by a link that is not their own.
/// `own_link` is the setting that prevents it.
pub(crate) fn misrouted_nis(core: &Core, new: Nid, own_link: Option<&'static str>) -> Vec<String> {
    // The monitor logs it if the links cannot be listed.
    let Ok(machine) = host_links::entries() else { return Vec::new() };
    let nets = core.nets();
    let all: Vec<Placed> = nets.nis().filter_map(|ni| placed(ni, &machine)).collect();
    misrouted(new, &all, own_link, egress::device).iter().map(ToString::to_string).collect()
}

/// The place of an interface among the host's links; `None` if it has no IP address of its own.
fn placed(ni: &Ni, machine: &[LinkAddress]) -> Option<Placed> {
    let address = ni.config().ip_address?;
    let (device, subnet) = link_with(address, machine)?;
    Some(Placed { nid: ni.nid(), address, subnet, device })
}

/// The link that has an address itself, and the subnet of the address; `None` for the addresses of a whole net, such
/// as those of the loopback.
fn link_with(address: IpAddr, machine: &[LinkAddress]) -> Option<(String, IpPrefix)> {
    let has_it = |entry: &&LinkAddress| entry.address == Some(address) && entry.whole_net.is_none();
    machine.iter().find(has_it).and_then(link_and_subnet)
}

/// The link of an entry, and the subnet of its address: the address alone where no prefix is listed. `None` for an entry without an address.
fn link_and_subnet(
    LinkAddress { name, address, prefix_len, .. }: &LinkAddress,
) -> Option<(String, IpPrefix)> {
    let address = (*address)?;
    let all = if address.is_ipv6() { 128 } else { 32 };
    let bits = prefix_len.and_then(|bits| u8::try_from(bits).ok()).unwrap_or(all);
    // The label of an alias begins with the name of its link.
    let device = name.split_once(':').map_or(name.as_str(), |(link, _)| link).to_owned();
    Some((device, IpPrefix::new(address, bits)?))
}

fn run(core: &Core, listener: &dyn LinkListener, netlink: &NetlinkSocket, end: &OwnedFd) {
    let mut listed = true;
    loop {
        match netlink.wait(end, !listed) {
            Ok(Wakeup::Changed) => {
                listener.links_changed();
                listed = check(core, None);
            }
            Ok(Wakeup::Shutdown) => return,
            Err(error) => {
                write_line!(
                    LogClass::LinksUnwatched,
                    "links and addresses of this machine: no longer watched ({error}); interfaces keep their state"
                );
                return;
            }
        }
    }
}

/// Compares this node's interfaces, or only one of them, with the current links. Returns whether these could be listed.
///
/// Two threads may do so at the same time: if the last one has the older list, a netlink message has arrived
/// meanwhile, and another check follows.
fn check(core: &Core, only: Option<Nid>) -> bool {
    let nets = core.nets();
    let concerned = |ni: &&Arc<Ni>| only.is_none_or(|only| ni.nid() == only);
    let mut nis =
        nets.nis().filter(concerned).filter_map(|ni| Some((ni, ni.config().ip_address?))).peekable();
    if nis.peek().is_none() {
        return true;
    }
    let Ok(machine) = host_links::entries().inspect_err(|error| {
        core.log(
            LogClass::LinkListFailed,
            "links",
            format_args!("links of this machine: cannot be listed ({error}); trying again"),
        );
    }) else {
        return false;
    };
    for (ni, address) in nis {
        let name = ni.config().interface.as_deref();
        let with_it = machine.iter().find(|entry| entry.address == Some(address));
        ni.set_prefix_len(with_it.and_then(|entry| entry.prefix_len).unwrap_or(0));
        let fault = fault::fault_of(address, name, &machine, host_links::is_local);
        core.admin().set_ni_fatal(
            ni.nid(),
            FatalReporter::Host,
            fault.map(|fault| fault.to_string()).as_deref(),
        );
    }
    true
}
