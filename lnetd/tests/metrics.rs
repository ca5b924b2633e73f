//! Metrics and health of a daemon, as clients of HTTP see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use lnet_dlc::request::{SetHealth, SetHealthKind};
use lnet_dlc::{Backend, Request};
use place::{Place, ends, free_address, signal};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};

fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Sends a text, and returns all of the response.
fn exchange(address: SocketAddr, text: &str) -> String {
    let mut response = String::new();
    send(address, text).read_to_string(&mut response).unwrap();
    response
}

/// The status line, the head and the body of a page.
fn page(address: SocketAddr, path: &str, headers: &str) -> (String, String, String) {
    let response = exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n{headers}\r\n"));
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let (status, head) = head.split_once("\r\n").unwrap();
    (status.to_owned(), head.to_owned(), body.to_owned())
}

fn stop(child: Child) {
    signal(&child, Signal::TERM);
    assert!(ends(child).status.success());
}

fn port() -> String {
    TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn a_daemon_serves_metrics_in_the_format_that_is_asked_for() {
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only"], |_| ());
    let (status, head, body) = page(address, "/metrics", "");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(body.contains(
        "\n# TYPE lnet_messages_total counter\nlnet_messages_total{node=\"lnetd\",outcome=\"sent\"} "
    ));
    assert!(body.contains("\nlnet_start_time_seconds{node=\"lnetd\"} 1"), "{body}");
    assert!(!body.contains("lustre_"), "{body}");

    let (_, head, body) = page(address, "/metrics?a=b", "Accept: application/openmetrics-text\r\n");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.contains("\n# TYPE lnet_bytes counter\n# UNIT lnet_bytes bytes\n"), "{body}");
    assert!(body.ends_with("\n# EOF\n"), "{body}");

    assert_eq!(page(address, "/healthz", "").2, "ok\n");
    let (_, head, links) = page(address, "/", "");
    assert!(head.contains("\r\nContent-Security-Policy: default-src 'none'; "), "{head}");
    assert!(links.contains("href=\"/metrics\"") && links.contains("href=\"/healthz\""), "{links}");
    assert_eq!(page(address, "/etc/passwd", "").0, "HTTP/1.1 404 Not Found");
    let head_only = exchange(address, "HEAD /healthz HTTP/1.1\r\n\r\n");
    assert!(head_only.ends_with("\r\n\r\n") && head_only.contains("Content-Length: 3\r\n"), "{head_only}");
    stop(child);
    // The port is free again.
    drop(TcpListener::bind(address).unwrap());
}

#[test]
fn names_of_lustrefs_exporter_are_there_on_request() {
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only", "--lustre-names"], |_| ());
    let (_, _, body) = page(address, "/metrics", "");
    assert!(body.contains("\nlustre_send_count_total{node=\"lnetd\",nid=\"0@lo\"} 0\n"), "{body}");
    assert!(body.contains("\nlustre_send_bytes_total{node=\"lnetd\"} 0\n"), "{body}");
    stop(child);
}

#[test]
fn the_environment_says_where_metrics_are_unless_an_option_does() {
    for option in [false, true] {
        let place = Place::new();
        let (by_option, by_variable) = (free_address().to_string(), free_address());
        let arguments = ["--loopback-only", "--metrics", &by_option];
        let (child, _) = place.start(if option { &arguments } else { &arguments[..1] }, |command| {
            command.env("LNET_METRICS", by_variable.port().to_string());
        });
        assert_eq!(TcpStream::connect(by_variable).is_ok(), !option);
        assert_eq!(TcpStream::connect(by_option).is_ok(), option);
        stop(child);
    }
}

#[test]
fn an_address_in_use_and_options_without_effect_end_the_start() {
    let place = Place::new();
    let used = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = used.local_addr().unwrap().to_string();
    let run = |mut command: Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = run(place.command(&["--loopback-only", "--metrics", &address]));
    let line = format!("metrics cannot be served: {address}: Address already in use");
    assert!(text.contains(&line), "{text}");
    assert_eq!(place.sockets(), 0);
    let text = run(place.command(&["--loopback-only", "--lustre-names"]));
    assert!(text.contains("--expect and --lustre-names have no effect without --metrics"), "{text}");
    let mut command = place.command(&["--loopback-only"]);
    command.env("LNET_METRICS", "everywhere");
    let text = run(command);
    assert!(text.contains("LNET_METRICS: 'everywhere' is no address"), "{text}");
}

/// Fails if clients that send nothing, too much or no HTTP, or do not read, keep others from being served.
#[test]
fn clients_that_stall_do_not_keep_others_out() {
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only"], |_| ());
    let idle: Vec<_> = (0..40).map(|_| send(address, "")).collect();
    let half: Vec<_> = (0..40).map(|_| send(address, "GET /metrics HTTP/1.1\r\nA: ")).collect();
    let unread: Vec<_> = (0..40).map(|_| send(address, "GET /metrics HTTP/1.1\r\n\r\n")).collect();
    assert_eq!(page(address, "/healthz", "").2, "ok\n");
    let head = |text: &str| exchange(address, text).lines().next().unwrap_or_default().to_owned();
    assert_eq!(head("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(head("\u{16}\u{3}\u{1}\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(10_000));
    assert_eq!(head(&long), "HTTP/1.1 431 Request Header Fields Too Large");
    assert_eq!(page(address, "/healthz", "").2, "ok\n");
    // Connections beyond the limit were closed: most of those that sent nothing.
    let is_closed = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        !matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    assert!(idle.iter().filter(|stream| is_closed(stream)).count() >= 30);
    drop((half, unread));
    stop(child);
}

/// An open page: the stream of what it is sent.
struct Page(BufReader<TcpStream>);

impl Page {
    /// Opens a page; the error is the response to one that is refused.
    fn open(address: SocketAddr) -> Result<Self, String> {
        let mut page = Self(BufReader::new(send(address, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n")));
        let head = page.part();
        match head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n") {
            true => Ok(page),
            false => Err(head),
        }
    }

    /// All lines to the next empty one; empty at the end of the stream.
    fn part(&mut self) -> String {
        let mut text = String::new();
        while self.0.read_line(&mut text).unwrap() > 2 {}
        text
    }

    /// The data of the next event, which has this name.
    fn event(&mut self, name: &str) -> serde_json::Value {
        let text = self.part();
        let data = text.strip_prefix(&format!("event: {name}\ndata: ")).unwrap();
        serde_json::from_str(data).unwrap()
    }
}

/// Fails if the page would show something else than the node, or names who has changed it.
#[test]
fn a_page_is_sent_states_and_changes_and_the_end() {
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only"], |_| ());
    let mut page = Page::open(address).unwrap();
    let nodes = page.event("nodes");
    let ni = &nodes[0]["net"][0]["local NI(s)"][0];
    assert_eq!(
        (&nodes[0]["name"], &ni["nid"], &ni["status"]),
        (&"lnetd".into(), &"0@lo".into(), &"up".into())
    );
    assert_eq!(nodes[0]["unhealthy"], serde_json::json!([]));
    let changes = page.event("changes");
    assert_eq!((&changes[0]["name"], &changes[0]["replace"]), (&"lnetd".into(), &true.into()));

    let setting = Request::SetHealth(SetHealth { kind: SetHealthKind::PeerNi, nid: None, value: 1000 });
    place.client(None).call(setting).unwrap();
    let change = loop {
        page.event("nodes");
        let next = page.0.fill_buf().unwrap();
        if next.starts_with(b"event: changes") {
            break page.event("changes");
        }
    };
    assert_eq!(
        (&change[0]["replace"], &change[0]["changes"][0]["kind"]),
        (&false.into(), &"config_changed".into())
    );
    let text = change[0]["changes"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("configuration: ") && !change.to_string().contains("uid"), "{change}");

    let head_only = exchange(address, "HEAD /events HTTP/1.1\r\n\r\n");
    assert!(head_only.contains("Content-Type: text/event-stream\r\n"), "{head_only}");
    assert!(exchange(address, "POST /events HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    stop(child);
    while !page.part().is_empty() {}
}

/// Fails if open pages, read or not, keep others from being served, or cost more than their number.
#[test]
fn pages_that_are_open_are_limited_and_keep_nobody_out() {
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only"], |_| ());
    let mut pages: Vec<Page> = (0..16).map(|_| Page::open(address).unwrap()).collect();
    for _ in 0..20 {
        let refused = Page::open(address).err().unwrap();
        assert!(refused.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{refused}");
    }
    assert_eq!(page(address, "/healthz", "").2, "ok\n");
    for page in &mut pages {
        page.event("nodes");
    }
    drop(pages.pop());
    // The daemon notices that it has been closed.
    while Page::open(address).is_err() {}
    stop(child);
}

#[test]
fn a_daemon_is_healthy_when_the_peers_that_it_expects_have_answered() {
    let place = Place::new();
    let port = port();
    let on = |command: &mut Command, nid: &str| {
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port);
        command.env("LNET_NETWORKS", format!("tcp({nid})"));
    };
    let arguments = ["--node", "one", "--expect", "127.0.92.2@tcp"];
    let (one, address) = place.start_with_metrics(&arguments, |command| on(command, "127.0.92.1"));
    let (status, _, body) = page(address, "/healthz", "");
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    // The first ping may have failed already.
    let reasons = ["nothing was received from it yet", "unreachable"];
    assert!(reasons.map(|why| format!("peer 127.0.92.2@tcp: {why}\n")).contains(&body), "{body}");
    let two = Place::new();
    let (child, _) = two.start(&["--node", "two"], |command| on(command, "127.0.92.2"));
    while page(address, "/healthz", "").2 != "ok\n" {
        std::thread::yield_now();
    }
    stop(child);
    stop(one);
}
