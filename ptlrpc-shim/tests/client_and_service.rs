//! Client and service of this library, over the loopback, with and without losses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/exclusive.rs"]
mod exclusive;
#[path = "support/faults.rs"]
mod faults;

use faults::DropRule;
use lnet as _;
use ptlrpc::Errno;
use ptlrpc::client::{Adaptive, Client, Timeouts};
use ptlrpc::client::{Import, ImportConfig, ImportState, RequestSet};
use ptlrpc::lnet::{Node, Region};
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{ConnectData, ConnectFlags, Opcode, Portal, Service as Protocol};
use ptlrpc::request::{Bulk, Direction, Request};
use ptlrpc::service::{Handler, Reply, Response, Service, ServiceConfig, ServiceRequest, Targets};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const COUNT: Opcode = Opcode(0x7001);
const READ: Opcode = Opcode(0x7002);
const WRITE: Opcode = Opcode(0x7003);
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

/// Counts how often each number was requested; transfers bulk data.
#[derive(Default)]
struct Counting(Mutex<HashMap<u64, u32>>);

impl Handler for Counting {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        let number = u64::from_ne_bytes(request.buffer(1).unwrap().try_into().unwrap());
        match request.opcode() {
            COUNT => {
                *self.0.lock().unwrap().entry(number).or_default() += 1;
                Response::Reply(Reply::new().buffer(number.to_ne_bytes()))
            }
            READ => match request.bulk_put(&Arc::new(Region::copy_of(&pattern(number as usize)))) {
                Ok(()) => Response::Reply(Reply::new()),
                Err(_) => Response::None,
            },
            WRITE => match request.bulk_get(number as usize) {
                Ok(data) if *data == *pattern(number as usize) => Response::Reply(Reply::new()),
                Ok(_) => Response::Reply(Reply::error(Errno::Io)),
                Err(_) => Response::None,
            },
            _ => Response::Reply(Reply::error(Errno::NotSupported)),
        }
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

struct Fixture {
    node: Arc<Node>,
    handler: Arc<Counting>,
    service: Option<Service>,
    client: Arc<Client>,
    _exclusive: exclusive::Exclusive,
}

impl Fixture {
    fn start() -> Self {
        let _exclusive = exclusive::exclusive();
        let node = Node::start().unwrap();
        let adaptive = Adaptive { max: Duration::ZERO, ..Timeouts::default().adaptive };
        // A connect request that is lost is sent again soon.
        let timeouts = Timeouts { fixed: LONG, adaptive, connect: Some(SHORT) };
        let client = Client::start(Arc::clone(&node), timeouts).unwrap();
        let mut fixture = Self { node, handler: Arc::default(), service: None, client, _exclusive };
        fixture.restart();
        fixture
    }

    /// Starts a server that knows no client, replacing the former one.
    fn restart(&mut self) {
        self.service = None;
        let targets = Targets::new(fastrand::u64(..));
        let flags = ConnectFlags::FULL20.union(ConnectFlags::AT).union(ConnectFlags::BULK_MBITS);
        targets
            .add("target".parse().unwrap(), ConnectData { flags, maxmodrpcs: 8, ..ConnectData::default() })
            .unwrap();
        let config = ServiceConfig::new("ost", Portals::OST, Portal::OST_BULK, Protocol::OST);
        let handler = Arc::clone(&self.handler) as Arc<dyn Handler>;
        self.service = Some(Service::start(&self.node, &targets, config, handler).unwrap());
    }

    fn import(&self, name: &str) -> Arc<Import> {
        let config = ImportConfig::ost("target".parse().unwrap(), name.parse().unwrap(), "0@lo");
        let import = self.client.import(config).unwrap();
        import.connect(None).unwrap();
        import
    }

    fn count_of(&self, number: u64) -> u32 {
        self.handler.0.lock().unwrap().get(&number).copied().unwrap_or(0)
    }
}

fn count(number: u64) -> Request {
    Request {
        buffers: vec![number.to_ne_bytes().to_vec()],
        reply_lengths: vec![8],
        timeout: Some(SHORT),
        ..Request::new(COUNT)
    }
}

/// Sends requests, `at_once` of them at a time, until all have completed; returns the errors.
fn send_all(import: &Arc<Import>, requests: impl Iterator<Item = Request>, at_once: usize) -> Vec<Errno> {
    let (mut set, mut errors) = (RequestSet::new(), Vec::new());
    let mut requests = requests.fuse();
    loop {
        while set.len() < at_once
            && let Some(request) = requests.next()
        {
            set.add(import, request);
        }
        if set.is_empty() {
            return errors;
        }
        set.wait_any(None);
        while let Some((_, result)) = set.take_any() {
            errors.extend(result.and_then(|reply| reply.result()).err());
        }
    }
}

/// Fails if the memory of a reply is used for a later one while the program has it.
#[test]
fn replies_that_the_program_keeps_stay_as_they_are() {
    let fixture = Fixture::start();
    let import = fixture.import("keeper");
    let call = |number| import.call(count(number)).unwrap();
    let kept: Vec<_> = (1..=40).map(|number| (number, call(number))).collect();
    for number in 41..=80_u64 {
        assert_eq!(call(number).buffer(1), Some(&number.to_ne_bytes()[..]));
    }
    for (number, reply) in kept {
        assert_eq!(reply.buffer(1), Some(&u64::to_ne_bytes(number)[..]));
    }
    import.close();
}

#[test]
fn a_client_connects_calls_and_disconnects() {
    let fixture = Fixture::start();
    let import = fixture.import("client");
    assert_eq!((import.state(), import.handle().1), (ImportState::Full, 1));
    assert_ne!(import.handle().0.0, 0);
    import.ping().unwrap();
    let reply = import.call(count(5)).unwrap();
    assert_eq!((reply.status(), reply.buffer(1)), (0, Some(&5_u64.to_ne_bytes()[..])));
    let unknown = import.call(Request { opcode: Opcode(0x7fff), ..count(1) }).unwrap();
    assert_eq!(unknown.result(), Err(Errno::NotSupported));
    import.disconnect(LONG).unwrap();
    assert_eq!(fixture.service.as_ref().unwrap().targets().exports().len(), 0);
}

/// ptlrpc 10, test 7: whatever is lost.
#[test]
fn at_most_once_requests_are_executed_once_though_messages_are_lost() {
    let fixture = Fixture::start();
    let import = fixture.import("client");
    let drop_rule = DropRule::one_in(10, &[Portal::OST_REQUEST.0, Portal::OSC_REPLY.0], false);
    let once = |number| Request { at_most_once: true, ..count(number) };
    assert_eq!(send_all(&import, (0..200).map(once), 8), []);
    drop(drop_rule);
    let counts: Vec<u32> = (0..200).map(|number| fixture.count_of(number)).collect();
    assert!(counts.iter().all(|count| *count == 1), "{counts:?}");
    assert!(import.handle().1 > 1, "nothing was lost");
}

#[test]
fn other_requests_are_executed_at_least_once_though_messages_are_lost() {
    let fixture = Fixture::start();
    let import = fixture.import("client");
    let drop_rule = DropRule::one_in(7, &[Portal::OST_REQUEST.0, Portal::OSC_REPLY.0], false);
    assert_eq!(send_all(&import, (0..100).map(count), 4), []);
    drop(drop_rule);
    assert!((0..100).all(|number| fixture.count_of(number) >= 1));
}

/// ptlrpc 10, test 9: fails if bulk data is incomplete because messages are lost.
#[test]
fn bulk_data_is_complete_though_messages_are_lost() {
    let fixture = Fixture::start();
    let import = fixture.import("client");
    let (none, some): (&[usize], &[usize]) = (&[1, 1 << 20, (1 << 20) + 1, 64 << 20], &[1 << 20, 3 << 20]);
    for (drop_rule, lens) in [(None, none), (Some(()), some)] {
        let drop_rule = drop_rule.map(|()| DropRule::one_in(9, &[Portal::OST_BULK.0], true));
        for &len in lens {
            let timeout = Some(if drop_rule.is_some() { Duration::from_millis(500) } else { LONG });
            let number = |opcode| Request { opcode, timeout, ..count(len as u64) };
            let mut memory = Arc::new(Region::zeroed(len));
            let bulk = Bulk { memory: Arc::clone(&memory), direction: Direction::FromService };
            let reply = import.call(Request { bulk: Some(bulk), ..number(READ) }).unwrap();
            assert_eq!((reply.status(), reply.bulk_bytes()), (0, len as u64));
            while Arc::get_mut(&mut memory).is_none() {
                std::thread::yield_now();
            }
            assert!(Arc::get_mut(&mut memory).unwrap().bytes_mut() == &pattern(len)[..]);
            let bulk = Bulk { memory, direction: Direction::ToService };
            let reply = import.call(Request { bulk: Some(bulk), ..number(WRITE) }).unwrap();
            assert_eq!(reply.result(), Ok(()), "{len}");
        }
        drop(drop_rule);
    }
}

/// ptlrpc 10, test 14: fails if a restarted server is not reconnected, or if requests are not resent to it.
#[test]
fn a_restarted_server_is_reconnected_and_requests_are_resent() {
    let mut fixture = Fixture::start();
    let import = fixture.import("client");
    let (before, _) = import.handle();
    import.call(count(1)).unwrap();
    fixture.restart();
    import.call(count(2)).unwrap();
    let (after, conn_cnt) = import.handle();
    assert!(after != before && conn_cnt >= 2);
    assert_eq!((fixture.count_of(1), fixture.count_of(2)), (1, 1));
}

#[test]
fn requests_wait_for_a_server_that_has_not_started() {
    let mut fixture = Fixture::start();
    let import = fixture.import("client");
    fixture.service = None;
    let mut set = RequestSet::new();
    let ticket = set.add(&import, count(1));
    fixture.restart();
    set.wait();
    assert_eq!(set.take(ticket).unwrap().unwrap().result(), Ok(()));
}

#[test]
fn a_hundred_clients_have_a_connection_each() {
    let fixture = Fixture::start();
    let imports: Vec<_> = (0..100).map(|number| fixture.import(&format!("client-{number}"))).collect();
    let mut set = RequestSet::new();
    for (number, import) in imports.iter().enumerate() {
        set.add(import, Request { at_most_once: true, ..count(number as u64) });
    }
    set.wait();
    while let Some((_, result)) = set.take_any() {
        assert_eq!(result.unwrap().result(), Ok(()));
    }
    assert!((0..100).all(|number| fixture.count_of(number) == 1));
    let handles: std::collections::HashSet<_> = imports.iter().map(|import| import.handle().0).collect();
    assert_eq!(handles.len(), 100);
}
