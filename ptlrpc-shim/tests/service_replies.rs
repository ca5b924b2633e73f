//! Services over the loopback: waiting requests, early replies, duplicates, and difficult replies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet as _;
use ptlrpc::message::{Body, BodyFlags, ConnectFlags, MessageFlags, MessageKind, Opcode};
use ptlrpc::service::{Adaptive, Dropped, Reply, ReplyDone, ServiceConfig};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::client::{Client, ECHO};
use support::{Server, config};

/// Lets a test decide when a handler returns.
struct Gate {
    entered: Mutex<Sender<u64>>,
    leave: Mutex<Receiver<()>>,
}

fn gate() -> (Gate, Receiver<u64>, Sender<()>) {
    let ((entered, has_entered), (go_on, leave)) = (channel(), channel());
    (Gate { entered: Mutex::new(entered), leave: Mutex::new(leave) }, has_entered, go_on)
}

impl Gate {
    fn pass(&self, xid: u64) {
        self.entered.lock().unwrap().send(xid).unwrap();
        self.leave.lock().unwrap().recv().unwrap();
    }
}

/// A service that reports the requests that it has begun, and finishes each when the test lets it.
fn gated(config: ServiceConfig) -> (Server, Receiver<u64>, Sender<()>) {
    let (gate, begun, go_on) = gate();
    let server = Server::start(config, move |request| {
        gate.pass(request.xid().0);
        Reply::new().into()
    });
    (server, begun, go_on)
}

#[test]
fn requests_without_a_buffer_wait_and_are_served_in_order() {
    // One request fills the only buffer.
    let one =
        ServiceConfig { buffer_size: 4096, max_request: 4096, buffers: 1, buffers_limit: 1, ..config() };
    let (server, begun, go_on) = gated(one);
    let mut client = server.client();
    client.flags = MessageFlags::NONE;
    client.connect();
    let xids: Vec<_> = (0..20).map(|_| client.xids.take()).collect();
    let waiting: Vec<_> = xids.iter().map(|xid| client.send(*xid, &client.body(ECHO), &[])).collect();
    for (index, (xid, waiting)) in xids.iter().zip(&waiting).enumerate() {
        assert_eq!(begun.recv().unwrap(), xid.0);
        // The connect request, those before, and this one; the others wait at the portal.
        assert_eq!(server.service.counts().arrived, 2 + index as u64);
        go_on.send(()).unwrap();
        assert_eq!(waiting.reply().status(), Ok(()));
    }
}

#[test]
fn more_buffers_are_attached_when_few_are_left() {
    let few = ServiceConfig {
        buffer_size: 4096,
        max_request: 4096,
        buffers: 1,
        buffers_limit: 4,
        threads: 1,
        ..config()
    };
    let (server, begun, go_on) = gated(few);
    let client = server.connected();
    let send = |_| client.send(client.xids.take(), &client.body(ECHO), &[]);
    let waiting: Vec<_> = (0..8).map(send).collect();
    while server.service.counts().arrived < 5 {
        std::thread::yield_now();
    }
    for waiting in waiting {
        begun.recv().unwrap();
        go_on.send(()).unwrap();
        assert_eq!(waiting.reply().status(), Ok(()));
    }
}

#[test]
fn early_replies_extend_the_timeout_of_a_slow_request() {
    let adaptive = Adaptive {
        at_extra: Duration::from_secs(1),
        at_early_margin: Duration::from_secs(1),
        ..Adaptive::default()
    };
    let (server, begun, go_on) = gated(ServiceConfig { adaptive, ..config() });
    let client = server.connected();
    let xid = client.xids.take();
    let waiting = client.send(xid, &Body { timeout: 1, ..client.body(ECHO) }, &[]);
    begun.recv().unwrap();
    // Milliseconds until an early reply is due, and the seconds since the arrival that it tells.
    for (due, told) in [(500, 2), (500, 3), (1000, 4)] {
        assert!(waiting.is_quiet());
        server.clock.advance(Duration::from_millis(due));
        let early = waiting.any();
        assert!(early.is_intact_early);
        assert_eq!((early.offset, early.bytes.len(), early.body.status), (0, 224, 0));
        assert_eq!((early.body.kind, early.body.opcode), (MessageKind::Reply, ECHO));
        assert_eq!(early.body.timeout, told);
    }
    go_on.send(()).unwrap();
    let got = waiting.reply();
    assert_eq!((got.offset, got.status(), got.is_intact_early), (224, Ok(()), false));
    assert_eq!((got.body.service_time, got.body.timeout), (2, 2));
    assert!(waiting.is_quiet());
    assert_eq!(server.counts().early_replies, 3);
}

#[test]
fn early_replies_extend_the_timeout_of_a_waiting_request() {
    let (server, begun, go_on) = gated(ServiceConfig { threads: 1, ..config() });
    let client = server.connected();
    let [first, second] = [0; 2].map(|_| {
        let body = Body { timeout: 5, ..client.body(ECHO) };
        client.send(client.xids.take(), &body, &[])
    });
    begun.recv().unwrap();
    // Both requests have been admitted.
    server.counts();
    server.clock.advance(Duration::from_millis(2500));
    for waiting in [&first, &second] {
        let early = waiting.any();
        assert!(early.is_intact_early);
        assert_eq!(early.body.timeout, 33);
    }
    for waiting in [&first, &second] {
        go_on.send(()).unwrap();
        assert_eq!(waiting.reply().status(), Ok(()));
    }
}

#[test]
fn the_reply_to_a_resent_request_goes_to_where_it_came_from_last() {
    let (server, begun, go_on) = gated(config());
    let mut client = server.client();
    client.requested = ConnectFlags::REP_MBITS;
    client.connect();
    let xid = client.xids.take();
    let body = |mbits, flags| Body { mbits, flags, ..client.body(ECHO) };
    let [first, second, third] = [100, 200, 300].map(|bits| client.wait_for(bits));
    client.put(xid.0, &client.message(&body(100, BodyFlags::NONE), &[]));
    begun.recv().unwrap();
    client.put(xid.0, &client.message(&body(200, BodyFlags::RESENT), &[]));
    // A message that the network has duplicated changes nothing.
    client.put(xid.0, &client.message(&body(300, BodyFlags::NONE), &[]));
    assert_eq!(server.counts().dropped(Dropped::Duplicate), 2);
    go_on.send(()).unwrap();
    assert_eq!(second.reply().status(), Ok(()));
    assert!(first.is_quiet() && third.is_quiet());
    assert_eq!(begun.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
}

#[test]
fn a_request_with_a_tag_is_served_once() {
    let served = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&served);
    let server = Server::start(config(), move |request| {
        let number = counting.fetch_add(1, Ordering::Relaxed) + 1;
        Reply::new().transno(number).buffer(request.xid().0.to_ne_bytes()).into()
    });
    let client = server.connected();
    let send = |xid, tag, last_xid, flags| {
        client.send(xid, &Body { tag, last_xid, flags, ..client.body(ECHO) }, &[])
    };
    let [old, xid, next] = [0; 3].map(|_| client.xids.take());
    for flags in [BodyFlags::NONE, BodyFlags::RESENT, BodyFlags::RESENT, BodyFlags::NONE] {
        let got = send(xid, 3, old, flags).reply();
        assert_eq!((got.body.transno, &*got.buffers[0]), (1, &xid.0.to_ne_bytes()[..]), "{flags:?}");
    }
    assert_eq!(server.counts().answered_again, 3);
    // A request without a tag is served each time.
    let untagged = client.xids.take();
    assert_eq!(send(untagged, 0, old, BodyFlags::NONE).reply().body.transno, 2);
    assert_eq!(send(untagged, 0, old, BodyFlags::RESENT).reply().body.transno, 3);
    // The client has acknowledged the reply: this transmission was delayed by the network.
    assert_eq!(send(next, 4, xid, BodyFlags::NONE).reply().body.transno, 4);
    let quiet = send(xid, 3, old, BodyFlags::RESENT);
    assert_eq!(server.counts().dropped(Dropped::AlreadyReplied), 1);
    assert!(quiet.is_quiet());
    assert_eq!(served.load(Ordering::Relaxed), 4);
}

/// A service with difficult replies; why they ended.
fn difficult(transno: u64) -> (Server, Receiver<ReplyDone>) {
    let (sender, done) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |_| {
        let sender = sender.lock().unwrap().clone();
        Reply::new().transno(transno).difficult(move |done| sender.send(done).unwrap()).into()
    });
    (server, done)
}

/// Sends a request without a reply buffer, so that there is no ACK, and waits until it was served as the `nth` of all.
fn send_without_ack(server: &Server, client: &Client, nth: u64) {
    client.put(client.xids.take().0, &client.message(&client.body(ECHO), &[]));
    while server.service.counts().served < nth {
        std::thread::yield_now();
    }
}

#[test]
fn a_difficult_reply_ends_with_its_ack() {
    let (server, done) = difficult(5);
    let client = server.connected();
    assert_eq!(client.ask(&client.body(ECHO), &[]).body.transno, 5);
    assert_eq!(done.recv().unwrap(), ReplyDone::Acked);
    server.target.commit(5);
    server.service.stop().unwrap();
    assert!(done.try_recv().is_err(), "once");
}

#[test]
fn a_difficult_reply_that_is_lost_ends_with_its_commit() {
    let (server, done) = difficult(5);
    let client = server.connected();
    send_without_ack(&server, &client, 2);
    server.target.commit(4);
    server.target.commit(0);
    assert_eq!(client.ping().body.last_committed, 4);
    assert!(done.try_recv().is_err());
    server.target.commit(6);
    assert_eq!(done.recv().unwrap(), ReplyDone::Committed);
    // If the transaction is committed already, the reply ends when it is sent.
    send_without_ack(&server, &client, 4);
    assert_eq!(done.recv().unwrap(), ReplyDone::Committed);
}

#[test]
fn a_difficult_reply_ends_with_its_client_or_the_service() {
    for (name, end) in [
        (
            "it disconnects",
            (|_, client| drop(client.ask(&client.body(Opcode::OST_DISCONNECT), &[]))) as fn(&Server, &Client),
        ),
        ("it is evicted", |server, _| assert_eq!(server.targets.evict(&"a client".parse().unwrap()), 1)),
        ("the service ends", |server, _| server.service.stop().unwrap()),
    ] {
        // No transaction: it is never committed.
        let (server, done) = difficult(0);
        let client = server.connected();
        send_without_ack(&server, &client, 2);
        server.target.commit(7);
        assert!(done.try_recv().is_err(), "{name}");
        end(&server, &client);
        assert_eq!(done.recv().unwrap(), ReplyDone::Lost, "{name}");
    }
}

#[test]
fn a_difficult_reply_to_an_evicted_client_ends() {
    let (gate, begun, go_on) = gate();
    let (sender, done) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        gate.pass(request.xid().0);
        let sender = sender.lock().unwrap().clone();
        Reply::new().difficult(move |done| sender.send(done).unwrap()).into()
    });
    let client = server.connected();
    for _ in 0..20 {
        client.put(client.xids.take().0, &client.message(&client.body(ECHO), &[]));
    }
    // All messages have arrived before the ping.
    assert_eq!(client.ping().status(), Ok(()));
    begun.recv().unwrap();
    server.targets.evict(&"a client".parse().unwrap());
    for _ in 0..20 {
        go_on.send(()).unwrap();
        assert_eq!(done.recv().unwrap(), ReplyDone::Lost);
    }
}
