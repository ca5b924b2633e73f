//! The paths that messages would take, as the core explains them.

use super::load::Pair;
use super::nodes::DrillCluster;
use super::report::PathShown;
use lnet_core::select::Criterion;
use lnet_dlc::request::{Explain, Passed, RuleOfWay};
use lnet_sim::{NodeId, World};
use std::collections::BTreeSet;

/// The criteria that differ from one message to the next.
const TURNS: [Criterion; 4] =
    [Criterion::RoundRobin, Criterion::LocalNetRoundRobin, Criterion::Credits, Criterion::QueuedBytes];

/// The pairs whose paths are shown: for each pair of classes one, with a node that is concerned by a loss if there is one.
pub(super) fn shown_pairs(
    cluster: &DrillCluster,
    pairs: &[Pair],
    is_concerned: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|pair| {
        let Pair { client, target, .. } = pairs[*pair];
        (!is_concerned(target), !is_concerned(client))
    });
    let class = |node: usize| cluster.nodes[node].class.as_str();
    let mut seen = BTreeSet::new();
    order.retain(|pair| seen.insert((class(pairs[*pair].client), class(pairs[*pair].target))));
    order.sort_unstable();
    order
}

/// The path of the next message of a pair; `None` if there is none, or if one of the nodes is down.
pub(super) fn path_of(world: &World, ids: &[NodeId], pair: Pair) -> Option<PathShown> {
    if !world.is_up(ids[pair.target]) {
        return None;
    }
    let core = world.core(ids[pair.client])?;
    let ask = Explain { destination: pair.nid, source: None };
    let mut explained = lnet_replies::explain(&core, world.now(), ask).ok()?;
    let candidate = |candidate: Passed| match candidate {
        Passed::Net(net) => net.to_string(),
        Passed::LocalNi(nid) | Passed::PeerNi(nid) | Passed::Gateway(nid) => nid.to_string(),
    };
    // Criteria that give turns to paths that are alike say least.
    let is_turn = |why: &str| TURNS.iter().any(|turn| why.starts_with(turn.text()));
    explained.passed_over.sort_by_key(|passed| is_turn(&passed.why));
    let taking_turns = explained.passed_over.iter().filter(|passed| is_turn(&passed.why)).count() as u64;
    let rule = |its: &RuleOfWay| format!("rule {}, {}: {}", its.index, its.about, its.gives);
    Some(PathShown {
        local: explained.local.to_string(),
        remote: explained.remote.to_string(),
        gateway: explained.gateway.map(|nid| nid.to_string()),
        rules: explained.rules.iter().map(rule).collect(),
        passed_over: explained
            .passed_over
            .iter()
            .map(|passed| format!("{}: {}", candidate(passed.candidate), passed.why))
            .collect(),
        taking_turns,
        remark: explained.remark,
    })
}
