//! A node as the page shows it, from the sample that metrics are made of, under the keys that `lnetctl` has for it.

use lnet_dlc::Value;
use lnet_dlc::ops::sample::{Rate, Rates, Sample};
use lnet_dlc::ops::{net, peer, route, stats};
use lnet_dlc::request::{LocalNi, Peer};
use lnet_wire::Reachability;
use serde_json::{Map, Value as Json};

/// The most peers of a node on the page.
pub(super) const MAX_SHOWN_PEERS: usize = 200;

// What is not in the metrics is not on the page: each table has the keys that are.
const STATISTICS: &[&str] = &[
    "send_count",
    "recv_count",
    "route_count",
    "drop_count",
    "resend_count",
    "response_timeout_count",
    "send_length",
    "recv_length",
];
const NI: &[&str] = &[
    "nid",
    "status",
    "interfaces",
    "statistics",
    "health stats",
    "available_tx_credits",
    "min_tx_credits",
    "lengths",
    "ni state",
    "latency",
];
const PEER: &[&str] =
    &["primary nid", "Multi-Rail", "reachability", "reachability seconds", "paths", "usable paths"];
const PEER_NI: &[&str] = &[
    "nid",
    "state",
    "reported status",
    "max_ni_tx_credits",
    "available_tx_credits",
    "min_tx_credits",
    "tx_q_num_of_buf",
    "statistics",
    "health stats",
    "lengths",
    "ni state",
    "unresponsive from",
    "latency",
];
const ROUTE: &[&str] = &["net", "gateway", "hop", "priority", "state"];

/// The node as JSON. `reasons`: those for which it is not healthy. Of many peers those with problems are shown, and then the first.
pub(super) fn node(name: &str, sample: &Sample, rates: Option<&Rates>, reasons: Vec<String>) -> Json {
    let rate = |it: Option<Rate>| it.map_or(Json::Null, |it| stats::rate_value(it).to_json());
    let ni = |ni: &LocalNi| {
        let mut shown = pick(&net::ni_value(ni), NI);
        shown.insert("max_tx_credits".to_owned(), ni.tunables.credits.into());
        shown.insert("rate".to_owned(), rate(rates.and_then(|it| it.nis.get(&ni.nid)).copied()));
        Json::from(shown)
    };
    let nets = sample.nis.chunk_by(|one, next| one.nid.net() == next.nid.net()).map(|nis| {
        let net = nis.first().map(|ni| ni.nid.net().to_string());
        serde_json::json!({"net type": net, "local NI(s)": nis.iter().map(ni).collect::<Vec<_>>()})
    });
    let mut peers: Vec<&Peer> = sample.other_peers().collect();
    let own = sample.peers.len() - peers.len();
    peers.sort_by_key(|peer| severity(peer));
    let peers = peers.into_iter().take(MAX_SHOWN_PEERS).map(|peer| {
        let value = peer::peer_value(peer);
        let mut shown = pick(&value, PEER);
        let nis = match value.get("peer ni") {
            Some(Value::Seq(nis)) => nis.iter().map(|ni| pick(ni, PEER_NI).into()).collect(),
            _ => Vec::new(),
        };
        shown.insert("peer ni".to_owned(), Json::Array(nis));
        shown.insert("rate".to_owned(), rate(rates.and_then(|it| it.peers.get(&peer.primary)).copied()));
        Json::from(shown)
    });
    let routes = sample.routes.iter().map(|it| Json::from(pick(&route::route_value(it), ROUTE)));
    serde_json::json!({
        "name": name,
        "version": sample.node.version,
        "started_ms": sample.node.started_ms,
        "unhealthy": reasons,
        "statistics": pick(&stats::stats_value(&sample.stats), STATISTICS),
        "rate": rate(rates.map(|it| it.node)),
        "net": nets.collect::<Vec<_>>(),
        "peers": sample.peer_count.saturating_sub(own),
        "peer": peers.collect::<Vec<_>>(),
        "route": routes.collect::<Vec<_>>(),
    })
}

/// A node that does not answer, as JSON.
pub(super) fn unanswered(name: &str, reason: &str) -> Json {
    serde_json::json!({"name": name, "no answer": reason})
}

/// The order of peers: those with problems first.
fn severity(peer: &Peer) -> u8 {
    match peer.reachability.map(|it| it.state) {
        Some(Reachability::Unreachable) => 0,
        Some(Reachability::Degraded) => 1,
        Some(Reachability::Unknown | Reachability::Reachable) | None => 2,
    }
}

/// The entries of a mapping with these keys, in its order.
fn pick(value: &Value, keys: &[&str]) -> Map<String, Json> {
    let Value::Map(entries) = value else { return Map::new() };
    let picked = entries.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    picked.map(|(key, value)| (key.clone(), value.to_json())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::feed::tests::{peer, sample};
    use std::time::Duration;

    #[test]
    fn a_node_has_the_keys_of_lnetctl_and_rates_when_there_are_two_samples() {
        let before = sample(7, vec![]);
        let mut now = sample(7, vec![peer("10.0.0.2@tcp", Reachability::Reachable)]);
        let first = node("one", &before, None, vec!["a reason".to_owned()]);
        assert_eq!((&first["name"], &first["unhealthy"][0]), (&"one".into(), &"a reason".into()));
        let ni = &first["net"][0]["local NI(s)"][0];
        assert_eq!(
            (&ni["nid"], &ni["status"], &ni["rate"]),
            (&"10.0.0.1@tcp".into(), &"up".into(), &Json::Null)
        );
        assert_eq!((&ni["max_tx_credits"], &ni["health stats"]["health value"]), (&256.into(), &1000.into()));
        for ni in &mut now.nis {
            ni.stats.sent += 20;
        }
        let rates = Rates::between(&before, &now, Duration::from_secs(2));
        let second = node("one", &now, Some(&rates), vec![]);
        assert_eq!(second["net"][0]["local NI(s)"][0]["rate"]["send_count"], 10);
        let peer = &second["peer"][0];
        assert_eq!(
            (&peer["primary nid"], &peer["reachability"]),
            (&"10.0.0.2@tcp".into(), &"reachable".into())
        );
        assert_eq!(peer["peer ni"][0]["health stats"]["health value"], 1000);
    }

    /// Fails if who reaches the page reads what the metrics do not have.
    #[test]
    fn what_is_not_in_the_metrics_is_left_out() {
        let text = node("one", &sample(7, vec![peer("10.0.0.2@tcp", Reachability::Reachable)]), None, vec![]);
        let text = text.to_string();
        for key in ["lnd tunables", "dev cpt", "CPT", "udsp info", "refcount", "discovery", "peer state"] {
            assert!(!text.contains(&format!("\"{key}\"")), "{key}: {text}");
        }
    }

    #[test]
    fn of_many_peers_those_with_problems_are_shown_and_all_are_counted() {
        let number = |number: usize| format!("10.1.{}.{}@tcp", number / 200, number % 200 + 1);
        let state = |number| match number {
            700 => Reachability::Unreachable,
            300 => Reachability::Degraded,
            _ => Reachability::Reachable,
        };
        let peers = (0..1000).map(|it| peer(&number(it), state(it))).collect();
        let shown = node("one", &sample(7, peers), None, vec![]);
        assert_eq!(shown["peers"], 1000);
        let nids: Vec<_> =
            shown["peer"].as_array().unwrap().iter().map(|it| it["primary nid"].clone()).collect();
        assert_eq!(nids.len(), MAX_SHOWN_PEERS);
        assert_eq!(nids[..3], [number(700), number(300), number(0)].map(Json::from));
    }
}
