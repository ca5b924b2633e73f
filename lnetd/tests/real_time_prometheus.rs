//! A real Prometheus scrapes a daemon, and answers the queries of the alert rules and of the Grafana board.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use place::{Place, ends, free_address, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging");

/// A program of Prometheus: installed, or unpacked by `scripts/setup test`.
fn tool(name: &str) -> Option<PathBuf> {
    let unpacked = Path::new(place::LNETD).ancestors().nth(2).unwrap().join("prometheus/usr/bin").join(name);
    let candidates = [PathBuf::from(name), unpacked];
    let runs =
        |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|it| it.status.success());
    let found = candidates.into_iter().find(runs);
    if found.is_none() {
        test_support::skip(&format!("no {name}; `scripts/setup test` fetches it"));
    }
    found
}

/// The body of a page, without an encoding.
fn page(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// Two daemons: `one`, which serves metrics, and a router that it has a route by, and reaches.
struct Cluster {
    _places: [Place; 2],
    daemons: [Child; 2],
    metrics: SocketAddr,
}

impl Cluster {
    fn start() -> Self {
        let places = [Place::new(), Place::new()];
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
        let configure = |command: &mut Command, networks: &str, routes: &str| {
            command
                .env("LNET_ACCEPT", "all")
                .env("LNET_ACCEPT_PORT", &port)
                .env("LNET_FORWARDING", "enabled");
            command.env("LNET_NETWORKS", networks).env("LNET_ROUTES", routes);
        };
        let (router, _) = places[1].start(&["--node", "router"], |command| {
            configure(command, "tcp(127.0.93.2),tcp9(127.0.93.3)", "");
        });
        let arguments = ["--node", "one", "--lustre-names", "--expect", "127.0.93.2@tcp"];
        let (one, metrics) = places[0].start_with_metrics(&arguments, |command| {
            configure(command, "tcp(127.0.93.1)", "tcp9 127.0.93.2@tcp");
        });
        while page(metrics, "/healthz").unwrap() != "ok\n" {
            thread::yield_now();
        }
        Self { _places: places, daemons: [one, router], metrics }
    }

    fn stop(self) {
        for child in self.daemons {
            signal(&child, Signal::TERM);
            assert!(ends(child).status.success());
        }
    }
}

/// A running Prometheus, which scrapes an address every second.
struct Prometheus {
    process: Child,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    fn start(program: &Path, target: SocketAddr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = free_address();
        let config = directory.path().join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{PACKAGING}/prometheus/lnet.rules.yml]\n\
             scrape_configs: [{{job_name: lnet, static_configs: [{{targets: [\"{target}\"]}}]}}]\n"
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()));
        command.arg(format!("--web.listen-address={address}"));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { process, address, _directory: directory }
    }

    /// The data of a response; `None` before the server is up.
    fn ask(&self, path: &str) -> Option<Value> {
        let value: Value = serde_json::from_str(&page(self.address, path)?).ok()?;
        assert_eq!(value["status"], "success", "{path}: {value}");
        Some(value["data"].clone())
    }

    fn query(&self, expression: &str) -> Option<Value> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        self.ask(&format!("/api/v1/query?query={encoded}"))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All queries of the board.
fn board_queries() -> Vec<String> {
    let board: Value =
        serde_json::from_str(&fs::read_to_string(format!("{PACKAGING}/grafana/lnet.json")).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// All expressions of the rules.
fn rule_queries() -> Vec<String> {
    let rules = fs::read_to_string(format!("{PACKAGING}/prometheus/lnet.rules.yml")).unwrap();
    rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect()
}

/// The names of metrics in a query.
fn names(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':')
        .filter(|word| word.starts_with("lnet_") || word.starts_with("lnet:"))
}

#[test]
fn promtool_accepts_the_alert_rules() {
    let Some(promtool) = tool("promtool") else { return };
    let rules = format!("{PACKAGING}/prometheus/lnet.rules.yml");
    let output = Command::new(promtool).args(["check", "rules", &rules]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(rule_queries().len() >= 10);
}

/// Fails if the names or the text do not follow the conventions of Prometheus.
#[test]
fn promtool_accepts_the_metrics() {
    let Some(promtool) = tool("promtool") else { return };
    let cluster = Cluster::start();
    let text = page(cluster.metrics, "/metrics").unwrap();
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = ends(child);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
    cluster.stop();
}

/// Fails if Prometheus refuses the page in OpenMetrics, or a query names a metric that no scrape has.
#[test]
fn a_real_prometheus_scrapes_a_daemon_and_answers_all_queries() {
    let Some(prometheus) = tool("prometheus") else { return };
    let cluster = Cluster::start();
    let prometheus = Prometheus::start(&prometheus, cluster.metrics);
    let is_up = |answer: Option<Value>| answer.is_some_and(|it| it["result"][0]["value"][1] == "1");
    while !is_up(prometheus.query("lnet_node_up{node=\"one\"}")) {
        thread::sleep(Duration::from_millis(200));
    }
    // The recorded series follow once the rules were evaluated.
    while prometheus.query("lnet:restarts:1h").is_none_or(|it| it["result"][0].is_null()) {
        thread::sleep(Duration::from_millis(200));
    }
    let known = prometheus.ask("/api/v1/label/__name__/values").unwrap();
    let known: BTreeSet<&str> = known.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let queries = [board_queries(), rule_queries()].concat();
    for query in &queries {
        let missing: Vec<&str> = names(query).filter(|name| !known.contains(name)).collect();
        assert!(missing.is_empty() && names(query).count() > 0, "{query}: {missing:?}");
        let query = query.replace("$node", ".*").replace("$__rate_interval", "5m");
        assert!(prometheus.query(&query).is_some(), "{query}");
    }
    for name in ["lnet_info", "lnet_router_buffer_credits", "lustre_send_count_total"] {
        assert!(known.contains(name), "{name}");
    }
    let targets = prometheus.ask("/api/v1/targets").unwrap();
    assert_eq!(targets["activeTargets"][0]["health"], "up", "{targets}");
    cluster.stop();
}
