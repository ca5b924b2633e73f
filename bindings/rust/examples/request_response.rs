//! Request and response, with event handlers. The same as examples/request_response.c: each works with the other's server and client.
//!
//!     export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//!     LNET_NETWORKS='tcp(127.0.1.2)' request_response serve &
//!     LNET_NETWORKS='tcp(127.0.1.1)' request_response ask 127.0.1.2@tcp hello
//!
//! A handler is called with each event of its queue, on a thread of the library, and must not call LNet. So the handlers here hand the
//! events over to the thread of the program, by a channel.

mod first;

use first::{
    MAX_TEXT, REQUEST_BITS, REQUEST_PORTAL, RESPONSE_PORTAL, Result, address_of, main_with, start_node,
};
use liblnet::{
    Attached, Buffer, Event, EventKind, EventQueue, MatchEntry, MemoryDescriptor, Message, Node, ProcessId,
};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

const SLOTS: usize = 8;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Makes a queue whose handler puts the events into a channel.
fn make_queue(node: &Node) -> Result<(EventQueue, Receiver<Event>)> {
    let (sender, receiver) = channel();
    // The receiver may be gone when the last events come.
    let queue = EventQueue::with_handler(node, move |event| _ = sender.send(event))?;
    Ok((queue, receiver))
}

fn serve() -> Result {
    let (node, id) = start_node()?;
    let (queue, events) = make_queue(&node)?;
    // Requests that come while all buffers are in use wait; otherwise LNet would drop them.
    node.set_lazy(REQUEST_PORTAL, true)?;
    // One buffer for each request that may be served at a time. The tag is its number.
    let offer = |buffer: Buffer, slot: usize| -> Result<Attached> {
        let descriptor = MemoryDescriptor::puts(buffer).tag(slot as u64);
        Ok(queue.attach(MatchEntry::new(REQUEST_PORTAL, REQUEST_BITS), descriptor)?)
    };
    let mut slots: Vec<Attached> =
        (0..SLOTS).map(|slot| offer(Buffer::zeroed(MAX_TEXT), slot)).collect::<Result<_>>()?;
    println!("{} is ready", id.nid);
    for event in events {
        let slot = event.tag as usize;
        match event.kind {
            // The response goes to the interface that has sent the request.
            EventKind::Put if event.status.is_ok() && event.hdr_data != 0 => {
                let response = event.data().to_ascii_uppercase();
                if let Some(client) = event.source {
                    let to = Message::to(client, RESPONSE_PORTAL, event.hdr_data).tag(SLOTS as u64);
                    queue.put(response.into(), to)?;
                }
            }
            _ => {}
        }
        // The last event of a request gives its buffer back, for the next one.
        if let Some(buffer) = event.buffer.filter(|_| slot < SLOTS) {
            slots[slot] = offer(buffer, slot)?;
        }
    }
    Ok(())
}

fn ask(server: ProcessId, text: &str) -> Result {
    let (node, _) = start_node()?;
    let (queue, events) = make_queue(&node)?;
    // Different for each request: a late response to another one matches nothing, and is dropped.
    let bits = SystemTime::UNIX_EPOCH.elapsed()?.as_nanos() as u64;
    // The memory for the response is there before the request leaves.
    let memory = MemoryDescriptor::puts(Buffer::zeroed(MAX_TEXT));
    let _attached = queue.attach(MatchEntry::new(RESPONSE_PORTAL, bits), memory)?;
    queue.put(text.into(), Message::to(server, REQUEST_PORTAL, REQUEST_BITS).hdr_data(bits))?;
    loop {
        let event = events.recv_timeout(RESPONSE_TIMEOUT).map_err(|error| format!("no response: {error}"))?;
        event.status.map_err(|errno| format!("no response: {errno}"))?;
        if event.kind == EventKind::Put {
            println!("{}", String::from_utf8_lossy(event.data()));
            return Ok(());
        }
    }
}

fn main() -> ExitCode {
    main_with("request_response serve | request_response ask NID TEXT", |arguments| {
        match arguments {
            ["serve"] => serve()?,
            ["ask", nid, text] => ask(address_of(nid)?, text)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}
