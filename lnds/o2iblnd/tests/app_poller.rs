//! An application's thread that takes the events of a device while it waits, and the interface's own thread, which sleeps meanwhile.
#![allow(clippy::unwrap_used)]

mod hosts;

use hosts::{Host, Memory, Pair};
use lnet_core::memory::MemRange;
use lnet_core::{EventKind, MdOptions};
use lnet_os::descriptor::{new_eventfd, wake};
use lnet_wire::Errno;
use o2iblnd::device::model::{ModelDevice, ModelNet};
use o2iblnd::device::{
    ConnId, Device, Devices, Event, Limits, OpenError, OpenOptions, Paging, Registration, Setup, Slot,
    WorkId, Write,
};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Devices whose descriptor becomes readable once for each time that this is asked for, as that of completion queues does, and only when the
/// test says so: whatever has happened before was taken by another thread in time.
#[derive(Debug)]
struct OneShot {
    net: ModelNet,
    is_armed: AtomicBool,
    notified: OwnedFd,
}

impl OneShot {
    fn notify(&self) {
        if self.is_armed.swap(false, Ordering::SeqCst) {
            wake(&self.notified);
        }
    }
}

#[derive(Debug)]
struct OneShotDevices(Arc<OneShot>);

impl Devices for OneShotDevices {
    fn open(&self, _: &str, options: OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        let device = self.0.net.device(options.address).unwrap();
        Ok(Box::new(OneShotDevice { device, shared: Arc::clone(&self.0) }))
    }
}

struct OneShotDevice {
    device: ModelDevice,
    shared: Arc<OneShot>,
}

impl Device for OneShotDevice {
    fn poll(&mut self, events: &mut Vec<Event>) -> bool {
        _ = rustix::io::read(&self.shared.notified, &mut [0; 8]);
        let took = self.device.poll(events);
        if !events.is_empty() {
            self.shared.is_armed.store(false, Ordering::SeqCst);
        }
        took
    }

    fn poll_work(&mut self, _: &mut Vec<Event>) {}

    fn arm(&mut self) -> bool {
        self.shared.is_armed.store(true, Ordering::SeqCst);
        self.device.arm()
    }

    fn descriptors(&self) -> Result<Vec<OwnedFd>, Errno> {
        Ok(vec![self.shared.notified.try_clone().unwrap()])
    }

    fn limits(&self) -> Limits {
        self.device.limits()
    }

    fn listen(&mut self) -> Result<(), Errno> {
        self.device.listen()
    }

    fn connect(&mut self, to: Ipv4Addr, setup: Setup, private_data: &[u8]) -> Result<ConnId, Errno> {
        self.device.connect(to, setup, private_data)
    }

    fn accept(&mut self, conn: ConnId, setup: Setup, private_data: &[u8]) -> Result<(), Errno> {
        self.device.accept(conn, setup, private_data)
    }

    fn reject(&mut self, conn: ConnId, private_data: &[u8]) {
        self.device.reject(conn, private_data);
    }

    fn disconnect(&mut self, conn: ConnId) {
        self.device.disconnect(conn);
    }

    fn destroy(&mut self, conn: ConnId) {
        self.device.destroy(conn);
    }

    fn received(&self, conn: ConnId, slot: Slot, len: usize) -> &[u8] {
        self.device.received(conn, slot, len)
    }

    fn post_receive(&mut self, conn: ConnId, slot: Slot) -> Result<(), Errno> {
        self.device.post_receive(conn, slot)
    }

    fn post_send(
        &mut self,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno> {
        self.device.post_send(conn, work, writes, message)
    }

    fn register(&mut self, range: MemRange, paging: Paging) -> Result<Registration, Errno> {
        self.device.register(range, paging)
    }

    fn deregister(&mut self, registration: Registration) {
        self.device.deregister(registration);
    }
}

/// Fails if the interface's own thread sleeps on although an application's thread has taken what it waits for, and the device does not
/// say again that something has happened.
#[test]
fn messages_arrive_after_an_application_thread_has_taken_events_and_stopped_waiting() {
    let net = ModelNet::default();
    let a = Host::new(&net, 1, |_| ());
    let devices =
        OneShot { net: net.clone(), is_armed: AtomicBool::new(false), notified: new_eventfd().unwrap() };
    let devices = Arc::new(devices);
    let b = Host::new(&net, 2, |config| config.devices = Arc::new(OneShotDevices(Arc::clone(&devices))));
    let pair = Pair { net, a, b };
    let (from, to) = (Memory::pattern(100, 1), Memory::empty(100));
    // The own thread sleeps, as there are no connections for no limited time.
    while !devices.is_armed.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let eq = pair.b.offer_to_poll(1, &to, MdOptions::OP_PUT);
    pair.a.put(pair.b.nid, 1, &from);
    // The thread of the test takes all events until the message is there, and waits no more.
    let polled = loop {
        if let Some((_, polled)) = pair.b.node.eq_poll(&[eq], Some(Duration::from_millis(1))).unwrap() {
            break polled;
        }
    };
    assert_eq!((polled.event.kind, polled.event.status), (EventKind::Put, Ok(())));
    assert_eq!(pair.a.wait_for_end().status, Ok(()));
    std::thread::scope(|scope| {
        let ping = scope.spawn(|| pair.a.ping(pair.b.nid));
        while !ping.is_finished() {
            devices.notify();
            std::thread::yield_now();
        }
        assert_eq!(ping.join().unwrap(), Ok(()));
    });
}
