//! Two machines with two rails between them, a node under load on each, and all that can happen to them.

use super::ledger::{End, Ledger};
use super::load::Weight;
use super::machines::{Machines, port, run};
use super::netns::ip;
use super::process::{Order, PROCESS, Role};
use super::report::{Incarnation, ProcessEvent, Report, now};
use super::site::{FAR, NEAR, RAILS, Site, WIRING};
use rustix::process::{Pid as ProcessId, Signal, kill_process};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The ports of the nodes in [`super::rpc`]: those of the key-value service and those of `m0_ping`.
pub const RPC_PORT: u16 = 989;
pub const MOTR_PORT: u16 = 990;
/// The port of the nodes of [`super::selftest`].
pub const SELFTEST_PORT: u16 = 991;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);

/// The configuration of the nodes and of the load on them.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub site: Site,
    pub weight: Weight,
    /// The bandwidth of a card in Mbit/s; `None`: unlimited.
    pub megabits: Option<u32>,
    /// Seconds; the library's default if 0.
    pub transaction_timeout: u32,
    /// Whether the far node behaves like a kernel node: neither node deduplicates the messages of the other.
    pub kernel_peer: bool,
    /// Whether the routers behave like kernel nodes without Multi-Rail: they confirm nothing, and discover no peer.
    pub kernel_routers: bool,
}

/// The machines with their processes.
pub struct Testbed {
    machines: Machines,
    conditions: Conditions,
    /// The directory of the logs: the lines and reports of each process, and the faults that were injected.
    logs: PathBuf,
    done: File,
    place: TempDir,
    listener: UnixListener,
    told: Receiver<(Incarnation, Option<Report>)>,
    tell: Sender<(Incarnation, Option<Report>)>,
    processes: Vec<Option<Process>>,
    next_incarnation: Incarnation,
    /// The processes that have sent their last report.
    over: HashSet<Incarnation>,
    pub ledger: Ledger,
}

struct Process {
    incarnation: Incarnation,
    child: Child,
    orders: UnixStream,
}

impl Testbed {
    /// Creates the machines and starts a node on each. `name` is that of the directory for logs. `None`: it cannot be done
    /// here, or has been done in another process.
    pub fn or_skip(name: &str, conditions: Conditions) -> Option<Self> {
        let machines = Machines::or_skip(conditions.site.machines(), RAILS, WIRING, |_| conditions.megabits)?;
        let logs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failover").join(name);
        let _ = fs::remove_dir_all(&logs);
        fs::create_dir_all(&logs).unwrap();
        let done = File::create(logs.join("done")).unwrap();
        let place = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(place.path().join("s")).unwrap();
        let (tell, told) = channel();
        let processes = (0..conditions.site.machines()).map(|_| None).collect();
        let next_incarnation = 0;
        let (over, ledger) = (HashSet::new(), Ledger::default());
        let mut testbed = Self {
            machines,
            conditions,
            logs,
            done,
            place,
            listener,
            told,
            tell,
            processes,
            next_incarnation,
            over,
            ledger,
        };
        // Routers first.
        (0..conditions.site.machines()).rev().for_each(|machine| {
            testbed.start(machine);
        });
        for machine in [NEAR, FAR] {
            testbed.tell(machine, &Order::Discover);
            testbed.wait_did(machine).unwrap();
        }
        Some(testbed)
    }

    /// Starts a process on the machine, which must have none. Returns the time at which it reported that it listens.
    pub fn start(&mut self, machine: usize) -> Duration {
        self.log(&format!("start {machine}"));
        assert!(self.processes[machine].is_none());
        let incarnation = self.next_incarnation;
        self.next_incarnation += 1;
        let Conditions { site, weight, transaction_timeout, kernel_peer, kernel_routers, .. } =
            self.conditions;
        let is_kernel_router = kernel_routers && site.forwards(machine);
        let is_kernel_node = is_kernel_router || kernel_peer && machine == FAR;
        let says_implementation = if is_kernel_node { "0" } else { "1" };
        let peer_nids = site.nids(if machine == NEAR { FAR } else { NEAR });
        let interfaces = site.interfaces(machine);
        let weight =
            if site.forwards(machine) { Weight { in_flight: 0, rpcs: false, ..weight } } else { weight };
        let socket = self.place.path().join("s").to_str().unwrap().to_owned();
        let net = |text: &str| text.parse().unwrap();
        let role = Role {
            socket,
            incarnation,
            interfaces: interfaces.into_iter().map(|(name, card)| (net(name), card)).collect(),
            routes: site.routes(machine).into_iter().map(|(name, gateway)| (net(name), gateway)).collect(),
            forwards: site.forwards(machine),
            to: peer_nids[0],
            nids_of_peer: peer_nids.len(),
            weight,
            transaction_timeout,
        };
        let log = File::create(self.logs.join(format!("{incarnation}-on-{machine}.log"))).unwrap();
        let child = self.machines.on(machine, || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", super::PROCESS_TEST, "--nocapture", "--test-threads=1"])
                .env(PROCESS, role.to_text())
                .env("RUST_BACKTRACE", "1")
                .env("SOCKLND_IMPLEMENTATION_ID", says_implementation)
                .env("LNET_DISCOVERY", if is_kernel_router { "0" } else { "1" })
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap()
        });
        let (orders, _) = self.listener.accept().unwrap();
        let mut record = Record::new(self.logs.join(format!("{incarnation}-on-{machine}.reports")));
        let (stream, tell) = (orders.try_clone().unwrap(), self.tell.clone());
        thread::spawn(move || {
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                record.write(&line);
                let Ok(report) = line.parse() else { continue };
                if tell.send((incarnation, Some(report))).is_err() {
                    return;
                }
            }
            let _ = tell.send((incarnation, None));
        });
        self.processes[machine] = Some(Process { incarnation, child, orders });
        self.wait(FOR_EVER, |of, report| of == incarnation && report.what == ProcessEvent::Ready)
            .expect("a ready process")
            .at
    }

    /// The incarnation of the process that runs on a machine.
    pub fn incarnation(&self, machine: usize) -> Incarnation {
        self.process(machine).incarnation
    }

    /// Gives an order.
    pub fn tell(&self, machine: usize, order: &Order) {
        self.log(&format!("tell {machine} {order}"));
        let mut orders = &self.process(machine).orders;
        writeln!(orders, "{order}").unwrap();
    }

    /// Waits until the machine's process has carried out its order; returns the reason if it could not.
    pub fn wait_did(&mut self, machine: usize) -> Result<(), String> {
        let incarnation = self.incarnation(machine);
        let did = self.wait(2 * FOR_EVER, |of, report| {
            of == incarnation && matches!(report.what, ProcessEvent::Did { .. })
        });
        match did.expect("an answer").what {
            ProcessEvent::Did { wrong } if !wrong.is_empty() => Err(wrong),
            _ => Ok(()),
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.wait(time, |_, _| false);
    }

    /// Waits until the ledger satisfies `is_so`, at most for `most`. Returns whether it does.
    pub fn pass_until(&mut self, most: Duration, is_so: impl Fn(&Ledger) -> bool) -> bool {
        let end = Instant::now() + most;
        while Instant::now() < end {
            if is_so(&self.ledger) {
                return true;
            }
            self.pass(Duration::from_millis(20));
        }
        false
    }

    /// Begins the load on both machines, or of a process that is new.
    pub fn go(&self) {
        [NEAR, FAR].iter().for_each(|machine| self.tell(*machine, &Order::Go));
    }

    /// Ends the load, and waits until no operation of a living process is in flight.
    pub fn calm(&mut self) {
        let incarnations = [NEAR, FAR].map(|machine| self.incarnation(machine));
        [NEAR, FAR].iter().for_each(|machine| self.tell(*machine, &Order::Stop));
        // All operations that were begun are known when both processes have reported that they begin no more.
        for _ in incarnations {
            self.wait(FOR_EVER, |_, report| report.what == ProcessEvent::Stopped)
                .expect("a process that begins no more");
        }
        let timeout = self.conditions.weight.timeout + FOR_EVER;
        self.pass_until(timeout, |ledger| {
            incarnations.iter().all(|incarnation| ledger.is_quiet(*incarnation))
        });
    }

    /// Ends both nodes in good order, and closes the books.
    pub fn end(&mut self) {
        for machine in 0..self.processes.len() {
            if self.processes[machine].is_some() {
                self.stop(machine, End::AtRest);
            }
        }
        self.ledger.close();
    }

    /// Names the directory of the logs.
    pub fn logs(&self) -> String {
        format!("logs are in {}", self.logs.display())
    }

    /// The log lines of the processes about the reachability of their peers, each with its machine before it.
    pub fn changes_of_peers(&self) -> Vec<String> {
        self.logged(|line| line.contains(": peer ") && line.contains(" -> "))
    }

    /// The log lines of the processes about their routes to the net of the other.
    pub fn changes_of_nets(&self) -> Vec<String> {
        self.logged(|line| line.contains(": no route is up ") || line.contains(": up again by "))
    }

    /// The number of lines at the default level in the logs of each machine's nodes.
    pub fn numbers_of_lines(&self) -> BTreeMap<usize, usize> {
        let is_shown = |line: &&str| line.contains(" LNetError: ") || line.contains(" LNet: warning: ");
        let lines_on = |machine: usize| -> usize {
            let logs = (0..self.next_incarnation)
                .map(|incarnation| self.logs.join(format!("{incarnation}-on-{machine}.log")));
            let texts = logs.filter_map(|log| fs::read_to_string(log).ok());
            texts.map(|text| text.lines().filter(is_shown).count()).sum()
        };
        (0..self.conditions.site.machines()).map(|machine| (machine, lines_on(machine))).collect()
    }

    fn logged(&self, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
        let mut told = Vec::new();
        for machine in [NEAR, FAR] {
            for incarnation in 0..self.next_incarnation {
                let log = fs::read_to_string(self.logs.join(format!("{incarnation}-on-{machine}.log")))
                    .unwrap_or_default();
                let lines = log.lines().filter(|line| is_meant(line));
                told.extend(lines.map(|line| format!("on {machine}: {line}")));
            }
        }
        told
    }

    /// Shuts the machine's node down and waits for the end of its process.
    pub fn stop(&mut self, machine: usize, how: End) {
        self.tell(machine, &Order::End);
        self.remove_process(machine, how);
    }

    /// Kills the machine's process.
    pub fn kill(&mut self, machine: usize) {
        self.signal(machine, Signal::KILL);
        self.remove_process(machine, End::Killed);
    }

    /// Sends a signal to the machine's process.
    pub fn signal(&self, machine: usize, signal: Signal) {
        self.log(&format!("signal {machine} {signal:?}"));
        kill_process(ProcessId::from_child(&self.process(machine).child), signal).unwrap();
    }

    /// Runs `work` on a machine. Processes that it starts stay there.
    pub fn on<T: Send>(&self, machine: usize, work: impl FnOnce() -> T + Send) -> T {
        self.machines.on(machine, work)
    }

    /// The site.
    pub fn site(&self) -> Site {
        self.conditions.site
    }

    /// The NIDs of the node on that machine, one for each of its cards.
    pub fn nids(&self, machine: usize) -> Vec<String> {
        self.conditions.site.nids(machine).iter().map(ToString::to_string).collect()
    }

    /// A file beside the other logs.
    pub fn new_log(&self, name: &str) -> File {
        File::create(self.logs.join(name)).unwrap()
    }

    /// Resets every connection of the machine's nodes; the other side gets the reset from the network.
    pub fn reset_connections(&self, machine: usize) {
        self.log(&format!("reset connections of {machine}"));
        for port in [":988", &format!(":{RPC_PORT}"), &format!(":{MOTR_PORT}"), &format!(":{SELFTEST_PORT}")]
        {
            self.machines.on(machine, || run("ss", &["-tnK", "sport", "=", port, "or", "dport", "=", port]));
        }
    }

    /// Switches forwarding on a router.
    pub fn forward(&mut self, machine: usize, on: bool) {
        self.tell(machine, &Order::Forward(on));
        self.wait_did(machine).expect("a router that can be switched");
    }

    /// Takes a link down or up, on the machine.
    pub fn set_link(&self, machine: usize, card: usize, up: bool) {
        self.log(&format!("link {machine} {card} up: {up}"));
        let name = format!("eth{card}");
        let change = ["link", "set", &name, if up { "up" } else { "down" }];
        self.machines.ip_on(machine, &[&change]);
        if up {
            self.route_anew(machine, card);
        }
    }

    /// Removes a card's address, or adds it again.
    pub fn set_address(&self, machine: usize, card: usize, present: bool) {
        self.log(&format!("address {machine} {card} present: {present}"));
        let (name, address) = (format!("eth{card}"), format!("{}/24", WIRING.address(machine, card)));
        let change = ["address", if present { "add" } else { "delete" }, &address, "dev", &name];
        self.machines.ip_on(machine, &[&change]);
        if present {
            self.route_anew(machine, card);
        }
    }

    /// Pulls the card's cable at the switch, or plugs it in; both ends keep their carrier.
    pub fn set_plugged(&self, machine: usize, card: usize, plugged: bool) {
        self.log(&format!("cable {machine} {card} plugged: {plugged}"));
        let (port, switch) = (port(machine, card), WIRING.switch(card));
        self.machines.in_the_middle(|| match plugged {
            true => ip(&["link", "set", &port, "master", &switch]),
            false => ip(&["link", "set", &port, "nomaster"]),
        });
    }

    /// Removes the carrier from the card, or restores it.
    pub fn set_carrier(&self, machine: usize, card: usize, present: bool) {
        self.log(&format!("carrier {machine} {card} present: {present}"));
        let port = port(machine, card);
        self.machines.in_the_middle(|| ip(&["link", "set", &port, if present { "up" } else { "down" }]));
    }

    /// Makes the switch forward or drop packets from and to the card.
    pub fn set_forwarding(&self, machine: usize, card: usize, forwarding: bool) {
        self.log(&format!("switch {machine} {card} forwarding: {forwarding}"));
        let port = port(machine, card);
        let state = if forwarding { "3" } else { "0" };
        self.machines.in_the_middle(|| run("bridge", &["link", "set", "dev", &port, "state", state]));
    }

    fn log(&self, what: &str) {
        let _ = writeln!(&self.done, "{} {what}", now().as_micros());
    }

    fn route_anew(&self, machine: usize, card: usize) {
        let route = WIRING.route(card);
        self.machines.ip_on(machine, &[&route.each_ref().map(String::as_str)]);
    }

    fn process(&self, machine: usize) -> &Process {
        self.processes[machine].as_ref().expect("a process on the machine")
    }

    /// Waits until a process has ended and its last reports are in the ledger.
    fn remove_process(&mut self, machine: usize, how: End) {
        let mut process = self.processes[machine].take().expect("a process on the machine");
        let ended = now();
        let give_up = Instant::now() + FOR_EVER;
        while process.child.try_wait().unwrap().is_none() {
            if Instant::now() > give_up {
                let _ = process.child.kill();
                panic!("the process on machine {machine} does not end; logs are in {}", self.logs.display());
            }
            self.pass(Duration::from_millis(5));
        }
        let status = process.child.wait().unwrap();
        assert!(how == End::Killed || status.success(), "{status}; logs are in {}", self.logs.display());
        let incarnation = process.incarnation;
        let give_up = Instant::now() + FOR_EVER;
        while !self.over.contains(&incarnation) {
            assert!(Instant::now() < give_up, "the last words of process {incarnation} do not come");
            self.pass(Duration::from_millis(5));
        }
        self.ledger.ended(incarnation, ended, how);
    }

    /// Records reports until one satisfies `is_it`, or the time `most` has passed.
    fn wait(&mut self, most: Duration, is_it: impl Fn(Incarnation, &Report) -> bool) -> Option<Report> {
        let end = Instant::now() + most;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok((incarnation, Some(report))) => {
                    self.ledger.note(incarnation, &report);
                    if is_it(incarnation, &report) {
                        return Some(report);
                    }
                }
                Ok((incarnation, None)) => self.was_left(incarnation),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Records that a process has closed its channel: it was asked to end, or it died.
    fn was_left(&mut self, incarnation: Incarnation) {
        self.over.insert(incarnation);
        let is_meant = self.processes.iter().flatten().all(|process| process.incarnation != incarnation);
        assert!(is_meant, "process {incarnation} ended by itself; logs are in {}", self.logs.display());
    }
}

/// A file of which only the last part is kept.
struct Record {
    path: PathBuf,
    file: File,
    written: usize,
}

impl Record {
    const MAX_BYTES: usize = 16 << 20;

    fn new(path: PathBuf) -> Self {
        let file = File::create(&path).unwrap();
        Self { path, file, written: 0 }
    }

    fn write(&mut self, line: &str) {
        if self.written > Self::MAX_BYTES {
            let _ = fs::rename(&self.path, self.path.with_extension("reports-before"));
            *self = Self::new(std::mem::take(&mut self.path));
        }
        self.written += line.len() + 1;
        let _ = writeln!(self.file, "{line}");
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().flatten() {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}
