//! The driver as the core uses it.

use crate::config::{ShmlndConfig, TUNABLES};
use crate::engine::{Engine, Local};
use crate::host::{MAX_INTERFACES, Place, socket_name};
use crate::ni::{Command, ShmNi};
use crate::threads::{turn_for_all, wait_for_any};
use lnd_common::deliverers::Role;
use lnd_common::sync::{lock, try_lock};
use lnet_core::event::in_handler;
use lnet_core::lnd::{
    Driver, DriverConfig, DriverContext, Egress, FoundInterface, LndNi, Progress, SendOutcome, StartError,
    Upcalls,
};
use lnet_core::topology::Ni;
use lnet_core::{Cause, Clock, Errno, NiTunables, OutgoingMessage, Pooled, start_error};
use lnet_log::LogClass;
use lnet_os::descriptor::new_epoll;
use lnet_os::local_socket::bind_local;
use lnet_settings::Row;
use lnet_wire::{NetId, NetType, Nid};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The driver of one node. It has a thread for each interface.
struct Shmlnd {
    config: ShmlndConfig,
    clock: Arc<dyn Clock>,
    nis: Mutex<Vec<Weak<ShmNi>>>,
    /// The names of interfaces that were found and have not started.
    reserved: Mutex<HashMap<Nid, (u32, OwnedFd)>>,
    /// The lock of the application thread that looks at the rings: one at a time.
    app_poller: Mutex<()>,
}

impl DriverConfig for ShmlndConfig {
    const NAME: &'static str = "shmlnd";
    const TUNABLES: &'static [Row<Self>] = TUNABLES;

    fn driver(&self, node: DriverContext) -> Arc<dyn Driver> {
        Arc::new(Shmlnd {
            config: self.clone(),
            clock: node.clock,
            nis: Mutex::default(),
            reserved: Mutex::default(),
            app_poller: Mutex::default(),
        })
    }
}

impl Driver for Shmlnd {
    fn net_type(&self) -> NetType {
        NetType::SHM
    }

    /// Finds the interface with a number, or the first that no node has, whose name the driver then keeps for the start.
    fn find_interface(&self, net: NetId, interface: Option<&str>) -> Result<FoundInterface, StartError> {
        let place = Place::of_this_process().map_err(|error| {
            start_error!(
                Errno::from(&error),
                "net {net}: not usable (this host cannot be told from others: {error})"
            )
        })?;
        let net = place.net(net);
        if let Some(name) = interface {
            let number = name.parse().ok().filter(|number| (1..=MAX_INTERFACES).contains(number));
            let Some(number) = number else {
                return Err(start_error!(
                    Errno::NoDevice,
                    "interface {name}: not usable (it is no number from 1 to 1024)"
                ));
            };
            return Ok(FoundInterface { nid: place.nid(net, number), name: name.to_owned() });
        }
        let mut reserved = lock(&self.reserved);
        if let Some((nid, (number, _))) = reserved.iter().find(|(nid, _)| nid.net() == net) {
            return Ok(FoundInterface { nid: *nid, name: number.to_string() });
        }
        for number in 1..=MAX_INTERFACES {
            let nid = place.nid(net, number);
            match bind_local(&socket_name(nid)) {
                Ok(socket) => {
                    reserved.insert(nid, (number, socket));
                    return Ok(FoundInterface { nid, name: number.to_string() });
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => {
                    return Err(start_error!(Errno::from(&error), "net {net}: not usable ({error})"));
                }
            }
        }
        Err(start_error!(Errno::NoDevice, "net {net}: not usable (its 1024 interfaces are taken)"))
    }

    fn egress(&self) -> Egress {
        Egress::OwnLink
    }

    fn ni_tunables(&self) -> NiTunables {
        self.config.ni
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let nid = ni.nid();
        let socket = match lock(&self.reserved).remove(&nid) {
            Some((_, socket)) => socket,
            None => bind_local(&socket_name(nid)).map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => {
                    start_error!(Errno::AddressInUse, "{nid}: not started (another node has this NID)")
                }
                _ => start_error!(Errno::from(&error), "{nid}: not started ({error})"),
            })?,
        };
        let local = Local { nid, incarnation: new_incarnation(), ring_words: self.config.ring_words() };
        let make = || {
            let epoll = Arc::new(new_epoll()?);
            let engine = Engine::new(local, socket, Arc::clone(&epoll))?;
            ShmNi::new(ni, upcalls, Arc::clone(&self.clock), engine, epoll)
        };
        let shm_ni = make()
            .map_err(|error: io::Error| start_error!(Errno::from(&error), "{nid}: not started ({error})"))?;
        let mut nis = lock(&self.nis);
        nis.retain(|ni| ni.strong_count() > 0);
        nis.push(Arc::downgrade(&shm_ni));
        Ok(Arc::new(NiHandle(shm_ni)))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        let Some(_polling) = try_lock(&self.app_poller) else { return Progress::NotOffered };
        if in_handler() || self.ni(0).is_none() {
            return Progress::NotOffered;
        }
        let all = || (0..).map_while(|at| self.ni(at));
        if turn_for_all(all()) {
            return Progress::Worked;
        }
        if timeout.is_zero() {
            return Progress::Idle;
        }
        let nis: Vec<Arc<ShmNi>> = all().collect();
        if wait_for_any(&nis, timeout) { Progress::Worked } else { Progress::Idle }
    }

    fn shutdown(&self) {
        lock(&self.reserved).clear();
    }
}

impl Shmlnd {
    /// The interface at a place of the list, which is not locked afterwards.
    fn ni(&self, at: usize) -> Option<Arc<ShmNi>> {
        let nis = lock(&self.nis);
        nis.iter().filter_map(Weak::upgrade).nth(at)
    }
}

/// An interface as the core sees it.
struct NiHandle(Arc<ShmNi>);

impl LndNi for NiHandle {
    fn open(&self) {
        let opened = lock(&self.0.state).engine.as_ref().map_or(Ok(()), Engine::open);
        if let Err(error) = opened.and_then(|()| self.0.start()) {
            lnet_log::write_line!(
                LogClass::ThreadFailed,
                "NI {}: its thread cannot start ({error}); no message arrives",
                self.0.nid
            );
        }
    }

    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        if let Err(Command::Send(message)) = self.0.push(Command::Send(message)) {
            return SendOutcome::Done(message, Err(Errno::Shutdown.into()));
        }
        self.0.step();
        if self.0.has_outputs() {
            self.0.wake();
        }
        SendOutcome::Pending
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.0.tell(Command::Abort(peer, cause));
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        lock(&self.0.state).engine.as_ref()?.incarnation(peer)
    }

    fn shutdown(&self) {
        let ni = &self.0;
        ni.is_ending.store(true, Ordering::SeqCst);
        ni.wake();
        // An event handler may end the interface. The thread that waits for all handlers does not wait for that one.
        let role = ni.deliverers.leave(std::thread::current().id());
        if role == Some(Role::Owner) {
            ni.end();
        }
        ni.threads.join();
        // Without a thread nobody has done it.
        ni.end();
    }
}

/// A number that differs for each start of an interface.
fn new_incarnation() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64).max(1)
}
