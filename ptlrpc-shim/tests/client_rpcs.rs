//! RPCs of a client with a scripted server, over the loopback. The client's clock only advances when a test advances it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/exclusive.rs"]
mod exclusive;
#[path = "support/scripted_server.rs"]
mod scripted_server;

use ptlrpc::Errno;
use ptlrpc::client::{Adaptive, Client, Timeouts};
use ptlrpc::client::{Import, ImportConfig, ImportState, RequestSet};
use ptlrpc::clock::{Clock, ManualClock};
use ptlrpc::lnet::{Node, Region};
use ptlrpc::message::{Body, MessageKind, Opcode, Portal};
use ptlrpc::request::{Bulk, Direction, Reply, Request};
use scripted_server::{Received, Server};
use std::sync::Arc;
use std::time::Duration;

const ECHO: Opcode = *Opcode::ECHO.start();
/// Longer than any test advances the clock.
const LONG: Duration = Duration::from_secs(36_000);
const SHORT: Duration = Duration::from_millis(100);

struct Fixture {
    server: Server,
    import: Arc<Import>,
    clock: Arc<ManualClock>,
    _exclusive: exclusive::Exclusive,
}

fn timeouts(adaptive: bool) -> Timeouts {
    let max = if adaptive { LONG } else { Duration::ZERO };
    let adaptive = Adaptive { max, ..Timeouts::default().adaptive };
    Timeouts { fixed: LONG, adaptive, connect: Some(LONG) }
}

/// A server, and a client that is not connected yet.
fn fixture_with(timeouts: Timeouts) -> Fixture {
    let _exclusive = exclusive::exclusive();
    let clock = Arc::<ManualClock>::default();
    let node = Node::start().unwrap();
    let server = Server::start(&node);
    let client = Client::start_with_clock(node, timeouts, Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    let config = ImportConfig::ost("lustre-OST0000_UUID".parse().unwrap(), "client".parse().unwrap(), "0@lo");
    Fixture { server, import: client.import(config).unwrap(), clock, _exclusive }
}

fn connected_with(timeouts: Timeouts) -> Fixture {
    let mut fixture = fixture_with(timeouts);
    fixture.while_serving(
        |import| import.connect(None).unwrap(),
        |server| {
            let received = server.next();
            server.accept(&received);
        },
    );
    fixture
}

fn connected() -> Fixture {
    connected_with(timeouts(true))
}

fn echo() -> Request {
    Request { buffers: vec![b"hello".to_vec()], reply_lengths: vec![64], ..Request::new(ECHO) }
}

impl Drop for Fixture {
    /// Closes the import, so that this test's client sends nothing to the server of the next test.
    fn drop(&mut self) {
        self.import.close();
    }
}

impl Fixture {
    /// Runs the client beside the server.
    fn while_serving<T: Send>(
        &mut self,
        client: impl FnOnce(&Arc<Import>) -> T + Send,
        serve: impl FnOnce(&mut Server),
    ) -> T {
        let import = &self.import;
        std::thread::scope(|scope| {
            let done = scope.spawn(move || client(import));
            serve(&mut self.server);
            done.join().unwrap()
        })
    }

    fn call(&mut self, request: Request, serve: impl FnOnce(&mut Server)) -> Result<Reply, Errno> {
        let import = &self.import;
        std::thread::scope(|scope| {
            let done = scope.spawn(move || import.call(request));
            serve(&mut self.server);
            self.server.go_on_until(|| done.is_finished());
            done.join().unwrap()
        })
    }
}

#[test]
fn connect_ping_and_disconnect_have_lustres_messages() {
    let mut fixture = fixture_with(timeouts(true));
    fixture.while_serving(
        |import| import.connect(None).unwrap(),
        |server| {
            let received = server.next();
            assert_eq!(
                (received.len(), received.opcode(), received.body().conn_cnt),
                (520, Opcode::OST_CONNECT, 1)
            );
            assert_eq!((received.body().handle.0, received.xid.0 % 64), (0, 0));
            server.accept(&received);
        },
    );
    assert_eq!((fixture.import.state(), fixture.import.handle().0.0), (ImportState::Full, 0x77));
    fixture.while_serving(
        |import| import.ping().unwrap(),
        |server| {
            let received = server.next();
            assert_eq!(
                (received.len(), received.opcode(), received.body().handle.0),
                (224, Opcode::PING, 0x77)
            );
            assert_eq!(received.body().version.0, 0x0001_0003);
            server.reply(&received, 0, &[]);
        },
    );
    fixture.while_serving(
        |import| import.disconnect(LONG).unwrap(),
        |server| {
            let received = server.next();
            assert_eq!(received.opcode(), Opcode::OST_DISCONNECT);
            server.reply(&received, 0, &[]);
        },
    );
    assert_eq!(fixture.import.call(echo()).unwrap_err(), Errno::Shutdown);
}

#[test]
fn a_reply_has_the_buffers_and_the_status_of_the_service() {
    for adaptive in [true, false] {
        let mut fixture = connected_with(timeouts(adaptive));
        let reply = fixture.call(echo(), |server| {
            let received = server.serve();
            assert_eq!((received.buffer(1), received.is_resent()), (b"hello".to_vec(), false));
            server.reply(&received, -17, &[b"world"]);
        });
        let reply = reply.unwrap();
        assert_eq!((reply.status(), reply.result()), (-17, Err(Errno::Exists)));
        assert_eq!((reply.buffer(1), reply.buffer(2)), (Some(&b"world"[..]), None));
    }
}

/// PR-51: fails if a request whose reply is truncated is not resent with a larger buffer.
#[test]
fn a_request_with_a_truncated_reply_is_resent_with_a_larger_buffer() {
    let mut fixture = connected();
    let long = vec![7; 5000];
    let reply = fixture.call(echo(), |server| {
        let first = server.serve();
        server.reply(&first, 0, &[&long]);
        let again = server.serve();
        assert_eq!((again.xid, again.is_resent()), (first.xid, true));
        assert!(again.message().repsize() >= 5000);
        server.reply(&again, 0, &[&long]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&long[..]));
    let reply = fixture.call(Request { no_resend: true, ..echo() }, |server| {
        let first = server.serve();
        server.reply(&first, 0, &[&long]);
    });
    assert_eq!(reply.unwrap_err(), Errno::Overflow);
}

/// PR-63: fails if a request that the server does not execute now is not resent later with a new XID.
#[test]
fn a_request_that_is_not_executed_now_is_resent_later_with_a_new_xid() {
    let mut fixture = connected();
    let clock = Arc::clone(&fixture.clock);
    let reply = fixture.call(Request { timeout: Some(LONG), ..echo() }, |server| {
        let first = server.serve();
        server.reply(&first, Errno::InProgress.to_c(), &[]);
        let again = server.next_later(&clock, Duration::from_secs(1));
        assert!(again.xid > first.xid && !again.is_resent());
        server.reply(&again, 0, &[b"now"]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&b"now"[..]));
}

/// PR-23, PR-60: fails if a request without a reply is not resent with its XID after a reconnect.
#[test]
fn a_request_without_a_reply_is_resent_with_its_xid_after_a_reconnect() {
    let mut fixture = connected();
    let clock = Arc::clone(&fixture.clock);
    let reply = fixture.call(Request { timeout: Some(SHORT), ..echo() }, |server| {
        let first = server.serve();
        clock.advance(SHORT);
        let connect = server.next();
        assert!(connect.opcode().is_connect());
        assert_eq!(connect.body().conn_cnt, 2);
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.is_resent(), again.body().conn_cnt), (first.xid, true, 2));
        server.reply(&again, 0, &[b"at last"]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&b"at last"[..]));
}

/// PR-72: fails if an early reply does not extend the timeout.
#[test]
fn an_early_reply_extends_the_timeout() {
    let mut fixture = connected();
    let mut set = RequestSet::new();
    let id = set.add(&fixture.import, Request { timeout: Some(Duration::from_secs(1)), ..echo() });
    let received = fixture.server.serve();
    fixture.server.early(&received, 20);
    fixture.server.early(&received, 20);
    // A message without a valid checksum is ignored.
    let mut wrong = vec![0; 224];
    wrong[8..12].copy_from_slice(&0x0bd0_0bd3_u32.to_ne_bytes());
    fixture.server.send(&received, &wrong, 0);
    fixture.clock.advance(Duration::from_millis(1500));
    assert!(!set.wait_any(Some(fixture.clock.now())), "its own timeout is over");
    assert_eq!(set.early_replies(id), 2);
    fixture.server.reply(&received, 0, &[b"late"]);
    set.wait();
    let reply = set.take(id).unwrap().unwrap();
    assert_eq!(reply.buffer(1), Some(&b"late"[..]));
    assert!(set.is_empty());
}

#[test]
fn an_invalid_reply_fails_the_request_and_one_for_another_xid_is_ignored() {
    let mut fixture = connected();
    for (name, bytes) in [
        ("too short", vec![0; 20]),
        ("no magic", vec![0; 200]),
        ("a request", {
            let mut bytes = vec![0; 224];
            let mut message = ptlrpc::message::MessageMut::new(&mut bytes, &[184]).unwrap();
            message.set_body(&Body::request(ptlrpc::message::Service::OBD, ECHO));
            bytes
        }),
    ] {
        let reply = fixture.call(echo(), |server| {
            let mut received = server.serve();
            // No reply with this XID is expected.
            received.xid.0 -= 64;
            server.send(&received, b"stale", received.reply_offset());
            received.xid.0 += 64;
            server.send(&received, &bytes, received.reply_offset());
        });
        assert_eq!(reply.unwrap_err(), Errno::Protocol, "{name}");
    }
}

#[test]
fn a_server_that_does_not_know_the_client_is_reconnected_and_the_request_resent() {
    let mut fixture = connected();
    let reply = fixture.call(echo(), |server| {
        let first = server.serve();
        let body = Body {
            kind: MessageKind::Error,
            status: Errno::NotConnected.to_c(),
            ..Body::reply_to(&first.body())
        };
        server.restart();
        server.reply_with(&first, body, &[]);
        let connect = server.next();
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.body().handle.0), (first.xid, 0x78));
        server.reply(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().status(), 0);
}

#[test]
fn an_at_most_once_request_is_not_resent_to_a_restarted_server() {
    let mut fixture = connected();
    let clock = Arc::clone(&fixture.clock);
    let once = Request { at_most_once: true, timeout: Some(SHORT), ..echo() };
    let reply = fixture.call(once.clone(), |server| {
        let first = server.serve();
        assert_eq!(first.body().tag, 1);
        server.restart();
        clock.advance(SHORT);
        let connect = server.next();
        server.accept(&connect);
    });
    assert_eq!(reply.unwrap_err(), Errno::Stale);
    // The same server recognizes the request.
    let reply = fixture.call(once, |server| {
        let first = server.serve();
        clock.advance(SHORT);
        let connect = server.next();
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.is_resent(), again.body().tag), (first.xid, true, 1));
        server.reply(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().status(), 0);
}

#[test]
fn modifying_requests_take_slots_and_last_xid_says_which_have_replies() {
    let mut fixture = connected();
    let once = || Request { at_most_once: true, ..echo() };
    let mut set = RequestSet::new();
    let ids: Vec<_> = (0..3).map(|_| set.add(&fixture.import, once())).collect();
    let (first, second) = (fixture.server.serve(), fixture.server.serve());
    assert_eq!((first.body().tag, second.body().tag), (1, 2));
    assert_eq!(second.body().last_xid.0, first.xid.0 - 1);
    fixture.server.reply(&first, 0, &[]);
    assert!(set.wait_any(None));
    assert!(set.take(ids[0]).unwrap().is_ok() && set.take(ids[0]).is_none());
    // The third is sent when the set is polled.
    set.wait_any(Some(fixture.clock.now()));
    while set.len() == 2 && set.take_any().is_none() {
        set.wait_any(Some(fixture.clock.now()));
        let Some(third) = fixture.server.try_next() else { continue };
        assert_eq!((third.body().tag, third.body().last_xid.0), (1, second.xid.0 - 1));
        fixture.server.reply(&third, 0, &[]);
        fixture.server.reply(&second, 0, &[]);
        break;
    }
    set.wait();
    assert_eq!(set.len(), 2);
}

fn bulk(memory: &Arc<Region>, direction: Direction) -> Option<Bulk> {
    Some(Bulk { memory: Arc::clone(memory), direction })
}

/// PR-22: fails if bulk data is not transferred in either direction by the announced match bits.
#[test]
fn bulk_data_is_transferred_both_ways_by_the_announced_match_bits() {
    for len in [1_usize, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let mut fixture = connected();
        let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        for direction in [Direction::FromService, Direction::ToService] {
            let mut memory = Arc::new(match direction {
                Direction::FromService => Region::zeroed(len),
                Direction::ToService => Region::copy_of(&data),
            });
            let request = Request { bulk: bulk(&memory, direction), timeout: Some(LONG), ..echo() };
            let data = &data;
            let reply = fixture.call(request, |server| {
                let received = server.serve();
                let last = received.xid.0 + data.len().div_ceil(1 << 20) as u64 - 1;
                assert_eq!(received.body().mbits, last);
                for (part, bits) in data.chunks(1 << 20).zip(received.xid.0..) {
                    let put = (direction == Direction::FromService).then_some(part);
                    let moved = server.transfer_bulk(&received, Portal::OST_BULK.0, bits, put, part.len());
                    assert!(moved == part);
                }
                server.reply(&received, 0, &[]);
            });
            assert_eq!(reply.unwrap().bulk_bytes(), len as u64);
            while Arc::get_mut(&mut memory).is_none() {
                std::thread::yield_now();
            }
            assert!(Arc::get_mut(&mut memory).unwrap().bytes_mut() == &data[..]);
        }
    }
}

/// PR-22: fails if a resent request has the same match bits for bulk data.
#[test]
fn a_resent_request_has_new_match_bits_for_bulk_data() {
    let mut fixture = connected();
    let memory = Arc::new(Region::zeroed(1));
    let timeout = Some(SHORT);
    let request = Request { bulk: bulk(&memory, Direction::FromService), timeout, ..echo() };
    let clock = Arc::clone(&fixture.clock);
    let reply = fixture.call(request, |server| {
        let first = server.serve();
        clock.advance(SHORT);
        let again = server.serve();
        assert_eq!((again.xid, again.is_resent()), (first.xid, true));
        assert!(first.body().mbits == first.xid.0 && again.body().mbits > first.xid.0);
        server.reply(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().bulk_bytes(), 0);
}

/// Fails if bulk data of an earlier transmission does not count although the request is not executed twice, or counts although
/// it may be executed twice, when a part of the memory may hold other data.
#[test]
fn bulk_data_of_an_earlier_transmission_counts_or_is_transferred_again() {
    for (direction, at_most_once, is_resent_again) in [
        (Direction::FromService, false, true),
        (Direction::FromService, true, false),
        (Direction::ToService, false, false),
        (Direction::ToService, true, false),
    ] {
        let mut fixture = connected();
        let memory = Arc::new(Region::copy_of(&[7; 100]));
        let timeout = Some(SHORT);
        let clock = Arc::clone(&fixture.clock);
        let request = Request { bulk: bulk(&memory, direction), timeout, at_most_once, ..echo() };
        let transfer = |server: &Server, received: &Received| {
            let put = (direction == Direction::FromService).then_some(&[7; 100][..]);
            server.transfer_bulk(received, Portal::OST_BULK.0, received.body().mbits, put, 100);
        };
        let reply = fixture.call(request, |server| {
            let first = server.serve();
            transfer(server, &first);
            clock.advance(SHORT);
            let again = server.serve();
            server.reply(&again, 0, &[]);
            if is_resent_again {
                let third = server.serve();
                assert!(third.body().mbits > again.body().mbits);
                transfer(server, &third);
                server.reply(&third, 0, &[]);
            }
        });
        assert_eq!(reply.unwrap().bulk_bytes(), 100, "{direction:?} {at_most_once}");
    }
}

/// PR-60, ptlrpc 10, test 16: fails if an aborted request does not end, or keeps its memory.
#[test]
fn an_aborted_request_ends_and_releases_its_memory() {
    let mut fixture = connected();
    let mut memory = Arc::new(Region::zeroed(100));
    let bulk = Bulk { memory: Arc::clone(&memory), direction: Direction::FromService };
    let mut set = RequestSet::new();
    let id = set.add(&fixture.import, Request { bulk: Some(bulk), ..echo() });
    let received = fixture.server.serve();
    set.abort(id);
    set.wait();
    assert_eq!(set.take(id).unwrap().unwrap_err(), Errno::Interrupted);
    while Arc::get_mut(&mut memory).is_none() {
        std::thread::yield_now();
    }
    fixture.server.reply(&received, 0, &[]);
    fixture.server.put_bulk_in_vain(&received, Portal::OST_BULK.0, received.xid.0, &[1; 100]);
    assert!(Arc::get_mut(&mut memory).unwrap().bytes_mut().iter().all(|byte| *byte == 0));
}

#[test]
fn a_request_does_not_wait_for_a_connection_beyond_its_limit() {
    let fixture = fixture_with(timeouts(true));
    let (import, clock) = (&fixture.import, &fixture.clock);
    let limited = std::thread::scope(|scope| {
        let call = scope.spawn(|| import.call(Request { limit: Some(SHORT), ..echo() }));
        while !call.is_finished() {
            clock.advance(SHORT);
            std::thread::yield_now();
        }
        call.join().unwrap()
    });
    assert_eq!(limited.unwrap_err(), Errno::TimedOut);
    assert_eq!(fixture.import.call(Request { no_delay: true, ..echo() }).unwrap_err(), Errno::Again);
    let too_long = Arc::new(Region::zeroed((64 << 20) + 1));
    let bulk = Bulk { memory: too_long, direction: Direction::ToService };
    assert_eq!(fixture.import.call(Request { bulk: Some(bulk), ..echo() }).unwrap_err(), Errno::Invalid);
}

/// PR-10: fails if a server may grant flags that were not requested.
#[test]
fn a_server_that_grants_flags_that_were_not_requested_is_refused() {
    let mut fixture = fixture_with(timeouts(true));
    let (clock, connecting) = (Arc::clone(&fixture.clock), Arc::clone(&fixture.import));
    let until = clock.now() + SHORT;
    let result = fixture.while_serving(
        move |import| import.connect(Some(until)),
        |server| {
            use ptlrpc::message::{ConnectData, ConnectFlags, ConnectReply};
            let received = server.next();
            let mut bytes = vec![0; ConnectReply::LEN];
            let data = ConnectData { flags: ConnectFlags::PINGLESS, ..ConnectData::default() };
            let handle = ptlrpc::message::body::ExportCookie(5);
            let body = Body { handle, ..Body::reply_to(&received.body()) };
            ConnectReply { data }.build(&mut bytes, &body).unwrap();
            server.send(&received, &bytes, received.reply_offset());
            while connecting.state() == ImportState::Connecting {
                std::thread::yield_now();
            }
            clock.advance(SHORT);
        },
    );
    assert_eq!(result.unwrap_err(), Errno::Protocol);
    assert_ne!(fixture.import.state(), ImportState::Full);
}
