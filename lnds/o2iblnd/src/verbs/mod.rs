//! The RDMA devices of the machine, by libibverbs and librdmacm.
//!
//! All calls of the libraries are in this folder: `ffi` declares them, `library` loads them, `cm` is the connection manager, `rdma`
//! registered memory, `conn` the queues of a connection, `asynchronous` the events of ports, `system` errors and file descriptors, and
//! `device` puts them together.
#![allow(unsafe_code)]

mod asynchronous;
mod cm;
mod conn;
mod device;
mod ffi;
mod library;
mod locked_memory;
mod rdma;
mod system;
mod unavailable;

use crate::device::{ConnId, Device, Devices, OpenError, OpenOptions};
use asynchronous::AsyncEvents;
use cm::Channel;
use device::VerbsDevice;
use library::{Functions, functions};
use lnet_core::Errno;
use rdma::Protection;
use std::sync::Once;

/// The RDMA devices of the machine.
#[derive(Debug)]
pub(crate) struct MachineDevices;

impl Devices for MachineDevices {
    fn check(&self, interface: &str) -> Result<(), OpenError> {
        match count(functions()?) {
            0 => Err(unavailable::no_device(interface)),
            _ => Ok(()),
        }
    }

    fn open(&self, interface: &str, options: OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        self.check(interface)?;
        let functions = functions()?;
        let devices = count(functions);
        locked_memory::check(options.depth)?;
        allow_fork(functions);
        let channel = Channel::new(functions)?;
        let listener = channel.id(ConnId(0)).map_err(|_| system::failed("rdma_create_id"))?;
        let (address, service) = (options.address, options.service);
        listener.bind(address, service).map_err(|errno| match errno {
            Errno::NoDevice | Errno::AddressNotAvailable => unavailable::not_its_address(address, devices),
            errno => OpenError::service(service, address, errno),
        })?;
        // SAFETY: the identifier lives; it has a device if its address is that of one.
        let (context, port, gid) =
            unsafe { ((*listener.id).verbs, (*listener.id).port_num, (*listener.id).route.sgid) };
        if context.is_null() {
            return Err(unavailable::not_its_address(address, devices));
        }
        let asynchronous = AsyncEvents::new(functions, context, port, gid)?;
        let protection = Protection::new(functions, context)?;
        Ok(Box::new(VerbsDevice::new(functions, options, channel, listener, protection, asynchronous)))
    }
}

/// The number of RDMA devices.
fn count(functions: &Functions) -> usize {
    let mut count = 0;
    // SAFETY: the call fills the number; the list is freed once.
    unsafe {
        let list = (functions.ibv_get_device_list)(&mut count);
        if list.is_null() {
            return 0;
        }
        (functions.ibv_free_device_list)(list);
    }
    usize::try_from(count).unwrap_or(0)
}

/// Lets the program fork while memory is registered: before Linux 5.12 the child's copy of a page could become the one that the device
/// writes to. To be called before memory is registered; newer systems need nothing, and the call does nothing there.
fn allow_fork(functions: &Functions) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the call has no arguments. Without success the program had registered memory before, and has decided for itself.
        unsafe { (functions.ibv_fork_init)() };
    });
}

#[cfg(test)]
mod layout_tests;
