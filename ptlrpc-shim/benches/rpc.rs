//! RPCs beside bare LNet PUTs and raw TCP, over loopback, between two processes: round trips, bulk data, and many clients.
//!
//! All are measured once in each round, one after the other, so that a slow period of the machine affects all of them.
//! `RPC_ROUNDS`, `RPC_SECONDS` and `RPC_CLIENTS` change how long it takes; `RPC_ROWS` selects the rows whose name contains it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "rpc/serve.rs"]
mod serve;
#[path = "rpc/table.rs"]
mod table;

use lnet as _;
use ptlrpc::client::{Client, Import, ImportConfig, RequestSet, Timeouts};
use ptlrpc::lnet::{Ack, Event, EventHandler, Md, MdSpec, Node, ProcessId, Region};
use ptlrpc::request::{Bulk, Direction, Request};
use serve::{ECHO, GET_PORTAL, MIB, PUT_PORTAL, READ, WRITE};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use table::{Row, Unit};

const SERVER: &str = "127.0.4.2";
const CLIENT: &str = "127.0.4.1";

/// The client, with the memory and the connections that it measures with.
struct Fixture {
    import: Arc<Import>,
    /// Imports of several clients, each with one request in flight.
    imports: Vec<Arc<Import>>,
    node: Arc<Node>,
    server: ProcessId,
    tcp: TcpStream,
    time: Duration,
    _child: Server,
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    if std::env::var_os("RPC_SERVER").is_some() {
        return serve::run();
    }
    if std::env::var_os("RPC_CLIENT").is_none() {
        return start_client();
    }
    let rounds = number("RPC_ROUNDS").unwrap_or(7.0) as usize;
    let mut fixture = Fixture::start();
    let mut rows = rows();
    let selected = std::env::var("RPC_ROWS").unwrap_or_default();
    rows.retain(|(row, _)| row.what.contains(&selected));
    for _ in 0..rounds {
        for (row, measure) in &mut rows {
            row.samples.push(measure(&mut fixture));
        }
    }
    let rows: Vec<&Row> = rows.iter().map(|(row, _)| row).collect();
    println!("{}", table::markdown(&rows, rounds, fixture.imports.len()));
}

/// Runs this program again with the environment of its node.
fn start_client() {
    let port = std::net::TcpListener::bind((CLIENT, 0)).unwrap().local_addr().unwrap().port().to_string();
    let mut client = Command::new(std::env::current_exe().unwrap());
    client.envs([("RPC_CLIENT", "1"), ("LNET_NETWORKS", "tcp(127.0.4.1)"), ("LNET_ACCEPT", "all")]);
    let status = client.env("LNET_ACCEPT_PORT", port).status().unwrap();
    std::process::exit(status.code().unwrap_or(1));
}

fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok()?.parse().ok()
}

type Measure = fn(&mut Fixture) -> f64;

fn rows() -> Vec<(Row, Measure)> {
    use Unit::{MibPerSecond, Microseconds, PerSecond};
    let row = |what, who, unit, measure: Measure| (Row::new(what, who, unit), measure);
    vec![
        row("round trip, empty", "RPC", Microseconds, |fixture| fixture.round_trips(0)),
        row("round trip, empty", "LNet PUT and ACK, 8 B", Microseconds, |fixture| 1e6 / fixture.puts(8, 1)),
        row("round trip, empty", "raw TCP, 8 B", Microseconds, |fixture| fixture.tcp_round_trips(8)),
        row("round trip, 4 KiB there and back", "RPC", Microseconds, |fixture| fixture.round_trips(4096)),
        row("round trip, 4 KiB there and back", "raw TCP", Microseconds, |fixture| {
            fixture.tcp_round_trips(4096)
        }),
        row("read 1 MiB, 1 in flight", "RPC", MibPerSecond, |fixture| {
            fixture.bulk(Direction::FromService, 1)
        }),
        row("read 1 MiB, 1 in flight", "LNet GET", MibPerSecond, |fixture| fixture.gets(MIB, 1)),
        row("read 1 MiB, 8 in flight", "RPC", MibPerSecond, |fixture| {
            fixture.bulk(Direction::FromService, 8)
        }),
        row("read 1 MiB, 8 in flight", "LNet GET", MibPerSecond, |fixture| fixture.gets(MIB, 8)),
        row("read 1 MiB, 32 in flight", "RPC", MibPerSecond, |fixture| {
            fixture.bulk(Direction::FromService, 32)
        }),
        row("read 1 MiB, 32 in flight", "LNet GET", MibPerSecond, |fixture| fixture.gets(MIB, 32)),
        row("write 1 MiB, 1 in flight", "RPC", MibPerSecond, |fixture| fixture.bulk(Direction::ToService, 1)),
        row("write 1 MiB, 1 in flight", "LNet PUT and ACK", MibPerSecond, |fixture| fixture.puts(MIB, 1)),
        row("write 1 MiB, 8 in flight", "RPC", MibPerSecond, |fixture| fixture.bulk(Direction::ToService, 8)),
        row("write 1 MiB, 8 in flight", "LNet PUT and ACK", MibPerSecond, |fixture| fixture.puts(MIB, 8)),
        row("write 1 MiB, 32 in flight", "RPC", MibPerSecond, |fixture| {
            fixture.bulk(Direction::ToService, 32)
        }),
        row("write 1 MiB, 32 in flight", "LNet PUT and ACK", MibPerSecond, |fixture| fixture.puts(MIB, 32)),
        row("write 1 MiB, 32 in flight", "raw TCP, one stream", MibPerSecond, |fixture| fixture.tcp_stream()),
        row("empty RPCs of many clients, one in flight each", "RPC", PerSecond, |fixture| fixture.many()),
    ]
}

impl Fixture {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("RPC_SERVER", "1").env("LNET_NETWORKS", format!("tcp({SERVER})")).stdout(Stdio::piped());
        let mut child = Server(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let tcp = TcpStream::connect((SERVER, line.trim().parse::<u16>().unwrap())).unwrap();
        tcp.set_nodelay(true).unwrap();
        let node = Node::start().unwrap();
        let client = Client::start(Arc::clone(&node), Timeouts::default()).unwrap();
        let nid = format!("{SERVER}@tcp");
        let import = |name: &str| {
            let config = ImportConfig::ost("bench".parse().unwrap(), name.parse().unwrap(), &nid);
            let import = client.import(config).unwrap();
            import.connect(None).unwrap();
            import
        };
        let imports = number("RPC_CLIENTS").unwrap_or(1000.0) as usize;
        let imports = (0..imports).map(|number| import(&format!("client-{number}"))).collect();
        let import = import("client");
        let time = Duration::from_secs_f64(number("RPC_SECONDS").unwrap_or(0.5));
        let server = ProcessId::lustre(nid.parse().unwrap());
        Self { import, imports, node, server, tcp, time, _child: child }
    }

    /// Measures the time of a round trip in microseconds.
    fn round_trips(&self, size: u32) -> f64 {
        let buffers = if size == 0 { Vec::new() } else { vec![vec![7; size as usize]] };
        let reply_lengths = if size == 0 { Vec::new() } else { vec![size] };
        let request = Request { buffers, reply_lengths, ..Request::new(ECHO) };
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < self.time {
            assert_eq!(self.import.call(request.clone()).unwrap().result(), Ok(()));
            done += 1;
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(done)
    }

    /// Measures the bandwidth of bulk transfers in MiB per second.
    fn bulk(&self, direction: Direction, at_once: usize) -> f64 {
        let opcode = if direction == Direction::FromService { READ } else { WRITE };
        let memory: Vec<_> = (0..at_once).map(|_| Arc::new(Region::zeroed(MIB))).collect();
        let request = |at: usize| Request {
            bulk: Some(Bulk { memory: Arc::clone(&memory[at]), direction }),
            ..Request::new(opcode)
        };
        let (mut set, mut done, start) = (RequestSet::new(), 0, Instant::now());
        let mut buffers: std::collections::HashMap<_, _> =
            (0..at_once).map(|at| (set.add(&self.import, request(at)), at)).collect();
        while start.elapsed() < self.time {
            set.wait_any(None);
            while let Some((id, result)) = set.take_any() {
                assert_eq!(result.unwrap().result(), Ok(()));
                done += 1;
                let at = buffers.remove(&id).unwrap();
                buffers.insert(set.add(&self.import, request(at)), at);
            }
        }
        let rate = f64::from(done) / start.elapsed().as_secs_f64();
        set.wait();
        rate
    }

    /// Measures PUTs with ACK per second.
    fn puts(&self, size: usize, at_once: usize) -> f64 {
        self.operations(size, at_once, |md| {
            self.node.put(None, md, Ack::Wanted, self.server, PUT_PORTAL, 0, 0, 0).unwrap();
        })
    }

    /// Measures GETs per second.
    fn gets(&self, size: usize, at_once: usize) -> f64 {
        self.operations(size, at_once, |md| {
            self.node.get(None, md, self.server, GET_PORTAL, 0, 0).unwrap();
        })
    }

    /// Operations per second, each ended by its second event. Each operation in flight has its own memory, as RPCs have.
    fn operations(&self, size: usize, at_once: usize, start_one: impl Fn(Md)) -> f64 {
        struct InFlight {
            at: usize,
            free: Arc<Mutex<Vec<usize>>>,
        }
        impl EventHandler for InFlight {
            fn on_event(&self, event: &Event) {
                event.status.unwrap();
                if event.unlinked {
                    self.free.lock().unwrap().push(self.at);
                }
            }
        }
        let regions: Vec<_> = (0..at_once).map(|_| Arc::new(Region::zeroed(size))).collect();
        let free: Arc<Mutex<Vec<usize>>> = Arc::new(Mutex::new((0..at_once).collect()));
        let take = || loop {
            if let Some(at) = free.lock().unwrap().pop() {
                return at;
            }
            self.node.progress(|| !free.lock().unwrap().is_empty());
        };
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < self.time {
            let at = take();
            let handler = Arc::new(InFlight { at, free: Arc::clone(&free) });
            start_one(self.node.bind(MdSpec::active(Arc::clone(&regions[at]), 2), handler).unwrap());
            done += 1;
        }
        while free.lock().unwrap().len() < at_once {
            self.node.progress(|| free.lock().unwrap().len() == at_once);
        }
        f64::from(done) / start.elapsed().as_secs_f64()
    }

    /// Measures the time of a round trip over plain TCP in microseconds.
    fn tcp_round_trips(&mut self, size: u32) -> f64 {
        let mut bytes = vec![0; size as usize];
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < self.time {
            self.tcp.write_all(&[&size.to_ne_bytes()[..], &[1]].concat()).unwrap();
            self.tcp.write_all(&bytes).unwrap();
            self.tcp.read_exact(&mut bytes).unwrap();
            done += 1;
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(done)
    }

    /// Measures the bandwidth of plain TCP in MiB per second.
    fn tcp_stream(&mut self) -> f64 {
        let bytes = vec![0; MIB];
        let (start, mut done) = (Instant::now(), 0_u32);
        while start.elapsed() < self.time {
            self.tcp.write_all(&[&(MIB as u32).to_ne_bytes()[..], &[0]].concat()).unwrap();
            self.tcp.write_all(&bytes).unwrap();
            done += 1;
        }
        // The reply to the last one shows that all have arrived.
        self.tcp.write_all(&[&1_u32.to_ne_bytes()[..], &[1, 0]].concat()).unwrap();
        self.tcp.read_exact(&mut [0]).unwrap();
        f64::from(done) / start.elapsed().as_secs_f64()
    }

    /// Measures RPCs per second of all clients together.
    fn many(&self) -> f64 {
        let (mut set, mut done, start) = (RequestSet::new(), 0, Instant::now());
        let mut import_of: std::collections::HashMap<_, _> =
            self.imports.iter().map(|import| (set.add(import, Request::new(ECHO)), import)).collect();
        while start.elapsed() < self.time {
            set.wait_any(None);
            while let Some((id, result)) = set.take_any() {
                assert_eq!(result.unwrap().result(), Ok(()));
                done += 1;
                let import = import_of.remove(&id).unwrap();
                import_of.insert(set.add(import, Request::new(ECHO)), import);
            }
        }
        let rate = f64::from(done) / start.elapsed().as_secs_f64();
        set.wait();
        rate
    }
}
