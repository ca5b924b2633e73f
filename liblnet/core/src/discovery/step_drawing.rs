//! Generates the tables and the diagram of the step function in docs/discovery.md, and tests that they are up to date.

use super::*;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt::Write;

const BEGIN: &str = "<!-- the discovery of a peer: drawn by discovery/step_drawing.rs -->\n";
const END: &str = "<!-- end of the drawing -->\n";

#[test]
fn the_document_shows_the_step_function_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/discovery.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let drawn = drawing();
    if std::env::var_os("UPDATE_DRAWING").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{drawn}{END}{after}")).unwrap();
    } else {
        assert!(shown == drawn, "docs/discovery.md is out of date; UPDATE_DRAWING=1 writes it anew");
    }
}

fn drawing() -> String {
    let mut out = String::from("\n| a peer taken from the queue with | then |\n| --- | --- |\n");
    for row in &TABLE {
        writeln!(out, "| {} | {} |", row.when, row.then).unwrap();
    }
    out.push_str("\n```mermaid\nstateDiagram-v2\n    [*] --> unknown\n");
    for ((from, to), why) in transitions() {
        let why: Vec<_> = why.into_iter().collect();
        writeln!(out, "    {from} --> {to}: {}", why.join(", ")).unwrap();
    }
    out.push_str("```\n\n");
    out
}

/// The phase of a peer in the diagram.
fn phase(peer: &Progress, local: &LocalState) -> &'static str {
    match peer.flags {
        flags if flags.contains(Flag::MARK_DELETION) => "leaving",
        flags if flags.contains(Flag::DATA_PRESENT) => "received",
        flags if flags.contains(Flag::PING_SENT) => "pinged",
        flags if flags.contains(Flag::PUSH_SENT) => "pushed",
        flags if flags.has_any(Flag::PING_FAILED.union(Flag::PUSH_FAILED)) => "failed",
        flags if flags.contains(Flag::DISCOVERING) => "queued",
        _ if peer.is_up_to_date(local) => "up_to_date",
        flags if flags.contains(Flag::REDISCOVER) => "given_up",
        _ => "unknown",
    }
}

const LOCAL: LocalState =
    LocalState { mode: DiscoveryMode::On, first_ping: true, sequence: 2, max_reply_len: 8016, retries: 2 };

/// Every transition of two phases, and the inputs that cause it.
fn transitions() -> BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>> {
    let mut transitions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut pending = VecDeque::from([Progress::default()]);
    while let Some(peer) = pending.pop_front() {
        if !seen.insert(format!("{peer:?}")) {
            continue;
        }
        for (name, input) in inputs(&peer) {
            let mut next = peer.clone();
            let action = step(&mut next, input, &LOCAL);
            if let StepAction::Merge(_) = action {
                step(&mut next, Input::Merged, &LOCAL);
            }
            let (from, to) = (
                phase(&peer, &LOCAL),
                if action == StepAction::Forget { "[*]" } else { phase(&next, &LOCAL) },
            );
            if from != to {
                transitions.entry((from, to)).or_default().insert(name);
            }
            if action != StepAction::Forget {
                pending.push_back(next);
            }
        }
    }
    transitions
}

/// The inputs that a peer may get; during a discovery only those that the discovery causes.
fn inputs(peer: &Progress) -> Vec<(&'static str, Input)> {
    let received = |features, sequence| {
        let info = PingInfo {
            features: Features(features),
            pid: lnet_wire::Pid::LUSTRE,
            sequence,
            entries: Vec::new(),
        };
        Box::new(ReceivedPingInfo { claimed_count: 1, claimed_len: 32, truncated: false, ignored: 0, info })
    };
    let path = (Nid::LOOPBACK, Nid::LOOPBACK);
    let mut inputs = Vec::new();
    if peer.has(Flag::DISCOVERING) {
        inputs.push(("look", Input::Look));
    } else {
        inputs.push(("wanted", Input::Wanted));
        inputs
            .push(("push arrives", Input::Pushed { received: received(0x1e, 2), path, may_be_stale: false }));
        let stops_discovering = Input::Pushed { received: received(0x0e, 2), path, may_be_stale: false };
        inputs.push(("push without discovery arrives", stops_discovering));
        inputs.push(("local interfaces change", Input::Changed { force: true }));
        inputs.push(("peer restarts", Input::Restarted));
    }
    if peer.has(Flag::PING_SENT) {
        inputs.extend([
            ("reply", Input::Reply { received: received(0x1e, 2), path }),
            ("reply without discovery", Input::Reply { received: received(0x0e, 2), path }),
            ("useless reply", Input::BadReply),
            ("ping fails", Input::PingFailed(Errno::TimedOut)),
        ]);
    }
    if peer.has(Flag::PUSH_SENT) {
        inputs.extend([
            ("ACK", Input::PushAcked(2, Nid::LOOPBACK)),
            ("push fails", Input::PushFailed(Errno::TimedOut)),
        ]);
    }
    inputs
}
