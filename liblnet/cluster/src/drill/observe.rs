//! Observations of a drill, and the report that is made of them.

use super::load::{Pair, Record, simulated_length};
use super::nodes::DrillCluster;
use super::phases::Records;
use super::plan::DrillPlan;
use super::report::{
    DrillReport, InterfaceReport, InterfaceTraffic, LossReport, PairReport, PathReport, PathShown, Phase,
    Slice,
};
use super::units::ms;
use lnet_core::Time;
use lnet_sim::Traffic;
use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

/// The state of a drill at the end of each slice of its time.
#[derive(Debug, Default)]
pub(super) struct Observer {
    start: Time,
    slices: Vec<Observed>,
}

/// The state at the end of a slice.
#[derive(Debug)]
struct Observed {
    /// The traffic since the start of the drill.
    traffic: BTreeMap<Nid, Traffic>,
    in_flight: u64,
    stalled: u64,
}

/// Everything else that a report is made of.
pub(super) struct RunFacts<'a> {
    pub(super) cluster: &'a DrillCluster,
    pub(super) plan: &'a DrillPlan,
    pub(super) pairs: &'a [Pair],
    pub(super) records: &'a [Record],
    pub(super) lost_nodes: &'a BTreeMap<usize, Time>,
    pub(super) rate: NonZeroU64,
    pub(super) start: Time,
    pub(super) left_out: Vec<String>,
    /// Pairs with their paths before and after.
    pub(super) paths: Vec<(usize, Option<PathShown>, Option<PathShown>)>,
}

impl Observer {
    pub(super) const fn begin(&mut self, start: Time) {
        self.start = start;
    }

    pub(super) fn end_slice(&mut self, traffic: BTreeMap<Nid, Traffic>, in_flight: usize, stalled: usize) {
        self.slices.push(Observed { traffic, in_flight: in_flight as u64, stalled: stalled as u64 });
    }

    pub(super) fn report(self, facts: RunFacts<'_>) -> DrillReport {
        let RunFacts { cluster, plan, pairs, records, lost_nodes, .. } = facts;
        let (slice, size) = (plan.slice(), plan.load.size);
        let end = facts.start + plan.duration;
        let first_loss = plan.losses.iter().map(|loss| facts.start + loss.at).min().unwrap_or(end).min(end);
        let judged = Records { pairs, records, lost_nodes, start: facts.start, end, first_loss };
        let recovered = judged.recovered(slice);
        let mut series: Vec<Slice> = (0..)
            .zip(&self.slices)
            .map(|(number, its)| Slice {
                at_ms: ms(slice.saturating_mul(number)),
                in_flight: its.in_flight,
                stalled: its.stalled,
                ..Slice::default()
            })
            .collect();
        judged.fill_series(&mut series, slice, size);
        let name = |node: usize| cluster.nodes[node].name.clone();
        DrillReport {
            losses: plan
                .losses
                .iter()
                .map(|loss| LossReport { element: loss.target.name(cluster), at_ms: ms(loss.at) })
                .collect(),
            load: plan.load.to_string(),
            interface_rate: facts.rate.get(),
            seed: plan.seed,
            duration_ms: ms(plan.duration),
            slice_ms: ms(slice),
            repeat: plan.options(cluster),
            samples: cluster.samples.clone(),
            left_out: facts.left_out,
            operations: judged.operations(|_| true),
            pairs: class_pairs(cluster, &judged),
            phases: judged.phases(recovered, size),
            interfaces: self.interfaces(cluster, plan, &judged, recovered),
            paths: facts
                .paths
                .into_iter()
                .map(|(pair, before, after)| PathReport {
                    from: name(pairs[pair].client),
                    to: name(pairs[pair].target),
                    before,
                    after,
                })
                .collect(),
            series,
        }
    }

    /// The traffic of all interfaces. A slice belongs to the part of the time in which it begins.
    fn interfaces(
        &self,
        cluster: &DrillCluster,
        plan: &DrillPlan,
        judged: &Records<'_>,
        recovered: Time,
    ) -> Vec<InterfaceReport> {
        let lost: BTreeSet<Nid> = plan.losses.iter().flat_map(|loss| loss.target.nids(cluster)).collect();
        let slice = plan.slice();
        // The last slice of each part of the time.
        let mut ends: [Option<usize>; 3] = [None; 3];
        for number in 0..self.slices.len() {
            let at = self.start + slice.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
            ends[judged.phase_of(at, recovered) as usize] = Some(number);
        }
        let length = simulated_length(plan.load.size).max(1);
        let scale = |bytes: u64| bytes.saturating_mul(plan.load.size.into()) / u64::from(length);
        let all = cluster.nodes.iter().flat_map(|node| node.nis().map(move |its| (node, its)));
        all.map(|(node, (nid, interface))| {
            let mut before = Traffic::default();
            let phases = Phase::ALL.map(|phase| {
                let end = ends[phase as usize].and_then(|number| self.slices.get(number));
                let Some(end) = end else { return InterfaceTraffic::default() };
                let now = end.traffic.get(&nid).copied().unwrap_or_default();
                let shown = InterfaceTraffic {
                    messages_sent: now.messages_sent - before.messages_sent,
                    bytes_sent: scale(now.bytes_sent - before.bytes_sent),
                    messages_received: now.messages_received - before.messages_received,
                    bytes_received: scale(now.bytes_received - before.bytes_received),
                };
                before = now;
                shown
            });
            InterfaceReport {
                node: node.name.clone(),
                class: node.class.clone(),
                router: node.is_router(),
                interface: interface.name.clone().unwrap_or_else(|| nid.to_string()),
                nid: nid.to_string(),
                lost: lost.contains(&nid),
                phases,
            }
        })
        .collect()
    }
}

/// The operations between each pair of classes.
fn class_pairs(cluster: &DrillCluster, judged: &Records<'_>) -> Vec<PairReport> {
    let class = |node: usize| cluster.nodes[node].class.as_str();
    let mut all: Vec<(&str, &str)> = Vec::new();
    for pair in judged.pairs {
        let classes = (class(pair.client), class(pair.target));
        if !all.contains(&classes) {
            all.push(classes);
        }
    }
    let report = |(from, to): (&str, &str)| PairReport {
        from: from.to_owned(),
        to: to.to_owned(),
        operations: judged.operations(|pair| (class(pair.client), class(pair.target)) == (from, to)),
    };
    all.into_iter().map(report).filter(|its| its.operations.begun > 0).collect()
}
