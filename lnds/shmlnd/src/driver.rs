//! The driver as the core uses it.

use crate::config::{ShmlndConfig, TUNABLES};
use crate::engine::{Engine, Local};
use crate::host::{MAX_INTERFACES, Place, socket_name};
use crate::ni::{Command, ShmNi};
use lnd_common::engine_ni::{EngineNi, NiList};
use lnd_common::outputs::PassOutputs;
use lnd_common::sync::lock;
use lnet_core::lnd::{
    Driver, DriverConfig, DriverContext, Egress, FoundInterface, LndNi, NidSize, Progress, SendOutcome,
    StartError, Upcalls,
};
use lnet_core::topology::Ni;
use lnet_core::{Cause, Clock, Errno, NiTunables, OutgoingMessage, Pooled, start_error};
use lnet_log::History;
use lnet_log::LogClass;
use lnet_os::descriptor::new_epoll;
use lnet_os::local_socket::bind_local;
use lnet_settings::Row;
use lnet_wire::{NetId, NetType, Nid};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The driver of one node. It has a thread for each interface.
struct Shmlnd {
    config: ShmlndConfig,
    clock: Arc<dyn Clock>,
    history: Arc<History>,
    nis: NiList<ShmNi>,
    /// The names of interfaces that were found and have not started.
    reserved: Mutex<HashMap<Nid, (u32, OwnedFd)>>,
}

impl DriverConfig for ShmlndConfig {
    const NAME: &'static str = "shmlnd";
    const TUNABLES: &'static [Row<Self>] = TUNABLES;

    fn driver(&self, node: DriverContext) -> Arc<dyn Driver> {
        Arc::new(Shmlnd {
            config: self.clone(),
            clock: node.clock,
            history: node.history,
            nis: NiList::default(),
            reserved: Mutex::default(),
        })
    }
}

impl Driver for Shmlnd {
    fn net_type(&self) -> NetType {
        NetType::SHM
    }

    /// Finds the interface with a number, or the first that no node has, whose name the driver then keeps for the start.
    fn find_interface(
        &self,
        net: NetId,
        interface: Option<&str>,
        _: NidSize,
    ) -> Result<FoundInterface, StartError> {
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
            ShmNi::new(ni, upcalls, Arc::clone(&self.clock), &self.history, engine, epoll)
        };
        let shm_ni = make()
            .map_err(|error: io::Error| start_error!(Errno::from(&error), "{nid}: not started ({error})"))?;
        self.nis.add(&shm_ni);
        Ok(Arc::new(NiHandle(shm_ni)))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        self.nis.progress(timeout)
    }

    fn shutdown(&self) {
        lock(&self.reserved).clear();
    }
}

/// An interface as the core sees it.
struct NiHandle(Arc<ShmNi>);

impl LndNi for NiHandle {
    fn open(&self) {
        let opened = self.0.shared().lock().engine.as_ref().map_or(Ok(()), Engine::open);
        if let Err(error) = opened.and_then(|()| self.0.start_threads()) {
            lnet_log::write_line!(
                LogClass::ThreadFailed,
                "NI {}: its thread cannot start ({error}); no message arrives",
                self.0.nid
            );
        }
    }

    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        match self.0.submit(Command::Send(message)) {
            Err(Command::Send(message)) => SendOutcome::Done(message, Err(Errno::Shutdown.into())),
            _ => SendOutcome::Pending,
        }
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.0.tell(Command::Abort(peer, cause));
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        self.0.shared().lock().engine.as_ref()?.incarnation(peer)
    }

    fn shutdown(&self) {
        self.0.shut_down();
    }
}

/// A number that differs for each start of an interface.
fn new_incarnation() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64).max(1)
}
