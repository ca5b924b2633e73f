//! Two event queues, and `poll_any` over both: commands are carried out at once, however many readings wait. The same as
//! examples/two_queues.c: each works with the other's collector and sender.
//!
//!     export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//!     LNET_NETWORKS='tcp(127.0.1.2)' two_queues collect &
//!     LNET_NETWORKS='tcp(127.0.1.1)' two_queues send 127.0.1.2@tcp 1000
//!     LNET_NETWORKS='tcp(127.0.1.1)' two_queues stop 127.0.1.2@tcp
//!
//! A queue keeps a number of events; if more come, some are lost. So what must not be lost has a queue of its own, which nothing else can
//! fill. `poll_any` returns an event of the first queue that has one: the order of the queues is their priority.
//!
//! The messages here have no payload, only the 64 bits of header data that each PUT carries in its event.

mod first;

use first::{Result, address_of, main_with, start_node};
use liblnet::{
    Attached, Buffer, EventKind, EventQueue, MatchEntry, MemoryDescriptor, Message, ProcessId, poll_any,
};
use std::process::ExitCode;
use std::time::Duration;

const COMMAND_PORTAL: u32 = 13;
const READING_PORTAL: u32 = 14;
const BITS: u64 = 1;
const STOP: u64 = 1;
const SENDER_EVENTS: u64 = 128;

fn collect() -> Result {
    const COMMANDS: usize = 0;
    let (node, id) = start_node()?;
    // Few commands come; readings come as fast as the network carries them.
    let (commands, readings) = (EventQueue::new(&node, 16)?, EventQueue::new(&node, 4096)?);
    let offer = |queue: &EventQueue, portal| -> Result<Attached> {
        let descriptor = MemoryDescriptor::puts(Buffer::zeroed(0)).threshold(None);
        Ok(queue.attach(MatchEntry::new(portal, BITS), descriptor)?)
    };
    let _attached = [offer(&commands, COMMAND_PORTAL)?, offer(&readings, READING_PORTAL)?];
    println!("{} is ready", id.nid);
    let (mut count, mut sum) = (0_u64, 0_u64);
    loop {
        let Some((which, event)) = poll_any(&[&commands, &readings], Duration::MAX)? else { continue };
        if event.kind != EventKind::Put || event.status.is_err() {
            continue;
        }
        if which != COMMANDS {
            count += 1;
            sum = sum.wrapping_add(event.hdr_data);
        } else if event.hdr_data == STOP {
            let by = event.initiator.map_or_else(String::new, |id| id.nid.to_string());
            println!("stopped by {by}: {count} readings, sum {sum}, gaps {}", readings.lost());
            return Ok(());
        }
    }
}

/// Sends the numbers from 1 to `count`, and waits for their acknowledgements.
fn send_numbers(to: ProcessId, portal: u32, count: u64) -> Result {
    let (node, _) = start_node()?;
    let queue = EventQueue::new(&node, SENDER_EVENTS as u32)?;
    let (mut sent, mut events, mut acknowledged) = (0, 0, 0);
    while events < 2 * count {
        // Each PUT has two events, SEND and ACK, in either order. No more are sent than have room in the queue.
        while sent < count && 2 * (sent + 1) - events <= SENDER_EVENTS {
            sent += 1;
            queue.put(Buffer::zeroed(0), Message::to(to, portal, BITS).hdr_data(sent).ack())?;
        }
        let event = queue.wait()?;
        // If nothing matches the message there, no ACK comes, and this is the status after the transaction timeout.
        event.status.map_err(|errno| format!("a PUT: {errno}"))?;
        events += 1;
        // The event is in the collector's queue, where it waits until the collector looks at it.
        acknowledged += u64::from(event.kind == EventKind::Ack);
    }
    println!("{acknowledged} acknowledged");
    Ok(())
}

fn main() -> ExitCode {
    main_with("two_queues collect | two_queues send NID COUNT | two_queues stop NID", |arguments| {
        match arguments {
            ["collect"] => collect()?,
            ["send", nid, count] => send_numbers(address_of(nid)?, READING_PORTAL, count.parse()?)?,
            ["stop", nid] => send_numbers(address_of(nid)?, COMMAND_PORTAL, STOP)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}
