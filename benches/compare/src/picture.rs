//! The pictures: duration of a round trip and throughput, over the size of messages; and delays.

mod axis;
mod delays;
mod svg;

use crate::error::{Error, context};
use crate::results::Results;
use crate::scenario::{Operation, Scenario, rate};
use crate::selftest::grid::{self, Cell, Measured, Test};
use crate::{libfabric, lnet, raw_tcp, ucx};
use std::fs;
use std::path::Path;
use svg::{Curve, Panel};

/// The sizes in the picture, in bytes.
const SIZES: [usize; 8] = [8, 128, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The sizes whose delays are in the picture of delays.
const DELAY_SIZES: [usize; 2] = [8, 4 << 10];
/// Number of messages in flight of the throughput.
const IN_FLIGHT: usize = 8;
const MIB: f64 = (1 << 20) as f64;

/// The stacks in the picture, each with its own style.
const WHO: [StackNames; 5] = [
    StackNames { round_trip: lnet::NAME, rate: Some(lnet::NAME) },
    StackNames { round_trip: raw_tcp::POLLED, rate: Some(raw_tcp::ACKNOWLEDGED) },
    StackNames { round_trip: libfabric::MSG, rate: None },
    StackNames { round_trip: libfabric::RDM, rate: None },
    StackNames { round_trip: ucx::TAG, rate: Some(ucx::TAG) },
];

/// The names of a stack in round trips and in rates.
#[derive(Clone, Copy)]
struct StackNames {
    round_trip: &'static str,
    rate: Option<&'static str>,
}

/// Returns the scenarios in the picture.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let round_trips = SIZES.map(|size| Scenario::RoundTrip { size });
    round_trips.into_iter().chain(SIZES.map(put)).collect()
}

/// Whether the picture shows this contestant in the scenario.
pub(crate) fn shows(name: &str, scenario: Scenario) -> bool {
    WHO.iter().any(|who| match scenario {
        Scenario::RoundTrip { .. } => who.round_trip == name,
        Scenario::Rate { .. } => who.rate == Some(name),
    })
}

pub(crate) fn write(path: &Path, results: &[&Results]) -> Result<(), Error> {
    fs::write(path, draw(results)).map_err(context(&path.display().to_string()))
}

/// Writes the picture of delays, if somebody has said some.
pub(crate) fn write_delays(path: &Path, results: &Results) -> Result<(), Error> {
    delays::draw(results, DELAY_SIZES)
        .map_or(Ok(()), |svg| fs::write(path, svg).map_err(context(&path.display().to_string())))
}

/// Writes the picture of selftest: throughput over the size of transfers, for each concurrency and for one stream of iperf3.
pub(crate) fn write_selftest(path: &Path, measured: &[Measured]) -> Result<(), Error> {
    let is_write = |cell: Cell| match cell.test {
        Test::Write { size } => Some(size),
        _ => None,
    };
    let is_read = |cell: Cell| match cell.test {
        Test::Read { size } => Some(size),
        _ => None,
    };
    let unit = "MiB/s, more is better";
    let panels = [
        Panel { title: "brw write", unit, curves: selftest_curves(measured, is_write) },
        Panel { title: "brw read", unit, curves: selftest_curves(measured, is_read) },
    ];
    fs::write(path, svg::draw(panels, &grid::SIZES)).map_err(context(&path.display().to_string()))
}

fn selftest_curves(measured: &[Measured], size_of: impl Fn(Cell) -> Option<usize>) -> Vec<Curve> {
    let rows = |concurrency| measured.iter().filter(move |row| row.cell.concurrency == concurrency);
    let ours = grid::CONCURRENCIES.into_iter().enumerate().map(|(style, concurrency)| {
        let point = |row: &Measured| Some((size_of(row.cell)?, row.ours.as_ref().ok()?.median / MIB));
        Curve {
            name: format!("selftest, {concurrency} at once"),
            style,
            points: rows(concurrency).filter_map(point).collect(),
        }
    });
    let iperf3 = |row: &Measured| {
        let median = row.iperf3.as_ref()?.as_ref().ok()?.median;
        Some((size_of(row.cell)?, median / MIB))
    };
    let theirs = Curve {
        name: "iperf3, one stream".to_owned(),
        style: grid::CONCURRENCIES.len(),
        points: rows(1).filter_map(iperf3).collect(),
    };
    ours.chain([theirs]).filter(|curve| !curve.points.is_empty()).collect()
}

fn draw(results: &[&Results]) -> String {
    let median = |name: &str, scenario| results.iter().find_map(|results| results.median(name, scenario));
    let round_trip = |who: StackNames, size| median(who.round_trip, Scenario::RoundTrip { size });
    let rate = |who: StackNames, size: usize| match who.rate {
        Some(name) => Some(median(name, put(size))? / MIB),
        // A stack that only sends messages back and forth has two of them in a round trip.
        None => Some(2.0 * size as f64 * 1e6 / round_trip(who, size)? / MIB),
    };
    let to_and_fro = |who: StackNames| format!("{}, to and fro", who.round_trip);
    let latency = curves(round_trip, |who| who.round_trip.to_owned());
    let bandwidth = curves(rate, |who| who.rate.map_or_else(|| to_and_fro(who), str::to_owned));
    let panels = [
        Panel { title: "Round trip", unit: "µs, less is better", curves: latency },
        Panel { title: "PUT, 8 in flight", unit: "MiB/s, more is better", curves: bandwidth },
    ];
    svg::draw(panels, &SIZES)
}

/// Returns a curve for each stack that has at least one point.
fn curves(
    value: impl Fn(StackNames, usize) -> Option<f64>,
    name: impl Fn(StackNames) -> String,
) -> Vec<Curve> {
    let curves = WHO.into_iter().enumerate().map(|(style, who)| {
        let points = SIZES.into_iter().filter_map(|size| Some((size, value(who, size)?))).collect();
        Curve { name: name(who), style, points }
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

const fn put(size: usize) -> Scenario {
    rate(Operation::Put, size, IN_FLIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbance::Disturbance;
    use crate::results::{Entry, Measured, Row};
    use crate::statistics::Summary;
    use std::time::Duration;

    fn results(scenario: Scenario, values: &[(&'static str, f64)]) -> Results {
        let entry = |&(name, value): &(&'static str, f64)| {
            let value = Summary::of(&[value]).unwrap();
            Entry { name, outcome: Ok(Measured { value, cpu: None, between: None, delays: None }) }
        };
        let entries = values.iter().map(entry).collect();
        Results { rows: vec![Row { scenario, entries }], disturbance: Disturbance::new(Duration::ZERO) }
    }

    #[test]
    fn everyone_measured_is_in_the_legend_and_nobody_else() {
        let size = 4096;
        let latency = results(
            Scenario::RoundTrip { size },
            &[(lnet::NAME, 9.0), (libfabric::RDM, 12.0), ("raw TCP", 50.0)],
        );
        let bandwidth = results(put(size), &[(lnet::NAME, 1e9)]);
        let svg = draw(&[&latency, &bandwidth]);
        for (words, times) in [
            (">LNet<", 2),
            (">libfabric rdm<", 1),
            (">libfabric rdm, to and fro<", 1),
            (">raw TCP", 0),
            ("UCX", 0),
        ] {
            assert_eq!(svg.matches(words).count(), times, "{words}");
        }
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn without_results_the_picture_says_so() {
        assert_eq!(draw(&[]).matches("nothing was measured").count(), 2);
    }
}
