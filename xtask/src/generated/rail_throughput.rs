//! `docs/pictures/rail-throughput.svg`: throughput over time while a rail is broken, beside the times in which the kernel moved no data.
//! `make rail-throughput` measures the one; the other is from captures.

use super::svg::{self, HERE, KERNEL};
use crate::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const MEASURED: &str = "docs/pictures/rail-throughput.csv";
const RECORDED: &str = "docs/pictures/rail-stalls-kernel.csv";
/// The scenarios in their order, by their keys in both files.
const SCENARIOS: &[(&str, &str)] = &[
    ("link-down", "the link of one rail is set down on one node"),
    ("cable", "the cable of one rail is pulled at the switch, the carrier stays"),
];
/// The colour behind the time for which the rail is broken.
const BROKEN: &str = "#e6e6e6";
const LEFT: f64 = 70.0;
const TOP: f64 = 56.0;
const SECOND: f64 = 10.0;
/// The first second that is drawn, and the last one.
const SECONDS: (f64, f64) = (-2.0, 66.0);
const PLOT_HEIGHT: f64 = 110.0;
/// The height of a scenario with its title, the kernel's bar and the axis.
const PANEL: f64 = 210.0;
/// The throughput is counted in steps of this time.
const STEP: f64 = 0.1;
const RATE_GRID: f64 = 50.0;

/// A scenario in numbers: seconds are counted since the rail failed.
#[derive(Debug, PartialEq)]
struct Scenario {
    /// The throughput in MiB/s from each time on.
    rates: Vec<(f64, f64)>,
    broken: (f64, f64),
    /// The times in which the kernel moved no data.
    stalls: Vec<(f64, f64)>,
}

/// Draws the picture.
pub(super) fn picture(root: &Path) -> Result<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let (measured, recorded) = (read(MEASURED)?, read(RECORDED)?);
    let scenarios = SCENARIOS.iter().map(|(key, title)| {
        let scenario = scenario(key, &measured, &recorded);
        Ok((*title, scenario.ok_or_else(|| format!("{MEASURED}, {RECORDED}: not all of {key}"))?))
    });
    Ok(draw(&scenarios.collect::<Result<Vec<_>>>()?))
}

/// The rows of a scenario in both files.
fn scenario(key: &str, measured: &str, recorded: &str) -> Option<Scenario> {
    let of_key = |text: &str| -> Vec<Vec<String>> {
        let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        rows.filter(|row| row[0] == key).collect()
    };
    let pair = |from: &str, to: &str| Some((from.parse().ok()?, to.parse().ok()?));
    let rates =
        of_key(measured).iter().map(|row| pair(row.get(1)?, row.get(2)?)).collect::<Option<Vec<_>>>()?;
    let recorded = of_key(recorded);
    let times = |state: &str| -> Option<Vec<(f64, f64)>> {
        let rows = recorded.iter().filter(|row| row.get(1).is_some_and(|its| its == state));
        rows.map(|row| pair(row.get(2)?, row.get(3)?)).collect()
    };
    let scenario = Scenario { rates, broken: *times("broken")?.first()?, stalls: times("no data")? };
    (!scenario.rates.is_empty() && !scenario.stalls.is_empty()).then_some(scenario)
}

fn draw(scenarios: &[(&str, Scenario)]) -> String {
    let height = TOP + PANEL * scenarios.len() as f64 + 10.0;
    let mut svg = svg::begin(
        height,
        "Throughput over time while one of two rails is broken, and when the kernel moved no data",
        "Throughput of two nodes over two rails while one is broken, in MiB/s",
    );
    svg::legend(
        &mut svg,
        &[
            (LEFT, HERE, "liblnet"),
            (LEFT + 90.0, KERNEL, "no data with Lustre 2.15.8 in the kernel"),
            (LEFT + 380.0, BROKEN, "the rail is broken"),
        ],
    );
    let rates = scenarios.iter().flat_map(|(_, scenario)| scenario.rates.iter());
    let greatest = rates.map(|(_, rate)| *rate).fold(RATE_GRID, f64::max);
    let greatest = (greatest / RATE_GRID).ceil() * RATE_GRID;
    for (number, (title, scenario)) in scenarios.iter().enumerate() {
        panel(&mut svg, TOP + PANEL * number as f64, title, scenario, greatest);
    }
    svg + "</svg>\n"
}

fn x_of(second: f64) -> f64 {
    LEFT + (second.clamp(SECONDS.0, SECONDS.1) - SECONDS.0) * SECOND
}

/// Draws a scenario from the height `top` on: its title, the throughput up to `greatest`, the kernel's bar and the seconds.
fn panel(svg: &mut String, top: f64, title: &str, scenario: &Scenario, greatest: f64) {
    let (plot, right) = (top + 26.0, x_of(SECONDS.1));
    let bottom = plot + PLOT_HEIGHT;
    let y_of = |rate: f64| bottom - rate / greatest * PLOT_HEIGHT;
    let bar = bottom + 8.0;
    _ = writeln!(svg, "  <text x=\"{LEFT}\" y=\"{}\">{title}</text>", top + 16.0);
    let (from, to) = (x_of(scenario.broken.0), x_of(scenario.broken.1));
    _ = writeln!(
        svg,
        "  <rect x=\"{from:.1}\" y=\"{plot}\" width=\"{:.1}\" height=\"{}\" fill=\"{BROKEN}\"/>",
        to - from,
        bar + 18.0 - plot
    );
    let mut rate = 0.0;
    while rate <= greatest {
        let y = y_of(rate);
        _ = writeln!(
            svg,
            "  <line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ccc\"/>\n  <text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\" fill=\"#444\" font-size=\"11\">{rate}</text>",
            LEFT - 8.0,
            y + 4.0
        );
        rate += RATE_GRID;
    }
    let mut path = String::new();
    for (at, rate) in scenario.rates.iter().filter(|(at, _)| (SECONDS.0..SECONDS.1).contains(at)) {
        let command = if path.is_empty() { format!("M{:.0} ", x_of(*at)) } else { "V".to_owned() };
        _ = write!(path, "{command}{:.0}h{:.0}", y_of(*rate), STEP * SECOND);
    }
    _ = writeln!(svg, "  <path d=\"{path}\" fill=\"none\" stroke=\"{HERE}\"/>");
    for (from, to) in &scenario.stalls {
        let (x, width) = (x_of(*from), x_of(*to) - x_of(*from));
        _ = writeln!(
            svg,
            "  <rect x=\"{x:.1}\" y=\"{bar}\" width=\"{width:.1}\" height=\"18\" fill=\"{KERNEL}\"/>\n  <text x=\"{:.1}\" y=\"{}\" \
             text-anchor=\"middle\" fill=\"#fff\" font-size=\"11\">no data for {:.0} s</text>",
            x + width / 2.0,
            bar + 13.0,
            to - from
        );
    }
    _ = writeln!(
        svg,
        "  <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#444\" font-size=\"11\">kernel</text>",
        LEFT - 8.0,
        bar + 13.0
    );
    let mut second = 0.0;
    while second < SECONDS.1 {
        let unit = if second == 0.0 { " s" } else { "" };
        _ = writeln!(
            svg,
            "  <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444\" font-size=\"11\">{second}{unit}</text>",
            x_of(second),
            bar + 34.0
        );
        second += 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_scenario_come_from_both_files() {
        let measured = "# text\nscenario,seconds since the rail failed,MiB/s\na,-0.1,90\na,0.0,40\nb,0.0,1\n";
        let recorded = "scenario,state,from,to\na,broken,0.00,40.70\na,no data,0.65,22.43\nb,broken,0,1\n";
        let expected = Scenario {
            rates: vec![(-0.1, 90.0), (0.0, 40.0)],
            broken: (0.0, 40.7),
            stalls: vec![(0.65, 22.43)],
        };
        assert_eq!(scenario("a", measured, recorded), Some(expected));
        assert_eq!(scenario("b", measured, recorded), None, "without a stall of the kernel");
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn the_kernels_longest_stalls_are_those_of_the_table() {
        let root = crate::root();
        let recorded = fs::read_to_string(root.join(RECORDED)).unwrap();
        let document = fs::read_to_string(root.join("docs/performance.md")).unwrap();
        for (key, name, in_table) in
            [("link-down", "link down on one side", 21.8), ("cable", "cable pulled, carrier stays", 34.7)]
        {
            let stalls = scenario(key, &format!("{key},0,0"), &recorded).unwrap().stalls;
            let longest = stalls.iter().map(|(from, to)| to - from).fold(0.0, f64::max);
            let row = document.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
            assert!(row.contains(&format!("| {in_table} s |")), "{key}: {row}");
            assert!((longest - in_table).abs() < 0.1, "{key}: {longest}");
        }
    }
}
