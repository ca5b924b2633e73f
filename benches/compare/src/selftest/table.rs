//! The grid as a table.

use super::MAX_ROUNDS;
use super::grid::{Cell, Measured, Test};
use crate::machine;
use crate::options::Options;
use crate::scenario::Bytes;
use crate::statistics::Summary;
use std::fmt::Write;

const MIB: f64 = (1 << 20) as f64;

pub(super) fn markdown(measured: &[Measured], options: &Options) -> String {
    let mut text = machine::facts(options);
    let _ = write!(
        text,
        "\n{} rounds, {} s for each measurement of ours and 1 s for each of iperf3. Spreads are the least and the most of all \
         rounds.\n\n\
         | test | at once | LNet selftest | spread | RPCs in a second | iperf3, as many streams | spread | selftest ÷ iperf3 |\n\
         |---|---|---|---|---|---|---|---|\n",
        options.rounds.clamp(1, MAX_ROUNDS),
        options.duration.as_secs_f64(),
    );
    for row in measured {
        let _ = writeln!(text, "{}", line(row));
    }
    text
}

fn line(row: &Measured) -> String {
    let Cell { test, concurrency } = row.cell;
    let what = match test {
        Test::Write { size } => format!("brw write, {}", Bytes(size)),
        Test::Read { size } => format!("brw read, {}", Bytes(size)),
        Test::Ping => "ping".to_owned(),
    };
    let rpcs = row.rpcs.map_or_else(String::new, |rpcs| format!("{rpcs:.0}"));
    let (ours, spread) = match (&row.ours, test) {
        // The number of RPCs has its own column.
        (Ok(_), Test::Ping) => (String::new(), String::new()),
        (Ok(summary), _) => bandwidth(summary),
        (Err(error), _) => (failed(error), String::new()),
    };
    let (theirs, their_spread) = match &row.iperf3 {
        None => (String::new(), String::new()),
        Some(Ok(summary)) => bandwidth(summary),
        Some(Err(error)) => (failed(error), String::new()),
    };
    let ratio = match (&row.ours, &row.iperf3) {
        (Ok(ours), Some(Ok(theirs))) => ours.ratio_to(theirs).map(|ratio| format!("{:.2}", ratio.median)),
        _ => None,
    };
    let ratio = ratio.unwrap_or_default();
    format!("| {what} | {concurrency} | {ours} | {spread} | {rpcs} | {theirs} | {their_spread} | {ratio} |")
}

fn bandwidth(summary: &Summary) -> (String, String) {
    let mib = |value: f64| format!("{:.0} MiB/s", value / MIB);
    (mib(summary.median), format!("{} to {}", mib(summary.least), mib(summary.most)))
}

fn failed(error: &str) -> String {
    format!("failed: {}", error.replace('|', "/").replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_was_measured_or_why_it_was_not() {
        let of = |value: f64| Summary::of(&[value]).ok_or_else(|| "no sample".to_owned());
        let cell = |test| Cell { test, concurrency: 8 };
        let row = |test, ours, iperf3| Measured { cell: cell(test), ours, rpcs: Some(10.0), iperf3 };
        let write = row(Test::Write { size: 4096 }, of(2.0 * MIB), Some(of(4.0 * MIB)));
        assert_eq!(
            line(&write),
            "| brw write, 4 KiB | 8 | 2 MiB/s | 2 MiB/s to 2 MiB/s | 10 | 4 MiB/s | 4 MiB/s to 4 MiB/s | 0.50 |"
        );
        let ping = row(Test::Ping, of(10.0), None);
        assert_eq!(line(&ping), "| ping | 8 |  |  | 10 |  |  |  |");
        let read = row(Test::Read { size: 4096 }, of(MIB), Some(Err("no | iperf3".to_owned())));
        assert_eq!(
            line(&read),
            "| brw read, 4 KiB | 8 | 1 MiB/s | 1 MiB/s to 1 MiB/s | 10 | failed: no / iperf3 |  |  |"
        );
    }
}
