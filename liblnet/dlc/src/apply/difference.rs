//! The difference between the present configuration of a node and a wanted one.

use super::change::Change;
use super::now::Now;
use super::wanted::Wanted;
use super::{nets, peers, routes, rules};
use crate::import::adding::in_order;
use crate::ops;
use crate::ops::global::Setting;
use crate::request::{BufferCounts, Request};

/// The changes after which the node is as wanted, in the order in which they can be carried out: first what refers to other
/// objects is removed, then interfaces are removed and added, then what refers to them is added. An interface that goes is
/// removed after those that come, so that its net stays where there is another one.
pub(super) fn difference(now: &Now, wanted: &Wanted) -> Vec<Change> {
    let nets = nets::plan(&now.config.nis, &now.config.waiting, wanted.nis.as_deref(), now.large_nids);
    let routes = routes::plan(now, wanted.routes.as_deref(), &nets.emptied);
    let peers = peers::plan(now, wanted.peers.as_deref(), &routes.gateways, &nets.emptied);
    let rules = rules::plan(&now.config.rules, wanted.rules.as_deref());
    [
        rules.remove,
        routes.remove,
        peers.remove,
        nets.changes,
        peers.add_gateways,
        routes.add,
        peers.add,
        routing(now, wanted),
        settings(now, wanted),
        rules.add,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Forwarding, then the buffers, which a node has while it forwards.
fn routing(now: &Now, wanted: &Wanted) -> Vec<Change> {
    let mut changes = Vec::new();
    if let Some(enable) = wanted.forwards.filter(|enable| *enable != now.config.forwards()) {
        changes.push(Change::set(
            format!("routing enable {}", u32::from(enable)),
            Request::ConfigRouter(enable),
        ));
    }
    // 0 stands for the default, which any present number may be.
    let differs =
        |(count, now): (Option<u32>, u64)| count.filter(|count| *count != 0 && u64::from(*count) != now);
    let mut counts = wanted.buffers.into_iter().zip(now.config.buffer_counts()).map(differs);
    let [tiny, small, large] = std::array::from_fn(|_| counts.next().flatten());
    let sizes = [("tiny", tiny), ("small", small), ("large", large)];
    let said: Vec<String> =
        sizes.iter().filter_map(|(size, count)| count.map(|count| format!("{size} {count}"))).collect();
    if !said.is_empty() {
        let request = Request::AddBuffers(BufferCounts { tiny, small, large });
        changes.push(Change::set(format!("buffers {}", said.join(", ")), request));
    }
    changes
}

fn settings(now: &Now, wanted: &Wanted) -> Vec<Change> {
    let mut config = now.config.clone();
    let mut changes = Vec::new();
    for (setting, value) in in_order(config.tunables.as_ref(), &wanted.settings) {
        let Some(before) = config.setting(setting) else { continue };
        // It follows from others.
        if setting == Setting::LndTimeout || i64::from(before) == value {
            continue;
        }
        let Some(request) = ops::global::request_for(setting, value) else { continue };
        if let Some(tunables) = &mut config.tunables {
            // A value that the node will refuse changes nothing.
            let _ = tunables.set(setting, value);
        }
        changes.push(Change::set(format!("global {} {value} (now {before})", setting.name()), request));
    }
    changes
}
