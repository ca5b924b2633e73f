//! The control socket with correct, slow and defective clients.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_dlc::frame::{self, MAX_REPLY, MAX_REQUEST};
use lnet_dlc::request::NodeInfo;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Client, Reply, Request, RequestError};
use lnet_node::{ControlConfig, ControlServer};
use lnet_wire::{Errno, Nid};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The number of peers, which make a reply of about a megabyte.
const MANY: usize = 100_000;

/// A backend that reports its name; has more peers than a socket's buffer holds; panics when counters are requested; and whose
/// `ConfigRouter` sends to `entered`, and takes until the test sends to `leave` or drops its sender.
fn fake_node(
    entered: Sender<()>,
    leave: Receiver<()>,
) -> impl Fn(Request) -> Result<Reply, RequestError> + Send + Sync {
    let leave = Mutex::new(leave);
    move |request| match request {
        Request::GetNode => Ok(Reply::Node(NodeInfo {
            version: "1".into(),
            name: "fake".into(),
            process: 1,
            started_ms: None,
            selftest: None,
        })),
        Request::GetPeerList => Ok(Reply::Nids(vec![Nid::LOOPBACK; MANY])),
        Request::GetLnetStats => panic!("on purpose"),
        Request::ConfigRouter(_) => {
            entered.send(()).unwrap();
            let _ = leave.lock().unwrap().recv();
            Ok(Reply::Done)
        }
        Request::ResetLnetStats => Ok(Reply::Done),
        _ => Err(Errno::NotFound.into()),
    }
}

struct Fixture {
    server: ControlServer,
    config_name: NodeName,
    directory: RuntimeDir,
    /// Receives a message when a slow request has begun.
    entered: Mutex<Receiver<()>>,
    /// Ends the slow request.
    leave: Sender<()>,
    _temporary: TempDir,
}

fn start_with(change: impl FnOnce(&mut ControlConfig)) -> Fixture {
    let temporary = tempfile::tempdir().unwrap();
    let directory = RuntimeDir::at(temporary.path());
    let name: NodeName = "a".parse().unwrap();
    let mut config = ControlConfig::new(directory.clone(), name.clone());
    change(&mut config);
    let (entered_sender, entered) = channel();
    let entered = Mutex::new(entered);
    let (leave, leave_receiver) = channel();
    let backend = Arc::new(fake_node(entered_sender, leave_receiver));
    let server = ControlServer::start(config, backend).unwrap();
    Fixture { server, config_name: name, directory, entered, leave, _temporary: temporary }
}

fn start() -> Fixture {
    start_with(|_| {})
}

impl Fixture {
    fn client(&self) -> Client {
        Client::at(self.directory.clone(), None)
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.directory.socket(&self.config_name)).unwrap()
    }

    /// Repeats the call while all places are taken, or while the server's short timeout disconnects this client.
    fn call_until_served(&self, request: &Request) -> Reply {
        loop {
            match self.client().call(request.clone()).map_err(Errno::from) {
                Ok(reply) => return reply,
                Err(Errno::TooManyUsers | Errno::ConnectionReset) => thread::yield_now(),
                Err(errno) => panic!("{errno}"),
            }
        }
    }

    fn is_fine(&self) {
        assert!(matches!(self.client().call(Request::GetNode), Ok(Reply::Node(_))));
    }
}

fn send(stream: &UnixStream, request: &Request) {
    frame::write(stream, &frame::encode_request(request).unwrap(), None).unwrap();
}

fn receive(mut stream: &UnixStream) -> Result<Reply, RequestError> {
    frame::decode_reply(&frame::read(&mut stream, MAX_REPLY).unwrap().unwrap()).unwrap().result
}

fn is_at_end(mut stream: &UnixStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(length) => length == 0,
        // The reset discards bytes that were not read.
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn several_clients_are_served_at_once_even_while_one_waits_for_a_slow_answer() {
    let node = start();
    let slow = node.connect();
    send(&slow, &Request::ConfigRouter(true));
    node.entered.lock().unwrap().recv().unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let client = node.client();
                for _ in 0..20 {
                    assert!(matches!(client.call(Request::GetNode), Ok(Reply::Node(_))));
                    assert_eq!(client.call(Request::GetNi(9)), Err(Errno::NotFound.into()));
                }
            });
        }
    });
    node.leave.send(()).unwrap();
    assert_eq!(receive(&slow), Ok(Reply::Done));
}

#[test]
fn requests_sent_in_one_go_are_answered_in_their_order() {
    let node = start();
    let stream = node.connect();
    for _ in 0..3 {
        send(&stream, &Request::GetNode);
        send(&stream, &Request::ResetLnetStats);
    }
    for _ in 0..3 {
        assert!(matches!(receive(&stream), Ok(Reply::Node(_))));
        assert_eq!(receive(&stream), Ok(Reply::Done));
    }
}

#[test]
fn a_client_that_stops_within_a_request_loses_its_connection_and_an_idle_one_does_not() {
    let node = start_with(|config| config.request_timeout = Duration::from_millis(20));
    let (idle, stalled, length_only) = (node.connect(), node.connect(), node.connect());
    let request = frame::encode_request(&Request::GetNode).unwrap();
    (&stalled).write_all(&request[..request.len() - 1]).unwrap();
    (&length_only).write_all(&request[..2]).unwrap();
    assert!(is_at_end(&stalled));
    assert!(is_at_end(&length_only));
    send(&idle, &Request::GetNode);
    assert!(receive(&idle).is_ok());
}

#[test]
fn an_invalid_request_is_rejected_and_the_server_continues() {
    let framed = |body: &[u8]| [&(body.len() as u32).to_le_bytes(), body].concat();
    let deep = framed(format!("{{\"version\":1,\"request\":{}", "[".repeat(100_000)).as_bytes());
    let table: [(&str, Vec<u8>, Errno, bool); 6] = [
        ("too long", (MAX_REQUEST + 1).to_le_bytes().into(), Errno::MessageSize, false),
        ("much too long", vec![0xff; 4], Errno::MessageSize, false),
        ("bytes", framed(b"\0\x01\x02"), Errno::Protocol, false),
        ("deep", deep, Errno::Protocol, false),
        (
            "another version",
            framed(br#"{"version":9,"request":"get_node"}"#),
            Errno::ProtocolNotSupported,
            true,
        ),
        ("unknown", framed(br#"{"version":1,"request":"dance"}"#), Errno::NotSupported, true),
    ];
    let node = start();
    for (what, bytes, errno, goes_on) in table {
        let stream = node.connect();
        (&stream).write_all(&bytes).unwrap();
        assert_eq!(receive(&stream), Err(errno.into()), "{what}");
        if goes_on {
            send(&stream, &Request::GetNode);
            assert!(receive(&stream).is_ok(), "{what}");
        } else {
            assert!(is_at_end(&stream), "{what}");
        }
        node.is_fine();
    }
}

#[test]
fn a_client_that_dies_or_does_not_take_its_answer_costs_only_its_connection() {
    let node = start_with(|config| {
        config.request_timeout = Duration::from_millis(20);
        config.max_clients = 1;
    });
    let dying = node.connect();
    send(&dying, &Request::GetPeerList);
    let mut some = [0; 100];
    (&dying).read_exact(&mut some).unwrap();
    drop(dying);
    // The server has one place, which becomes free in the end.
    node.call_until_served(&Request::GetNode);

    let request = frame::encode_request(&Request::GetPeerList).unwrap();
    let _stuck = loop {
        let stream = node.connect();
        // The reply that rejects the client is shorter.
        if frame::write(&stream, &request, None).is_ok() && (&stream).read_exact(&mut some).is_ok() {
            break stream;
        }
    };
    let Reply::Nids(nids) = node.call_until_served(&Request::GetPeerList) else { panic!("something else") };
    assert_eq!(nids.len(), MANY);
}

#[test]
fn a_panic_while_a_request_is_carried_out_is_an_error_of_that_request() {
    let node = start();
    let client = node.client();
    assert_eq!(client.call(Request::GetLnetStats), Err(Errno::Io.into()));
    assert!(client.call(Request::GetNode).is_ok());
}

/// Whether the node still replies on this connection.
fn is_served(mut stream: &UnixStream) -> bool {
    let request = frame::encode_request(&Request::GetNode).unwrap();
    frame::write(stream, &request, None).is_ok() && matches!(frame::read(&mut stream, MAX_REPLY), Ok(Some(_)))
}

#[test]
fn of_a_hundred_clients_all_are_served_and_sixty_four_stay_connected() {
    let node = start();
    let clients: Vec<UnixStream> = (0..100)
        .map(|_| {
            let stream = node.connect();
            send(&stream, &Request::GetNode);
            assert!(receive(&stream).is_ok());
            stream
        })
        .collect();
    // The client that was idle for longest is disconnected. The test cannot see when a client's thread notes that it is idle
    // again: so it does not assert which clients stay, except for the last one.
    let served: Vec<bool> = clients.iter().map(is_served).collect();
    assert_eq!(served.iter().filter(|served| **served).count(), 64, "{served:?}");
    assert_eq!(served.last(), Some(&true));
}

#[test]
fn if_all_clients_are_busy_another_one_is_told_to_retry() {
    let node = start_with(|config| config.max_clients = 1);
    let slow = node.connect();
    send(&slow, &Request::ConfigRouter(true));
    node.entered.lock().unwrap().recv().unwrap();
    assert_eq!(node.client().call(Request::GetNode), Err(Errno::TooManyUsers.into()));
    node.leave.send(()).unwrap();
    assert_eq!(receive(&slow), Ok(Reply::Done));
    // Uses the one connection that there may be: the test cannot see when its place is free again.
    assert!(is_served(&slow));
}

#[test]
fn the_status_socket_has_its_mode_and_is_read_only() {
    let node = start_with(|config| config.status_mode = Some(0o640));
    let path = node.directory.status_socket(&node.config_name);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    let control = node.directory.socket(&node.config_name);
    assert_eq!(fs::metadata(control).unwrap().mode() & 0o777, 0o600);
    let stream = UnixStream::connect(&path).unwrap();
    for (request, allowed) in [
        (Request::GetNode, true),
        (Request::ResetLnetStats, false),
        (Request::Unconfigure, false),
        (Request::GetPeerList, true),
    ] {
        send(&stream, &request);
        let response = receive(&stream);
        assert_eq!(response.is_ok(), allowed, "{request:?}");
        assert!(allowed || response == Err(Errno::Access.into()), "{request:?}");
    }
    drop(node.server);
    assert!(!path.exists());
}

/// Makes the permissions of files apply to the calling thread from now on, also if it is root's.
fn give_up_reading_everything() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut capabilities = capabilities(None).unwrap();
    capabilities.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, capabilities).unwrap();
}

#[test]
fn a_user_without_access_to_the_control_socket_reads_the_status_socket() {
    use std::os::unix::fs::PermissionsExt;
    let node = start_with(|config| config.status_mode = Some(0o600));
    let control = node.directory.socket(&node.config_name);
    fs::set_permissions(&control, fs::Permissions::from_mode(0o0)).unwrap();
    give_up_reading_everything();
    assert!(UnixStream::connect(&control).is_err());
    let client = node.client();
    assert!(client.call(Request::GetNode).is_ok());
    assert_eq!(client.call(Request::ResetLnetStats), Err(Errno::Access.into()));
    assert!(client.explain().unwrap().contains("status only"));
    fs::remove_file(node.directory.status_socket(&node.config_name)).unwrap();
    let client = node.client();
    assert_eq!(client.call(Request::GetNode), Err(Errno::Access.into()));
    assert!(client.explain().unwrap().contains("only the owner and root"));
}

#[test]
fn the_socket_of_a_dead_node_is_replaced_and_that_of_a_running_one_is_not() {
    let temporary = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(temporary.path().join("a.sock")).unwrap());
    let node = start_with(|config| config.directory = RuntimeDir::at(temporary.path()));
    let node = Fixture { directory: RuntimeDir::at(temporary.path()), ..node };
    node.is_fine();
    let config = ControlConfig::new(node.directory.clone(), node.config_name.clone());
    let (sender, receiver) = (channel().0, channel().1);
    let other = fake_node(sender, receiver);
    let error = ControlServer::start(config, Arc::new(other)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    node.is_fine();
    node.server.stop();
    assert!(node.directory.nodes().unwrap().is_empty());
}

#[test]
fn a_socket_that_somebody_else_has_made_is_used_and_left_alone() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("a.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let node = start_with(|config| config.listener = Some(listener));
    let client = Client::at(RuntimeDir::at(temporary.path()), Some("a".into()));
    assert!(client.call(Request::GetNode).is_ok());
    node.server.stop();
    assert!(path.exists());
}

#[test]
fn stopping_closes_idle_and_stalled_clients_and_finishes_requests() {
    let node = start();
    let (idle, stalled, slow) = (node.connect(), node.connect(), node.connect());
    (&stalled).write_all(&[1, 2]).unwrap();
    send(&slow, &Request::ConfigRouter(true));
    node.entered.lock().unwrap().recv().unwrap();
    thread::scope(|scope| {
        let stop = scope.spawn(|| node.server.stop());
        assert!(is_at_end(&idle));
        assert!(is_at_end(&stalled));
        node.leave.send(()).unwrap();
        assert_eq!(receive(&slow), Ok(Reply::Done));
        stop.join().unwrap();
    });
    assert_eq!(node.client().call(Request::GetNode), Err(Errno::NetworkDown.into()));
}

#[test]
fn stopping_does_not_wait_for_a_request_that_does_not_end() {
    let node = start();
    let slow = node.connect();
    send(&slow, &Request::ConfigRouter(true));
    node.entered.lock().unwrap().recv().unwrap();
    node.server.stop();
    node.server.stop();
    assert!(is_at_end(&slow));
}
