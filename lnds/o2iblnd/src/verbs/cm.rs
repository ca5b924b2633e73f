//! The connection manager: its event channel, its identifiers, and what its events say.

use super::ffi::{
    RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, RDMA_PS_TCP, as_sockaddr, cm_event, rdma_cm_event, rdma_cm_id,
    rdma_conn_param, rdma_event_channel,
};
use super::library::Functions;
use super::system::{last_errno, set_nonblocking};
use super::unavailable;
use crate::device::{ConnId, OpenError};
use libc::{c_int, c_void, in_addr, sockaddr_in};
use lnet_core::Errno;
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::ptr::{null, null_mut};

/// The port below 1024 from which connections come; one port serves many (wire-o2ib 2).
const PRIVILEGED_PORT: u16 = 1023;

/// The event channel of an interface.
pub(super) struct Channel {
    functions: &'static Functions,
    channel: *mut rdma_event_channel,
}

/// An identifier of the connection manager, which ends with its value. Its queue pair has ended before.
pub(super) struct CmId {
    functions: &'static Functions,
    pub(super) id: *mut rdma_cm_id,
}

/// A copy of an event.
#[derive(Debug)]
pub(super) struct CmEvent {
    pub(super) id: *mut rdma_cm_id,
    pub(super) conn: ConnId,
    pub(super) kind: c_int,
    pub(super) status: c_int,
    pub(super) private_data: Vec<u8>,
}

impl Channel {
    pub(super) fn new(functions: &'static Functions) -> Result<Self, OpenError> {
        // SAFETY: the call has no arguments.
        let channel = unsafe { (functions.rdma_create_event_channel)() };
        if channel.is_null() {
            return Err(unavailable::no_connection_manager(last_errno()));
        }
        let channel = Self { functions, channel };
        set_nonblocking(channel.fd()).map_err(|errno| OpenError::Call { call: "fcntl", errno })?;
        Ok(channel)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as this value.
        unsafe { BorrowedFd::borrow_raw((*self.channel).fd) }
    }

    /// Makes an identifier whose events name `conn`.
    pub(super) fn id(&self, conn: ConnId) -> Result<CmId, Errno> {
        let mut id = null_mut();
        // SAFETY: the channel lives; the context is a number.
        let result =
            unsafe { (self.functions.rdma_create_id)(self.channel, &mut id, context(conn), RDMA_PS_TCP) };
        if result != 0 {
            return Err(last_errno());
        }
        Ok(CmId { functions: self.functions, id })
    }

    /// Takes the next event, if there is one, and acknowledges it.
    pub(super) fn next(&self) -> Option<CmEvent> {
        let mut event: *mut rdma_cm_event = null_mut();
        // SAFETY: the channel lives; the descriptor does not block.
        if unsafe { (self.functions.rdma_get_cm_event)(self.channel, &mut event) } != 0 {
            return None;
        }
        // SAFETY: the event is valid until it is acknowledged, and so is its private data, which is copied.
        let copy = unsafe {
            let its = &*event;
            let data = its.conn.private_data;
            let len = usize::from(its.conn.private_data_len);
            let private_data = match data.is_null() {
                true => Vec::new(),
                false => std::slice::from_raw_parts(data.cast::<u8>(), len).to_vec(),
            };
            CmEvent {
                id: its.id,
                conn: ConnId((*its.id).context as usize as u32),
                kind: its.event,
                status: its.status,
                private_data,
            }
        };
        // SAFETY: acknowledged once; nothing of the event is used afterwards.
        unsafe { (self.functions.rdma_ack_cm_event)(event) };
        Some(copy)
    }

    /// The identifier of a request, which from now on names `conn`.
    pub(super) fn adopt(&self, event: &CmEvent, conn: ConnId) -> CmId {
        debug_assert_eq!(event.kind, cm_event::CONNECT_REQUEST);
        // SAFETY: the identifier of a request is its receiver's.
        unsafe { (*event.id).context = context(conn) };
        CmId { functions: self.functions, id: event.id }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: all identifiers have ended, and all events are acknowledged.
        unsafe { (self.functions.rdma_destroy_event_channel)(self.channel) };
    }
}

impl CmId {
    /// Binds the identifier to an address of this host, and so to the address's device.
    pub(super) fn bind(&self, address: Ipv4Addr, port: u16) -> Result<(), Errno> {
        let mut address = socket_address(address, port);
        // SAFETY: the identifier lives; the call copies the address.
        self.check(unsafe { (self.functions.rdma_bind_addr)(self.id, as_sockaddr(&mut address)) })
    }

    /// Binds the identifier to an address and a port below 1024, if the process may use one.
    pub(super) fn bind_to_connect(&self, address: Ipv4Addr, privileged: bool) -> Result<(), Errno> {
        if privileged {
            let mut reuse: c_int = 1;
            let value = std::ptr::from_mut(&mut reuse).cast();
            // SAFETY: the identifier lives; the value is an int, as the option says. Without success the port may be in use.
            unsafe {
                (self.functions.rdma_set_option)(
                    self.id,
                    RDMA_OPTION_ID,
                    RDMA_OPTION_ID_REUSEADDR,
                    value,
                    size_of::<c_int>(),
                )
            };
            if self.bind(address, PRIVILEGED_PORT).is_ok() {
                return Ok(());
            }
        }
        self.bind(address, 0)
    }

    pub(super) fn listen(&self) -> Result<(), Errno> {
        // SAFETY: the identifier lives. A backlog of 0 is the system's.
        self.check(unsafe { (self.functions.rdma_listen)(self.id, 0) })
    }

    pub(super) fn resolve_address(&self, to: Ipv4Addr, port: u16, millis: c_int) -> Result<(), Errno> {
        let mut to = socket_address(to, port);
        // SAFETY: the identifier lives and is bound, so that no source is given; the call copies the address.
        let result =
            unsafe { (self.functions.rdma_resolve_addr)(self.id, null_mut(), as_sockaddr(&mut to), millis) };
        self.check(result)
    }

    pub(super) fn resolve_route(&self, millis: c_int) -> Result<(), Errno> {
        // SAFETY: the identifier lives.
        self.check(unsafe { (self.functions.rdma_resolve_route)(self.id, millis) })
    }

    pub(super) fn connect(&self, retries: Retries, private_data: &[u8]) -> Result<(), Errno> {
        let mut parameters = parameters(retries, private_data);
        // SAFETY: the identifier lives and has a queue pair; the call copies the parameters and the private data.
        self.check(unsafe { (self.functions.rdma_connect)(self.id, &mut parameters) })
    }

    pub(super) fn accept(&self, retries: Retries, private_data: &[u8]) -> Result<(), Errno> {
        let mut parameters = parameters(retries, private_data);
        // SAFETY: as for `connect`.
        self.check(unsafe { (self.functions.rdma_accept)(self.id, &mut parameters) })
    }

    pub(super) fn reject(&self, private_data: &[u8]) {
        let (data, len) = (private_data.as_ptr().cast(), private_data.len() as u8);
        // SAFETY: the identifier is that of a request; the call copies the private data. Without success the peer finds out in time.
        unsafe { (self.functions.rdma_reject)(self.id, data, len) };
    }

    pub(super) fn disconnect(&self) {
        // SAFETY: the identifier lives. A connection that has ended is an error without consequence.
        unsafe { (self.functions.rdma_disconnect)(self.id) };
    }

    /// The port from which the peer asks.
    pub(super) fn peer_port(&self) -> u16 {
        // SAFETY: the identifier is that of a request over IPv4, whose addresses are set.
        unsafe { u16::from_be((*self.id).route.dst.sin.sin_port) }
    }

    fn check(&self, result: c_int) -> Result<(), Errno> {
        if result == 0 { Ok(()) } else { Err(last_errno()) }
    }
}

impl Drop for CmId {
    fn drop(&mut self) {
        // SAFETY: the identifier was made for this value. Its queue pair has ended, and all its events are acknowledged.
        unsafe { (self.functions.rdma_destroy_id)(self.id) };
    }
}

/// How often packets are sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retries {
    pub(super) packets: u8,
    pub(super) not_ready: u8,
}

fn parameters(retries: Retries, private_data: &[u8]) -> rdma_conn_param {
    rdma_conn_param {
        private_data: if private_data.is_empty() { null() } else { private_data.as_ptr().cast() },
        private_data_len: private_data.len() as u8,
        responder_resources: 0,
        initiator_depth: 0,
        flow_control: 1,
        retry_count: retries.packets,
        rnr_retry_count: retries.not_ready,
        srq: 0,
        qp_num: 0,
    }
}

const fn context(conn: ConnId) -> *mut c_void {
    conn.0 as usize as *mut c_void
}

fn socket_address(address: Ipv4Addr, port: u16) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: in_addr { s_addr: u32::from(address).to_be() },
        sin_zero: [0; 8],
    }
}
