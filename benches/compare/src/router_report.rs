//! Messages that a router forwards, compared with the aims.

use crate::lnet;
use crate::results::Row;
use crate::routing::RELAYS;
use crate::scenario::{MIB, Scenario};
use std::fmt::Write;

/// Returns the share of the best relay's rate that is the aim.
const fn aim(scenario: Scenario) -> f64 {
    if scenario.size() >= MIB { 0.95 } else { 0.5 }
}

/// Returns the table below the comparison. Each operation is two messages: a PUT and its ACK, a GET and its REPLY, two
/// PUTs of a round trip.
pub(crate) fn aims(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n| what | messages that the router forwards | ÷ the best relay | spread | aim | |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Some(line) = line(row) else { continue };
        let Line { forwarded, ratio: [ratio, least, most], aim, scenario } = line;
        let reached = if ratio >= aim { "reached" } else { "missed" };
        let _ = writeln!(
            text,
            "| {scenario} | {:.3} million/s | {ratio:.2} | {least:.2} to {most:.2} | {aim:.2} | {reached} |",
            forwarded / 1e6
        );
    }
    text
}

struct Line {
    scenario: Scenario,
    /// Number of messages in a second.
    forwarded: f64,
    /// Ratio of the rates: the median, the minimum and the maximum.
    ratio: [f64; 3],
    aim: f64,
}

fn line(row: &Row) -> Option<Line> {
    let scenario = row.scenario;
    let ours = &row.of(lnet::ROUTED)?.value;
    let time = |value| scenario.one_way_of_value(value);
    let relays = RELAYS.iter().filter_map(|relay| row.of(relay.name));
    let best = &relays.min_by(|a, b| time(a.value.median).total_cmp(&time(b.value.median)))?.value;
    let ratio = match scenario {
        Scenario::RoundTrip { .. } => best.ratio_to(ours)?,
        Scenario::Rate { .. } => ours.ratio_to(best)?,
    };
    let messages = 2.0 / scenario.messages_of_operation() as f64;
    Some(Line {
        scenario,
        forwarded: messages * 1e6 / time(ours.median),
        ratio: [ratio.median, ratio.least, ratio.most],
        aim: aim(scenario),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Entry, Measured};
    use crate::scenario::{KIB, Operation, rate};
    use crate::statistics::Summary;

    fn row(scenario: Scenario, values: &[(&'static str, f64)]) -> Row {
        let entry = |(name, value): &(&'static str, f64)| Entry {
            name,
            outcome: Ok(Measured {
                value: Summary::of(&[*value]).unwrap(),
                cpu: None,
                between: None,
                delays: None,
            }),
        };
        Row { scenario, entries: values.iter().map(entry).collect() }
    }

    #[test]
    fn rates_and_times_are_held_against_the_best_relay() {
        let of = |ours, others: [f64; 2]| {
            vec![(lnet::ROUTED, ours), (RELAYS[0].name, others[0]), (RELAYS[1].name, others[1])]
        };
        let size = 4 * KIB;
        let rows = vec![
            row(Scenario::RoundTrip { size: 8 }, &of(50.0, [40.0, 80.0])),
            row(rate(Operation::Put, size, 8), &of(2e6 * size as f64, [1e6 * size as f64, 1.0])),
            row(rate(Operation::Get, MIB, 1), &of(0.91 * MIB as f64, [MIB as f64, 1.0])),
        ];
        let text = aims(&rows);
        let lines: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "| round trip, 8 B | 0.040 million/s | 0.80 | 0.80 to 0.80 | 0.50 | reached |",
                "| PUT 4 KiB, 8 in flight | 4.000 million/s | 2.00 | 2.00 to 2.00 | 0.50 | reached |",
                "| GET 1 MiB, 1 in flight | 0.000 million/s | 0.91 | 0.91 to 0.91 | 0.95 | missed |",
            ]
        );
    }
}
