//! The text formats of Prometheus (0.0.4) and of OpenMetrics (1.0.0).
//!
//! Families have the order of the table; within a family, nodes have the order in which they are given, interfaces are listed net by
//! net, and peers in the order in which they were added, so that two outputs can be compared.

use crate::row::{Kind, Number, Point, Row, Source};
use crate::table::{lustre_rows, rows};
use lnet_dlc::ops::sample::Sample;
use lnet_dlc::request::Route;
use lnet_wire::latency::{BUCKETS, Histogram, bound};
use lnet_wire::{Errno, Nid};
use std::fmt::{Display, Write};
use std::time::Duration;

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The value of the header Content-Type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A node, and the sample of it.
#[derive(Clone, Debug)]
pub struct NodeSample {
    /// The name of the node.
    pub name: String,
    /// The sample, or the error of a node that does not answer.
    pub sample: Result<Sample, Errno>,
}

impl NodeSample {
    /// The sample of a node that has answered.
    pub fn of(sample: Sample) -> Self {
        Self { name: sample.node.name.clone(), sample: Ok(sample) }
    }
}

/// Writes all metrics of the nodes. `lustre_names` adds those under the names of lustrefs-exporter.
pub fn exposition(nodes: &[NodeSample], format: Format, lustre_names: bool) -> String {
    let mut page = Page { text: String::new(), format };
    rows().chain(lustre_rows().filter(|_| lustre_names)).for_each(|row| page.family(row, nodes));
    if format == Format::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    /// Writes a family, or nothing if it has no samples.
    fn family(&mut self, row: &Row, nodes: &[NodeSample]) {
        let begin = self.text.len();
        self.head(row);
        let (samples_begin, name) = (self.text.len(), row.sample_name());
        for node in nodes {
            each_object(row.of, node, |values, points| self.samples(row, &name, values, points));
        }
        if self.text.len() == samples_begin {
            self.text.truncate(begin);
        }
    }

    /// Writes the lines that announce a family.
    fn head(&mut self, row: &Row) {
        let kind = row.kind.text();
        let help = escape(row.help);
        let name = row.name;
        // Writing into a string does not fail.
        let _ = match self.format {
            Format::Prometheus => {
                let name = row.sample_name();
                // The format has no kind for information.
                let kind = if row.kind == Kind::Info { Kind::Gauge.text() } else { kind };
                write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n")
            }
            Format::OpenMetrics => {
                let unit =
                    row.unit.map(|unit| format!("# UNIT {name} {}\n", unit.text())).unwrap_or_default();
                let help = help.replace('"', "\\\"");
                write!(self.text, "# TYPE {name} {kind}\n{unit}# HELP {name} {help}\n")
            }
        };
    }

    /// Writes the samples of one object, which has these values of its labels.
    fn samples(&mut self, row: &Row, name: &str, values: &[&dyn Display], points: Vec<Point>) {
        let mut labels = String::new();
        for (label, value) in row.of.labels().iter().zip(values) {
            write_label(&mut labels, label, &value.to_string());
        }
        for (extra, number) in points {
            let mut all = labels.clone();
            for (label, value) in row.extra_labels.iter().zip(&extra) {
                write_label(&mut all, label, value);
            }
            match number {
                Number::Delays(histogram) => self.delays(row.kind, name, &all, &histogram),
                number => {
                    let _ = writeln!(self.text, "{name}{{{all}}} {number}");
                }
            }
        }
    }
}

impl Page {
    /// Writes the samples of a distribution, in seconds.
    fn delays(&mut self, kind: Kind, name: &str, labels: &str, histogram: &Histogram) {
        let count = histogram.count();
        // Writing into a string does not fail.
        if kind == Kind::Summary {
            for (quantile, thousandths) in QUANTILES {
                if let Some(bound) = histogram.quantile(thousandths) {
                    let seconds = bound.as_secs_f64();
                    let _ = writeln!(self.text, "{name}{{{labels},quantile=\"{quantile}\"}} {seconds}");
                }
            }
        } else {
            let mut below = 0;
            for bucket in 0..BUCKETS - 1 {
                below += histogram.counts.get(bucket).copied().unwrap_or(0);
                let seconds = bound(bucket).unwrap_or_default().as_secs_f64();
                let _ = writeln!(self.text, "{name}_bucket{{{labels},le=\"{seconds:?}\"}} {below}");
            }
            let _ = writeln!(self.text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
        }
        let sum = Duration::from_nanos(histogram.sum_ns).as_secs_f64();
        let _ = write!(self.text, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}\n");
    }
}

/// The quantiles of summaries, and the same in thousandths.
const QUANTILES: [(&str, u64); 3] = [("0.5", 500), ("0.9", 900), ("0.99", 990)];

fn write_label(labels: &mut String, name: &str, value: &str) {
    let comma = if labels.is_empty() { "" } else { "," };
    let _ = write!(labels, "{comma}{name}=\"{}\"", escape_value(value));
}

/// Escapes the text of a HELP line.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Escapes the value of a label.
fn escape_value(text: &str) -> String {
    escape(text).replace('"', "\\\"")
}

/// Calls `write` for each object of the kind that a node has, with the values of its labels, in the order of
/// [`Source::labels`], and its samples.
fn each_object(source: Source, node: &NodeSample, mut write: impl FnMut(&[&dyn Display], Vec<Point>)) {
    let name = &node.name;
    if let Source::NodeUp = source {
        return write(&[name], crate::row::one(node.sample.is_ok()));
    }
    let Ok(sample) = &node.sample else { return };
    match source {
        Source::NodeUp => {}
        Source::Node(points) => write(&[name], points(sample)),
        Source::Ni(points) => {
            for ni in &sample.nis {
                let interface = ni.interface.as_deref().unwrap_or_default();
                write(&[name, &ni.nid.net(), &ni.nid, &interface], points(ni));
            }
        }
        Source::NiByNid(points) => sample.nis.iter().for_each(|ni| write(&[name, &ni.nid], points(ni))),
        Source::Peer(points) => {
            sample.other_peers().for_each(|peer| write(&[name, &peer.primary], points(peer)));
        }
        Source::PeerNi(points) => {
            for (peer, ni) in sample.peers.iter().flat_map(|peer| peer.nis.iter().map(move |ni| (peer, ni))) {
                write(&[name, &ni.nid.net(), &peer.primary, &ni.nid], points(ni));
            }
        }
        Source::Route(points) => {
            for route in &sample.routes {
                write(&[name, &route.net, &route.gateway], points(route));
            }
        }
        Source::Gateway(points) => {
            for (gateway, routes) in gateways(&sample.routes) {
                write(&[name, &gateway], points(&routes));
            }
        }
        Source::Buffers(points) => {
            for (cpt, buffers) in sample.buffers.iter().enumerate() {
                write(&[name, &cpt], points(buffers));
            }
        }
    }
}

/// The gateways in the order of their first routes, each with all its routes.
fn gateways(routes: &[Route]) -> Vec<(Nid, Vec<&Route>)> {
    let mut all: Vec<(Nid, Vec<&Route>)> = Vec::new();
    for route in routes {
        match all.iter_mut().find(|(gateway, _)| *gateway == route.gateway) {
            Some((_, its)) => its.push(route),
            None => all.push((route.gateway, vec![route])),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::one;
    use lnet_wire::latency::Delay;

    const ROW: Row = Row {
        name: "x_bytes",
        kind: Kind::Counter,
        unit: Some(crate::row::Unit::Bytes),
        help: "a \\ \"b\".",
        extra_labels: &[],
        of: Source::NodeUp,
    };

    fn family(row: &Row, format: Format, nodes: &[&str]) -> String {
        let mut page = Page { text: String::new(), format };
        let node = |name: &&str| NodeSample { name: (*name).to_owned(), sample: Err(Errno::NetworkDown) };
        page.family(row, &nodes.iter().map(node).collect::<Vec<_>>());
        page.text
    }

    #[test]
    fn label_values_and_help_are_escaped_as_each_format_wants() {
        let nodes = ["x\"y\\z\nw", "b"];
        let samples = "x_bytes_total{node=\"x\\\"y\\\\z\\nw\"} 0\nx_bytes_total{node=\"b\"} 0\n";
        let head = "# HELP x_bytes_total a \\\\ \"b\".\n# TYPE x_bytes_total counter\n";
        assert_eq!(family(&ROW, Format::Prometheus, &nodes), format!("{head}{samples}"));
        let head = "# TYPE x_bytes counter\n# UNIT x_bytes bytes\n# HELP x_bytes a \\\\ \\\"b\\\".\n";
        assert_eq!(family(&ROW, Format::OpenMetrics, &nodes), format!("{head}{samples}"));
    }

    #[test]
    fn delays_are_written_as_buckets_or_as_quantiles_in_seconds() {
        let histogram = Histogram { delay: Delay::PutAck, sum_ns: 5500, counts: vec![0, 0, 3, 1] };
        let mut page = Page { text: String::new(), format: Format::OpenMetrics };
        page.delays(Kind::Summary, "x", "a=\"b\"", &histogram);
        let sums = "x_sum{a=\"b\"} 0.0000055\nx_count{a=\"b\"} 4\n";
        let quantiles = [("0.5", "0.000001"), ("0.9", "0.000002"), ("0.99", "0.000002")];
        let quantiles = quantiles.map(|(quantile, s)| format!("x{{a=\"b\",quantile=\"{quantile}\"}} {s}\n"));
        assert_eq!(page.text, quantiles.concat() + sums);
        page.text.clear();
        page.delays(Kind::Histogram, "x", "a=\"b\"", &histogram);
        let lines: Vec<&str> = page.text.lines().collect();
        let first = [("2.5e-7", 0), ("5e-7", 0), ("1e-6", 3), ("2e-6", 4), ("4e-6", 4)];
        let first = first.map(|(le, count)| format!("x_bucket{{a=\"b\",le=\"{le}\"}} {count}"));
        assert_eq!(lines[..5], first);
        assert_eq!(lines[BUCKETS - 1], "x_bucket{a=\"b\",le=\"+Inf\"} 4");
        assert!(page.text.ends_with(sums));
    }

    #[test]
    fn a_family_without_samples_is_not_announced() {
        let row = Row { of: Source::Node(|_| one(1_u32)), ..ROW };
        for format in [Format::Prometheus, Format::OpenMetrics] {
            assert_eq!(family(&row, format, &[]), "");
            assert_eq!(family(&row, format, &["a"]), "");
        }
    }

    #[test]
    fn only_openmetrics_has_an_end_and_a_node_without_an_answer_only_its_state() {
        let node = NodeSample { name: "a".to_owned(), sample: Err(Errno::NetworkDown) };
        let page = |format| exposition(std::slice::from_ref(&node), format, true);
        assert!(page(Format::OpenMetrics).ends_with("lnet_node_up{node=\"a\"} 0\n# EOF\n"));
        assert!(page(Format::Prometheus).ends_with("lnet_node_up{node=\"a\"} 0\n"));
    }
}
