//! Services over the loopback: how answers get to clients, and requests to be served, when something is in the way.
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

/// A handler's side of a talk with the test.
struct Talk {
    says: Mutex<Sender<u64>>,
    hears: Mutex<Receiver<()>>,
}

fn talk() -> (Talk, Receiver<u64>, Sender<()>) {
    let ((says, heard), (tell, hears)) = (channel(), channel());
    (Talk { says: Mutex::new(says), hears: Mutex::new(hears) }, heard, tell)
}

impl Talk {
    fn say(&self, what: u64) {
        self.says.lock().unwrap().send(what).unwrap();
    }

    fn wait(&self) {
        self.hears.lock().unwrap().recv().unwrap();
    }
}

/// A service that says which requests it has begun, and ends each when it is told to.
fn patient(config: ServiceConfig) -> (Server, Receiver<u64>, Sender<()>) {
    let (talk, begun, go_on) = talk();
    let server = Server::start(config, move |request| {
        talk.say(request.xid().0);
        talk.wait();
        Reply::new().into()
    });
    (server, begun, go_on)
}

#[test]
fn requests_that_find_no_buffer_wait_and_are_served_in_their_order() {
    // One request fills the only buffer.
    let one =
        ServiceConfig { buffer_size: 4096, max_request: 4096, buffers: 1, buffers_limit: 1, ..config() };
    let (server, begun, go_on) = patient(one);
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
fn there_are_more_buffers_for_a_while_when_few_are_left() {
    let few = ServiceConfig {
        buffer_size: 4096,
        max_request: 4096,
        buffers: 1,
        buffers_limit: 4,
        threads: 1,
        ..config()
    };
    let (server, begun, go_on) = patient(few);
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
fn a_slow_request_is_put_off_by_early_replies() {
    let adaptive = Adaptive {
        at_extra: Duration::from_secs(1),
        at_early_margin: Duration::from_secs(1),
        ..Adaptive::default()
    };
    let (server, begun, go_on) = patient(ServiceConfig { adaptive, ..config() });
    let client = server.connected();
    let xid = client.xids.take();
    let waiting = client.send(xid, &Body { timeout: 1, ..client.body(ECHO) }, &[]);
    begun.recv().unwrap();
    let mut promised = 1;
    for _ in 0..3 {
        let early = waiting.any();
        assert!(early.is_intact_early);
        assert_eq!((early.offset, early.bytes.len(), early.body.status), (0, 224, 0));
        assert_eq!((early.body.kind, early.body.opcode), (MessageKind::Reply, ECHO));
        assert!(early.body.timeout > promised, "{} after {promised}", early.body.timeout);
        promised = early.body.timeout;
    }
    go_on.send(()).unwrap();
    let got = waiting.reply();
    assert_eq!((got.offset, got.status(), got.is_intact_early), (224, Ok(()), false));
    assert!(got.body.service_time >= 1 && got.body.timeout >= got.body.service_time);
    assert!(waiting.is_quiet());
    assert!(server.counts().early_replies >= 3);
}

#[test]
fn a_request_that_waits_for_its_turn_is_put_off_too() {
    let (server, begun, go_on) = patient(ServiceConfig { threads: 1, ..config() });
    let client = server.connected();
    let [first, second] = [0; 2].map(|_| {
        let body = Body { timeout: 5, ..client.body(ECHO) };
        client.send(client.xids.take(), &body, &[])
    });
    begun.recv().unwrap();
    for waiting in [&first, &second] {
        let early = waiting.any();
        assert!(early.is_intact_early);
        assert!(early.body.timeout >= 30);
    }
    for waiting in [&first, &second] {
        go_on.send(()).unwrap();
        assert_eq!(waiting.reply().status(), Ok(()));
    }
}

#[test]
fn a_request_that_is_sent_again_while_it_is_served_is_answered_where_it_came_from_last() {
    let (server, begun, go_on) = patient(config());
    let mut client = server.client();
    client.wanted = ConnectFlags::REP_MBITS;
    client.connect();
    let xid = client.xids.take();
    let body = |mbits, flags| Body { mbits, flags, ..client.body(ECHO) };
    let [first, second, third] = [100, 200, 300].map(|bits| client.wait_for(bits));
    client.put(xid.0, &client.message(&body(100, BodyFlags::NONE), &[]));
    begun.recv().unwrap();
    client.put(xid.0, &client.message(&body(200, BodyFlags::RESENT), &[]));
    // What the network has doubled says nothing new.
    client.put(xid.0, &client.message(&body(300, BodyFlags::NONE), &[]));
    assert_eq!(server.counts().dropped(Dropped::Duplicate), 2);
    go_on.send(()).unwrap();
    assert_eq!(second.reply().status(), Ok(()));
    assert!(first.is_quiet() && third.is_quiet());
    assert_eq!(begun.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
}

#[test]
fn a_request_with_a_tag_is_served_once_however_often_it_is_sent() {
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
    // Without a tag it is served each time.
    let untagged = client.xids.take();
    assert_eq!(send(untagged, 0, old, BodyFlags::NONE).reply().body.transno, 2);
    assert_eq!(send(untagged, 0, old, BodyFlags::RESENT).reply().body.transno, 3);
    // The client has the answer: whoever sends the request now has been on the way for long.
    assert_eq!(send(next, 4, xid, BodyFlags::NONE).reply().body.transno, 4);
    let quiet = send(xid, 3, old, BodyFlags::RESENT);
    assert_eq!(server.counts().dropped(Dropped::AlreadyReplied), 1);
    assert!(quiet.is_quiet());
    assert_eq!(served.load(Ordering::Relaxed), 4);
}

/// A service whose answers hold something; what ended that.
fn holding(transno: u64) -> (Server, Receiver<ReplyDone>) {
    let (sender, done) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |_| {
        let sender = sender.lock().unwrap().clone();
        Reply::new().transno(transno).difficult(move |done| sender.send(done).unwrap()).into()
    });
    (server, done)
}

/// Sends a request without waiting for its reply, so that no ACK comes, until it has been served: the `nth` of all.
fn deaf(server: &Server, client: &Client, nth: u64) {
    client.put(client.xids.take().0, &client.message(&client.body(ECHO), &[]));
    while server.service.counts().served < nth {
        std::thread::yield_now();
    }
}

#[test]
fn what_is_held_for_an_answer_is_let_go_when_the_client_has_it() {
    let (server, done) = holding(5);
    let client = server.connected();
    assert_eq!(client.ask(&client.body(ECHO), &[]).body.transno, 5);
    assert_eq!(done.recv().unwrap(), ReplyDone::Acked);
    server.target.commit(5);
    server.service.stop().unwrap();
    assert!(done.try_recv().is_err(), "once");
}

#[test]
fn what_is_held_for_an_answer_that_gets_lost_is_let_go_when_it_is_on_disk() {
    let (server, done) = holding(5);
    let client = server.connected();
    deaf(&server, &client, 2);
    server.target.commit(4);
    server.target.commit(0);
    assert_eq!(client.ping().body.last_committed, 4);
    assert!(done.try_recv().is_err());
    server.target.commit(6);
    assert_eq!(done.recv().unwrap(), ReplyDone::Committed);
    // What is on disk already is held no longer than until it has left.
    deaf(&server, &client, 4);
    assert_eq!(done.recv().unwrap(), ReplyDone::Committed);
}

#[test]
fn what_is_held_for_a_client_is_let_go_when_it_is_gone() {
    for (name, end) in [
        (
            "it leaves",
            (|_, client| drop(client.ask(&client.body(Opcode::OST_DISCONNECT), &[]))) as fn(&Server, &Client),
        ),
        ("it is evicted", |server, _| assert_eq!(server.targets.evict(&"a client".parse().unwrap()), 1)),
        ("the service ends", |server, _| server.service.stop().unwrap()),
    ] {
        // No transaction: it is never on disk.
        let (server, done) = holding(0);
        let client = server.connected();
        deaf(&server, &client, 2);
        server.target.commit(7);
        assert!(done.try_recv().is_err(), "{name}");
        end(&server, &client);
        assert_eq!(done.recv().unwrap(), ReplyDone::Lost, "{name}");
    }
}

#[test]
fn what_is_held_for_a_client_that_is_gone_before_it_is_answered_is_let_go_too() {
    let (talk, begun, go_on) = talk();
    let (sender, done) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        talk.say(request.xid().0);
        talk.wait();
        let sender = sender.lock().unwrap().clone();
        Reply::new().difficult(move |done| sender.send(done).unwrap()).into()
    });
    let client = server.connected();
    for _ in 0..20 {
        client.put(client.xids.take().0, &client.message(&client.body(ECHO), &[]));
    }
    // All have come before its ping.
    assert_eq!(client.ping().status(), Ok(()));
    begun.recv().unwrap();
    server.targets.evict(&"a client".parse().unwrap());
    for _ in 0..20 {
        go_on.send(()).unwrap();
        assert_eq!(done.recv().unwrap(), ReplyDone::Lost);
    }
}
