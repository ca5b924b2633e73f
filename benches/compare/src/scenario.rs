//! What is measured.

use std::fmt::{self, Display};

/// One line of the comparison, the same for every contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scenario {
    /// A message there and one of the same size back: microseconds for both.
    RoundTrip { size: usize },
    /// Messages one way, so many under way at once: bytes for each second.
    Rate { operation: Operation, size: usize, in_flight: usize },
}

/// Which way the data goes, seen from who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// From here to there; over with the acknowledgement.
    Put,
    /// From there to here.
    Get,
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

pub(crate) const SCENARIOS: [Scenario; 14] = [
    Scenario::RoundTrip { size: 8 },
    Scenario::RoundTrip { size: 4 * KIB },
    rate(Operation::Put, 4 * KIB, 1),
    rate(Operation::Put, 4 * KIB, 8),
    rate(Operation::Put, 64 * KIB, 1),
    rate(Operation::Put, 64 * KIB, 8),
    rate(Operation::Put, MIB, 1),
    rate(Operation::Put, MIB, 8),
    rate(Operation::Get, 4 * KIB, 1),
    rate(Operation::Get, 4 * KIB, 8),
    rate(Operation::Get, 64 * KIB, 1),
    rate(Operation::Get, 64 * KIB, 8),
    rate(Operation::Get, MIB, 1),
    rate(Operation::Get, MIB, 8),
];

const fn rate(operation: Operation, size: usize, in_flight: usize) -> Scenario {
    Scenario::Rate { operation, size, in_flight }
}

impl Scenario {
    /// A measured value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::RoundTrip { .. } => format!("{value:.1} µs"),
            Self::Rate { .. } => format!("{:.0} MiB/s", value / MIB as f64),
        }
    }

    /// Bytes of a message.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::RoundTrip { size } | Self::Rate { size, .. } => size,
        }
    }

    /// The value that a time for each message means: `microseconds` one way.
    pub(crate) fn value_of_one_way(self, microseconds: f64) -> f64 {
        match self {
            Self::RoundTrip { .. } => 2.0 * microseconds,
            Self::Rate { size, .. } => size as f64 / microseconds * 1e6,
        }
    }

    /// The time that one message takes, in microseconds, if this is what was measured.
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

struct Bytes(usize);

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
        let shown: Vec<String> = SCENARIOS.iter().map(Scenario::to_string).collect();
        assert_eq!(shown[0], "round trip, 8 B");
        assert_eq!(shown[7], "PUT 1 MiB, 8 in flight");
    }

    #[test]
    fn one_way_times_convert_both_ways() {
        for scenario in SCENARIOS {
            let value = scenario.value_of_one_way(12.5);
            assert!((scenario.one_way_of_value(value) - 12.5).abs() < 1e-9, "{scenario}");
        }
        assert_eq!(SCENARIOS[0].value_of_one_way(10.0), 20.0);
        assert_eq!(rate(Operation::Put, 1000, 1).value_of_one_way(10.0), 1e8);
    }
}
