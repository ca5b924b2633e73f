//! A server that survives its clients, and ends cleanly. The same as examples/robust_server.c, which says what it survives;
//! `request_response` is its client.
//!
//!     export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//!     LNET_NETWORKS='tcp(127.0.1.2)' robust_server &
//!     LNET_NETWORKS='tcp(127.0.1.1)' request_response ask 127.0.1.2@tcp hello

mod first;

use first::{MAX_TEXT, REQUEST_BITS, REQUEST_PORTAL, RESPONSE_PORTAL, Result, main_with, start_node};
use liblnet::{Attached, Buffer, Event, EventKind, EventQueue, MatchEntry, MemoryDescriptor, Message};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SLOTS: usize = 4;
const EVENTS_OF_A_SLOT: usize = 2;
const POLL: Duration = Duration::from_millis(100);

/// A place for a request, and then for its response.
enum Slot {
    /// The slot waits for a request. When this is dropped the memory comes back.
    Offered {
        _attached: Attached,
    },
    /// The memory comes back with the next event: a response is being sent, or the slot waits for no request any more.
    Busy,
    Free,
}

struct Server {
    queue: EventQueue,
    slots: Vec<Slot>,
    is_ended: Arc<AtomicBool>,
    served: u32,
    bad: u32,
    not_delivered: u32,
}

impl Server {
    fn offer(&mut self, slot: usize) -> Result {
        // Also what is too long is delivered, so that its sender gets a response.
        let memory = MemoryDescriptor::puts(Buffer::zeroed(MAX_TEXT)).truncate().tag(slot as u64);
        let attached = self.queue.attach(MatchEntry::new(REQUEST_PORTAL, REQUEST_BITS), memory)?;
        self.slots[slot] = Slot::Offered { _attached: attached };
        Ok(())
    }

    /// Handles the next event, if one comes soon.
    fn poll_once(&mut self) -> Result {
        match self.queue.poll(POLL)? {
            Some(event) => self.on_event(&event),
            None => Ok(()),
        }
    }

    fn on_event(&mut self, event: &Event) -> Result {
        // The client is gone. No ACK is asked for, which would keep the slot.
        if event.kind == EventKind::Send && event.status.is_err() {
            self.not_delivered += 1;
        }
        // Only the last event of a message has its memory.
        if event.buffer.is_none() {
            return Ok(());
        }
        let slot = event.tag as usize;
        self.slots[slot] = Slot::Free;
        // A message that breaks off has a status; its slot is free again.
        if event.kind == EventKind::Put && event.status.is_ok() {
            if event.hdr_data != 0 {
                return self.respond(slot, event);
            }
            self.bad += 1;
        }
        if self.is_ended.load(Ordering::Relaxed) { Ok(()) } else { self.offer(slot) }
    }

    fn respond(&mut self, slot: usize, request: &Event) -> Result {
        let error = match request.data() {
            [] => Some("error: empty request"),
            _ if request.requested > request.length => Some("error: too long"),
            _ => None,
        };
        let counter = if error.is_some() { &mut self.bad } else { &mut self.served };
        *counter += 1;
        let response = error.map_or_else(|| request.data().to_ascii_uppercase().into(), Buffer::from);
        let client = request.source.ok_or("a request without a sender")?;
        let to = Message::to(client, RESPONSE_PORTAL, request.hdr_data).tag(slot as u64);
        self.queue.put(response, to)?;
        self.slots[slot] = Slot::Busy;
        Ok(())
    }
}

/// Serves until a signal comes. An error of LNet ends it before: without memory or network whoever starts the server has to know.
fn serve() -> Result {
    let (node, id) = start_node()?;
    let is_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&is_ended))?;
    }
    // It has room for all events that the slots can have.
    let queue = EventQueue::new(&node, (SLOTS * EVENTS_OF_A_SLOT) as u32)?;
    let slots = (0..SLOTS).map(|_| Slot::Free).collect();
    let mut server =
        Server { queue, slots, is_ended: Arc::clone(&is_ended), served: 0, bad: 0, not_delivered: 0 };
    // More requests than slots wait on the lazy portal until a slot is free.
    node.set_lazy(REQUEST_PORTAL, true)?;
    for slot in 0..SLOTS {
        server.offer(slot)?;
    }
    println!("{} is ready", id.nid);
    while !is_ended.load(Ordering::Relaxed) {
        server.poll_once()?;
    }

    // The requests that wait are dropped, and further ones match nothing.
    node.set_lazy(REQUEST_PORTAL, false)?;
    for slot in server.slots.iter_mut().filter(|slot| matches!(slot, Slot::Offered { .. })) {
        *slot = Slot::Busy;
    }
    // A response to a client that is gone ends with an error in the end, and so does this loop.
    while server.slots.iter().any(|slot| !matches!(slot, Slot::Free)) {
        server.poll_once()?;
    }
    let Server { served, bad, not_delivered, .. } = server;
    println!("served {served}, bad {bad}, not delivered {not_delivered}; all memory is back");
    Ok(())
}

fn main() -> ExitCode {
    main_with("robust_server", |arguments| {
        if !arguments.is_empty() {
            return Ok(false);
        }
        serve()?;
        Ok(true)
    })
}
