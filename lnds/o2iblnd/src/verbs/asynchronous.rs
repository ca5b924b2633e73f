//! Events of a device and its port that belong to no connection.

use super::ffi::{IBV_PORT_ACTIVE, async_event, ibv_async_event, ibv_context, ibv_gid, ibv_port_attr};
use super::library::Functions;
use super::system::{failed, set_nonblocking};
use crate::device::{Event, OpenError, PortError};
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

/// A device that is opened for its events only: those of librdmacm's own are for everybody who uses it in this process.
pub(super) struct AsyncEvents {
    functions: &'static Functions,
    context: *mut ibv_context,
    port: u8,
    /// The GID of the interface's address.
    gid: ibv_gid,
}

impl AsyncEvents {
    /// The events of the device of `used`, as far as they concern a port. [`OpenError::PortDown`] if the port cannot be used.
    pub(super) fn new(
        functions: &'static Functions,
        used: *mut ibv_context,
        port: u8,
        gid: ibv_gid,
    ) -> Result<Self, OpenError> {
        // SAFETY: the context is that of an open device.
        let context = unsafe { (functions.ibv_open_device)((*used).device) };
        if context.is_null() {
            return Err(failed("ibv_open_device"));
        }
        let events = Self { functions, context, port, gid };
        set_nonblocking(events.fd()).map_err(|errno| OpenError::Call { call: "fcntl", errno })?;
        let attributes = events.port().ok_or_else(|| failed("ibv_query_port"))?;
        if attributes.state != IBV_PORT_ACTIVE {
            let (device, state) = events.names(attributes.state);
            return Err(OpenError::PortDown { device, port, state });
        }
        Ok(events)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the device is open as long as this value.
        unsafe { BorrowedFd::borrow_raw((*self.context).async_fd) }
    }

    /// Appends what has happened to the port.
    pub(super) fn take(&self, events: &mut Vec<Event>) -> bool {
        let mut took_events = false;
        loop {
            let mut event = ibv_async_event { port_num: 0, event_type: 0 };
            // SAFETY: the device is open, and its descriptor does not block; the call fills the event.
            if unsafe { (self.functions.ibv_get_async_event)(self.context, &mut event) } != 0 {
                return took_events;
            }
            took_events = true;
            // The number is an int in a union with pointers.
            let concerns_port = event.port_num as u32 == u32::from(self.port);
            let state = match event.event_type {
                async_event::DEVICE_FATAL => Some(Err(PortError::DeviceGone)),
                async_event::PORT_ERR if concerns_port => Some(Err(PortError::Down)),
                async_event::PORT_ACTIVE if concerns_port => Some(Ok(())),
                async_event::GID_CHANGE if concerns_port => Some(self.has_gid()),
                _ => None,
            };
            // SAFETY: acknowledged once.
            unsafe { (self.functions.ibv_ack_async_event)(&mut event) };
            events.extend(state.map(Event::Port));
        }
    }

    /// Whether the port still has the GID of the interface's address.
    fn has_gid(&self) -> Result<(), PortError> {
        let count = self.port().map_or(0, |attributes| attributes.gid_tbl_len);
        let has = (0..count).any(|index| {
            let mut gid = ibv_gid([0; 16]);
            // SAFETY: the device is open; the call fills the GID.
            let result = unsafe { (self.functions.ibv_query_gid)(self.context, self.port, index, &mut gid) };
            result == 0 && gid == self.gid
        });
        if has { Ok(()) } else { Err(PortError::GidChanged) }
    }

    fn port(&self) -> Option<ibv_port_attr> {
        // SAFETY: attributes consist of numbers.
        let mut attributes: ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the device is open; the call fills the attributes.
        let result = unsafe { (self.functions.ibv_query_port)(self.context, self.port, &mut attributes) };
        (result == 0).then_some(attributes)
    }

    /// The names of the device, and of a state of a port.
    fn names(&self, state: i32) -> (String, &'static str) {
        // SAFETY: the name is a string of the device, which is open.
        let device = unsafe { CStr::from_ptr((self.functions.ibv_get_device_name)((*self.context).device)) };
        // SAFETY: the library's words are strings that stay.
        let words = unsafe { CStr::from_ptr((self.functions.ibv_port_state_str)(state)) };
        (device.to_string_lossy().into_owned(), words.to_str().unwrap_or("unknown state"))
    }
}

impl Drop for AsyncEvents {
    fn drop(&mut self) {
        // SAFETY: opened for this value; every event is acknowledged.
        unsafe { (self.functions.ibv_close_device)(self.context) };
    }
}
