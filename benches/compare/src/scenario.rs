//! Scenarios of the comparison.

use std::fmt::{self, Display};

/// A scenario of the comparison, the same for every contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scenario {
    /// A message there and one of the same size back. Unit: microseconds for both.
    RoundTrip { size: usize },
    /// Messages one way, `in_flight` of them at once. Unit: bytes per second.
    Rate { operation: Operation, size: usize, in_flight: usize },
}

/// The direction of the data, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// Data from the client to the server; complete with the acknowledgement.
    Put,
    /// Data from the server to the client.
    Get,
}

pub(crate) const KIB: usize = 1024;
pub(crate) const MIB: usize = 1024 * KIB;

/// Sizes of the rates in the table, in bytes.
const SIZES: [usize; 4] = [8, 4 * KIB, 64 * KIB, MIB];
/// Numbers of messages in flight of the rates in the table.
const IN_FLIGHT: [usize; 3] = [1, 8, 64];
/// Size in bytes below which messages per second are shown, not bytes per second.
const SMALL: usize = KIB;

/// Returns the lines of the table.
pub(crate) fn table() -> Vec<Scenario> {
    let mut lines = vec![Scenario::RoundTrip { size: 8 }, Scenario::RoundTrip { size: 4 * KIB }];
    for operation in [Operation::Put, Operation::Get] {
        // A GET of 8 bytes shows nothing that a PUT does not show.
        for size in SIZES.into_iter().filter(|size| operation == Operation::Put || *size > SMALL) {
            lines.extend(IN_FLIGHT.map(|in_flight| rate(operation, size, in_flight)));
        }
    }
    lines
}

/// Returns the most important lines, for a short run.
pub(crate) fn quick_table() -> Vec<Scenario> {
    vec![
        Scenario::RoundTrip { size: 8 },
        Scenario::RoundTrip { size: 4 * KIB },
        rate(Operation::Put, 8, 64),
        rate(Operation::Put, 4 * KIB, 8),
        rate(Operation::Put, 64 * KIB, 8),
        rate(Operation::Put, MIB, 1),
        rate(Operation::Put, MIB, 8),
        rate(Operation::Get, MIB, 8),
    ]
}

pub(crate) const fn rate(operation: Operation, size: usize, in_flight: usize) -> Scenario {
    Scenario::Rate { operation, size, in_flight }
}

impl Scenario {
    /// Formats a measured value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::RoundTrip { .. } => format!("{value:.1} µs"),
            Self::Rate { size, .. } if size < SMALL => {
                format!("{:.3} million/s", value / size as f64 / 1e6)
            }
            Self::Rate { .. } => format!("{:.0} MiB/s", value / MIB as f64),
        }
    }

    /// Formats the CPU seconds for one message as seconds for many.
    pub(crate) fn show_cpu(self, seconds: f64) -> String {
        match self.size() {
            size if size < 64 * KIB => format!("{:.2} s/million", seconds * 1e6),
            size => format!("{:.3} s/GiB", seconds * (1 << 30) as f64 / size as f64),
        }
    }

    /// Returns the number of messages of one operation, as the table counts them.
    pub(crate) const fn messages_of_operation(self) -> u64 {
        match self {
            Self::RoundTrip { .. } => 2,
            Self::Rate { .. } => 1,
        }
    }

    /// Returns the size of a message in bytes.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::RoundTrip { size } | Self::Rate { size, .. } => size,
        }
    }

    /// Converts the time of one message one way, in `microseconds`, to the unit of the scenario.
    pub(crate) fn value_of_one_way(self, microseconds: f64) -> f64 {
        match self {
            Self::RoundTrip { .. } => 2.0 * microseconds,
            Self::Rate { size, .. } => size as f64 / microseconds * 1e6,
        }
    }

    /// Converts a value in the unit of the scenario to the time of one message, in microseconds.
    pub(crate) fn one_way_of_value(self, value: f64) -> f64 {
        match self {
            Self::RoundTrip { .. } => value / 2.0,
            Self::Rate { size, .. } => size as f64 / value * 1e6,
        }
    }
}

impl Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::RoundTrip { size } => write!(f, "round trip, {}", Bytes(size)),
            Self::Rate { operation, size, in_flight } => {
                let operation = match operation {
                    Operation::Put => "PUT",
                    Operation::Get => "GET",
                };
                write!(f, "{operation} {}, {in_flight} in flight", Bytes(size))
            }
        }
    }
}

/// A number of bytes, shown in the largest unit that fits.
pub(crate) struct Bytes(pub(crate) usize);

impl Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n.is_multiple_of(MIB) => write!(f, "{} MiB", n / MIB),
            n if n.is_multiple_of(KIB) => write!(f, "{} KiB", n / KIB),
            n => write!(f, "{n} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_say_what_they_are() {
        let shown: Vec<String> = table().iter().map(Scenario::to_string).collect();
        assert_eq!(shown.len(), 2 + 4 * 3 + 3 * 3);
        assert_eq!(shown[0], "round trip, 8 B");
        assert_eq!(shown[12], "PUT 1 MiB, 8 in flight");
    }

    #[test]
    fn the_short_run_has_lines_of_the_table_only() {
        for scenario in quick_table() {
            assert!(table().contains(&scenario), "{scenario}");
        }
    }

    #[test]
    fn values_have_the_unit_of_their_scenario() {
        for (scenario, value, shown, cpu) in [
            (Scenario::RoundTrip { size: 8 }, 12.34, "12.3 µs", "2.00 s/million"),
            (rate(Operation::Put, 8, 64), 8e6, "1.000 million/s", "2.00 s/million"),
            (rate(Operation::Put, 4 * KIB, 8), (100 * MIB) as f64, "100 MiB/s", "2.00 s/million"),
            (rate(Operation::Get, MIB, 8), (100 * MIB) as f64, "100 MiB/s", "0.002 s/GiB"),
        ] {
            assert_eq!(scenario.show(value), shown);
            assert_eq!(scenario.show_cpu(2e-6), cpu, "{scenario}");
        }
    }

    #[test]
    fn one_way_times_convert_both_ways() {
        for scenario in table() {
            let value = scenario.value_of_one_way(12.5);
            assert!((scenario.one_way_of_value(value) - 12.5).abs() < 1e-9, "{scenario}");
        }
        assert_eq!(Scenario::RoundTrip { size: 8 }.value_of_one_way(10.0), 20.0);
        assert_eq!(rate(Operation::Put, 1000, 1).value_of_one_way(10.0), 1e8);
    }
}
