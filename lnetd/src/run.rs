//! The daemon: start, serve, stop.

use crate::events_file::EventsFile;
use crate::options::{Options, OptionsWithoutMetrics};
use crate::selftest::Selftest;
use crate::source::Nets;
use listenfd::ListenFd;
use lnet_dlc::request::NodeInfo;
use lnet_dlc::runtime_dir::NodeName;
use lnet_dlc::{Backend, Reply, Request, RequestError};
use lnet_log::History;
use lnet_metrics::{MetricsListener, MetricsServer, NamedNode, SharedBackend};
use lnet_node::{AttachConfig, AttachServer, ControlConfig, ControlServer, Node};
use lnet_wire::{Errno, Pid};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::SystemTime;

/// The reason why the daemon did not start; its text is for the parent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartFailure {
    /// The handlers of signals cannot be installed.
    #[error("signals cannot be handled: {0}")]
    Signals(io::Error),
    /// The configuration file is missing or not valid.
    #[error("the configuration file cannot be used; `lnetd --check` says why")]
    File(Errno),
    /// A daemon of this name runs.
    #[error("a node {0} runs already")]
    Running(NodeName),
    /// The control socket cannot be made.
    #[error("control socket: {0}")]
    ControlSocket(io::Error),
    /// The socket for programs cannot be made.
    #[error("the socket for programs: {0}")]
    AttachSocket(io::Error),
    /// Options of metrics without effect.
    #[error("{0}")]
    MetricsOptions(OptionsWithoutMetrics),
    /// Metrics cannot be served.
    #[error("metrics cannot be served: {0}")]
    Metrics(io::Error),
    /// The node did not start.
    #[error("cannot start the node: {}", .0.text())]
    Node(Errno),
    /// The selftest service did not start.
    #[error("cannot start LNet selftest: {}", .0.text())]
    Selftest(Errno),
}

impl StartFailure {
    /// The error as a number.
    pub(crate) fn errno(&self) -> Errno {
        match self {
            Self::Signals(error)
            | Self::ControlSocket(error)
            | Self::AttachSocket(error)
            | Self::Metrics(error) => error.into(),
            Self::MetricsOptions(_) => Errno::Invalid,
            Self::Running(_) => Errno::Exists,
            Self::File(errno) | Self::Node(errno) | Self::Selftest(errno) => *errno,
        }
    }
}

/// Runs a node until a signal or a client ends it.
pub(crate) fn run(options: &Options) -> Result<(), StartFailure> {
    if options.detach {
        // Fails where this process leads a session already.
        let _ = rustix::process::setsid();
    }
    let (sender, events) = channel();
    watch_signals(sender.clone()).map_err(StartFailure::Signals)?;
    let nets = Nets::of(options);
    let file = nets.read().map_err(StartFailure::File)?;
    let daemon = Arc::new(Daemon {
        node: OnceLock::new(),
        selftest: Mutex::new(None),
        programs: Mutex::new(None),
        events: sender,
    });
    let history = Arc::new(History::new(SystemTime::now));
    // First of all, as it detects another node of this name. Clients wait until the node is up.
    let server = listen(options, Arc::clone(&daemon), &history)?;
    let events_file = options.events_file.clone().map(|path| EventsFile::open(path, &history));
    let (node, metrics) = match start_node(options, &nets, &history) {
        Ok(started) => started,
        Err(failure) => {
            server.close();
            return Err(failure);
        }
    };
    match options.selftest.then(|| Selftest::start(&node, &options.node)).transpose() {
        Ok(selftest) => *daemon.selftest() = selftest,
        Err(errno) => {
            node.shutdown();
            server.close();
            return Err(StartFailure::Selftest(errno));
        }
    }
    let complete = file.is_none_or(|file| node.while_importing(|| file.apply(&*node)));
    // With the option, that is intended.
    if !options.loopback_only {
        node.warn_if_only_loopback();
    }
    match admit_programs(&node) {
        Ok(programs) => *daemon.programs() = programs,
        Err(failure) => {
            drop(daemon.selftest().take());
            node.shutdown();
            server.close();
            return Err(failure);
        }
    }
    let metrics = match metrics.map(|listener| serve_metrics(listener, options, &daemon)).transpose() {
        Ok(metrics) => metrics,
        Err(failure) => {
            let programs = daemon.programs().take();
            drop((programs, daemon.selftest().take()));
            node.shutdown();
            server.close();
            return Err(failure);
        }
    };
    let pid_file = options.pid_file.clone().map(PidFile::write).transpose();
    let pid_file = pid_file.inspect_err(|error| log::error!("{error}")).ok();
    if options.detach {
        let _ = std::env::set_current_dir("/");
    }
    let _ = daemon.node.set(Arc::clone(&node));
    let status = match complete {
        true => "up",
        false => "up, but not all of the configuration file is in force",
    };
    log::info!("node {} is {status}", options.node);
    notify(&[NotifyState::Status(status), NotifyState::Ready]);

    let response = wait_for_end(&events);
    notify(&[NotifyState::Stopping, NotifyState::Status("going down")]);
    let programs = daemon.programs().take();
    drop(programs);
    // Shuts the node down.
    drop(daemon.selftest().take());
    node.shutdown();
    server.close();
    drop(metrics);
    // From here on a new daemon finds name and ports free: until now the client that ended this one has waited.
    drop((response, events));
    server.stop();
    drop((pid_file, events_file));
    log::info!("node {} is down", options.node);
    Ok(())
}

/// Notifies the service manager, if there is one.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    // The service manager may read the log as soon as it is notified.
    lnet_log::flush();
    if let Err(error) = sd_notify::notify(false, states) {
        log::debug!("NOTIFY_SOCKET: {error}");
    }
}

fn listen(
    options: &Options,
    daemon: Arc<Daemon>,
    history: &Arc<History>,
) -> Result<ControlServer, StartFailure> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => StartFailure::Running(options.node.clone()),
        _ => StartFailure::ControlSocket(error),
    };
    let mut config = ControlConfig::from_env(options.node.clone()).map_err(failed)?;
    config.history = Some(Arc::clone(history));
    let mut passed = ListenFd::from_env();
    config.listener = passed.take_unix_listener(0).map_err(failed)?;
    if passed.len() > 1 {
        config.status_listener = passed.take_unix_listener(1).map_err(failed)?;
    }
    ControlServer::start(config, daemon).map_err(failed)
}

/// Lets programs attach to the node, as the environment says.
fn admit_programs(node: &Arc<Node>) -> Result<Option<AttachServer>, StartFailure> {
    let started = AttachConfig::from_env().and_then(|config| {
        let start = |config| AttachServer::start(config, node);
        config.map(start).transpose()
    });
    started.map_err(StartFailure::AttachSocket)
}

/// Starts the node. Before that, the address for metrics is bound: one that is in use ends the start before anything else has.
fn start_node(
    options: &Options,
    nets: &Nets,
    history: &Arc<History>,
) -> Result<(Arc<Node>, Option<MetricsListener>), StartFailure> {
    let mut config = nets.start_config().map_err(StartFailure::Node)?;
    config.name = options.node.clone();
    config.history = Arc::clone(history);
    // A boot goes on whatever the order in which its interfaces come. `lnetctl lnet configure` is somebody who waits for the result.
    config.waits_by_default = !options.detach;
    let metrics = options.metrics(config.metrics.take()).map_err(StartFailure::MetricsOptions)?;
    let metrics = metrics.map(MetricsListener::bind).transpose().map_err(StartFailure::Metrics)?;
    let node = Node::start(Pid::LUSTRE, config).map_err(StartFailure::Node)?;
    Ok((node, metrics))
}

/// Serves the metrics of the daemon's node.
fn serve_metrics(
    listener: MetricsListener,
    options: &Options,
    daemon: &Arc<Daemon>,
) -> Result<MetricsServer, StartFailure> {
    let (name, daemon) = (options.node.to_string(), Arc::clone(daemon));
    let nodes = move || {
        let backend = Arc::clone(&daemon) as SharedBackend;
        vec![NamedNode { name: name.clone(), backend }]
    };
    let server = listener.serve(Arc::new(nodes)).map_err(StartFailure::Metrics)?;
    log::info!("metrics: http://{}/metrics", server.address());
    Ok(server)
}

/// A signal to the daemon, or a request.
enum Event {
    Signal(i32),
    /// A client takes the node down. It gets its response when the sender is dropped.
    Unconfigure {
        _answer: Sender<()>,
    },
}

/// Waits until the daemon is to end; returns the event, with the client that waits for the end.
fn wait_for_end(events: &Receiver<Event>) -> Option<Event> {
    for event in events {
        match event {
            Event::Signal(SIGHUP) => {
                log::warn!("SIGHUP changes nothing: `lnetctl import FILE` brings in a changed configuration");
            }
            Event::Signal(number) => {
                log::info!("signal {number}: going down");
                return None;
            }
            Event::Unconfigure { .. } => {
                log::info!("taken down by a client");
                return Some(event);
            }
        }
    }
    None
}

fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().name("lnet_signals".to_owned()).spawn(move || {
        for signal in &mut signals {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// The backend for clients: the node, which they may end.
struct Daemon {
    /// Set when the node is up.
    node: OnceLock<Arc<Node>>,
    selftest: Mutex<Option<Selftest>>,
    programs: Mutex<Option<AttachServer>>,
    events: Sender<Event>,
}

impl Daemon {
    fn selftest(&self) -> MutexGuard<'_, Option<Selftest>> {
        self.selftest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> MutexGuard<'_, Option<AttachServer>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Daemon {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.call_with_warnings(request, &mut Vec::new())
    }

    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        let node = self.node.wait();
        if request != Request::Unconfigure {
            let reply = node.call_with_warnings(request, warnings)?;
            return Ok(match reply {
                Reply::Node(info) => {
                    let selftest = self.selftest().as_ref().map(Selftest::status);
                    Reply::Node(NodeInfo { selftest, ..info })
                }
                Reply::Programs(_) => {
                    let programs = self.programs().as_ref().map(AttachServer::programs);
                    Reply::Programs(programs.unwrap_or_default())
                }
                reply => reply,
            });
        }
        if self.programs().as_ref().is_some_and(AttachServer::has_programs) {
            return Err(Errno::Busy.into());
        }
        let (response, down) = channel();
        let _ = self.events.send(Event::Unconfigure { _answer: response });
        // Nothing is ever sent: the call ends when the node has ended, at once if it had already.
        let _ = down.recv();
        Ok(Reply::Done)
    }
}

/// A file with this process's number; removed when dropped.
struct PidFile(PathBuf);

impl PidFile {
    fn write(path: PathBuf) -> Result<Self, String> {
        let path = std::path::absolute(&path).unwrap_or(path);
        let named = |error: io::Error| format!("{}: {error}", path.display());
        fs::write(&path, format!("{}\n", std::process::id())).map_err(named)?;
        Ok(Self(path))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            log::warn!("{}: {error}", self.0.display());
        }
    }
}
