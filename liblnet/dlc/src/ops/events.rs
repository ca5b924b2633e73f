//! The changes of state that a node keeps: `lnetctl events`.

use crate::Value;
use crate::request::{Backend, Peer, Request, StateChange};
use lnet_wire::{Errno, Nid};
use std::time::{Duration, UNIX_EPOCH};

/// The changes that are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// The earliest time, in milliseconds since 1970.
    pub since_ms: u64,
    /// The NIDs of the peer that they are about; `None`: all.
    pub about: Option<Vec<Nid>>,
}

impl EventFilter {
    /// Changes about the peer with this NID, by all NIDs that the node knows of it.
    pub fn about(backend: &dyn Backend, nid: Nid) -> Vec<Nid> {
        let peer: Result<Box<Peer>, Errno> = backend.ask(Request::GetPeerNi(nid));
        let known = peer.map(|peer| peer.nis.iter().map(|its| its.nid).collect()).unwrap_or_default();
        let mut all: Vec<Nid> = known;
        if !all.contains(&nid) {
            all.push(nid);
        }
        all
    }

    /// Whether a change is wanted.
    pub fn wants(&self, change: &StateChange) -> bool {
        change.at_ms >= self.since_ms
            && self.about.as_ref().is_none_or(|nids| {
                nids_in(&change.subject).chain(nids_in(&change.text)).any(|nid| nids.contains(&nid))
            })
    }
}

/// The changes behind the one with the number `after` that `filter` wants, and the number of the last one of all.
pub fn changes_after(
    backend: &dyn Backend,
    after: u64,
    filter: &EventFilter,
) -> Result<(Vec<StateChange>, u64), Errno> {
    let (mut wanted, mut last) = (Vec::new(), after);
    loop {
        let some: Vec<StateChange> = backend.ask(Request::GetHistory(last))?;
        // One that does not go on would be asked for ever.
        let Some(number) = some.iter().map(|change| change.number).max().filter(|number| *number > last)
        else {
            return Ok((wanted, last));
        };
        last = number;
        wanted.extend(some.into_iter().filter(|change| filter.wants(change)));
    }
}

/// The newest changes about the peer with this NID, at most `max`, the newest last. None where the node keeps no history.
pub fn last_about(backend: &dyn Backend, nid: Nid, max: usize) -> Vec<StateChange> {
    let Ok((mut all, _)) = changes_after(backend, 0, &EventFilter::default()) else { return Vec::new() };
    if !all.is_empty() {
        let filter = EventFilter { since_ms: 0, about: Some(EventFilter::about(backend, nid)) };
        all.retain(|change| filter.wants(change));
    }
    all.split_off(all.len().saturating_sub(max))
}

/// The time of a change in UTC, as in log lines.
pub fn time_text(change: &StateChange) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(change.at_ms)).to_string()
}

/// A change for YAML and JSON.
pub fn to_value(change: &StateChange) -> Value {
    Value::map()
        .with("time", Value::Quoted(time_text(change)))
        .with("kind", change.kind.as_str())
        .with("level", change.level.as_str())
        .with("subject", Value::Quoted(change.subject.clone()))
        .with("text", Value::Quoted(change.text.clone()))
}

/// The NIDs in a text, with and without a PID before them.
fn nids_in(text: &str) -> impl Iterator<Item = Nid> + '_ {
    let words = text.split(|char: char| char.is_whitespace() || "(),;".contains(char));
    words.filter(|word| word.contains('@')).filter_map(|word| {
        let word = word.trim_end_matches(':');
        let without_pid = word.split_once('-').map_or(word, |(_, nid)| nid);
        word.parse().or_else(|_| without_pid.parse()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reply;

    fn change(number: u64, at_ms: u64, subject: &str, text: &str) -> StateChange {
        let (kind, level) = ("peer_unreachable".to_owned(), "error".to_owned());
        StateChange { number, at_ms, kind, level, subject: subject.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_changes_of_a_peer_are_those_that_name_one_of_its_nids() {
        let nids = ["10.0.0.1@tcp", "10.0.1.1@tcp"].map(|nid| nid.parse().unwrap()).to_vec();
        let filter = EventFilter { since_ms: 5, about: Some(nids) };
        for (at_ms, subject, text, expected) in [
            (5, "10.0.0.1@tcp", "peer 10.0.0.1@tcp: reachable -> unreachable", true),
            (4, "10.0.0.1@tcp", "too early", false),
            (9, "10.0.0.11@tcp", "another NID that begins in the same way", false),
            (9, "10.0.0.9@tcp -> 10.0.1.1@tcp", "its other NID", true),
            (9, "12345-10.0.0.1@tcp", "with a PID", true),
            (9, "a name", "route to tcp1 via 10.0.1.1@tcp: up -> down (why); messages", true),
            (9, "a name", "nothing of it", false),
        ] {
            assert_eq!(filter.wants(&change(1, at_ms, subject, text)), expected, "{at_ms} {subject} {text}");
        }
    }

    #[test]
    fn the_last_changes_of_a_peer_are_the_newest_ones_in_order() {
        let backend = |request: Request| match request {
            Request::GetHistory(after) => {
                let all = (after + 1..=6).map(|number| {
                    change(number, number, if number == 5 { "10.0.0.2@tcp" } else { "10.0.0.1@tcp" }, "")
                });
                Ok(Reply::History(all.collect()))
            }
            _ => Err(Errno::NotFound.into()),
        };
        let found = last_about(&backend, "10.0.0.1@tcp".parse().unwrap(), 3);
        assert_eq!(found.iter().map(|change| change.number).collect::<Vec<_>>(), [3, 4, 6]);
        assert_eq!(time_text(&found[0]), "1970-01-01T00:00:00.003Z");
        let without = |_| Err(Errno::NotSupported.into());
        assert_eq!(last_about(&without, "10.0.0.1@tcp".parse().unwrap(), 3), []);
    }

    #[test]
    fn all_pages_of_the_history_are_read_and_none_twice() {
        let backend = |request: Request| match request {
            Request::GetHistory(after) => {
                let page = (after + 1..=7).take(3).map(|number| change(number, number, "a", "b"));
                Ok(Reply::History(page.collect()))
            }
            _ => Err(Errno::NotSupported.into()),
        };
        let filter = EventFilter { since_ms: 3, about: None };
        let (found, last) = changes_after(&backend, 0, &filter).unwrap();
        assert_eq!(found.iter().map(|change| change.number).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
        assert_eq!((last, changes_after(&backend, last, &filter).unwrap()), (7, (vec![], 7)));
        let stuck = |_| Ok(Reply::History(vec![change(2, 9, "a", "b")]));
        assert_eq!(changes_after(&stuck, 2, &filter).unwrap(), (vec![], 2));
    }
}
