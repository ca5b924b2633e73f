//! A device as the driver uses it: connections, and what has happened to them.

use super::asynchronous::AsyncEvents;
use super::cm::{Channel, CmEvent, CmId, Retries};
use super::conn::Queues;
use super::ffi::{cm_event, ibv_cq};
use super::library::Functions;
use super::rdma::Protection;
use crate::device::{
    ConnId, ConnectError, Device, Event, FIRST_UNPRIVILEGED_PORT, Limits, OpenOptions, Paging, PortError,
    Registration, Setup, Slot, WorkId, Write,
};
use foldhash::HashMap;
use lnet_core::Errno;
use lnet_core::memory::MemRange;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

/// The time of one try to resolve an address or route. It is short: the system may miss the response, and does not ask again.
const RESOLVE_MILLIS: i32 = 500;
/// The completion events of a connection that are acknowledged at a time.
const ACKNOWLEDGED_AT_ONCE: u32 = 64;

/// An open device. The fields end in their order.
pub(super) struct VerbsDevice {
    functions: &'static Functions,
    options: OpenOptions,
    conns: HashMap<ConnId, Conn>,
    listener: CmId,
    protection: Protection,
    asynchronous: AsyncEvents,
    channel: Channel,
    last_conn: u32,
    /// The connections whose completion queues are not armed.
    busy: Vec<ConnId>,
    /// What `arm` has found.
    found: Vec<Event>,
}

/// A connection, whose fields end in their order.
struct Conn {
    queues: Option<Queues>,
    id: CmId,
    phase: Phase,
}

/// How far a connection is.
enum Phase {
    /// Its address or route is being resolved. So many more tries may be made.
    Resolving {
        to: Ipv4Addr,
        tries: u32,
        setup: Setup,
        private_data: Vec<u8>,
    },
    /// A peer has asked for it.
    Asked,
    /// The connection manager connects.
    Connecting,
    Up,
    Ended,
}

// SAFETY: the libraries may be called from any thread; one thread at a time uses the device, as `Device` says.
unsafe impl Send for VerbsDevice {}

impl VerbsDevice {
    pub(super) fn new(
        functions: &'static Functions,
        options: OpenOptions,
        channel: Channel,
        listener: CmId,
        protection: Protection,
        asynchronous: AsyncEvents,
    ) -> Self {
        Self {
            functions,
            options,
            conns: HashMap::default(),
            listener,
            protection,
            asynchronous,
            channel,
            last_conn: 0,
            busy: Vec::new(),
            found: Vec::new(),
        }
    }

    fn next_conn(&mut self) -> ConnId {
        self.last_conn += 1;
        ConnId(self.last_conn)
    }

    const fn retries(&self) -> Retries {
        Retries { packets: self.options.retry_count, not_ready: self.options.rnr_retry_count }
    }

    /// The tries to resolve an address in the time for it.
    fn tries(&self) -> u32 {
        u32::try_from(self.options.timeout.as_millis() / RESOLVE_MILLIS as u128).unwrap_or(u32::MAX).max(1)
    }

    /// Tries to resolve an address again, if there is time.
    fn resolve_again(&mut self, conn: ConnId) -> Option<()> {
        let service = self.options.service;
        let its = self.conns.get_mut(&conn)?;
        let Phase::Resolving { to, tries: tries @ 1.., .. } = &mut its.phase else { return None };
        *tries -= 1;
        its.id.resolve_address(*to, service, RESOLVE_MILLIS).ok()
    }

    /// Makes the queues of a connection; from then on it is looked at.
    fn add_queues(&mut self, conn: ConnId, setup: Setup) -> Result<(), Errno> {
        let its = self.conns.get_mut(&conn).ok_or(Errno::NotConnected)?;
        its.queues = Some(Queues::new(self.functions, its.id.id, conn, &self.protection, setup)?);
        self.busy.push(conn);
        Ok(())
    }

    /// Acts on an event of the connection manager, and returns the driver's.
    fn manage(&mut self, event: CmEvent) -> Option<Event> {
        if event.kind == cm_event::CONNECT_REQUEST {
            return self.asked(event);
        }
        let conn = event.conn;
        let failed = |error| Some(Event::Failed { conn, error });
        let error = || Errno::from_number(event.status.abs()).unwrap_or(Errno::TimedOut);
        let its = self.conns.get_mut(&conn)?;
        match event.kind {
            cm_event::ADDR_RESOLVED => {
                let result = its.id.resolve_route(RESOLVE_MILLIS);
                result.err().and_then(|errno| failed(ConnectError::Route(errno)))
            }
            cm_event::ROUTE_RESOLVED => {
                let result = self.connect_resolved(conn);
                result.err().and_then(|errno| failed(ConnectError::Local(errno)))
            }
            cm_event::ADDR_ERROR => match self.resolve_again(conn) {
                Some(()) => None,
                None => failed(ConnectError::Address(error())),
            },
            cm_event::ROUTE_ERROR => failed(ConnectError::Route(error())),
            cm_event::UNREACHABLE => failed(ConnectError::Unreachable(error())),
            cm_event::CONNECT_ERROR => failed(ConnectError::Local(error())),
            cm_event::REJECTED => {
                its.phase = Phase::Ended;
                let reason = u16::try_from(event.status).unwrap_or(0);
                Some(Event::Rejected { conn, reason, private_data: event.private_data })
            }
            cm_event::ESTABLISHED => {
                its.phase = Phase::Up;
                Some(Event::Established { conn, private_data: event.private_data })
            }
            cm_event::DISCONNECTED => Some(Event::Disconnected { conn }),
            cm_event::DEVICE_REMOVAL => Some(Event::Port(Err(PortError::DeviceGone))),
            _ => None,
        }
    }

    fn asked(&mut self, event: CmEvent) -> Option<Event> {
        let conn = self.next_conn();
        let id = self.channel.adopt(&event, conn);
        if self.options.require_privileged_port && id.peer_port() >= FIRST_UNPRIVILEGED_PORT {
            id.reject(&[]);
            return None;
        }
        self.conns.insert(conn, Conn { queues: None, id, phase: Phase::Asked });
        Some(Event::Request { conn, private_data: event.private_data })
    }

    fn connect_resolved(&mut self, conn: ConnId) -> Result<(), Errno> {
        let its = self.conns.get_mut(&conn).ok_or(Errno::NotConnected)?;
        let Phase::Resolving { setup, private_data, .. } =
            std::mem::replace(&mut its.phase, Phase::Connecting)
        else {
            return Err(Errno::Invalid);
        };
        self.add_queues(conn, setup)?;
        let retries = self.retries();
        self.conns.get(&conn).ok_or(Errno::NotConnected)?.id.connect(retries, &private_data)
    }

    /// Notes the connections that have completions. Returns whether there was a notification.
    fn take_completion_events(&mut self) -> bool {
        let mut took_events = false;
        loop {
            let (mut cq, mut number): (*mut ibv_cq, _) = (null_mut(), null_mut());
            // SAFETY: the channel lives as long as this value, and its descriptor does not block.
            let result =
                unsafe { (self.functions.ibv_get_cq_event)(self.protection.channel, &mut cq, &mut number) };
            if result != 0 {
                return took_events;
            }
            took_events = true;
            let conn = ConnId(number as usize as u32);
            if let Some(queues) = self.conns.get_mut(&conn).and_then(|its| its.queues.as_mut()) {
                queues.unacknowledged += 1;
                if queues.unacknowledged >= ACKNOWLEDGED_AT_ONCE {
                    // SAFETY: the queue is that of the event; it lives, as its connection does.
                    unsafe { (self.functions.ibv_ack_cq_events)(cq, queues.unacknowledged) };
                    queues.unacknowledged = 0;
                }
                if !self.busy.contains(&conn) {
                    self.busy.push(conn);
                }
            }
        }
    }

    fn poll_completions(&mut self, events: &mut Vec<Event>) {
        for conn in &self.busy {
            if let Some(queues) = self.conns.get_mut(conn).and_then(|its| its.queues.as_mut()) {
                queues.poll(*conn, events);
            }
        }
    }
}

impl Device for VerbsDevice {
    fn limits(&self) -> Limits {
        Limits { pieces: self.protection.pieces, on_demand: self.protection.on_demand }
    }

    fn listen(&mut self) -> Result<(), Errno> {
        self.listener.listen()
    }

    fn connect(&mut self, to: Ipv4Addr, setup: Setup, private_data: &[u8]) -> Result<ConnId, Errno> {
        let conn = self.next_conn();
        let id = self.channel.id(conn)?;
        id.bind_to_connect(self.options.address, self.options.privileged_port)?;
        id.resolve_address(to, self.options.service, RESOLVE_MILLIS)?;
        let phase = Phase::Resolving { to, tries: self.tries(), setup, private_data: private_data.to_vec() };
        self.conns.insert(conn, Conn { queues: None, id, phase });
        Ok(conn)
    }

    fn accept(&mut self, conn: ConnId, setup: Setup, private_data: &[u8]) -> Result<(), Errno> {
        self.add_queues(conn, setup)?;
        let retries = self.retries();
        let its = self.conns.get_mut(&conn).ok_or(Errno::NotConnected)?;
        its.id.accept(retries, private_data)?;
        its.phase = Phase::Connecting;
        Ok(())
    }

    fn reject(&mut self, conn: ConnId, private_data: &[u8]) {
        if let Some(its) = self.conns.remove(&conn) {
            its.id.reject(private_data);
        }
    }

    fn disconnect(&mut self, conn: ConnId) {
        if let Some(its) = self.conns.get_mut(&conn)
            && matches!(its.phase, Phase::Connecting | Phase::Up)
        {
            its.id.disconnect();
            its.phase = Phase::Ended;
        }
    }

    fn destroy(&mut self, conn: ConnId) {
        self.conns.remove(&conn);
        self.busy.retain(|its| *its != conn);
        self.found.retain(|event| event.conn() != Some(conn));
    }

    fn received(&self, conn: ConnId, slot: Slot, len: usize) -> &[u8] {
        let queues = self.conns.get(&conn).and_then(|its| its.queues.as_ref());
        queues.map_or(&[], |queues| queues.received(slot, len))
    }

    fn post_receive(&mut self, conn: ConnId, slot: Slot) -> Result<(), Errno> {
        let queues = self.conns.get_mut(&conn).and_then(|its| its.queues.as_mut());
        queues.ok_or(Errno::NotConnected)?.post_receive(slot)
    }

    fn post_send(
        &mut self,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno> {
        let queues = self.conns.get_mut(&conn).and_then(|its| its.queues.as_mut());
        queues.ok_or(Errno::NotConnected)?.post_send(work, writes, message)
    }

    fn register(&mut self, range: MemRange, paging: Paging) -> Result<Registration, Errno> {
        self.protection.register(range, paging)
    }

    fn deregister(&mut self, registration: Registration) {
        self.protection.deregister(registration);
    }

    fn poll(&mut self, events: &mut Vec<Event>) -> bool {
        events.append(&mut self.found);
        let mut took_events = false;
        // Events of the connection manager are taken first and passed on last, but for new connections: what a peer has sent before
        // it disconnects is received.
        let mut later = Vec::new();
        while let Some(event) = self.channel.next() {
            took_events = true;
            match self.manage(event) {
                Some(event @ (Event::Request { .. } | Event::Established { .. })) => events.push(event),
                Some(event) => later.push(event),
                None => {}
            }
        }
        took_events |= self.take_completion_events();
        self.poll_completions(events);
        events.append(&mut later);
        took_events | self.asynchronous.take(events)
    }

    fn poll_work(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.found);
        self.poll_completions(events);
    }

    fn arm(&mut self) -> bool {
        let Self { conns, busy, found, .. } = self;
        busy.retain(|conn| {
            let Some(queues) = conns.get_mut(conn).and_then(|its| its.queues.as_mut()) else { return false };
            queues.arm();
            queues.poll(*conn, found)
        });
        !self.found.is_empty()
    }

    fn descriptors(&self) -> Result<Vec<OwnedFd>, Errno> {
        let all = [self.channel.fd(), self.protection.fd(), self.asynchronous.fd()];
        let owned = all.into_iter().map(|fd| fd.try_clone_to_owned());
        owned.collect::<Result<_, _>>().map_err(|error: std::io::Error| Errno::from(&error))
    }
}
