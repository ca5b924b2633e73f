//! A real browser opens the page of a daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use lnet_dlc::request::{Discover, FaultEffect, FaultOdds, FaultRule, Ping};
use lnet_dlc::{Backend, Request};
use lnet_wire::{Pid, ProcessId};
use place::{Place, ends, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::process::{Child, Command};
use test_support::browser::Browser;

/// Two daemons with two rails each.
struct Nodes {
    places: [Place; 2],
    daemons: Vec<Child>,
    page: SocketAddr,
}

impl Nodes {
    fn start() -> Self {
        let places = [Place::new(), Place::new()];
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
        let configure = |command: &mut Command, networks: &str| {
            command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port).env("LNET_NETWORKS", networks);
        };
        let (two, _) =
            places[1].start(&["--node", "two"], |command| configure(command, "tcp(127.0.96.2,127.0.97.2)"));
        let (one, page) = places[0].start_with_metrics(&["--node", "one"], |command| {
            configure(command, "tcp(127.0.96.1,127.0.97.1)");
        });
        let nodes = Self { places, daemons: vec![one, two], page };
        nodes.ask(Request::Discover(Discover { target: target(), force: true, max_nids: 16 }));
        nodes
    }

    fn ask(&self, request: Request) {
        self.places[0].client(Some("one")).call(request).unwrap();
    }

    /// Pings node two. It may fail.
    fn ping(&self) {
        let ping = Ping { target: target(), source: None, timeout_ms: Some(1000), max_nids: 16 };
        let _ = self.places[0].client(Some("one")).call(Request::PingPeer(ping));
    }

    /// Makes all messages to the second rail of node two fail, as if it refused them (`remote_dropped`).
    fn break_rail(&self) {
        self.ask(Request::AddFault(FaultRule {
            source: "*".parse().unwrap(),
            dest: "127.0.97.2@tcp".parse().unwrap(),
            local: "*".parse().unwrap(),
            messages: 0,
            portals: 0,
            odds: FaultOdds::OneIn(NonZeroU32::MIN),
            effect: FaultEffect::Drop { errors: 1 << 8, all: false },
        }));
    }

    fn stop(&mut self) {
        for child in self.daemons.drain(..) {
            signal(&child, Signal::TERM);
            assert!(ends(child).status.success());
        }
    }
}

fn target() -> ProcessId {
    ProcessId { nid: "127.0.96.2@tcp".parse().unwrap(), pid: Pid::LUSTRE }
}

/// A condition: some text on the page.
fn shows(section: &str, text: &str) -> String {
    format!("!!document.getElementById({section:?})?.textContent.includes({text:?})")
}

/// Whether a rail of the peer has not the full health value.
const RAIL_IS_UNHEALTHY: &str = "[...document.querySelectorAll('#peers tbody tr')].some((row) => \
     row.textContent.startsWith('127.0.97.2@tcp') && !row.textContent.includes('● 1,000'))";

#[test]
fn a_browser_shows_nets_peers_paths_and_events_as_they_change() {
    let Some(mut browser) = Browser::start() else { return };
    let mut nodes = Nodes::start();
    browser.set_screen(1280, 900, false);
    browser.open(&format!("http://{}/", nodes.page));
    browser.wait_for(&shows("connection", "● live"));
    browser.wait_for("document.title === 'LNet: one'");
    browser.wait_for(&shows("nis", "127.0.97.1@tcp"));
    browser.wait_for(&shows("peers", "127.0.97.2@tcp"));
    browser.wait_for(&shows("peers", "● reachable for"));
    browser.wait_for(&shows("health", "● healthy"));
    browser.wait_for(&shows("paths", "● usable"));
    browser.wait_for("document.querySelectorAll('#traffic svg').length === 1");

    nodes.break_rail();
    browser.wait_for(&shows("changes", "fault_rule"));
    while browser.evaluate(RAIL_IS_UNHEALTHY) != true {
        nodes.ping();
    }
    browser.wait_for(&shows("changes", "configuration: "));
    assert_eq!(browser.evaluate("/uid|root/.test(document.body.textContent)"), false);

    // A node that is gone.
    let two = nodes.daemons.pop().unwrap();
    signal(&two, Signal::KILL);
    ends(two);
    while browser.evaluate(&shows("peers", "✖ unreachable")) != true {
        nodes.ping();
    }
    browser.wait_for(&shows("paths", "✖ unresponsive"));
    browser.wait_for(&shows("changes", "peer_unreachable"));

    nodes.stop();
    browser.wait_for(&shows("connection", "✖ not connected"));
    let own = format!("http://{}/", nodes.page);
    let foreign: Vec<_> = browser.requests.iter().filter(|it| !it.starts_with(&own)).collect();
    assert!(foreign.iter().all(|it| it.starts_with("data:")), "{foreign:?}");
    // The browser notes the end of the stream as an error.
    browser.problems.retain(|it| !it.contains("/events"));
    assert_eq!(browser.problems, Vec::<String>::new());
}

/// Elements that reach beyond the screen, those aside that only programs read.
const TOO_WIDE: &str = "[...document.querySelectorAll('body *')].filter((it) => it.getClientRects().length \
     && !it.closest('thead') && it.getBoundingClientRect().right > document.documentElement.clientWidth + 1) \
     .map((it) => `${it.tagName} ${it.id} ${it.className} ${it.textContent.slice(0, 40)}`).join('; ')";
/// The marks whose only sign is their colour.
const WITHOUT_SIGN: &str = "[...document.querySelectorAll('.good, .warn, .bad')] \
     .map((it) => it.textContent.trim()).filter((it) => !/^[●▲✖] ./.test(it)).join('; ')";
/// Colours of text whose contrast to their background is below what WCAG asks for (AA).
const LOW_CONTRAST: &str = "(() => { \
     const style = getComputedStyle(document.documentElement); \
     const light = (name) => { const hex = style.getPropertyValue(name).trim().slice(1); \
         const full = hex.length === 3 ? [...hex].map((it) => it + it).join('') : hex; \
         const part = (at) => { const it = parseInt(full.slice(at, at + 2), 16) / 255; \
             return it <= .04045 ? it / 12.92 : ((it + .055) / 1.055) ** 2.4; }; \
         return .2126 * part(0) + .7152 * part(2) + .0722 * part(4); }; \
     return ['--text', '--faint', '--good', '--warn', '--bad', '--one', '--two'].flatMap((text) => \
         ['--page', '--card'].map((ground) => [text, ground, [light(text), light(ground)].sort((a, b) => b - a)])) \
         .filter(([, , [a, b]]) => (a + .05) / (b + .05) < 4.5).map(([text, ground]) => text + ' on ' + ground).join('; '); })()";

/// A node that nobody has measured: with latencies, with a long name, and with text that would be HTML.
fn made_up_node(name: &str) -> Value {
    let hostile = "<img src=x onerror=\"document.title='attacked'\">";
    let latency = json!({"put_ack": {"measured": 1000, "mean_us": 56.0, "p50_us": "32", "p90_us": "64", "p99_us": "64",
        "below_us": {"8": 10, "16": 100, "32": 700, "64": 180, "128": 9, "256": 1}}});
    let health = json!({"health value": 700, "dropped": 3, "network timeout": 4});
    let statistics = json!({"send_count": 1_234_567, "recv_count": 1, "drop_count": 2});
    let ni = json!({"nid": "203.0.113.101@tcp21", "status": "up", "interfaces": {"0": hostile}, "statistics": statistics,
        "health stats": health, "available_tx_credits": -4, "min_tx_credits": -40, "max_tx_credits": 256, "ni state": "DEGRADED",
        "latency": latency});
    let peer_ni = json!({"nid": "203.0.113.102@tcp21", "state": "NA", "reported status": "up", "max_ni_tx_credits": 8,
        "available_tx_credits": 8, "min_tx_credits": -1, "tx_q_num_of_buf": 1_048_576, "statistics": statistics,
        "health stats": health, "ni state": "FAILED", "unresponsive from": ["203.0.113.101@tcp21"], "latency": latency});
    let rate = json!({"send_count": 5, "recv_count": 6, "send_length": 7000, "recv_length": 8_000_000});
    json!({"name": name, "version": "1", "started_ms": 0, "unhealthy": [hostile], "statistics": statistics, "rate": rate,
        "net": [{"net type": "tcp21", "local NI(s)": [ni]}], "peers": 900, "route": [
            {"net": "tcp22", "gateway": "203.0.113.102@tcp21", "hop": -1, "priority": 0, "state": "down"}],
        "peer": [{"primary nid": "203.0.113.102@tcp21", "Multi-Rail": "True", "reachability": "unreachable",
            "reachability seconds": 90_061, "paths": 1, "usable paths": 0, "rate": rate, "peer ni": [peer_ni]}]})
}

#[test]
fn the_page_is_readable_on_a_phone_in_the_dark_and_without_colours() {
    let Some(mut browser) = Browser::start() else { return };
    let place = Place::new();
    let (child, address) = place.start_with_metrics(&["--loopback-only"], |_| ());
    browser.set_screen(360, 740, true);
    browser.open(&format!("http://{address}/"));
    browser.wait_for(&shows("nis", "0@lo"));
    // What is received next would replace what is made up.
    browser.evaluate("source.close()");
    let (one, two) = (made_up_node("one"), made_up_node("two"));
    let hostile = json!([{"name": "two", "replace": true, "changes": [
        {"number": 1, "at_ms": 1000, "kind": "ni_state", "level": "error", "subject": "a", "text": "<script>document.title='attacked'</script>"},
        {"number": 2, "at_ms": 2000, "kind": "ni_recovered", "level": "warn", "subject": "a", "text": "x".repeat(300)}]}]);
    browser.evaluate(&format!("receiveNodes({}); receiveChanges({hostile})", json!([one, two])));
    browser.evaluate(
        "document.getElementById('node').value = 'two'; document.getElementById('node').onchange()",
    );
    browser.wait_for("document.title === 'LNet: two'");
    browser.wait_for(&shows("changes", "document.title='attacked'"));
    assert_eq!(browser.evaluate("document.querySelectorAll('img, #changes script').length"), 0);

    for (part, text) in [
        ("reasons", "<img src=x"),
        ("nis", "▲ up, DEGRADED"),
        ("peers", "1 of 900 peers, those with problems first"),
        ("peers", "✖ unreachable for 1 d 1 h"),
        ("peers", "unresponsive from 203.0.113.101@tcp21"),
        ("paths", "✖ unresponsive"),
        ("routes", "✖ down"),
        ("latencies", "203.0.113.101@tcp21: put_ack"),
        ("latencies", "1,000 measured, mean 56 µs, half below 32 µs, 99 % below 64 µs"),
    ] {
        assert_eq!(browser.evaluate(&shows(part, text)), true, "{part}: {text}");
    }
    for (width, dark) in [(360, true), (360, false), (800, false), (1130, false), (1280, true), (1280, false)]
    {
        browser.set_screen(width, 740, dark);
        let screen = format!("{width} px, dark: {dark}");
        assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), width, "{screen}");
        assert_eq!(browser.text(TOO_WIDE), "", "{screen}");
        assert_eq!(browser.text(WITHOUT_SIGN), "", "{screen}");
        assert_eq!(browser.text(LOW_CONTRAST), "", "{screen}");
        let is_dark = "getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 28)'";
        assert_eq!(browser.evaluate(is_dark), dark, "{screen}");
        // What programs that read the page aloud find.
        let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
        let has = |role: &str, name: &str| {
            tree["nodes"].as_array().unwrap().iter().any(|node| {
                node["role"]["value"] == role
                    && node["name"]["value"].as_str().is_some_and(|it| it.contains(name))
            })
        };
        for (role, name) in [
            ("heading", "Peers"),
            ("table", "Interfaces of this node"),
            ("columnheader", "Health value"),
            ("rowheader", "203.0.113.102@tcp21"),
            ("cell", "down"),
            ("image", "Histogram: 1,000 measured"),
            ("button", "Pause"),
            ("combobox", "Node"),
        ] {
            assert!(has(role, name), "{screen}: {role} {name}");
        }
    }

    browser.evaluate(
        "document.getElementById('level').value = 'error'; document.getElementById('level').onchange()",
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#changes tbody tr').length"), 1);
    assert_eq!(browser.problems, Vec::<String>::new());
    signal(&child, Signal::TERM);
    assert!(ends(child).status.success());
}

/// Writes the picture of README.md, in base64, to the file that PAGE_PICTURE names: `scripts/page-picture` runs this.
#[test]
#[ignore = "writes a picture"]
fn picture_of_a_node_with_a_rail_that_fails() {
    let mut browser = Browser::start().unwrap();
    let mut nodes = Nodes::start();
    browser.set_screen(1200, 900, false);
    browser.open(&format!("http://{}/", nodes.page));
    browser.wait_for(&shows("peers", "127.0.97.2@tcp"));
    let ping_for = |browser: &mut Browser, updates: u32| {
        let begin = browser.evaluate("traffic.get('one')?.length ?? 0").as_u64().unwrap();
        while browser.evaluate("traffic.get('one')?.length ?? 0").as_u64().unwrap()
            < begin + u64::from(updates)
        {
            (0..20).for_each(|_| nodes.ping());
        }
    };
    ping_for(&mut browser, 12);
    nodes.break_rail();
    ping_for(&mut browser, 12);
    let height = browser.evaluate("document.documentElement.scrollHeight").as_u64().unwrap();
    let height = u32::try_from(height).unwrap();
    browser.set_screen(1200, height, false);
    std::fs::write(std::env::var("PAGE_PICTURE").unwrap(), browser.picture(1200, height)).unwrap();
    nodes.stop();
}
