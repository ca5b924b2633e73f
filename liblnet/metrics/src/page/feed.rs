//! The updates for open pages: the states of all nodes, and the changes since the last time.

use super::{changes, snapshot};
use crate::health;
use crate::nodes::{MAX_PEERS, NamedNode};
use lnet_dlc::Backend;
use lnet_dlc::ops::events::{self, EventFilter};
use lnet_dlc::ops::sample::{Rates, Sample};
use lnet_dlc::request::StateChange;
use lnet_wire::{Errno, Nid};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The most changes of a node on the page.
const MAX_SHOWN_CHANGES: usize = 256;

/// The nodes as they were read last.
#[derive(Debug, Default)]
pub struct Feed {
    nodes: Vec<NodeFeed>,
}

/// A node as it was read last.
#[derive(Debug)]
struct NodeFeed {
    name: String,
    /// The last sample, and its time.
    sample: Option<(Duration, Sample)>,
    /// The number of the last change.
    last: u64,
    /// The last changes.
    kept: VecDeque<StateChange>,
}

/// The text of events for pages, in the format of server-sent events.
#[derive(Clone, Debug)]
pub struct Update {
    /// For pages that were sent the one before: the states, and what is new.
    pub since_last: Arc<[u8]>,
    /// For all others: the states, and all changes that are kept.
    pub complete: Arc<[u8]>,
}

/// The changes of a node: those that are new, or all.
struct NodeChanges {
    /// Whether changes that a page may have do not count any more.
    replace: bool,
    changes: Vec<StateChange>,
}

impl Feed {
    /// Reads the nodes; `now` is any clock that only goes forward.
    pub fn read(&mut self, now: Duration, nodes: &[NamedNode], expected: &[Nid]) -> Update {
        let mut known = std::mem::take(&mut self.nodes);
        let (mut states, mut new, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for NamedNode { name, backend } in nodes {
            let index = known.iter().position(|node| node.name == *name);
            let mut node = index.map_or_else(|| NodeFeed::new(name), |index| known.swap_remove(index));
            let (state, changes) = node.read(now, &**backend, expected);
            states.push(state);
            if changes.replace || !changes.changes.is_empty() {
                new.push(changes_to_json(name, changes.replace, &changes.changes));
            }
            all.push(changes_to_json(name, true, &node.kept));
            self.nodes.push(node);
        }
        let states = message("nodes", &Json::Array(states));
        let with = |changes: Vec<Json>| {
            let more =
                if changes.is_empty() { String::new() } else { message("changes", &Json::Array(changes)) };
            Arc::from(format!("{states}{more}").into_bytes())
        };
        Update { since_last: with(new), complete: with(all) }
    }
}

impl NodeFeed {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), sample: None, last: 0, kept: VecDeque::new() }
    }

    /// The state of the node, and what has changed since the last time.
    fn read(&mut self, now: Duration, backend: &dyn Backend, expected: &[Nid]) -> (Json, NodeChanges) {
        let none = NodeChanges { replace: false, changes: Vec::new() };
        let sample = match Sample::read(backend, MAX_PEERS) {
            Ok(sample) => sample,
            Err(errno) => return (snapshot::unanswered(&self.name, errno.text()), none),
        };
        let is_same = self.sample.as_ref().is_some_and(|(_, before)| before.node == sample.node);
        let before = self.sample.take().filter(|_| is_same);
        let rates =
            before.as_ref().map(|(then, before)| Rates::between(before, &sample, now.saturating_sub(*then)));
        let reasons = health::reasons(backend, expected);
        let state = snapshot::node(&self.name, &sample, rates.as_ref(), reasons);
        self.sample = Some((now, sample));
        if !is_same {
            (self.last, self.kept) = (0, VecDeque::new());
        }
        let changes = self.read_changes(backend).unwrap_or_default();
        (state, NodeChanges { replace: !is_same, changes })
    }

    /// The changes since the last time, as far as they are kept.
    fn read_changes(&mut self, backend: &dyn Backend) -> Result<Vec<StateChange>, Errno> {
        let (mut changes, last) = events::changes_after(backend, self.last, &EventFilter::default())?;
        changes.drain(..changes.len().saturating_sub(MAX_SHOWN_CHANGES));
        self.last = last;
        self.kept.extend(changes.iter().cloned());
        self.kept.drain(..self.kept.len().saturating_sub(MAX_SHOWN_CHANGES));
        Ok(changes)
    }
}

fn changes_to_json<'a>(name: &str, replace: bool, these: impl IntoIterator<Item = &'a StateChange>) -> Json {
    let these: Vec<Json> = these.into_iter().map(changes::to_json).collect();
    json!({"name": name, "replace": replace, "changes": these})
}

/// An event of the stream. JSON has no line feeds, which would end its line.
fn message(name: &str, data: &Json) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::nodes::SharedBackend;
    use lnet_dlc::RequestError;
    use lnet_dlc::request::{
        LnetStats, LocalNi, NiTunables, NodeInfo, Peer, PeerNi, PeerReachability, Reply, Request,
    };
    use lnet_wire::Reachability;
    use std::sync::Mutex;

    pub(crate) fn peer(nid: &str, state: Reachability) -> Peer {
        let nid = nid.parse().unwrap();
        let ni = PeerNi { min_tx_credits: 7, ..PeerNi::unused(nid) };
        let reachability = Some(PeerReachability { state, seconds: 3, paths: 1, usable_paths: 1 });
        Peer { primary: nid, multi_rail: true, state: 0, nis: vec![ni], discovery: None, reachability }
    }

    pub(crate) fn sample(process: u32, peers: Vec<Peer>) -> Sample {
        let ni = LocalNi {
            tunables: NiTunables { credits: Some(256), ..NiTunables::default() },
            tx_credits: 250,
            min_tx_credits: 240,
            ..LocalNi::unused("10.0.0.1@tcp".parse().unwrap(), Some("eth0"))
        };
        Sample {
            node: NodeInfo {
                version: "1".to_owned(),
                name: "n".to_owned(),
                process,
                started_ms: None,
                selftest: None,
            },
            stats: LnetStats::default(),
            program_count: 0,
            nis: vec![ni],
            peer_count: peers.len(),
            peers,
            routes: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// A node that answers from memory; its process is a number that a test changes.
    struct Memory {
        process: u32,
        changes: Vec<StateChange>,
        answers: bool,
    }

    fn backend(memory: &Arc<Mutex<Memory>>) -> SharedBackend {
        let memory = Arc::clone(memory);
        Arc::new(move |request: Request| -> Result<Reply, RequestError> {
            let memory = memory.lock().unwrap();
            let sample = sample(memory.process, Vec::new());
            if !memory.answers {
                return Err(Errno::NetworkDown.into());
            }
            match request {
                Request::GetNode => Ok(Reply::Node(sample.node)),
                Request::GetLnetStats => Ok(Reply::Stats(Box::new(sample.stats))),
                Request::GetLocalNi(0) => Ok(Reply::LocalNi(Box::new(sample.nis[0].clone()))),
                Request::GetPeerList => Ok(Reply::Nids(Vec::new())),
                Request::GetHistory(after) => {
                    let some = memory.changes.iter().filter(|change| change.number > after);
                    Ok(Reply::History(some.take(100).cloned().collect()))
                }
                Request::GetPrograms => Err(Errno::NotSupported.into()),
                _ => Err(Errno::NotFound.into()),
            }
        })
    }

    fn change(number: u64) -> StateChange {
        StateChange {
            number,
            at_ms: number,
            kind: "ni_state".to_owned(),
            level: "error".to_owned(),
            subject: "a".to_owned(),
            text: format!("change\n{number}"),
        }
    }

    /// The events of a text: their names and data.
    fn read(text: &[u8]) -> Vec<(String, Json)> {
        let text = std::str::from_utf8(text).unwrap();
        let event = |event: &str| {
            let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            assert!(!data.contains('\n'));
            (name.to_owned(), serde_json::from_str(data).unwrap())
        };
        text.strip_suffix("\n\n").unwrap().split("\n\n").map(event).collect()
    }

    fn numbers(changes: &Json) -> Vec<u64> {
        changes["changes"].as_array().unwrap().iter().map(|it| it["number"].as_u64().unwrap()).collect()
    }

    #[test]
    fn a_page_is_sent_all_at_first_and_then_what_is_new() {
        let memory = Memory { process: 1, changes: (1..=300).map(change).collect(), answers: true };
        let memory = Arc::new(Mutex::new(memory));
        let nodes = || vec![NamedNode { name: "one".to_owned(), backend: backend(&memory) }];
        let mut feed = Feed::default();
        let mut at = 0;
        let mut next = || {
            at += 1;
            let update = feed.read(Duration::from_secs(at), &nodes(), &[]);
            (read(&update.since_last), read(&update.complete))
        };
        let (new, all) = next();
        assert_eq!(new, all);
        let (states, changes) = (&all[0], &all[1]);
        assert_eq!((states.0.as_str(), &states.1[0]["name"]), ("nodes", &"one".into()));
        assert_eq!((changes.0.as_str(), &changes.1[0]["replace"]), ("changes", &true.into()));
        assert_eq!(numbers(&changes.1[0]), (45..=300).collect::<Vec<_>>());

        memory.lock().unwrap().changes.push(change(301));
        let (new, all) = next();
        assert_eq!((numbers(&new[1].1[0]), &new[1].1[0]["replace"]), (vec![301], &false.into()));
        assert_eq!(numbers(&all[1].1[0]), (46..=301).collect::<Vec<_>>());
        assert_eq!(new[0].1[0]["rate"]["send_count"], 0);
        let (new, _) = next();
        assert_eq!(new.len(), 1);

        // A node that is restarted, and one that has gone.
        *memory.lock().unwrap() = Memory { process: 2, changes: vec![change(1)], answers: true };
        let (new, _) = next();
        assert_eq!((numbers(&new[1].1[0]), &new[1].1[0]["replace"]), (vec![1], &true.into()));
        assert_eq!(new[0].1[0]["rate"], Json::Null);
        memory.lock().unwrap().answers = false;
        let (new, all) = next();
        assert_eq!((new.len(), &new[0].1[0]["no answer"]), (1, &"Network is down".into()));
        assert_eq!(numbers(&all[1].1[0]), [1]);
    }
}
