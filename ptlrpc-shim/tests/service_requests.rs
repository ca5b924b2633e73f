//! Services over the loopback: connections, which requests are served, and the end of a service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet as _;
use ptlrpc::Errno;
use ptlrpc::lnet::Nid;
use ptlrpc::message::body::ExportCookie;
use ptlrpc::message::{
    Body, BodyFlags, ByteOrder, ConnectFlags, ConnectOps, MessageFlags, MessageKind, Opcode,
    Service as Protocol, Version, Xid,
};
use ptlrpc::service::{Counts, Dropped, Reply, Response, Service, ServiceConfig, Targets};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use support::client::{Client, ECHO, local_process};
use support::{Server, config, echo, handler, supported};

#[test]
fn a_client_connects_and_pings() {
    let server = Server::start(config(), echo);
    let mut client = server.client();
    let body = client.body(Opcode::OST_CONNECT);
    assert_eq!(client.connect_request(&body).len(), 520);
    let (got, data) = client.connect();
    assert_ne!(got.body.handle, ExportCookie::NONE);
    assert_eq!((got.body.opcode, got.body.version), (Opcode::OST_CONNECT, Version(0x0001_0003)));
    assert_eq!((got.bytes.len(), got.offset, got.body.op_flags), (416, 224, ConnectOps::NONE));
    assert_eq!((data.flags, data.maxmodrpcs), (ConnectFlags::AT, 16), "what was requested and is supported");
    assert_eq!(client.message(&client.body(Opcode::PING), &[]).len(), 224);
    let got = client.ping();
    assert_eq!((got.bytes.len(), got.offset, got.status()), (224, 224, Ok(())));
    assert_eq!((got.body.kind, got.body.opcode), (MessageKind::Reply, Opcode::PING));
    let export = server.targets.export(client.handle).unwrap();
    assert_eq!((export.client().as_bytes(), export.peer()), (&b"a client"[..], local_process()));
    assert_eq!(export.client_handle(), client.client_handle);
}

#[test]
fn the_reply_is_behind_the_space_for_early_replies_if_there_is_some() {
    let server = Server::start(config(), echo);
    for (flags, offset) in [(MessageFlags::AT_SUPPORT, 224), (MessageFlags::NONE, 0)] {
        let mut client = server.client();
        (client.flags, client.uuid) = (flags, format!("{flags:?}"));
        assert_eq!(client.connect().0.offset, offset, "{flags:?}");
        assert_eq!(client.ask(&client.body(ECHO), &[b"word"]).offset, offset, "{flags:?}");
    }
}

#[test]
fn a_client_of_either_byte_order_is_served() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let server = Server::start(config(), move |request| {
            assert_eq!((request.order(), request.opcode()), (order, ECHO));
            echo(request)
        });
        let mut client = server.client();
        client.order = order;
        client.connect();
        let got = client.ask(&client.body(ECHO), &[b"a word", b"", b"another one"]);
        assert_eq!(
            (got.status(), got.buffers),
            (Ok(()), vec![b"a word".into(), vec![], b"another one".into()])
        );
    }
}

#[test]
fn a_request_has_its_source_and_its_destination() {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        let it = (request.peer(), request.source(), request.self_nid(), request.xid());
        sender.lock().unwrap().send(it).unwrap();
        assert!(request.deadline() > request.arrived());
        Reply::new().status(7).transno(9).into()
    });
    server.target.commit(8);
    let client = server.connected();
    let xid = client.xids.take();
    let got = client.send(xid, &client.body(ECHO), &[]).reply();
    assert_eq!(seen.recv().unwrap(), (local_process(), local_process(), Nid::LOOPBACK, xid));
    assert_eq!(got.event.source(), Some(local_process()));
    assert_eq!((got.body.status, got.body.transno, got.body.last_committed), (7, 9, 8));
}

#[test]
fn replies_are_matched_by_mbits_if_that_was_agreed_on() {
    let server = Server::start(config(), echo);
    let mut client = server.client();
    client.requested = ConnectFlags::REP_MBITS;
    client.connect();
    let xid = client.xids.take();
    let waiting = client.wait_for(0xb175);
    client.put(xid.0, &client.message(&Body { mbits: 0xb175, ..client.body(ECHO) }, &[]));
    assert_eq!(waiting.reply().status(), Ok(()));
    client.connect();
}

#[test]
fn requests_that_cannot_be_served_get_error_replies() {
    let server = Server::start(config(), echo);
    let client = server.connected();
    let of = |opcode| client.body(opcode);
    for (name, body, errno) in [
        ("not connected", Body { handle: ExportCookie::NONE, ..of(ECHO) }, Errno::NotConnected),
        (
            "a ping without a connection",
            Body { handle: ExportCookie(1), ..of(Opcode::PING) },
            Errno::NotConnected,
        ),
        (
            "a disconnect without a connection",
            Body { handle: ExportCookie(1), ..of(Opcode::OST_DISCONNECT) },
            Errno::NotConnected,
        ),
        ("an unsupported operation", of(Opcode(0x6fff)), Errno::NotSupported),
        ("no such slot", Body { tag: 17, ..of(ECHO) }, Errno::Protocol),
        ("another protocol", Body { version: Version::of(Protocol::MDS), ..of(ECHO) }, Errno::Protocol),
        ("a connect request without its buffers", of(Opcode::OST_CONNECT), Errno::Protocol),
    ] {
        let got = client.ask(&body, &[]);
        assert_eq!((got.body.kind, got.status()), (MessageKind::Error, Err(errno)), "{name}");
        assert_eq!((got.offset, got.body.opcode), (224, body.opcode), "{name}");
    }
    let mut stray = server.client();
    stray.target = "OST0001";
    let got = stray.try_connect();
    assert_eq!((got.body.kind, got.status()), (MessageKind::Error, Err(Errno::NoDevice)));
    assert_eq!(server.counts().refused, 8);
    assert_eq!(client.ping().status(), Ok(()));
}

#[test]
fn invalid_and_stale_requests_are_dropped_and_counted() {
    let server = Server::start(config(), echo);
    let mut client = server.connected();
    client.connect();
    let good = client.message(&client.body(ECHO), &[b"a word"]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let body = |body: Body| client.message(&body, &[]);
    let of = || client.body(ECHO);
    let kind = |kind| body(Body { kind, ..of() });
    let mut want = [0; Dropped::ALL.len()];
    for (name, bytes, why) in [
        ("nothing", Vec::new(), Dropped::Malformed),
        ("a header without lengths", good[..32].to_vec(), Dropped::Malformed),
        ("cut off", good[..good.len() - 8].to_vec(), Dropped::Malformed),
        ("no magic", with(9, 0xff), Dropped::Malformed),
        ("no buffer", with(0, 0), Dropped::Malformed),
        ("too many buffers", with(0, 200), Dropped::Malformed),
        ("a long buffer", with(36, 0xff), Dropped::Malformed),
        ("lengths that overflow", with(39, 0xff), Dropped::Malformed),
        ("a short body", with(32, 8), Dropped::Malformed),
        ("an unknown kind", with(48, 0), Dropped::Malformed),
        ("a reply", kind(MessageKind::Reply), Dropped::NotARequest),
        ("an error", kind(MessageKind::Error), Dropped::NotARequest),
        ("no timeout", body(Body { timeout: 0, ..of() }), Dropped::NoTimeout),
        ("an old connection", body(Body { conn_cnt: 1, ..of() }), Dropped::StaleConnection),
        (
            "the same connect request",
            client.connect_request(&client.body(Opcode::OST_CONNECT)),
            Dropped::StaleConnect,
        ),
    ] {
        let waiting = client.wait_for(64);
        client.put(64, &bytes);
        want[why as usize] += 1;
        let counts = loop {
            let counts = server.counts();
            if counts.dropped(why) >= want[why as usize] {
                break counts;
            }
        };
        assert_eq!(Dropped::ALL.map(|why| counts.dropped(why)), want, "{name}");
        assert!(waiting.is_quiet(), "{name}");
    }
    // LNet drops messages that are longer than requests may be.
    client.put(64, &vec![0; 20 << 10]);
    assert_eq!(client.ping().status(), Ok(()));
}

#[test]
fn a_client_that_reconnects_keeps_its_connection_until_it_disconnects() {
    let server = Server::start(config(), echo);
    let mut client = server.connected();
    let handle = client.handle;
    let (again, _) = client.connect();
    assert_eq!((again.body.op_flags, again.body.handle), (ConnectOps::RECONNECT, handle));
    assert_eq!(client.ask(&client.body(Opcode::OST_DISCONNECT), &[]).status(), Ok(()));
    assert_eq!(client.ping().status(), Err(Errno::NotConnected));
    let (anew, _) = client.connect();
    assert_eq!(anew.body.op_flags, ConnectOps::NONE);
    assert_ne!(anew.body.handle, handle);
    assert_eq!(server.targets.evict(&"a client".parse().unwrap()), 1);
    assert_eq!(client.ping().status(), Err(Errno::NotConnected));
}

#[test]
fn unresponsive_clients_are_evicted() {
    let after = Duration::from_secs(20);
    let config = ServiceConfig { evict_unresponsive_after: Some(after), ..config() };
    let server = Server::start(config, echo);
    let client = server.connected();
    server.clock.advance(after / 2);
    assert_eq!(client.ping().status(), Ok(()));
    server.clock.advance(after / 2);
    assert_eq!(client.ping().status(), Ok(()), "it was heard from half the time ago");
    while !server.targets.exports().is_empty() {
        server.clock.advance(after);
        std::thread::yield_now();
    }
    while server.service.counts().evicted == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_restarted_server_does_not_know_its_clients() {
    let server = Server::start(config(), echo);
    let mut client = server.connected();
    let (before, cookie) = (client.conn_cnt, client.handle);
    server.service.stop().unwrap();
    let targets = Targets::new(43);
    targets.add("OST0000".parse().unwrap(), supported()).unwrap();
    let service = Service::start(&server.node, &targets, config(), handler(echo)).unwrap();
    assert_eq!(client.ping().status(), Err(Errno::NotConnected));
    let (got, _) = client.connect();
    assert_eq!(got.body.op_flags, ConnectOps::NONE);
    assert_ne!(got.body.handle, cookie);
    let waiting = client.wait_for(64);
    client.put(64, &client.message(&Body { conn_cnt: before, ..client.body(ECHO) }, &[]));
    assert_eq!(client.ping().status(), Ok(()));
    assert!(waiting.is_quiet());
    assert_eq!(service.counts().dropped(Dropped::StaleConnection), 1);
}

#[test]
fn one_thread_is_reserved_for_urgent_requests() {
    let (sender, go_on) = channel::<()>();
    let go_on = Mutex::new(go_on);
    let server = Server::start(ServiceConfig { threads: 1, ..config() }, move |_| {
        go_on.lock().unwrap().recv().unwrap();
        Reply::new().into()
    });
    let client = server.connected();
    let slow = [0; 3].map(|_| client.send(client.xids.take(), &client.body(ECHO), &[]));
    assert_eq!(client.ping().status(), Ok(()));
    assert!(slow.iter().all(|slow| slow.is_quiet()));
    for slow in &slow {
        sender.send(()).unwrap();
        assert_eq!(slow.reply().status(), Ok(()));
    }
}

#[test]
fn a_failing_handler_affects_only_its_client() {
    let server = Server::start(config(), |request| match request.buffer(1) {
        Some(b"panic") => panic!("as the test wants it"),
        Some(b"long") => Reply::new().buffer(vec![0; 100_000]).into(),
        Some(b"error") => Errno::Busy.into(),
        Some(b"nothing") => Response::None,
        _ => echo(request),
    });
    let client = server.connected();
    for (word, want) in [
        ("panic", Err(Errno::Io)),
        ("long", Err(Errno::Overflow)),
        ("error", Err(Errno::Busy)),
        ("good", Ok(())),
    ] {
        let got = client.ask(&client.body(ECHO), &[word.as_bytes()]);
        assert_eq!((got.status(), got.body.kind), (want, MessageKind::Reply), "{word}");
    }
    let quiet = client.send(client.xids.take(), &client.body(ECHO), &[b"nothing"]);
    while server.service.counts().served < 6 {
        std::thread::yield_now();
    }
    assert!(quiet.is_quiet());
}

#[test]
fn a_request_whose_timeout_is_over_is_not_served() {
    let (sender, go_on) = channel::<()>();
    let (begun, has_begun) = channel();
    let channels = Mutex::new((go_on, begun));
    let server = Server::start(ServiceConfig { threads: 1, ..config() }, move |request| {
        let channels = channels.lock().unwrap();
        channels.1.send(request.xid()).unwrap();
        channels.0.recv().unwrap();
        Reply::new().into()
    });
    let mut client = server.connected();
    // Early replies, which would extend the timeout, are switched off.
    client.flags = MessageFlags::NONE;
    let slow = client.send(client.xids.take(), &client.body(ECHO), &[]);
    has_begun.recv().unwrap();
    let hasty = Body { timeout: 1, tag: 1, ..client.body(ECHO) };
    let xid = client.xids.take();
    let late = client.send(xid, &hasty, &[]);
    server.counts();
    server.clock.advance(Duration::from_secs(1));
    sender.send(()).unwrap();
    assert_eq!(slow.reply().status(), Ok(()));
    let again = Body { flags: BodyFlags::RESENT, timeout: 100, ..hasty };
    drop(late);
    while server.service.counts().dropped(Dropped::Expired) == 0 {
        std::thread::yield_now();
    }
    let waiting = client.send(xid, &again, &[]);
    assert_eq!(has_begun.recv().unwrap(), xid, "it was not served before");
    sender.send(()).unwrap();
    assert_eq!(waiting.reply().status(), Ok(()));
}

#[test]
fn a_service_ends_under_load_and_another_starts() {
    let server = Server::start(config(), echo);
    let clients = [0, 1, 2].map(|number| {
        let mut client = Client::new(&server.node, &format!("client {number}"));
        client.connect();
        client
    });
    std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                // The client has no reply buffers: requests that the end of the service drops get no reply.
                for number in 0..2000 {
                    client.put(64 * number, &client.message(&client.body(ECHO), &[&[7; 100]]));
                }
            });
        }
        while server.service.counts().served < 100 {
            std::thread::yield_now();
        }
        assert_eq!(server.service.stop(), Ok(()));
        assert_eq!(server.service.stop(), Ok(()));
    });
    let Counts { arrived, served, .. } = server.service.counts();
    assert!(served <= arrived);
    let service = Service::start(&server.node, &server.targets, config(), handler(echo)).unwrap();
    assert_eq!(clients[0].ping().status(), Ok(()), "its connection is the target's");
    drop(service);
}

#[test]
fn a_handler_cannot_stop_its_own_service_but_may_drop_it() {
    static MINE: OnceLock<Mutex<Option<Arc<Service>>>> = OnceLock::new();
    let (sender, stopped) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), echo);
    server.service.stop().unwrap();
    let function = move |_: &mut ptlrpc::service::ServiceRequest<'_>| {
        let service = MINE.get().unwrap().lock().unwrap().take().unwrap();
        sender.lock().unwrap().send(service.stop()).unwrap();
        drop(service);
        Reply::new().into()
    };
    let service = Service::start(&server.node, &server.targets, config(), handler(function)).unwrap();
    MINE.get_or_init(|| Mutex::new(Some(Arc::new(service))));
    let client = server.connected();
    assert_eq!(client.ask(&client.body(ECHO), &[]).status(), Ok(()));
    assert_eq!(stopped.recv().unwrap(), Err(Errno::Busy));
    // The handler is dropped with the last thread of the service; until then its buffers would take the requests of another test.
    assert!(stopped.recv().is_err());
}

#[test]
fn xids_are_the_match_bits_of_requests() {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(config(), move |request| {
        sender.lock().unwrap().send(request.xid()).unwrap();
        Reply::new().into()
    });
    let client = server.connected();
    let xids = [client.xids.take(), client.xids.take()];
    for xid in xids {
        client.send(xid, &client.body(ECHO), &[]).reply();
    }
    assert_eq!([seen.recv().unwrap(), seen.recv().unwrap()], xids);
    assert_eq!(xids[1], Xid(xids[0].0 + 64));
}
