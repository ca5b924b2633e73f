//! A file over GET: the server only makes its memory available, and the client fetches the file from there in pieces. The same as
//! examples/get_file.c: each works with the other's server and client.
//!
//!     export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
//!     LNET_NETWORKS='tcp(127.0.1.2)' get_file serve /etc/services &
//!     LNET_NETWORKS='tcp(127.0.1.1)' get_file fetch 127.0.1.2@tcp copy
//!
//! The offset of a GET has 32 bits, so a file is served as windows, each a descriptor with match bits of its own. Within a window the client
//! chooses the offset.

mod first;

use first::{Result, address_of, main_with, start_node};
use liblnet::{Attached, Buffer, Event, EventQueue, MatchEntry, MemoryDescriptor, Message, ProcessId};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::thread;

const FILE_PORTAL: u32 = 12;
const WINDOW: u64 = 256 << 20;
/// A message carries 1 MiB at most. Several are under way at a time, so that the network is never idle.
const PIECE: u64 = 1 << 20;
const PIECES_AT_A_TIME: usize = 8;
/// The match bits of the size of the file, which is a text. Those of a window are its number.
const SIZE_BITS: u64 = 1 << 63;
const SIZE_DIGITS: usize = 20;

fn serve(path: &str) -> Result {
    let mut file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let (node, id) = start_node()?;
    // LNet sends the data by itself. The server looks at no events, and the queue keeps only one.
    let queue = EventQueue::new(&node, 1)?;
    let offer = |buffer: Buffer, bits| -> Result<Attached> {
        Ok(queue.attach(MatchEntry::new(FILE_PORTAL, bits), MemoryDescriptor::gets(buffer))?)
    };
    let mut attached = Vec::new();
    let mut size = 0;
    loop {
        let mut window = Vec::new();
        (&mut file).take(WINDOW).read_to_end(&mut window)?;
        if window.is_empty() {
            break;
        }
        let length = window.len() as u64;
        attached.push(offer(window.into(), size / WINDOW)?);
        size += length;
    }
    attached.push(offer(format!("{size:0SIZE_DIGITS$}").as_str().into(), SIZE_BITS)?);
    println!("{} serves {path}", id.nid);
    loop {
        thread::park();
    }
}

/// A file that is being fetched.
struct Fetch<'a> {
    queue: &'a EventQueue,
    server: ProcessId,
    size: u64,
    requested: u64,
}

impl Fetch<'_> {
    /// Requests the next piece, if one is left. Its offset in the file becomes the tag of its events.
    fn request_next(&mut self) -> Result {
        let offset = self.requested;
        let length = PIECE.min(self.size - offset);
        if length > 0 {
            let piece = Message::to(self.server, FILE_PORTAL, offset / WINDOW);
            let piece = piece.offset((offset % WINDOW) as u32).tag(offset);
            // Memory of any kind would do. This is not copied when the node is that of lnetd.
            self.queue.get(Buffer::of_node(length as usize)?, piece)?;
            self.requested += length;
        }
        Ok(())
    }
}

/// Waits for the last event of a piece, which has its memory.
fn wait_for_piece(queue: &EventQueue) -> Result<(Event, Buffer)> {
    loop {
        let mut event = queue.wait()?;
        // If nothing at the server matches the GET, this is the status after the transaction timeout.
        event.status.map_err(|errno| format!("the GET: {errno}"))?;
        if let Some(buffer) = event.buffer.take() {
            return Ok((event, buffer));
        }
    }
}

fn fetch(server: ProcessId, path: &str) -> Result {
    let copy = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    let (node, _) = start_node()?;
    let queue = EventQueue::new(&node, 4 * PIECES_AT_A_TIME as u32)?;
    queue.get(Buffer::zeroed(SIZE_DIGITS), Message::to(server, FILE_PORTAL, SIZE_BITS))?;
    let (_, size) = wait_for_piece(&queue)?;
    let size = str::from_utf8(&size)?.parse()?;
    let mut fetch = Fetch { queue: &queue, server, size, requested: 0 };
    for _ in 0..PIECES_AT_A_TIME {
        fetch.request_next()?;
    }
    let mut written = 0;
    while written < size {
        let (event, piece) = wait_for_piece(&queue)?;
        copy.write_all_at(&piece, event.tag)?;
        written += piece.len() as u64;
        fetch.request_next()?;
    }
    println!("fetched {written} bytes");
    Ok(())
}

fn main() -> ExitCode {
    main_with("get_file serve FILE | get_file fetch NID COPY", |arguments| {
        match arguments {
            ["serve", path] => serve(path)?,
            ["fetch", nid, path] => fetch(address_of(nid)?, path)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}
