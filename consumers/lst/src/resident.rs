//! The console in the background: a process that is an LNet node, runs selftest, and keeps a session between two commands.
//!
//! `lst new_session` starts it as `lst console`, and waits until it reports that it is ready. The process ends with its session.

use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_selftest::console::host::ConsoleHost;
use lnet_selftest::console::socket::{self, ConsoleSocket};
use lnet_selftest::framework::{NodeConfig, TestNode};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The command that starts a console; the help does not list it.
pub const WORD: &str = "console";
/// Option of `lst console`: keeps the console running without a session, until it is killed.
pub const STAY: &str = "--stay";
/// The line that a console prints when it can be called.
pub const READY: &str = "ready";
/// The time after which a console without a session ends. The command that started it creates a session soon.
const UNUSED: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// The time that the previous console has to release its addresses.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// The variables that configure nets. Without any of them a node would be on the loopback only; a kernel node is on tcp.
const NETS: [&str; 3] = ["LNET_NETWORKS", "LNET_IP2NETS", "LNET_CONFIG"];

/// The socket of the console of a node.
pub fn socket_of(directory: &RuntimeDir, node: &NodeName) -> PathBuf {
    directory.path().join(format!("{node}{}", socket::SUFFIX))
}

/// Starts a console, and waits until it can be called. The error is a text for the user.
pub fn start(directory: &RuntimeDir, node: &NodeName) -> Result<(), String> {
    let log = directory.log(node);
    let failed = |error: io::Error| format!("cannot start a console: {error}");
    directory.make().map_err(|error| format!("{}: {error}", directory.path().display()))?;
    let program = std::env::current_exe().map_err(failed)?;
    let stderr = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(program);
    command.arg(WORD).env("LNET_NODE", node.as_str()).env("LNET_RUNTIME_DIR", directory.path());
    if NETS.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
        command.env("LNET_NETWORKS", "tcp");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    // The terminal's signals, such as that of Ctrl-C, must not reach the console.
    command.process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An empty line is reported below.
        let _ = BufReader::new(stdout).read_line(&mut said);
    }
    match said.trim_end() {
        READY => Ok(()),
        said => {
            let _ = child.wait();
            let said = if said.is_empty() { "it has ended" } else { said };
            let lines = std::fs::read_to_string(&log).unwrap_or_default();
            let last =
                lines.lines().last().map(|line| format!("; its last words: {line}")).unwrap_or_default();
            Err(format!("cannot start a console: {said}{last}"))
        }
    }
}

/// Runs a console until its session ends or, with `stays`, until it is killed. Returns the exit status of the process.
pub fn run(stays: bool) -> u8 {
    lnet_log::install("LNet", log::LevelFilter::Warn);
    match serve(stays) {
        Ok(()) => 0,
        Err(text) => {
            println!("{text}");
            255
        }
    }
}

fn serve(stays: bool) -> Result<(), String> {
    let directory = RuntimeDir::from_env();
    let name = NodeName::from_env().map_err(|error| error.to_string())?;
    let path = socket_of(&directory, &name);
    directory.make().map_err(|error| format!("{}: {error}", directory.path().display()))?;
    let owner = (!stays).then(std::process::id);
    let _lock = lock(&path, owner).map_err(|error| format!("{}: {error}", path.display()))?;
    let config =
        NodeConfig::from_lookup(|name| std::env::var(name).ok()).map_err(|error| error.to_string())?;
    let node = TestNode::start(&config).map_err(|errno| format!("the LNet node does not start: {errno}"))?;
    let failed = |error: io::Error| error.to_string();
    let host = ConsoleHost::start(Arc::clone(node.engine())).map_err(failed)?;
    let socket = ConsoleSocket::listen(&path, &host).map_err(failed)?;
    node.set_console(Some(Arc::clone(&host) as Arc<_>));
    println!("{READY}");
    io::stdout().flush().map_err(failed)?;
    // The pipe has no reader any more.
    detach().map_err(failed)?;
    if stays {
        loop {
            thread::park();
        }
    }
    until_unused(&host);
    drop(socket);
    node.set_console(None);
    host.close();
    // A thread that still answers the last command holds a reference to the host.
    let began = Instant::now();
    while Arc::strong_count(&host) > 1 && began.elapsed() < LOCK_TIMEOUT {
        thread::sleep(LOOK);
    }
    drop((host, node));
    Ok(())
}

/// Waits until there is no session, and none has come for a while at the beginning.
fn until_unused(host: &ConsoleHost) {
    let began = Instant::now();
    let mut had_one = false;
    loop {
        had_one |= host.has_session();
        if (had_one || began.elapsed() >= UNUSED) && host.close_if_unused() {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Locks the name of a console for this process, so that the next one waits until the last has released its addresses. The file
/// gets the number of the process, if that ends with its session.
fn lock(socket: &Path, owner: Option<u32>) -> io::Result<File> {
    let name = lock_file(socket);
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(name)?;
    let began = Instant::now();
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if began.elapsed() >= LOCK_TIMEOUT {
            return Err(error.into());
        }
        thread::sleep(LOOK);
    }
    file.set_len(0)?;
    if let Some(owner) = owner {
        write!(file, "{owner}")?;
    }
    Ok(file)
}

fn lock_file(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Returns the process of the console behind this socket, if it ends with its session.
pub fn owner(socket: &Path) -> Option<u32> {
    let file = File::open(lock_file(socket)).ok()?;
    let owner = io::read_to_string(&file).ok()?.parse().ok()?;
    // The number is only valid while its process holds the lock.
    flock(&file, FlockOperation::NonBlockingLockShared).is_err().then_some(owner)
}

/// Waits until this process, whose session has ended, has given its addresses back.
pub fn wait_for_end(socket: &Path, process: u32) {
    let began = Instant::now();
    while owner(socket) == Some(process) && began.elapsed() < LOCK_TIMEOUT {
        thread::sleep(LOOK);
    }
}

/// Redirects standard output to /dev/null.
fn detach() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}
