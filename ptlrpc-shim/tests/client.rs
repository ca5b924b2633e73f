//! The client's side against a server of which the test says every word, over the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/alone.rs"]
mod alone;
mod scripted;

use ptlrpc::client::{Adaptive, Client, Timeouts};
use ptlrpc::client::{Import, ImportConfig, ImportState, RequestSet};
use ptlrpc::errno::Errno;
use ptlrpc::lnet::{Node, Region};
use ptlrpc::message::{Body, MessageKind, Opcode, Portal};
use ptlrpc::request::{Bulk, Direction, Reply, Request};
use scripted::{Heard, Server};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ECHO: Opcode = *Opcode::ECHO.start();
/// More than any of these needs, on any machine.
const LONG: Duration = Duration::from_secs(30);

struct Rig {
    server: Server,
    import: Arc<Import>,
    _alone: alone::Alone,
}

fn timeouts(adaptive: bool) -> Timeouts {
    let max = if adaptive { LONG } else { Duration::ZERO };
    let adaptive = Adaptive { max, ..Timeouts::default().adaptive };
    Timeouts { fixed: LONG, adaptive, connect: Some(LONG) }
}

/// A server, and a client that is not connected yet.
fn rig_with(timeouts: Timeouts) -> Rig {
    let _alone = alone::alone();
    let node = Node::start().unwrap();
    let server = Server::start(&node);
    let client = Client::start(node, timeouts).unwrap();
    let config = ImportConfig::ost("lustre-OST0000_UUID".parse().unwrap(), "client".parse().unwrap(), "0@lo");
    Rig { server, import: client.import(config).unwrap(), _alone }
}

fn connected_with(timeouts: Timeouts) -> Rig {
    let mut rig = rig_with(timeouts);
    rig.while_serving(
        |import| import.connect(None).unwrap(),
        |server| {
            let heard = server.next();
            server.accept(&heard);
        },
    );
    rig
}

fn connected() -> Rig {
    connected_with(timeouts(true))
}

fn echo() -> Request {
    Request { buffers: vec![b"hello".to_vec()], reply_lengths: vec![64], ..Request::new(ECHO) }
}

impl Drop for Rig {
    /// The next test's server is not to hear of this one's client.
    fn drop(&mut self) {
        self.import.close();
    }
}

impl Rig {
    /// The client does something while the server says its words.
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
fn connecting_pinging_and_leaving_are_the_real_bytes() {
    let mut rig = rig_with(timeouts(true));
    rig.while_serving(
        |import| import.connect(None).unwrap(),
        |server| {
            let heard = server.next();
            assert_eq!((heard.len(), heard.opcode(), heard.body().conn_cnt), (520, Opcode::OST_CONNECT, 1));
            assert_eq!((heard.body().handle.0, heard.xid.0 % 64), (0, 0));
            server.accept(&heard);
        },
    );
    assert_eq!((rig.import.state(), rig.import.handle().0.0), (ImportState::Full, 0x77));
    rig.while_serving(
        |import| import.ping().unwrap(),
        |server| {
            let heard = server.next();
            assert_eq!((heard.len(), heard.opcode(), heard.body().handle.0), (224, Opcode::PING, 0x77));
            assert_eq!(heard.body().version.0, 0x0001_0003);
            server.answer(&heard, 0, &[]);
        },
    );
    rig.while_serving(
        |import| import.disconnect(LONG).unwrap(),
        |server| {
            let heard = server.next();
            assert_eq!(heard.opcode(), Opcode::OST_DISCONNECT);
            server.answer(&heard, 0, &[]);
        },
    );
    assert_eq!(rig.import.call(echo()).unwrap_err(), Errno::SHUTDOWN);
}

#[test]
fn a_reply_has_the_services_words_and_status() {
    for adaptive in [true, false] {
        let mut rig = connected_with(timeouts(adaptive));
        let reply = rig.call(echo(), |server| {
            let heard = server.serve();
            assert_eq!((heard.buffer(1), heard.is_resent()), (b"hello".to_vec(), false));
            server.answer(&heard, -17, &[b"world"]);
        });
        let reply = reply.unwrap();
        assert_eq!((reply.status(), reply.result()), (-17, Err(Errno::EXISTS)));
        assert_eq!((reply.buffer(1), reply.buffer(2)), (Some(&b"world"[..]), None));
    }
}

/// PR-51.
#[test]
fn a_reply_that_is_too_long_is_asked_for_again_with_more_room() {
    let mut rig = connected();
    let long = vec![7; 5000];
    let reply = rig.call(echo(), |server| {
        let first = server.serve();
        server.answer(&first, 0, &[&long]);
        let again = server.serve();
        assert_eq!((again.xid, again.is_resent()), (first.xid, true));
        assert!(again.message().repsize() >= 5000);
        server.answer(&again, 0, &[&long]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&long[..]));
    let reply = rig.call(Request { no_resend: true, ..echo() }, |server| {
        let first = server.serve();
        server.answer(&first, 0, &[&long]);
    });
    assert_eq!(reply.unwrap_err(), Errno::OVERFLOW);
}

/// PR-63.
#[test]
fn a_server_that_cannot_now_is_asked_again_by_another_number() {
    let mut rig = connected();
    let reply = rig.call(echo(), |server| {
        let first = server.serve();
        server.answer(&first, Errno::IN_PROGRESS.to_c(), &[]);
        let again = server.serve();
        assert!(again.xid > first.xid && !again.is_resent());
        server.answer(&again, 0, &[b"now"]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&b"now"[..]));
}

/// PR-23, PR-60.
#[test]
fn what_is_not_answered_goes_again_by_the_same_number_after_a_reconnect() {
    let mut rig = connected();
    let reply = rig.call(Request { timeout: Some(Duration::from_millis(100)), ..echo() }, |server| {
        let first = server.serve();
        let connect = server.next();
        assert!(connect.opcode().is_connect());
        assert_eq!(connect.body().conn_cnt, 2);
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.is_resent(), again.body().conn_cnt), (first.xid, true, 2));
        server.answer(&again, 0, &[b"at last"]);
    });
    assert_eq!(reply.unwrap().buffer(1), Some(&b"at last"[..]));
}

/// PR-72: a deadline that an early reply puts off.
#[test]
fn an_early_reply_keeps_the_client_waiting() {
    let mut rig = connected();
    let mut set = RequestSet::new();
    let ticket = set.add(&rig.import, Request { timeout: Some(Duration::from_secs(1)), ..echo() });
    let began = Instant::now();
    let heard = rig.server.serve();
    rig.server.early(&heard, 20);
    rig.server.early(&heard, 20);
    // Not heard: nothing of it is true.
    let mut wrong = vec![0; 224];
    wrong[8..12].copy_from_slice(&0x0bd0_0bd3_u32.to_ne_bytes());
    rig.server.send(&heard, &wrong, 0);
    assert!(!set.wait_any(Some(began + Duration::from_millis(1500))), "it would have been over");
    assert_eq!(set.early_replies(ticket), 2);
    rig.server.answer(&heard, 0, &[b"well"]);
    set.wait();
    let reply = set.take(ticket).unwrap().unwrap();
    assert_eq!(reply.buffer(1), Some(&b"well"[..]));
    assert!(set.is_empty());
}

#[test]
fn what_is_no_reply_ends_the_request_and_what_is_for_another_is_not_taken() {
    let mut rig = connected();
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
        let reply = rig.call(echo(), |server| {
            let mut heard = server.serve();
            // Nobody waits for this number.
            heard.xid.0 -= 64;
            server.send(&heard, b"stale", heard.reply_offset());
            heard.xid.0 += 64;
            server.send(&heard, &bytes, heard.reply_offset());
        });
        assert_eq!(reply.unwrap_err(), Errno::PROTOCOL, "{name}");
    }
}

#[test]
fn who_forgot_the_client_is_connected_anew_and_asked_again() {
    let mut rig = connected();
    let reply = rig.call(echo(), |server| {
        let first = server.serve();
        let body = Body {
            kind: MessageKind::Error,
            status: Errno::NOT_CONNECTED.to_c(),
            ..Body::reply_to(&first.body())
        };
        server.restart();
        server.answer_with(&first, body, &[]);
        let connect = server.next();
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.body().handle.0), (first.xid, 0x78));
        server.answer(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().status(), 0);
}

#[test]
fn what_may_have_been_done_by_a_server_that_forgot_it_is_not_done_again_where_that_matters() {
    let mut rig = connected();
    let once = Request { at_most_once: true, timeout: Some(Duration::from_millis(100)), ..echo() };
    let reply = rig.call(once.clone(), |server| {
        let first = server.serve();
        assert_eq!(first.body().tag, 1);
        server.restart();
        let connect = server.next();
        server.accept(&connect);
    });
    assert_eq!(reply.unwrap_err(), Errno::UNKNOWN_OUTCOME);
    // The same server knows it again.
    let reply = rig.call(once, |server| {
        let first = server.serve();
        let connect = server.next();
        server.accept(&connect);
        let again = server.next();
        assert_eq!((again.xid, again.is_resent(), again.body().tag), (first.xid, true, 1));
        server.answer(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().status(), 0);
}

#[test]
fn only_so_many_that_change_something_are_under_way_and_last_xid_says_what_is_over() {
    let mut rig = connected();
    let once = || Request { at_most_once: true, ..echo() };
    let mut set = RequestSet::new();
    let tickets: Vec<_> = (0..3).map(|_| set.add(&rig.import, once())).collect();
    let (first, second) = (rig.server.serve(), rig.server.serve());
    assert_eq!((first.body().tag, second.body().tag), (1, 2));
    assert_eq!(second.body().last_xid.0, first.xid.0 - 1);
    rig.server.answer(&first, 0, &[]);
    assert!(set.wait_any(None));
    assert!(set.take(tickets[0]).unwrap().is_ok() && set.take(tickets[0]).is_none());
    // It goes when the set is looked at.
    set.wait_any(Some(Instant::now()));
    while set.len() == 2 && set.take_any().is_none() {
        set.wait_any(Some(Instant::now() + Duration::from_millis(10)));
        let Some(third) = rig.server.try_next() else { continue };
        assert_eq!((third.body().tag, third.body().last_xid.0), (1, second.xid.0 - 1));
        rig.server.answer(&third, 0, &[]);
        rig.server.answer(&second, 0, &[]);
        break;
    }
    set.wait();
    assert_eq!(set.len(), 2);
}

fn bulk(memory: &Arc<Region>, direction: Direction) -> Option<Bulk> {
    Some(Bulk { memory: Arc::clone(memory), direction })
}

/// PR-22.
#[test]
fn bulk_data_goes_both_ways_by_the_bits_that_are_announced() {
    for len in [1_usize, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let mut rig = connected();
        let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        for direction in [Direction::FromService, Direction::ToService] {
            let mut memory = Arc::new(match direction {
                Direction::FromService => Region::zeroed(len),
                Direction::ToService => Region::copy_of(&data),
            });
            let request = Request { bulk: bulk(&memory, direction), timeout: Some(LONG), ..echo() };
            let data = &data;
            let reply = rig.call(request, |server| {
                let heard = server.serve();
                let last = heard.xid.0 + data.len().div_ceil(1 << 20) as u64 - 1;
                assert_eq!(heard.body().mbits, last);
                for (part, bits) in data.chunks(1 << 20).zip(heard.xid.0..) {
                    let put = (direction == Direction::FromService).then_some(part);
                    let moved = server.move_bulk(&heard, Portal::OST_BULK.0, bits, put, part.len());
                    assert!(moved.as_deref() == Some(part));
                }
                server.answer(&heard, 0, &[]);
            });
            assert_eq!(reply.unwrap().bulk_bytes(), len as u64);
            while Arc::get_mut(&mut memory).is_none() {
                std::thread::yield_now();
            }
            assert!(Arc::get_mut(&mut memory).unwrap().bytes_mut() == &data[..]);
        }
    }
}

/// PR-22.
#[test]
fn what_goes_again_offers_its_bulk_memory_by_other_bits() {
    let mut rig = connected();
    let memory = Arc::new(Region::zeroed(1));
    let timeout = Some(Duration::from_millis(100));
    let request = Request { bulk: bulk(&memory, Direction::FromService), timeout, ..echo() };
    let reply = rig.call(request, |server| {
        let first = server.serve();
        let again = server.serve();
        assert_eq!((again.xid, again.is_resent()), (first.xid, true));
        assert!(first.body().mbits == first.xid.0 && again.body().mbits > first.xid.0);
        server.answer(&again, 0, &[]);
    });
    assert_eq!(reply.unwrap().bulk_bytes(), 0);
}

/// What was moved counts where the request is not done twice; otherwise something else may be in a part of that memory.
#[test]
fn bulk_data_of_an_earlier_sending_counts_or_is_moved_again() {
    for (direction, at_most_once, is_asked_again) in [
        (Direction::FromService, false, true),
        (Direction::FromService, true, false),
        (Direction::ToService, false, false),
        (Direction::ToService, true, false),
    ] {
        let mut rig = connected();
        let memory = Arc::new(Region::copy_of(&[7; 100]));
        let timeout = Some(Duration::from_millis(300));
        let request = Request { bulk: bulk(&memory, direction), timeout, at_most_once, ..echo() };
        let moves = |server: &Server, heard: &Heard| {
            let put = (direction == Direction::FromService).then_some(&[7; 100][..]);
            server.move_bulk(heard, Portal::OST_BULK.0, heard.body().mbits, put, 100).is_some()
        };
        let reply = rig.call(request, |server| {
            let first = server.serve();
            assert!(moves(server, &first));
            let again = server.serve();
            server.answer(&again, 0, &[]);
            if is_asked_again {
                loop {
                    let third = server.serve();
                    if third.body().mbits > again.body().mbits && moves(server, &third) {
                        return server.answer(&third, 0, &[]);
                    }
                }
            }
        });
        assert_eq!(reply.unwrap().bulk_bytes(), 100, "{direction:?} {at_most_once}");
    }
}

/// PR-60, ptlrpc 10, test 16.
#[test]
fn what_is_not_wanted_any_more_ends_and_its_memory_is_free() {
    let mut rig = connected();
    let mut memory = Arc::new(Region::zeroed(100));
    let bulk = Bulk { memory: Arc::clone(&memory), direction: Direction::FromService };
    let mut set = RequestSet::new();
    let ticket = set.add(&rig.import, Request { bulk: Some(bulk), ..echo() });
    let heard = rig.server.serve();
    set.abort(ticket);
    set.wait();
    assert_eq!(set.take(ticket).unwrap().unwrap_err(), Errno::INTERRUPTED);
    while Arc::get_mut(&mut memory).is_none() {
        std::thread::yield_now();
    }
    rig.server.answer(&heard, 0, &[]);
    assert_eq!(rig.server.move_bulk(&heard, Portal::OST_BULK.0, heard.xid.0, Some(&[1; 100]), 100), None);
    assert!(Arc::get_mut(&mut memory).unwrap().bytes_mut().iter().all(|byte| *byte == 0));
}

#[test]
fn waiting_for_a_connection_has_an_end_where_that_is_said() {
    let rig = rig_with(timeouts(true));
    let soon = Some(Duration::from_millis(50));
    assert_eq!(rig.import.call(Request { limit: soon, ..echo() }).unwrap_err(), Errno::TIMED_OUT);
    assert_eq!(rig.import.call(Request { no_delay: true, ..echo() }).unwrap_err(), Errno::AGAIN);
    let too_long = Arc::new(Region::zeroed((64 << 20) + 1));
    let bulk = Bulk { memory: too_long, direction: Direction::ToService };
    assert_eq!(rig.import.call(Request { bulk: Some(bulk), ..echo() }).unwrap_err(), Errno::INVALID);
}

/// PR-10.
#[test]
fn a_server_that_grants_what_was_not_asked_for_is_not_connected_to() {
    let mut rig = rig_with(timeouts(true));
    let until = Instant::now() + Duration::from_millis(200);
    let result = rig.while_serving(
        move |import| import.connect(Some(until)),
        |server| {
            use ptlrpc::message::{ConnectData, ConnectFlags, ConnectReply};
            let heard = server.next();
            let mut bytes = vec![0; ConnectReply::LEN];
            let data = ConnectData { flags: ConnectFlags::PINGLESS, ..ConnectData::default() };
            let handle = ptlrpc::message::body::ExportCookie(5);
            let body = Body { handle, ..Body::reply_to(&heard.body()) };
            ConnectReply { data }.build(&mut bytes, &body).unwrap();
            server.send(&heard, &bytes, heard.reply_offset());
        },
    );
    assert_eq!(result.unwrap_err(), Errno::PROTOCOL);
    assert_ne!(rig.import.state(), ImportState::Full);
}
