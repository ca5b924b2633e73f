//! Services over the loopback: bulk data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet as _;
use ptlrpc::Errno;
use ptlrpc::lnet::{EventKind, Region};
use ptlrpc::message::{Body, BulkBits, Opcode};
use ptlrpc::service::{Dropped, Reply, ReplyDone, Response, ServiceConfig, ServiceRequest};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::client::{Client, ReplyBuffer};
use support::{Server, config};

const READ: Opcode = Opcode(0x7001);
const WRITE: Opcode = Opcode(0x7002);
const MIB: usize = 1 << 20;
const SIZES: [usize; 5] = [0, 1, MIB, MIB + 1, 8 * MIB];

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect()
}

/// The number of bytes that a request transfers: its first buffer, in the client's byte order.
fn len_of(request: &ServiceRequest<'_>) -> usize {
    request.order().u64(request.buffer(1).unwrap(), 0) as usize
}

fn disk(request: &mut ServiceRequest<'_>) -> Response {
    let len = len_of(request);
    let done = match request.opcode() {
        READ => request.bulk_put(&Arc::new(Region::copy_of(&pattern(len)))),
        _ => request.bulk_get(len).map(|data| assert!(*data == *pattern(len), "{len} bytes")),
    };
    done.map_or_else(Response::from, |()| Reply::new().into())
}

/// Attaches memory for as many MDs as it has match bits.
fn open(client: &Client, region: &Arc<Region>, bits: BulkBits, puts: bool) -> Vec<ReplyBuffer> {
    let len = region.len();
    let range = |index: usize| (index * MIB).min(len)..((index + 1) * MIB).min(len);
    bits.range().enumerate().map(|(index, bits)| client.bulk(bits, region, range(index), puts)).collect()
}

fn bits_for(client: &Client, len: usize) -> BulkBits {
    BulkBits::starting_at(client.xids.take(), len.div_ceil(MIB).max(1) as u32).unwrap()
}

fn ask_for(client: &Client, opcode: Opcode, bits: BulkBits) -> Body {
    Body { mbits: bits.last(), ..client.body(opcode) }
}

fn contents(region: &Region) -> Vec<u8> {
    region.copy_while_written(0..region.len())
}

#[test]
fn clients_read() {
    let server = Server::start(config(), disk);
    let client = server.connected();
    for len in SIZES {
        let region = Arc::new(Region::zeroed(len));
        let bits = bits_for(&client, len);
        let mds = open(&client, &region, bits, true);
        let body = ask_for(&client, READ, bits);
        let got = client.ask(&body, &[&(len as u64).to_ne_bytes()]);
        assert_eq!(got.status(), Ok(()), "{len} bytes");
        for md in &mds {
            let event = md.event();
            assert_eq!((event.kind, event.unlinked), (EventKind::Put, true), "{len} bytes");
        }
        assert!(contents(&region) == pattern(len), "{len} bytes");
    }
    assert_eq!(server.counts().bulk_failed, 0);
}

#[test]
fn clients_write() {
    let server = Server::start(config(), disk);
    let client = server.connected();
    for len in SIZES {
        let region = Arc::new(Region::copy_of(&pattern(len)));
        let bits = bits_for(&client, len);
        let mds = open(&client, &region, bits, false);
        let body = ask_for(&client, WRITE, bits);
        let got = client.ask(&body, &[&(len as u64).to_ne_bytes()]);
        assert_eq!(got.status(), Ok(()), "{len} bytes");
        for md in &mds {
            let event = md.event();
            assert_eq!((event.kind, event.unlinked), (EventKind::Get, true), "{len} bytes");
        }
    }
    assert_eq!(server.counts().bulk_failed, 0);
}

#[test]
fn mds_that_a_short_read_does_not_need_are_unlinked() {
    let server = Server::start(config(), disk);
    let client = server.connected();
    let region = Arc::new(Region::zeroed(3 * MIB));
    let bits = bits_for(&client, 3 * MIB);
    let mds = open(&client, &region, bits, true);
    let body = ask_for(&client, READ, bits);
    assert_eq!(client.ask(&body, &[&10_u64.to_ne_bytes()]).status(), Ok(()));
    let moved = mds.iter().map(|md| md.event()).map(|event| (event.mlength, event.unlinked));
    assert_eq!(Vec::from_iter(moved), [(10, true), (0, true), (0, true)]);
}

#[test]
fn bulk_data_that_was_not_announced_is_not_transferred_and_there_is_no_reply() {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        let len = len_of(request);
        sender.lock().unwrap().send(request.bulk_get(len).err()).unwrap();
        Reply::new().into()
    });
    let client = server.connected();
    let bits = bits_for(&client, 1);
    for (name, mbits, len) in
        [("no bits", 0, 1), ("too long", bits.last(), MIB + 1), ("much too long", bits.last(), usize::MAX)]
    {
        let body = Body { mbits, ..client.body(WRITE) };
        let waiting = client.send(client.xids.take(), &body, &[&(len as u64).to_ne_bytes()]);
        assert_eq!(seen.recv().unwrap(), Some(Errno::Protocol), "{name}");
        assert_eq!(client.ping().status(), Ok(()));
        assert!(waiting.is_quiet(), "{name}");
    }
}

#[test]
fn truncated_data_is_an_error_and_the_client_has_to_resend() {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        let got = request.bulk_get(100).map(|data| data.len());
        sender.lock().unwrap().send(got).unwrap();
        Reply::new().into()
    });
    let client = server.connected();
    let bits = bits_for(&client, 1);
    let body = Body { mbits: bits.last(), tag: 1, ..client.body(WRITE) };
    let xid = client.xids.take();
    let short = Arc::new(Region::zeroed(99));
    let mds = open(&client, &short, bits, false);
    let waiting = client.send(xid, &body, &[]);
    assert_eq!(seen.recv().unwrap(), Err(Errno::Io));
    drop(mds);
    // The request is served again, though it has a tag.
    let bits = bits_for(&client, 1);
    let enough = Arc::new(Region::zeroed(100));
    let _mds = open(&client, &enough, bits, false);
    while server.service.counts().served < 2 {
        std::thread::yield_now();
    }
    assert!(waiting.is_quiet());
    drop(waiting);
    let waiting = client.send(xid, &Body { mbits: bits.last(), ..body }, &[]);
    assert_eq!(seen.recv().unwrap(), Ok(100));
    assert_eq!(waiting.reply().status(), Ok(()));
}

#[test]
fn a_transfer_without_memory_of_the_client_ends_when_the_client_gives_up() {
    let (sender, seen) = channel();
    let (has_begun, begun) = channel();
    let (sender, has_begun) = (Mutex::new(sender), Mutex::new(has_begun));
    let server = Server::start(config(), move |request| {
        has_begun.lock().unwrap().send(()).unwrap();
        let done = request.bulk_put(&Arc::new(Region::zeroed(2 * MIB)));
        let sender = sender.lock().unwrap().clone();
        sender.send((done, None)).unwrap();
        Reply::new().difficult(move |held| sender.send((Ok(()), Some(held))).unwrap()).into()
    });
    let mut client = server.connected();
    client.flags = ptlrpc::message::MessageFlags::NONE;
    let bits = bits_for(&client, 2 * MIB);
    let body = Body { mbits: bits.last(), timeout: 1, ..client.body(READ) };
    let waiting = client.send(client.xids.take(), &body, &[]);
    begun.recv().unwrap();
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(seen.recv().unwrap(), (Err(Errno::TimedOut), None));
    assert_eq!(seen.recv().unwrap(), (Ok(()), Some(ReplyDone::Lost)), "there is no reply");
    assert_eq!(server.counts().bulk_failed, 1);
    assert!(waiting.is_quiet());
}

#[test]
fn stopping_a_service_aborts_transfers() {
    let (sender, begun) = channel();
    let sender = Mutex::new(sender);
    // There is one thread for normal requests.
    let config = ServiceConfig { threads: 2, ..config() };
    let stop_timeout = config.stop_timeout;
    let server = Server::start(config, move |request| {
        let sender = sender.lock().unwrap();
        sender.send(None).unwrap();
        let done = request.bulk_get(1).map(drop);
        sender.send(Some(done)).unwrap();
        Reply::new().into()
    });
    let client = server.connected();
    let body = Body { mbits: 64, ..client.body(WRITE) };
    let _in_service = client.send(client.xids.take(), &body, &[]);
    assert_eq!(begun.recv().unwrap(), None);
    let _in_queue = client.send(client.xids.take(), &body, &[]);
    server.counts();
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| server.service.stop());
        // The service has begun to end when it has dropped the request in its queue.
        while server.service.counts().dropped(Dropped::Stopping) == 0 {
            std::thread::yield_now();
        }
        server.clock.advance(stop_timeout / 2);
        assert_eq!(stop.join().unwrap(), Ok(()));
    });
    assert!(matches!(begun.recv().unwrap(), Some(Err(_))));
}
