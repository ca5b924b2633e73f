//! The message rates as a table.

use super::{IN_FLIGHT, Line, SIZE, Setting, reference};
use crate::machine;
use crate::options::Options;
use crate::report::cell;
use crate::scenario::Bytes;
use crate::statistics::Summary;
use std::fmt::Write;

pub(crate) fn markdown(lines: &[Line], options: &Options) -> String {
    let mut text = machine::facts(options);
    let _ = write!(
        text,
        "\n{} rounds, {} s for each measurement. Spreads are the least and the most of all rounds.\n\n\
         | PUT {}, {IN_FLIGHT} in flight in all | who | threads that send | median | spread | LNet ÷ the faster raw TCP | spread | \
         CPU, sending side | CPU, serving side |\n|---|---|---|---|---|---|---|---|---|\n",
        options.rounds,
        options.duration.as_secs_f64(),
        Bytes(SIZE),
    );
    for line in lines {
        let _ = writeln!(text, "{}", row(line, lines));
    }
    text
}

fn row(line: &Line, lines: &[Line]) -> String {
    let Line { setting, outcome } = line;
    let Setting { program, peers, threads } = *setting;
    let peers = match peers {
        0 => "the node itself".into(),
        1 => "1 peer".into(),
        _ => format!("{peers} peers"),
    };
    let rate = |value: f64| format!("{:.3} million/s", value / 1e6);
    let cpu = |summary: &Summary| format!("{:.2} s/million", summary.median * 1e6);
    let results = match outcome {
        Ok(found) => {
            let of_raw_tcp = reference(lines, *setting);
            let ratio = of_raw_tcp.and_then(|raw_tcp| found.rate.ratio_to(&raw_tcp.rate));
            let show = |it: Summary| format!("{:.2} | {:.2} to {:.2}", it.median, it.least, it.most);
            format!(
                "{} | {} to {} | {} | {} | {}",
                rate(found.rate.median),
                rate(found.rate.least),
                rate(found.rate.most),
                ratio.map_or_else(|| " | ".into(), show),
                cpu(&found.cpu_here),
                found.cpu_there.as_ref().map_or_else(String::new, cpu),
            )
        }
        Err(error) => format!("failed: {} |  |  |  |  | ", cell(error)),
    };
    format!("| {peers} | {} | {threads} | {results} |", program.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::many_peers::{Program, Rates, Serving};
    use crate::raw_tcp::exchange::Waits;

    #[test]
    fn peers_and_threads_stand_beside_their_rates() {
        let summary = |value| Summary { samples: vec![value], median: value, least: value, most: value };
        let rates = Rates { rate: summary(250_000.0), cpu_here: summary(3e-6), cpu_there: None };
        let raw = Rates { rate: summary(500_000.0), cpu_here: summary(1e-6), cpu_there: Some(summary(2e-6)) };
        let line =
            |program, peers, threads, outcome| Line { setting: Setting { program, peers, threads }, outcome };
        let lnet = Program::Lnet(Serving::Waits);
        let lines = [
            line(lnet, 1, 2, Ok(rates)),
            line(Program::RawTcp(Waits::Asleep), 1, 1, Ok(raw)),
            line(lnet, 8, 2, Err("no".into())),
            line(Program::LnetToSelf, 0, 2, Err("no".into())),
        ];
        let rows: Vec<String> = lines.iter().map(|line| row(line, &lines)).collect();
        assert_eq!(
            rows,
            [
                "| 1 peer | LNet, served in `LNetEQWait` | 2 | 0.250 million/s | 0.250 million/s to 0.250 million/s | \
                 0.50 | 0.50 to 0.50 | 3.00 s/million |  |",
                "| 1 peer | raw TCP, many connections, sleeping | 1 | 0.500 million/s | 0.500 million/s to 0.500 million/s |  |  \
                 | 1.00 s/million | 2.00 s/million |",
                "| 8 peers | LNet, served in `LNetEQWait` | 2 | failed: no |  |  |  |  |  |",
                "| the node itself | LNet, one process, by the loopback, one in flight for each thread | 2 | failed: no \
                 |  |  |  |  |  |"
            ]
        );
    }
}
