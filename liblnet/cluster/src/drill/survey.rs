//! A survey: one drill for each element of a kind.

use super::elements::{LossKind, LossTarget};
use super::error::DrillError;
use super::nodes::DrillCluster;
use super::plan::{DrillPlan, Loss};
use super::report::{DrillReport, DrillSurvey, ElementOutcome, Operations};
use super::run::{Progress, run};
use std::cmp::Reverse;

/// Makes a drill for each element of a kind, with the plan's load and seed, and with its losses as well. The worst comes first.
pub fn survey(
    cluster: &DrillCluster,
    plan: &DrillPlan,
    kind: LossKind,
    progress: &mut dyn FnMut(Progress),
) -> Result<DrillSurvey, DrillError> {
    let targets = LossTarget::all(cluster, kind)?;
    let drills = targets.len();
    let mut elements = Vec::new();
    let mut worst: Option<DrillReport> = None;
    for (drill, target) in targets.into_iter().enumerate() {
        let mut losses = plan.losses.clone();
        let element = target.name(cluster);
        losses.push(Loss::of(target));
        let plan = DrillPlan { losses, ..plan.clone() };
        let report = run(cluster, &plan, &mut |its| progress(Progress { drill, drills, ..its }))?;
        elements.push(ElementOutcome {
            element,
            operations: report.operations,
            throughput_after_percent: report.throughput_after_percent(),
        });
        let is_worse = worst.as_ref().is_none_or(|worst| harm(&report.operations) > harm(&worst.operations));
        if is_worse {
            worst = Some(report);
        }
    }
    elements.sort_by_key(|its| Reverse(harm(&its.operations)));
    let worst = worst.ok_or_else(|| DrillError::NoElement { kind: kind.word(), hint: "" })?;
    Ok(DrillSurvey { kind, elements, worst })
}

/// Operations that did not succeed, the longest time without success, delayed operations: in this order.
const fn harm(operations: &Operations) -> (u64, u64, u64, u64) {
    let Operations { failed, lost, longest_without_success_ms, delayed, longest_done_ms, .. } = operations;
    (*failed + *lost, *longest_without_success_ms, *delayed, *longest_done_ms)
}
