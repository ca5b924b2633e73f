//! A transfer machine of a test, with its buffers; its events are received from a channel.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use lnet_api::c_pointer::{InOut, Out, Text};
use m0net::lnet::transport::m0_net_lnet_xprt;
use m0net::net::buffer::{m0_net_buffer_add, m0_net_buffer_del, m0_net_buffer_register};
use m0net::net::descriptor::m0_net_desc_free;
use m0net::net::domain::m0_net_domain_init;
use m0net::net::end_point::{m0_net_end_point_create, m0_net_end_point_put};
use m0net::net::queue::Queue;
use m0net::net::transfer_mc::{m0_net_tm_init, m0_net_tm_start, m0_net_tm_stop};
use m0net::net::types::{
    buf_flags, m0_net_buf_desc, m0_net_buffer, m0_net_buffer_callbacks, m0_net_buffer_event, m0_net_domain,
    m0_net_end_point, m0_net_tm_callbacks, m0_net_tm_event, m0_net_transfer_mc, tm_state,
};
use m0net::object::Object;
use m0net::support::{TIME_NEVER, m0_alloc, m0_bufvec_alloc_aligned_packed, m0_time_from_now};
use std::ffi::{CStr, CString, c_int};
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};

/// An event, with a copy of the message if it has one.
#[derive(Clone, Debug)]
pub enum Event {
    State(u32, i32),
    Buffer {
        index: usize,
        queue: Queue,
        status: i32,
        length: usize,
        message: Vec<u8>,
        sender: String,
        queued: bool,
    },
}

/// A transfer machine with its domain, which live to the end of the process.
pub struct TestMachine {
    domain: Object<m0_net_domain>,
    tm: Object<m0_net_transfer_mc>,
    buffers: Vec<Object<m0_net_buffer>>,
    sender: *mut Sender<Event>,
    pub events: Receiver<Event>,
}

static TM_CALLBACKS: m0_net_tm_callbacks = m0_net_tm_callbacks { ntc_event_cb: Some(on_tm_event) };
static CALLBACKS: m0_net_buffer_callbacks =
    m0_net_buffer_callbacks { nbc_cb: [Some(on_buffer_event); Queue::COUNT] };

/// The machine, and the sender of its events. `tm` is the first field, so that the structure is found from the machine.
#[repr(C)]
struct Tm {
    tm: m0_net_transfer_mc,
    sender: *mut Sender<Event>,
}

/// The sender of the events of a machine.
fn sender_of(tm: Object<m0_net_transfer_mc>) -> &'static Sender<Event> {
    // SAFETY: the machine is the first field of a `Tm`, whose sender stays to the end of the process.
    unsafe { &*(*tm.as_ptr().cast::<Tm>()).sender }
}

extern "C" fn on_tm_event(event: Object<m0_net_tm_event>) {
    let _ = sender_of(event.nte_tm).send(Event::State(event.nte_next_state, event.nte_status));
}

extern "C" fn on_buffer_event(event: Object<m0_net_buffer_event>) {
    // SAFETY: a buffer of `TestMachine::buffer`, whose `nb_app_private` is its number.
    unsafe {
        let buf = event.nbe_buffer;
        let queue = Queue::from_number(buf.nb_qtype.get()).unwrap();
        let mut message = vec![];
        let mut sender = String::new();
        if queue == Queue::MsgRecv && event.nbe_status == 0 {
            let start = (*buf.nb_buffer.ov_buf.get()).cast::<u8>().add(event.nbe_offset as usize);
            message = std::slice::from_raw_parts(start, event.nbe_length as usize).to_vec();
            sender = CStr::from_ptr(event.nbe_ep.nep_addr.get()).to_str().unwrap().to_owned();
        }
        let told = Event::Buffer {
            index: buf.nb_app_private.get() as usize,
            queue,
            status: event.nbe_status,
            length: event.nbe_length as usize,
            message,
            sender,
            queued: buf.nb_flags.get() & buf_flags::QUEUED != 0,
        };
        let _ = sender_of(buf.nb_tm.get()).send(told);
    }
}

/// A zeroed structure, which lives to the end of the process.
fn zeros<T>() -> Object<T> {
    // SAFETY: new memory, which nobody frees; zeros are a valid structure of Motr.
    unsafe { Object::new(m0_alloc(size_of::<T>()).cast()) }
}

impl TestMachine {
    /// Starts a machine at `address`.
    pub fn start(address: &str) -> Self {
        let (sender, events) = channel();
        let sender = Box::into_raw(Box::new(sender));
        let domain = zeros::<m0_net_domain>();
        assert_eq!(m0_net_domain_init(domain, Object::of_static(&m0_net_lnet_xprt)), 0);
        let tm = zeros::<Tm>();
        // SAFETY: nobody else uses it yet.
        unsafe { (*tm.as_ptr()).sender = sender };
        // SAFETY: the machine is the first field.
        let tm: Object<m0_net_transfer_mc> = unsafe { Object::new(tm.as_ptr().cast()) };
        tm.ntm_callbacks.set(Object::of_static(&TM_CALLBACKS));
        assert_eq!(m0_net_tm_init(tm, domain), 0);
        let text = CString::new(address).unwrap();
        assert_eq!(m0_net_tm_start(tm, Text::of(&text)), 0);
        let machine = Self { domain, tm, buffers: vec![], sender, events };
        match machine.events.recv().unwrap() {
            Event::State(tm_state::STARTED, 0) => {}
            other => unreachable!("{address}: {other:?}"),
        }
        machine
    }

    /// The address of the machine.
    pub fn address(&self) -> String {
        // SAFETY: a started machine has an end point.
        unsafe { CStr::from_ptr(self.tm.ntm_ep.get().nep_addr.get()) }.to_str().unwrap().to_owned()
    }

    /// Registers a buffer of `len` bytes, rounded up to pages; returns its number.
    pub fn buffer(&mut self, len: usize) -> usize {
        let buf = zeros::<m0_net_buffer>();
        let pages = len.div_ceil(4096) as u32;
        // SAFETY: nobody uses it yet.
        let memory = unsafe { Out::new((&raw const buf.nb_buffer).cast_mut()) };
        assert_eq!(m0_bufvec_alloc_aligned_packed(memory, pages, 4096, 12), 0);
        assert_eq!(m0_net_buffer_register(buf, self.domain), 0);
        buf.nb_callbacks.set(Object::of_static(&CALLBACKS));
        buf.nb_app_private.set(ptr::without_provenance_mut(self.buffers.len()));
        self.buffers.push(buf);
        self.buffers.len() - 1
    }

    /// The memory of a buffer that is not queued; `len` becomes the length to send.
    pub fn bytes(&mut self, index: usize, len: usize) -> &mut [u8] {
        let buf = self.buffers[index];
        buf.nb_length.set(len as u64);
        // SAFETY: one block of so many pages.
        unsafe { std::slice::from_raw_parts_mut((*buf.nb_buffer.ov_buf.get()).cast::<u8>(), len) }
    }

    fn add(&self, index: usize, queue: Queue, timeout: Option<u64>) -> c_int {
        let buf = self.buffers[index];
        buf.nb_qtype.set(queue as u32);
        buf.nb_timeout.set(timeout.map_or(TIME_NEVER, |seconds| m0_time_from_now(seconds, 0)));
        m0_net_buffer_add(buf, self.tm)
    }

    /// Receives up to `messages` messages of at most `max` bytes.
    pub fn receive(&self, index: usize, max: u64, messages: u32) {
        let buf = self.buffers[index];
        buf.nb_ep.set(Object::NULL);
        buf.nb_min_receive_size.set(max);
        buf.nb_max_receive_msgs.set(messages);
        assert_eq!(self.add(index, Queue::MsgRecv, None), 0);
    }

    /// Sends a message.
    pub fn send(&mut self, index: usize, to: &str, message: &[u8]) -> c_int {
        self.bytes(index, message.len()).copy_from_slice(message);
        let text = CString::new(to).unwrap();
        let mut ep: Object<m0_net_end_point> = Object::NULL;
        // SAFETY: the end point outlives the call.
        let created = unsafe { Out::new(&raw mut ep) };
        assert_eq!(m0_net_end_point_create(created, self.tm, Text::of(&text)), 0);
        self.buffers[index].nb_ep.set(ep);
        let rc = self.add(index, Queue::MsgSend, None);
        m0_net_end_point_put(ep);
        rc
    }

    /// Offers a buffer, with a timeout in seconds or without; returns the descriptor.
    pub fn offer(&self, index: usize, queue: Queue, timeout: Option<u64>) -> Vec<u8> {
        assert_eq!(self.add(index, queue, timeout), 0);
        // SAFETY: adding a passive buffer has set the descriptor, which was freed before.
        unsafe {
            let buf = self.buffers[index];
            let desc = buf.nb_desc.get();
            let bytes = std::slice::from_raw_parts(desc.nbd_data.as_ptr(), desc.nbd_len as usize).to_vec();
            m0_net_desc_free(InOut::new(buf.nb_desc.as_ptr()));
            bytes
        }
    }

    /// Transfers from or to an offered buffer.
    pub fn transfer(&self, index: usize, queue: Queue, descriptor: &[u8], timeout: u64) -> c_int {
        // SAFETY: the descriptor is only read, during the call.
        let data = unsafe { Object::new(descriptor.as_ptr().cast_mut()) };
        let buf = self.buffers[index];
        buf.nb_desc.set(m0_net_buf_desc { nbd_len: descriptor.len() as u32, nbd_data: data });
        let rc = self.add(index, queue, Some(timeout));
        buf.nb_desc.take();
        rc
    }

    /// Cancels the operation of a buffer.
    pub fn cancel(&self, index: usize) -> bool {
        m0_net_buffer_del(self.buffers[index], self.tm)
    }

    /// Stops the machine.
    pub fn stop(&self, abort: bool) {
        assert_eq!(m0_net_tm_stop(self.tm, abort), 0);
    }
}
