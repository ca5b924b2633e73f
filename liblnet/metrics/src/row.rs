//! One row of the table of metrics.

use lnet_dlc::ops::sample::Sample;
use lnet_dlc::request::{CptBuffers, LocalNi, Peer, PeerNi, Route};
use lnet_wire::latency::Histogram;
use std::borrow::Cow;
use std::fmt;

/// A metric family.
#[derive(Debug)]
pub struct Row {
    /// The name without the suffix of its kind. If there is a unit, the name ends with it.
    pub name: &'static str,
    /// The kind, from which the suffix follows.
    pub kind: Kind,
    /// The unit of the values; `None` for plain numbers.
    pub unit: Option<Unit>,
    /// The text of the HELP line.
    pub help: &'static str,
    /// The names of the labels besides those of the object.
    pub extra_labels: &'static [&'static str],
    /// The objects that have the metric, and its values for one of them.
    pub(crate) of: Source,
}

impl Row {
    /// The name of the samples, with the suffix of the kind.
    pub fn sample_name(&self) -> String {
        format!("{}{}", self.name, self.kind.suffix())
    }

    /// The names of all labels, in the order in which they are written.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> {
        self.of.labels().iter().chain(self.extra_labels).copied()
    }
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows, until the counters are reset or the node restarts.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// Labels that describe an object; the value is 1.
    Info,
    /// The number of values below each of some bounds, in the label `le`; and their sum and number.
    Histogram,
    /// The values below which some shares of all values are, in the label `quantile`; and their sum and number.
    Summary,
}

impl Kind {
    /// The suffix of the samples' names.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge | Self::Histogram | Self::Summary => "",
            Self::Info => "_info",
        }
    }

    /// The name of the kind in OpenMetrics.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// The name of the unit in OpenMetrics.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
        }
    }
}

/// The value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A count.
    Count(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// The distribution of a delay, which is several samples.
    Delays(Histogram),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(number) => number.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Delays(histogram) => histogram.count().fmt(f),
        }
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::Count(number)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self::Count(number.into())
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self::Count(number as u64)
    }
}

impl From<bool> for Number {
    fn from(yes: bool) -> Self {
        Self::Count(yes.into())
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        Self::Signed(number.into())
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Signed(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

/// A sample of one object: the values of [`Row::extra_labels`], and the number.
pub(crate) type Point = (Vec<Cow<'static, str>>, Number);

/// The sample of a metric without extra labels.
pub(crate) fn one(number: impl Into<Number>) -> Vec<Point> {
    vec![(Vec::new(), number.into())]
}

/// The sample of a metric without extra labels; none if the object does not have it.
pub(crate) fn some(number: Option<impl Into<Number>>) -> Vec<Point> {
    number.map_or_else(Vec::new, one)
}

/// The samples of a metric with one extra label, which has constant values.
pub(crate) fn by<N: Into<Number>, const COUNT: usize>(values: [(&'static str, N); COUNT]) -> Vec<Point> {
    values.into_iter().map(|(label, number)| (vec![label.into()], number.into())).collect()
}

/// The distributions of delays, with one extra label for the delay.
pub(crate) fn delays(latencies: &[Histogram]) -> Vec<Point> {
    let point = |its: &Histogram| (vec![its.delay.name().into()], Number::Delays(its.clone()));
    latencies.iter().map(point).collect()
}

/// The kinds of objects that have metrics, and the function from one object to its samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Whether a node answers.
    NodeUp,
    /// A node that answers.
    Node(fn(&Sample) -> Vec<Point>),
    /// An interface of a node.
    Ni(fn(&LocalNi) -> Vec<Point>),
    /// An interface of a node, named by its NID alone.
    NiByNid(fn(&LocalNi) -> Vec<Point>),
    /// A peer that is not the node itself.
    Peer(fn(&Peer) -> Vec<Point>),
    /// An interface of a peer.
    PeerNi(fn(&PeerNi) -> Vec<Point>),
    /// A route.
    Route(fn(&Route) -> Vec<Point>),
    /// A gateway, with all routes of the node.
    Gateway(fn(&[&Route]) -> Vec<Point>),
    /// The router buffers of a CPT.
    Buffers(fn(&CptBuffers) -> Vec<Point>),
}

impl Source {
    /// The names of the labels of the object.
    pub(crate) const fn labels(self) -> &'static [&'static str] {
        match self {
            Self::NodeUp | Self::Node(_) => &["node"],
            Self::Ni(_) => &["node", "net", "nid", "interface"],
            Self::NiByNid(_) => &["node", "nid"],
            Self::Peer(_) => &["node", "peer"],
            Self::PeerNi(_) => &["node", "net", "peer", "nid"],
            Self::Route(_) => &["node", "net", "gateway"],
            Self::Gateway(_) => &["node", "gateway"],
            Self::Buffers(_) => &["node", "cpt"],
        }
    }
}
