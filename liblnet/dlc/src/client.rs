//! The client of the control socket of a node in another process of this machine.

use crate::daemon::{self, StartError};
use crate::frame::{self, FrameError, Response};
use crate::request::{Backend, Configure, Reply, Request, RequestError};
use crate::runtime_dir::{NodeName, NotANodeName, RuntimeDir};
use lnet_os::peer_cred::connect;
use lnet_wire::Errno;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A node behind a control socket. Connects at the first request, and again after the connection was lost. Threads
/// may share a client: each request that finds the connection in use opens another.
///
/// Without a node, [`Request::Configure`] starts the daemon and [`Request::Unconfigure`] succeeds; every other
/// request fails with [`Errno::NetworkDown`]. [`Errno::Access`] without permission, [`Errno::NotUnique`] if several
/// nodes run and none was selected, [`Errno::ConnectionReset`] if the node was shut down and may have carried out the
/// request. [`Client::explain`] has the texts.
#[derive(Debug)]
pub struct Client {
    directory: RuntimeDir,
    node: Option<String>,
    program: Option<PathBuf>,
    idle: Mutex<Option<Link>>,
    why: Mutex<Option<String>>,
}

impl Client {
    /// The node of this name in the runtime directory that the environment names. Without a name, the only node there,
    /// or `lnetd`.
    pub fn new(node: Option<String>) -> Self {
        Self::at(RuntimeDir::from_env(), node)
    }

    /// The same with another runtime directory.
    pub fn at(directory: RuntimeDir, node: Option<String>) -> Self {
        Self { directory, node, program: None, idle: Mutex::default(), why: Mutex::default() }
    }

    /// Starts this daemon in place of the one that [`daemon::find`] finds.
    #[must_use]
    pub fn with_daemon(self, program: &Path) -> Self {
        Self { program: Some(program.to_owned()), ..self }
    }

    /// The text of the error that kept the last request from a node, and the remedy; `None` if the request reached a node.
    pub fn explain(&self) -> Option<String> {
        lock(&self.why).clone()
    }

    fn carry_out(&self, request: &Request) -> Result<Response, ClientError> {
        let bytes = frame::encode_request(request).map_err(ClientError::Request)?;
        let old = lock(&self.idle).take();
        if let Some(link) = old.filter(|link| link.serves(request)) {
            match link.exchange(&bytes, timeout_of(request)) {
                Ok(response) => return Ok(self.keep(link, request, response)),
                Err(lost) if lost.nothing_happened(request) => {}
                Err(lost) => return Err(lost.into()),
            }
        }
        let mut tries = 0;
        loop {
            let link = match (self.connect(), request) {
                (Err(failure), Request::Configure(how)) if failure.errno() == Errno::NetworkDown => {
                    match self.start(*how) {
                        // There was a daemon, which has ended in the meantime.
                        Err(failure) if failure.errno() == Errno::Exists && tries < MAX_ATTEMPTS => {
                            tries += 1;
                            continue;
                        }
                        Err(failure) => return Err(failure),
                        // The daemon has what was asked for; its reply has the warnings.
                        Ok(()) => {
                            let exchanged =
                                self.connect().ok().map(|link| link.exchange(&bytes, timeout_of(request)));
                            return Ok(exchanged
                                .and_then(Result::ok)
                                .unwrap_or_else(|| Ok(Reply::Done).into()));
                        }
                    }
                }
                (Err(failure), Request::Unconfigure) if failure.errno() == Errno::NetworkDown => {
                    return Ok(Ok(Reply::Done).into());
                }
                (link, _) => link?,
            };
            if !link.serves(request) {
                return Err(ClientError::StatusOnly(link.name));
            }
            tries += 1;
            match link.exchange(&bytes, timeout_of(request)) {
                Ok(response) => return Ok(self.keep(link, request, response)),
                // The node is shutting down; the next attempt finds no node, or another one.
                Err(lost) if lost.nothing_happened(request) && tries < MAX_ATTEMPTS => {}
                Err(lost) => return Err(lost.into()),
            }
        }
    }

    /// Keeps the connection for the next request, unless the node was stopped.
    fn keep(&self, link: Link, request: &Request, response: Response) -> Response {
        if *request != Request::Unconfigure || response.result.is_err() {
            *lock(&self.idle) = Some(link);
        }
        response
    }

    fn start(&self, how: Configure) -> Result<(), ClientError> {
        let name = self.name()?.unwrap_or_else(NodeName::lnetd);
        match daemon::start(self.program.as_deref(), &self.directory, &name, how) {
            Ok(()) => Ok(()),
            // Another process may have started a node at the same time.
            Err(error) if error.errno() == Errno::Exists && self.connect().is_ok() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn name(&self) -> Result<Option<NodeName>, ClientError> {
        Ok(self.node.as_deref().map(str::parse::<NodeName>).transpose()?)
    }

    fn connect(&self) -> Result<Link, ClientError> {
        let name = self.name()?;
        match self.directory.check() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.directory_error(error));
            }
            _ => {}
        }
        if let Some(name) = name {
            return match self.open(name.clone()) {
                Ok(link) => Ok(link),
                Err(Closed::Forbidden) => Err(ClientError::Forbidden(NodeNames(vec![name]))),
                Err(Closed::NoListener) => {
                    Err(ClientError::NoSuchNode { name, directory: self.directory.path().to_owned() })
                }
                Err(Closed::Failed(error)) => Err(ClientError::Socket(name, error)),
            };
        }
        let names = self.directory.nodes().map_err(|error| self.directory_error(error))?;
        let (mut open, mut closed, mut broken) = (Vec::new(), Vec::new(), None);
        for name in names {
            match self.open(name.clone()) {
                Ok(link) => open.push(link),
                Err(Closed::Forbidden) => closed.push(name),
                Err(Closed::NoListener) => {}
                Err(Closed::Failed(error)) => broken = Some(ClientError::Socket(name, error)),
            }
        }
        let names: Vec<NodeName> = open.iter().map(|link| link.name.clone()).collect();
        match choose(&names) {
            Choice::Take(index) => Ok(open.swap_remove(index)),
            Choice::Several => Err(ClientError::SeveralNodes(NodeNames(names))),
            Choice::NoNode => Err(match broken {
                Some(failure) => failure,
                None if closed.is_empty() => ClientError::NoNode(self.directory.path().to_owned()),
                None => ClientError::Forbidden(NodeNames(closed)),
            }),
        }
    }

    fn open(&self, name: NodeName) -> Result<Link, Closed> {
        match open_socket(&self.directory.socket(&name)) {
            Ok(stream) => Ok(Link { stream, name, read_only: false }),
            Err(Closed::Forbidden) => match open_socket(&self.directory.status_socket(&name)) {
                Ok(stream) => Ok(Link { stream, name, read_only: true }),
                Err(_) => Err(Closed::Forbidden),
            },
            Err(closed) => Err(closed),
        }
    }

    fn directory_error(&self, error: io::Error) -> ClientError {
        ClientError::Directory(self.directory.path().to_owned(), error)
    }
}

impl Backend for Client {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.call_with_warnings(request, &mut Vec::new())
    }

    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        let (why, response) = match self.carry_out(&request) {
            Ok(response) => (None, response),
            Err(failure) => (Some(failure.to_string()), Err(failure.errno().into()).into()),
        };
        *lock(&self.why) = why;
        warnings.extend(response.warnings);
        response.result
    }
}

/// The node to use if the command names none.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Take(usize),
    NoNode,
    /// Several nodes run, and none is the daemon's default.
    Several,
}

fn choose(names: &[NodeName]) -> Choice {
    let daemon = NodeName::lnetd();
    match names {
        [] => Choice::NoNode,
        [_] => Choice::Take(0),
        _ => match names.iter().position(|name| *name == daemon) {
            Some(index) => Choice::Take(index),
            None => Choice::Several,
        },
    }
}

/// The reason why a request did not reach a node.
#[derive(Debug, thiserror::Error)]
enum ClientError {
    /// The request is too long for a message.
    #[error("{0}")]
    Request(FrameError),
    /// The text that names the node is no name.
    #[error("{0}")]
    Name(#[from] NotANodeName),
    /// The runtime directory cannot be read, or is not its owner's alone.
    #[error("{}: {_1}", _0.display())]
    Directory(PathBuf, io::Error),
    /// No process listens, whatever the name.
    #[error("no LNet node runs here: {} has none; `lnetctl lnet configure` starts one", _0.display())]
    NoNode(PathBuf),
    /// No process listens as the node of this name.
    #[error("no LNet node {name} runs here: {} has none of this name", directory.display())]
    NoSuchNode {
        /// The name.
        name: NodeName,
        /// The runtime directory.
        directory: PathBuf,
    },
    /// Several nodes run, and the command names none.
    #[error("several nodes: {0}; choose with --node")]
    SeveralNodes(NodeNames),
    /// The nodes belong to other users.
    #[error("only the owner and root may configure: {0}; become one of them")]
    Forbidden(NodeNames),
    /// The node belongs to another user, and the request changes something.
    #[error("node {0} lets you see its status only; ask its owner or root")]
    StatusOnly(NodeName),
    /// The control socket cannot be connected to.
    #[error("node {0}: {1}")]
    Socket(NodeName, io::Error),
    /// The daemon did not start.
    #[error("{0}")]
    Start(#[from] StartError),
    /// The connection broke before the request was sent.
    #[error("the node does not listen: {0}")]
    NotSent(io::Error),
    /// The node accepted the request and did not reply in time.
    #[error("node {0} is running and does not answer: it hangs, or is stopped (SIGSTOP)")]
    Hung(NodeName),
    /// The connection ended before the reply.
    #[error("the node gave no answer; it may have ended: {0}")]
    NoReply(io::Error),
    /// The reply is of another version, or damaged.
    #[error("the node's answer cannot be read: {0}")]
    BadReply(FrameError),
}

impl ClientError {
    fn errno(&self) -> Errno {
        match self {
            Self::Name(_) => Errno::Invalid,
            Self::NoNode(_) | Self::NoSuchNode { .. } => Errno::NetworkDown,
            Self::SeveralNodes(_) => Errno::NotUnique,
            Self::Forbidden(_) | Self::StatusOnly(_) => Errno::Access,
            Self::Hung(_) => Errno::TimedOut,
            Self::NoReply(_) => Errno::ConnectionReset,
            Self::Start(error) => error.errno(),
            Self::Request(error) | Self::BadReply(error) => error.errno(),
            Self::Directory(_, error) | Self::Socket(_, error) | Self::NotSent(error) => error.into(),
        }
    }
}

/// The names of several nodes.
#[derive(Debug)]
struct NodeNames(Vec<NodeName>);

impl fmt::Display for NodeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", "))
    }
}

/// The reason why a socket cannot be connected to.
enum Closed {
    /// No process listens on the socket.
    NoListener,
    Forbidden,
    Failed(io::Error),
}

fn open_socket(path: &Path) -> Result<UnixStream, Closed> {
    connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Closed::NoListener,
        io::ErrorKind::PermissionDenied => Closed::Forbidden,
        _ => Closed::Failed(error),
    })
}

/// A connection.
#[derive(Debug)]
struct Link {
    stream: UnixStream,
    name: NodeName,
    read_only: bool,
}

/// The number of attempts of a request whose node ends before it replies.
const MAX_ATTEMPTS: u32 = 8;

/// A connection that failed.
enum RequestFailure {
    /// The request was not sent.
    NotSent(io::Error),
    /// The connection ended, or the reply cannot be read. The request may have been carried out.
    NoReply(FrameError),
    /// The request may still be carried out: the node accepted the connection and does not respond.
    Hung(NodeName),
}

/// The timeout of the response to a request; `None` where it has no bound.
fn timeout_of(request: &Request) -> Option<Duration> {
    /// Much longer than any request takes on a running node, or the start of a node.
    const USUAL: Duration = Duration::from_secs(60);
    match request {
        Request::PingPeer(ping) => {
            ping.timeout_ms.map(|ms| USUAL.saturating_add(Duration::from_millis(ms.into())))
        }
        Request::Discover(_) => None,
        _ => Some(USUAL),
    }
}

impl RequestFailure {
    /// Whether the request may be sent again: it was not carried out, or carrying it out twice has the same effect.
    fn nothing_happened(&self, request: &Request) -> bool {
        let harmless =
            request.only_reads() || matches!(request, Request::Configure(_) | Request::Unconfigure);
        match self {
            Self::NotSent(_) => true,
            Self::NoReply(_) => harmless,
            Self::Hung(_) => false,
        }
    }
}

impl From<RequestFailure> for ClientError {
    fn from(lost: RequestFailure) -> Self {
        match lost {
            RequestFailure::NotSent(error) => Self::NotSent(error),
            RequestFailure::Hung(name) => Self::Hung(name),
            RequestFailure::NoReply(FrameError::Io(error)) => Self::NoReply(error),
            RequestFailure::NoReply(error) => Self::BadReply(error),
        }
    }
}

impl Link {
    fn serves(&self, request: &Request) -> bool {
        !self.read_only || request.only_reads()
    }

    fn exchange(&self, request: &[u8], timeout: Option<Duration>) -> Result<Response, RequestFailure> {
        self.stream.set_read_timeout(timeout).map_err(RequestFailure::NotSent)?;
        let sent = frame::write(&self.stream, request, None);
        // A client that is rejected finds the reason in the bytes that the node wrote before it closed the connection.
        let body = match (frame::read(&mut &self.stream, frame::MAX_REPLY), sent) {
            (Ok(Some(body)), _) => body,
            (_, Err(error)) => return Err(RequestFailure::NotSent(error)),
            (Ok(None), Ok(())) => {
                return Err(RequestFailure::NoReply(FrameError::Io(io::ErrorKind::UnexpectedEof.into())));
            }
            (Err(FrameError::Io(error)), Ok(())) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(RequestFailure::Hung(self.name.clone()));
            }
            (Err(error), Ok(())) => return Err(RequestFailure::NoReply(error)),
        };
        frame::decode_reply(&body).map_err(RequestFailure::NoReply)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::thread;

    fn names(names: &[&str]) -> Vec<NodeName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_node_that_does_not_answer_times_out() {
        let (mine, theirs) = UnixStream::pair().unwrap();
        let link = Link { stream: mine, name: "7".parse().unwrap(), read_only: false };
        let request = frame::encode_request(&Request::GetNode).unwrap();
        let lost = link.exchange(&request, Some(Duration::from_millis(1)));
        let Err(RequestFailure::Hung(name)) = lost else { panic!("an answer from nobody") };
        assert_eq!(ClientError::from(RequestFailure::Hung(name)).errno(), Errno::TimedOut);
        drop(theirs);
    }

    #[test]
    fn without_a_name_the_only_node_or_lnetd_is_used() {
        assert_eq!(choose(&[]), Choice::NoNode);
        assert_eq!(choose(&names(&["7"])), Choice::Take(0));
        assert_eq!(choose(&names(&["7", "lnetd", "z"])), Choice::Take(1));
        assert_eq!(choose(&names(&["7", "8"])), Choice::Several);
        let several = ClientError::SeveralNodes(NodeNames(names(&["7", "8"])));
        assert_eq!(several.to_string(), "several nodes: 7, 8; choose with --node");
    }

    #[test]
    fn without_a_node_the_error_is_network_down_and_names_the_remedy() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path().join("none"));
        let client = Client::at(directory.clone(), None);
        assert_eq!(client.call(Request::GetNode), Err(Errno::NetworkDown.into()));
        assert!(client.explain().unwrap().contains("lnetctl lnet configure"));
        assert_eq!(client.call(Request::Unconfigure), Ok(Reply::Done));
        assert_eq!(client.explain(), None);

        let client = Client::at(directory.clone(), Some("a".into()));
        assert_eq!(client.call(Request::GetNode), Err(Errno::NetworkDown.into()));
        let client = Client::at(directory, Some("../a".into()));
        assert_eq!(client.call(Request::GetNode), Err(Errno::Invalid.into()));
    }

    #[test]
    fn an_untrusted_directory_is_an_error_that_names_the_reason() {
        use std::os::unix::fs::PermissionsExt;
        // The directory in /tmp of a user that does not exist, created by this one.
        let directory = RuntimeDir::from_lookup(|_| None, 3_000_000_000 + std::process::id());
        std::fs::create_dir(directory.path()).unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let asked = [None, Some("a".to_owned())].map(|node| {
            let client = Client::at(directory.clone(), node);
            (client.call(Request::GetNode), client.explain().unwrap_or_default())
        });
        std::fs::remove_dir(directory.path()).unwrap();
        let wanted = format!("{}: its mode is 0777, so others can write to it", directory.path().display());
        for (result, why) in asked {
            assert_eq!(result, Err(Errno::Access.into()));
            assert!(why.starts_with(&wanted), "{why}");
        }
    }

    #[test]
    fn a_socket_without_a_listener_is_no_node() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let [dead, a, b] = ["dead", "a", "b"].map(|name| name.parse::<NodeName>().unwrap());
        drop(UnixListener::bind(directory.socket(&dead)).unwrap());
        let client = Client::at(directory.clone(), None);
        assert_eq!(client.call(Request::GetNode), Err(Errno::NetworkDown.into()));

        let _a = UnixListener::bind(directory.socket(&a)).unwrap();
        let _b = UnixListener::bind(directory.socket(&b)).unwrap();
        assert_eq!(client.call(Request::GetNode), Err(Errno::NotUnique.into()));
        assert_eq!(client.explain().unwrap(), "several nodes: a, b; choose with --node");
        assert_eq!(client.call(Request::Unconfigure), Err(Errno::NotUnique.into()));
    }

    /// A node that responds to `requests` requests of each connection but the last.
    fn serve(listener: UnixListener, connections: u32, requests: u32) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            for _ in 0..connections {
                let (stream, _) = listener.accept().unwrap();
                for left in (0..requests).rev() {
                    if frame::read(&mut &stream, frame::MAX_REQUEST).unwrap().is_none() {
                        break;
                    }
                    if left > 0 {
                        frame::write(&stream, &frame::encode_reply(&Ok(Reply::Done).into()), None).unwrap();
                    }
                }
            }
        })
    }

    #[test]
    fn a_node_that_shuts_down_during_a_request_counts_as_absent() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let socket = temporary.path().join("a.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let node = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            // The connection ends after the request was read: whether it was carried out is unknown.
            let _ = frame::read(&mut &stream, frame::MAX_REQUEST);
            std::fs::remove_file(socket).unwrap();
        });
        assert_eq!(Client::at(directory, None).call(Request::Unconfigure), Ok(Reply::Done));
        node.join().unwrap();
    }

    #[test]
    fn a_query_is_retried_after_a_lost_connection_and_a_change_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let listener = UnixListener::bind(temporary.path().join("a.sock")).unwrap();
        let node = serve(listener, 2, 2);
        let client = Client::at(directory, None);
        assert_eq!(client.call(Request::GetNode), Ok(Reply::Done));
        // The node reads this request and closes; the client repeats it on the next connection.
        assert_eq!(client.call(Request::GetNode), Ok(Reply::Done));
        // The same; but whether this request was carried out is unknown.
        assert_eq!(client.call(Request::ConfigRouter(true)), Err(Errno::ConnectionReset.into()));
        assert!(client.explain().is_some());
        node.join().unwrap();
    }
}
