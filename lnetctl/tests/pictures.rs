//! Compares the live view and the statistics for other programs with their expected text: `tests/pictures/*.txt`.
//! UPDATE_PICTURES=1 writes the files again.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use lnet_dlc::ops::sample::Sample;
use lnet_dlc::request::{
    BufferPool, CommCount, CptBuffers, ElementStats, Heat, LnetStats, LocalHealth, LocalNi, MessageStats,
    NiState, NiTunables, NodeInfo, Peer, PeerHealth, PeerNi, PeerNiState, PeerReachability, Route,
};
use lnet_metrics::{Format, NodeSample};
use lnet_wire::Reachability;
use lnet_wire::latency::{Delay, Histogram};
use lnetctl::cli::Sort;
use lnetctl::top::draw;
use lnetctl::top::model::{Flow, Key, Watch};
use lnetctl::top::view::View;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::fs;
use std::path::Path;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The delays of PUTs and GETs until this second.
fn latencies(second: u64) -> Vec<Histogram> {
    let put = vec![0, 0, 0, 0, 90 * second, 9 * second, 0, 0, 0, 0, 0, second];
    let get = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 * second];
    vec![
        Histogram { delay: Delay::PutAck, sum_ns: 700_000 * second, counts: put },
        Histogram { delay: Delay::GetReply, sum_ns: 7_500_000 * second, counts: get },
    ]
}

fn nis(second: u64) -> Vec<LocalNi> {
    let ni = |nid: &str, interface: Option<&str>, rate: u64, health: u32| LocalNi {
        tunables: NiTunables { credits: Some(256), ..NiTunables::default() },
        stats: ElementStats { sent: second * rate, received: second * rate / 2, dropped: 1 },
        messages: MessageStats {
            sent: CommCount { put: second * rate, ..CommCount::default() },
            received: CommCount { ack: second * rate / 2, ..CommCount::default() },
            dropped: CommCount { get: 1, ..CommCount::default() },
        },
        bytes: ElementStats { sent: second * rate * MIB, received: second * rate * MIB / 8, dropped: 64 },
        heat: Heat { messages: rate * 1250, bytes: rate * 1_048_576_000 },
        health: LocalHealth {
            value: health,
            timeouts: 2,
            ping_count: 3,
            state: match health {
                1000 => Some(NiState::Active),
                900 => Some(NiState::Degraded),
                // A node that does not tell.
                _ => None,
            },
            ..LocalHealth::default()
        },
        tx_credits: 250,
        min_tx_credits: -7,
        latencies: if rate == 100 { latencies(second) } else { Vec::new() },
        ..LocalNi::unused(nid.parse().unwrap(), interface)
    };
    vec![
        ni("0@lo", None, 0, 0),
        ni("10.0.0.1@tcp", Some("eth0"), 100, 1000),
        ni("10.0.1.1@tcp", Some("eth1"), 50, 900),
        ni("192.168.100.101@tcp12", Some("enp65s0f0np0"), 0, 0),
    ]
}

fn peer(second: u64, number: u64) -> Peer {
    let ni = |net: u64| PeerNi {
        alive: (number == 1).then_some(true),
        tx_credits: 8 - number as i32 % 3,
        min_tx_credits: -2,
        tx_queued_bytes: 4096,
        stats: ElementStats { sent: second * number, received: second, dropped: 0 },
        bytes: ElementStats { sent: second * number * 1024, received: 0, dropped: 0 },
        health: PeerHealth {
            value: if number == 4 { 700 } else { 1000 },
            state: Some(if number == 4 { PeerNiState::Failed } else { PeerNiState::Connected }),
            unresponsive_from: if number == 2 { vec!["10.0.1.1@tcp".parse().unwrap()] } else { Vec::new() },
            ..PeerHealth::default()
        },
        latencies: if number == 1 { latencies(second) } else { Vec::new() },
        ..PeerNi::unused(format!("10.0.{net}.{}@tcp", 10 + number).parse().unwrap())
    };
    let nis = vec![ni(0), ni(1)];
    let state = match number {
        1 => Reachability::Reachable,
        2 => Reachability::Degraded,
        3 => Reachability::Unreachable,
        5 => Reachability::Unknown,
        // A node that does not tell.
        _ => {
            return Peer {
                primary: nis[0].nid,
                multi_rail: true,
                state: 0,
                nis,
                discovery: None,
                reachability: None,
            };
        }
    };
    let usable_paths = if number == 3 { 0 } else { 4 - u32::from(number == 2) };
    let reachability = Some(PeerReachability { state, seconds: 20 + second, paths: 4, usable_paths });
    Peer { primary: nis[0].nid, multi_rail: true, state: 0, nis, discovery: None, reachability }
}

/// A sample of a node that has been up for `second` seconds.
fn sample(second: u64, peers: u64) -> Sample {
    Sample {
        node: NodeInfo {
            version: "0.1.0".into(),
            name: "oss-1".into(),
            process: 1,
            started_ms: Some(1_700_000_000_250),
            selftest: None,
        },
        stats: LnetStats {
            send_count: second * 150,
            recv_count: second * 75,
            drop_count: 4,
            send_length: second * 150 * MIB,
            recv_length: second * 150 * MIB / 8,
            resend_count: 12,
            response_timeout_count: 1,
            rst_alloc: 3,
            local_timeout_count: 6,
            ..LnetStats::default()
        },
        program_count: 3,
        nis: nis(second),
        peers: (1..=peers).map(|number| peer(second, number)).collect(),
        peer_count: peers as usize,
        routes: [
            ("tcp5", "10.0.0.11@tcp", true),
            ("tcp6", "10.0.0.11@tcp", false),
            ("tcp5", "10.0.0.12@tcp", false),
        ]
        .map(|(net, gateway, alive)| Route {
            net: net.parse().unwrap(),
            gateway: gateway.parse().unwrap(),
            hops: Some(1),
            priority: 0,
            health_sensitivity: 1,
            alive,
            single_hop: true,
            rules: Vec::new(),
        })
        .to_vec(),
        buffers: vec![CptBuffers {
            tiny: BufferPool { pages: 0, buffers: 512, credits: 510, min_credits: -3 },
            small: BufferPool { pages: 1, buffers: 4096, credits: 4096, min_credits: 4000 },
            large: BufferPool { pages: 256, buffers: 256, credits: 256, min_credits: 256 },
            enabled: true,
        }],
    }
}

/// A watch with two samples, a second apart.
fn watch(peers: u64) -> Watch {
    let mut watch = Watch::new(Duration::from_secs(1), Sort::Traffic);
    watch.sampled(Duration::from_secs(0), Ok(sample(10, peers)));
    watch.sampled(Duration::from_secs(1), Ok(sample(11, peers)));
    watch
}

fn at(second: u64, watch: &Watch) -> View {
    watch.view(Duration::from_secs(second))
}

fn screen(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::screen(view, frame.area(), frame.buffer_mut())).unwrap();
    draw::lines(terminal.backend().buffer()).join("\n") + "\n"
}

fn exposition(sample: Sample) -> String {
    lnet_metrics::exposition(&[NodeSample::of(sample)], Format::Prometheus, false)
}

fn compare(name: &str, actual: &str) {
    let path = Path::new("tests/pictures").join(name);
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{name}: UPDATE_PICTURES=1 writes it anew; now it is\n{actual}");
}

#[test]
fn a_small_terminal_shows_rails_and_the_busiest_peers() {
    compare("top-80x24.txt", &screen(&at(65, &watch(30)), 80, 24));
}

#[test]
fn a_large_terminal_shows_long_names_and_bars() {
    compare("top-200x50.txt", &screen(&at(1, &watch(12)), 200, 50));
}

/// Fails if an alert on 0 fires for a peer from which nothing ever arrived, or not for one that cannot be reached.
#[test]
fn monitoring_output_has_reachable_unreachable_and_unknown_peers() {
    let text = exposition(sample(10, 5));
    let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("lnet_peer_reachable{")).collect();
    let values: Vec<_> =
        lines.iter().filter_map(|line| line.split_once("peer=\"")).map(|(_, rest)| rest).collect();
    assert_eq!(values, ["10.0.0.11@tcp\"} 1", "10.0.0.12@tcp\"} 1", "10.0.0.13@tcp\"} 0"]);
}

#[test]
fn a_stopped_node_is_reported_and_a_restarted_one_is_watched_again() {
    let mut watch = watch(2);
    watch.sampled(Duration::from_secs(2), Err("Network is down".to_owned()));
    compare("top-gone.txt", &screen(&at(2, &watch), 80, 24));
    let again = Sample { node: NodeInfo { process: 2, ..sample(0, 0).node }, ..sample(0, 2) };
    watch.sampled(Duration::from_secs(3), Ok(again.clone()));
    assert_eq!(at(3, &watch).problem, None);
    assert_eq!(at(3, &watch).rates, "out 0 msgs/s 0.00 MiB/s   in 0 msgs/s 0.00 MiB/s");
    watch.sampled(Duration::from_secs(4), Ok(Sample { node: again.node, ..sample(1, 2) }));
    assert_eq!(at(4, &watch).rates, "out 150 msgs/s 150.00 MiB/s   in 75 msgs/s 18.75 MiB/s");
}

#[test]
fn the_output_of_a_single_sample_has_all_rows() {
    compare("top-once.txt", &draw::as_text(&at(1, &watch(20)), 80));
}

/// Fails if the node itself, which is its own peer once something was sent to it, is shown as one that may be unhealthy.
#[test]
fn the_node_itself_is_not_shown_as_a_peer() {
    let mut sample = sample(10, 3);
    sample.peers[1].nis[0].nid = sample.nis[1].nid;
    let mut watch = Watch::new(Duration::from_secs(1), Sort::Nid);
    watch.sampled(Duration::from_secs(0), Ok(sample.clone()));
    let view = at(1, &watch);
    let shown: Vec<&str> = view.peers.iter().map(|row| row.nid.as_str()).collect();
    assert_eq!((shown, view.peer_count), (vec!["10.0.0.11@tcp", "10.0.0.13@tcp"], 2));
    assert!(!view.health.contains("unresponsive from"), "{}", view.health);
    assert!(!exposition(sample).contains("lnet_peer_reachable{node=\"oss-1\",peer=\"10.0.0.12@tcp\"}"));
}

/// Fails if drawing on a small terminal panics.
#[test]
fn no_terminal_is_too_small() {
    for (width, height) in [(1, 1), (5, 2), (20, 4), (79, 7), (80, 9), (3, 60), (500, 1)] {
        for peers in [0, 1, 100] {
            let view = at(1, &watch(peers));
            let _ = screen(&view, width, height);
            let _ = draw::peers_that_fit(&view, height);
        }
    }
}

#[test]
fn peers_are_scrolled_sorted_and_paused() {
    let mut watch = watch(30);
    let page = 10;
    let first = |watch: &Watch| {
        let view = at(1, watch);
        view.peers[view.skipped].nid.clone()
    };
    let table = [
        (Key::Down, "10.0.0.39@tcp", "traffic"),
        (Key::PageDown, "10.0.0.29@tcp", "traffic"),
        (Key::PageDown, "10.0.0.20@tcp", "traffic"),
        (Key::Down, "10.0.0.20@tcp", "traffic"),
        (Key::Up, "10.0.0.21@tcp", "traffic"),
        (Key::Home, "10.0.0.40@tcp", "traffic"),
        (Key::Up, "10.0.0.40@tcp", "traffic"),
        (Key::End, "10.0.0.20@tcp", "traffic"),
        (Key::PageUp, "10.0.0.30@tcp", "traffic"),
        (Key::Sort, "10.0.0.11@tcp", "nid"),
        (Key::Sort, "10.0.0.14@tcp", "health"),
        (Key::Sort, "10.0.0.12@tcp", "credits"),
        (Key::Sort, "10.0.0.40@tcp", "traffic"),
    ];
    for (number, (key, nid, sort)) in table.into_iter().enumerate() {
        assert_eq!(watch.press(key, page), Flow::Continue);
        assert_eq!((first(&watch).as_str(), at(1, &watch).sort), (nid, sort), "{number}: {key:?}");
    }
    assert_eq!(watch.press(Key::Pause, page), Flow::Continue);
    let still = at(1, &watch);
    watch.sampled(Duration::from_secs(2), Ok(sample(99, 1)));
    assert_eq!((at(1, &watch), still.paused), (still.clone(), true));
    assert_eq!(watch.press(Key::Quit, page), Flow::End);
}

#[test]
fn fewer_peers_than_were_scrolled_past_are_still_shown() {
    let mut watch = watch(30);
    watch.press(Key::End, 5);
    watch.sampled(Duration::from_secs(2), Ok(sample(12, 2)));
    assert!(screen(&at(2, &watch), 80, 24).contains("peers 1-2 of 2"));
}

#[test]
fn every_counter_is_exported_to_prometheus() {
    let mut sample = sample(10, 2);
    sample.node.name = "a\"b\\c".to_owned();
    compare("prometheus.txt", &exposition(sample));
}

/// The rules of Promtool that a text can break: every family is announced once, before its values, and
/// has no value twice.
#[test]
fn no_family_and_no_value_comes_twice() {
    let text = exposition(sample(10, 5));
    let mut seen = std::collections::HashSet::new();
    let mut family = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(seen.insert(rest.to_owned()), "{rest}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            family = name.to_owned();
        } else if !line.starts_with('#') {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let name = key.split('{').next().unwrap_or_default();
            let name = ["_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|end| name.strip_suffix(end))
                .unwrap_or(name);
            assert_eq!(name, family);
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(seen.insert(key.to_owned()), "{key}");
        }
    }
}
