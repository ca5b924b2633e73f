//! The processes of the testbed: a server that counts requests, and a client that generates load.

use crate::support::machine_process::respond;
use lnet_dlc::Backend;
use lnet_dlc::request::{DelLocalNi, FaultEffect, FaultOdds, FaultRule};
use lnet_wire::NidPattern;
use ptlrpc::Errno;
use ptlrpc::client::{Adaptive, Client, Timeouts};
use ptlrpc::client::{Import, ImportConfig, RequestSet};
use ptlrpc::lnet::{Nid, Node, Region};
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{ConnectData, ConnectFlags, Opcode, Portal, Service as Protocol};
use ptlrpc::request::{Bulk, Direction, Request};
use ptlrpc::service::{Handler, Reply, Response, Service, ServiceConfig, ServiceRequest, Targets};
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The opcodes of the service: count the executions of a number, return the count, read bulk data, and write bulk data.
const COUNT: Opcode = Opcode(0x7001);
const ASK: Opcode = Opcode(0x7002);
const READ: Opcode = Opcode(0x7003);
const WRITE: Opcode = Opcode(0x7004);
const IN_FLIGHT: usize = 12;
/// Minimum number of requests of a load.
const MIN_REQUESTS: u64 = 500;
const BULK: usize = 300_000;
/// The number of further requests that have completed when the client answers `more`.
const MORE: u64 = 500;

/// The role of a process: `server`, `router`, or `client` and the server's NIDs.
pub(crate) fn run(role: &str) {
    let node = Node::start().unwrap();
    match role.split_once(' ') {
        Some((_, server)) => client(node, server),
        None if role == "router" => forward(),
        None => serve(&node),
    }
}

/// Runs a router until the test closes the pipe.
fn forward() {
    respond("ready");
    std::io::stdin().lock().lines().map_while(Result::ok).for_each(drop);
}

/// Sends a control request to this process's node, as an operator would.
fn operate(request: lnet_dlc::Request) {
    lnet_dlc::Client::new(None).call(request).unwrap();
}

#[derive(Default)]
struct Counting {
    counts: Mutex<HashMap<u64, u64>>,
    /// Requests by source and destination.
    paths: Mutex<BTreeMap<(Nid, Nid), u64>>,
    resent: AtomicU64,
}

impl Counting {
    /// Source, destination and number of requests of each path.
    fn paths(&self) -> String {
        let paths = self.paths.lock().unwrap();
        paths.iter().map(|((from, to), count)| format!("{from} {to} {count}")).collect::<Vec<_>>().join(" ")
    }
}

impl Handler for Counting {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        let number = u64::from_ne_bytes(request.buffer(1).unwrap().try_into().unwrap());
        *self.paths.lock().unwrap().entry((request.source().nid, request.self_nid())).or_default() += 1;
        self.resent.fetch_add(u64::from(request.is_resent()), Ordering::Relaxed);
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(number).or_default();
        match request.opcode() {
            COUNT => {
                *count += 1;
                Response::Reply(Reply::new())
            }
            ASK => Response::Reply(Reply::new().buffer(count.to_ne_bytes())),
            READ => {
                drop(counts);
                match request.bulk_put(&Arc::new(Region::copy_of(&pattern(number)))) {
                    Ok(()) => Response::Reply(Reply::new()),
                    Err(_) => Response::None,
                }
            }
            WRITE => {
                drop(counts);
                match request.bulk_get(BULK) {
                    Ok(data) if *data == *pattern(number) => Response::Reply(Reply::new()),
                    Ok(_) => Response::Reply(Reply::error(Errno::Io)),
                    Err(_) => Response::None,
                }
            }
            _ => Response::Reply(Reply::error(Errno::NotSupported)),
        }
    }
}

fn pattern(number: u64) -> Vec<u8> {
    (0..BULK as u64).map(|at| (number.wrapping_mul(31) + at * 7 % 251) as u8).collect()
}

fn serve(node: &Arc<Node>) {
    let targets = Targets::new(fastrand::u64(..));
    let flags = ConnectFlags::FULL20.union(ConnectFlags::AT).union(ConnectFlags::BULK_MBITS);
    let data = ConnectData { flags, maxmodrpcs: 8, ..ConnectData::default() };
    targets.add("target".parse().unwrap(), data).unwrap();
    let config = ServiceConfig::new("rails", Portals::OST, Portal::OST_BULK, Protocol::OST);
    let counting = Arc::new(Counting::default());
    let service = Service::start(node, &targets, config, Arc::clone(&counting) as Arc<dyn Handler>).unwrap();
    respond("ready");
    // The loop ends when the test closes the pipe.
    for command in std::io::stdin().lock().lines().map_while(Result::ok) {
        match command.split_once(' ') {
            Some(("without", interface)) => {
                let (net, interface) = ("tcp".parse().unwrap(), Some(interface.to_owned()));
                operate(lnet_dlc::Request::DelLocalNi(DelLocalNi { net, interface }));
                respond("done");
            }
            _ if command == "paths" => respond(&counting.paths()),
            _ if command == "resent" => respond(&counting.resent.load(Ordering::Relaxed).to_string()),
            _ => panic!("{command}"),
        }
    }
    service.stop().unwrap();
}

/// The outcome of the load.
#[derive(Default)]
struct LoadCounts {
    /// The requests that, by the service's reply, were executed at most once.
    executed: Vec<u64>,
    /// Requests without a reply, or never sent.
    failed: Vec<(u64, Errno)>,
    succeeded: u64,
    corrupted: u64,
    longest: Duration,
}

fn client(node: Arc<Node>, server: &str) {
    let adaptive = Adaptive { max: Duration::ZERO, ..Timeouts::default().adaptive };
    // Longer than LNet takes to detect the failure of a rail.
    let timeouts =
        Timeouts { fixed: Duration::from_secs(8), adaptive, connect: Some(Duration::from_secs(2)) };
    let client = Client::start(node, timeouts).unwrap();
    let nid = server.split(',').map(|nid| nid.parse().unwrap()).collect::<Vec<_>>();
    client.add_uuid("server", &nid).unwrap();
    let config = ImportConfig::ost("target".parse().unwrap(), "client".parse().unwrap(), "server");
    let import = client.import(config).unwrap();
    import.connect(None).unwrap();
    respond("ready");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let completed = Arc::new(AtomicU64::new(0));
    let reached = Arc::clone(&completed);
    std::thread::spawn(move || {
        for command in std::io::stdin().lock().lines().map_while(Result::ok) {
            match command.as_str() {
                "drop requests" => {
                    operate(lnet_dlc::Request::AddFault(dropped_requests()));
                    respond("done");
                }
                "more" => {
                    let enough = reached.load(Ordering::SeqCst) + MORE;
                    while reached.load(Ordering::SeqCst) < enough {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    respond("done");
                }
                _ => break,
            }
        }
        over.store(true, Ordering::SeqCst);
    });
    let counts = load(&import, &is_over, &completed);
    let duplicated = counts.executed.iter().filter(|number| times_executed(&import, **number) > 1).count();
    let lost = counts.executed.iter().filter(|number| times_executed(&import, **number) < 1).count();
    let failed_and_duplicated =
        counts.failed.iter().filter(|(number, _)| times_executed(&import, *number) > 1).count();
    respond(&format!(
        "succeeded {} failed {} corrupted {} duplicated {} lost {lost} longest {} connections {}",
        counts.succeeded,
        counts.failed.len(),
        counts.corrupted,
        duplicated + failed_and_duplicated,
        counts.longest.as_millis(),
        import.handle().1,
    ));
    import.disconnect(Duration::from_secs(8)).unwrap();
}

/// A fault rule by which one in ten requests fails as if the peer had dropped it.
fn dropped_requests() -> FaultRule {
    const PUT: u32 = 2;
    const REMOTE_DROPPED: u32 = 1 << 8;
    FaultRule {
        source: NidPattern::Any,
        dest: NidPattern::Any,
        local: NidPattern::Any,
        messages: PUT,
        portals: 1 << Portals::OST.request.0,
        odds: FaultOdds::OneIn(NonZeroU32::new(10).unwrap()),
        effect: FaultEffect::Drop { errors: REMOTE_DROPPED, all: false },
    }
}

fn request(opcode: Opcode, number: u64) -> Request {
    Request { buffers: vec![number.to_ne_bytes().to_vec()], reply_lengths: vec![8], ..Request::new(opcode) }
}

fn load(import: &Arc<Import>, is_over: &AtomicBool, completed: &AtomicU64) -> LoadCounts {
    let (mut set, mut in_flight, mut counts) = (RequestSet::new(), HashMap::new(), LoadCounts::default());
    let mut number = 0;
    loop {
        while set.len() < IN_FLIGHT && (number < MIN_REQUESTS || !is_over.load(Ordering::SeqCst)) {
            number += 1;
            let memory = match number % 8 {
                0 => Some((READ, Direction::FromService, Region::zeroed(BULK))),
                4 => Some((WRITE, Direction::ToService, Region::copy_of(&pattern(number)))),
                _ => None,
            };
            let (opcode, bulk) = match memory {
                Some((opcode, direction, memory)) => {
                    (opcode, Some(Bulk { memory: Arc::new(memory), direction }))
                }
                None => (COUNT, None),
            };
            let at_most_once = opcode == COUNT;
            let request = Request { bulk: bulk.clone(), at_most_once, ..request(opcode, number) };
            let id = set.add(import, request);
            in_flight.insert(id, (number, opcode, bulk, Instant::now()));
        }
        if set.is_empty() {
            return counts;
        }
        set.wait_any(None);
        while let Some((id, result)) = set.take_any() {
            let (number, opcode, bulk, since) = in_flight.remove(&id).unwrap();
            counts.longest = counts.longest.max(since.elapsed());
            completed.fetch_add(1, Ordering::SeqCst);
            match result.and_then(|reply| reply.result()) {
                Ok(()) if opcode == COUNT => {
                    counts.executed.push(number);
                    counts.succeeded += 1;
                }
                Ok(()) => {
                    let mut memory = bulk.unwrap().memory;
                    while Arc::get_mut(&mut memory).is_none() {
                        std::thread::yield_now();
                    }
                    let is_right = Arc::get_mut(&mut memory).unwrap().bytes_mut() == &pattern(number)[..];
                    counts.succeeded += u64::from(is_right);
                    counts.corrupted += u64::from(!is_right);
                }
                Err(errno) => counts.failed.push((number, errno)),
            }
        }
        // A rate at which all can be verified at the end.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Asks the service for the number of times that it has executed a request.
fn times_executed(import: &Arc<Import>, number: u64) -> u64 {
    let reply = import.call(request(ASK, number)).unwrap();
    u64::from_ne_bytes(reply.buffer(1).unwrap().try_into().unwrap())
}
