//! The report of a drill, as data. Times are virtual, in milliseconds from the start of the drill; lengths are in bytes.

use super::elements::LossKind;
use super::nodes::Sample;
use serde::Serialize;

/// The outcome of a drill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillReport {
    /// The losses.
    pub losses: Vec<LossReport>,
    /// The load, as the plan has it: `put:1M,x8`.
    pub load: String,
    /// The bytes that each interface carries in a second, in each direction.
    pub interface_rate: u64,
    /// The seed.
    pub seed: u64,
    /// The time in which operations began.
    pub duration_ms: u64,
    /// The time between two points of `series`.
    pub slice_ms: u64,
    /// The options that repeat the drill; behind them the caller's command, if it gives one.
    pub repeat: String,
    /// The classes, and how much of them was simulated.
    pub samples: Vec<Sample>,
    /// The parts of the cluster that were not simulated, one sentence each: pairs of classes without a path, switches, parts of the
    /// configuration.
    pub left_out: Vec<String>,
    /// All operations.
    pub operations: Operations,
    /// The operations between pairs of classes.
    pub pairs: Vec<PairReport>,
    /// The time before the loss, from the loss until the last operation had ended that it concerned, and after that.
    pub phases: Vec<PhaseReport>,
    /// The traffic of each interface, in the order of nodes.
    pub interfaces: Vec<InterfaceReport>,
    /// For pairs of classes, the path of one pair of nodes before the loss and at the end.
    pub paths: Vec<PathReport>,
    /// The throughput over time: one point for each slice of `duration_ms`.
    pub series: Vec<Slice>,
}

/// A loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// The name of the element, as `--lose` takes it.
    pub element: String,
    /// The time of the loss.
    pub at_ms: u64,
}

/// Counts of the operations of a drill, and their delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Operations that began, and those that were in flight at the start.
    pub begun: u64,
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that ended with an error; their programs know it. Those whose target was lost are not counted here.
    pub failed: u64,
    /// Operations that had no end when everything else had ended: their programs never get to know.
    pub lost: u64,
    /// Operations that failed, or had no end, because the node that they were addressed to was lost.
    pub to_lost_node: u64,
    /// Operations of a node that was lost itself.
    pub of_lost_node: u64,
    /// Operations that took longer than a second, without those to and of lost nodes.
    pub delayed: u64,
    /// The duration of the longest operation that succeeded.
    pub longest_done_ms: u64,
    /// The duration of the longest operation that failed, without those to lost nodes.
    pub longest_failed_ms: u64,
    /// The longest time, from the first loss on, in which a node that was not lost had operations, and none of them succeeded.
    pub longest_without_success_ms: u64,
    /// Whether that time went on until the end of the drill, and could have been longer.
    pub without_success_until_end: bool,
}

impl Operations {
    /// Whether all operations between nodes that were not lost succeeded.
    pub const fn all_succeeded(&self) -> bool {
        self.failed == 0 && self.lost == 0
    }
}

/// The operations of one class with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairReport {
    /// The class of the nodes that began the operations.
    pub from: String,
    /// The class of the targets.
    pub to: String,
    /// The operations.
    pub operations: Operations,
}

/// A part of the drill's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseReport {
    /// Which part.
    pub phase: Phase,
    /// The beginning.
    pub from_ms: u64,
    /// The end; equal to the beginning if there is no such part.
    pub until_ms: u64,
    /// Operations that succeeded in this part.
    pub done: u64,
    /// Operations that failed in this part, without those to lost nodes.
    pub failed: u64,
    /// Bytes of operations that succeeded, in a second.
    pub bytes_per_second: u64,
}

/// The parts of a drill's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the first loss.
    Before,
    /// From the first loss until the last operation had ended that was in flight then, was delayed, or failed.
    During,
    /// After that.
    After,
}

impl Phase {
    /// All parts in their order.
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    /// The word for the part.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::After => "after",
        }
    }
}

/// The traffic of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceReport {
    /// The node.
    pub node: String,
    /// The class of the node.
    pub class: String,
    /// Whether the node is a router.
    pub router: bool,
    /// The name of the interface; the NID if it has none.
    pub interface: String,
    /// The NID.
    pub nid: String,
    /// Whether the interface was lost.
    pub lost: bool,
    /// The traffic before, during and after.
    pub phases: [InterfaceTraffic; 3],
}

/// The traffic of an interface in a part of the time. Messages of discovery and of health are counted, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceTraffic {
    /// Messages that the interface was given to send, whether or not they arrived.
    pub messages_sent: u64,
    /// Bytes of payload of these, at the length of the load.
    pub bytes_sent: u64,
    /// Messages that arrived.
    pub messages_received: u64,
    /// Bytes of payload of these, at the length of the load.
    pub bytes_received: u64,
}

/// The paths of messages from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathReport {
    /// The node that sends.
    pub from: String,
    /// The target.
    pub to: String,
    /// The path just before the first loss; `None` if there was none.
    pub before: Option<PathShown>,
    /// The path at the end; `None` if there was none, or if one of the nodes was lost.
    pub after: Option<PathShown>,
}

/// The path that the next message would have taken, as `lnetctl explain` says it on that node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathShown {
    /// The NID of the node that sends.
    pub local: String,
    /// The NID of the target.
    pub remote: String,
    /// The NID of the gateway, if there is one.
    pub gateway: Option<String>,
    /// The selection rules that apply to the path.
    pub rules: Vec<String>,
    /// The candidates that were not chosen, each with the criterion by which it lost; last those that are as good, and have their turns.
    pub passed_over: Vec<String>,
    /// The number of candidates that have their turns: they lost by what differs from one message to the next.
    pub taking_turns: u64,
    /// The fault of the path, if there is no better one.
    pub remark: Option<String>,
}

/// A point of the throughput over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The beginning of the slice.
    pub at_ms: u64,
    /// Operations that succeeded in it.
    pub done: u64,
    /// Operations that ended with an error in it, all of them.
    pub failed: u64,
    /// Bytes of the operations that succeeded, in a second.
    pub bytes_per_second: u64,
    /// Operations that were in flight at its end.
    pub in_flight: u64,
    /// Those of them that had been for longer than a second.
    pub stalled: u64,
}

/// The drills with each element of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillSurvey {
    /// The kind of the elements.
    pub kind: LossKind,
    /// Each element with the outcome of its loss, worst first.
    pub elements: Vec<ElementOutcome>,
    /// The report of the worst.
    pub worst: DrillReport,
}

/// The outcome of the loss of an element.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElementOutcome {
    /// The name of the element.
    pub element: String,
    /// The operations.
    pub operations: Operations,
    /// The throughput after the loss in percent of that before; `None` if nothing is left after it, or there was none before.
    pub throughput_after_percent: Option<u64>,
}

impl DrillReport {
    /// The report as JSON, with a line end behind it.
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// The part of the time with this name.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseReport> {
        self.phases.iter().find(|its| its.phase == phase)
    }

    /// The throughput after the loss in percent of that before. While operations still fail, the time after the loss counts.
    pub fn throughput_after_percent(&self) -> Option<u64> {
        let before = self.phase(Phase::Before)?.bytes_per_second;
        let is_there = |its: &&PhaseReport| its.until_ms > its.from_ms;
        let after = self.phase(Phase::After).filter(is_there).or_else(|| self.phase(Phase::During))?;
        (before > 0 && is_there(&after)).then(|| after.bytes_per_second.saturating_mul(100) / before)
    }
}

impl DrillSurvey {
    /// The survey as JSON, with a line end behind it.
    pub fn to_json(&self) -> String {
        json(self)
    }
}

/// All fields are numbers, texts and lists of them, which always have a form in JSON.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}
