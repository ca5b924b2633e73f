//! iceoryx2 between two processes, by the program of `benches/iceoryx2-perf`.

use crate::contestant::{Contestant, Sample};
use crate::error::Error;
use crate::lnet;
use crate::peer_process::{Peer, limit, output_of, tied};
use crate::scenario::{Operation, Scenario};
use std::path::PathBuf;
use std::process;
use std::time::Duration;

/// The length in bytes of the answer to a message of a rate.
const ANSWER: usize = 8;

pub(crate) struct Iceoryx2 {
    program: PathBuf,
    /// The number of runs: each has a service of its own.
    runs: u32,
}

impl Iceoryx2 {
    /// Makes a contestant that is measured by this `iceoryx2-perf`.
    pub(crate) const fn new(program: PathBuf) -> Self {
        Self { program, runs: 0 }
    }
}

impl Contestant for Iceoryx2 {
    fn name(&self) -> &'static str {
        "iceoryx2, publish and subscribe"
    }

    fn supports(&self, scenario: Scenario) -> bool {
        matches!(scenario, Scenario::RoundTrip { .. } | Scenario::Rate { operation: Operation::Put, .. })
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        self.runs += 1;
        let service = format!("compare-{}-{}", process::id(), self.runs);
        let [serving, asking] = arguments(scenario, &service, duration);
        let command = |arguments: Vec<String>| {
            let mut command = tied(&self.program);
            command.args(arguments);
            command
        };
        let mut server = Peer::start(&mut command(serving), limit(duration))?;
        server.first_line()?;
        let output = output_of(&mut command(asking), limit(duration))?;
        // It prints what `lnet_perf` prints.
        lnet::sample(scenario, &output)
    }
}

/// Returns the arguments of the server and of the client.
fn arguments(scenario: Scenario, service: &str, duration: Duration) -> [Vec<String>; 2] {
    let (answer, begin, in_flight) = match scenario {
        Scenario::RoundTrip { size } => (size, "round-trip", None),
        Scenario::Rate { in_flight, .. } => (ANSWER, "put", Some(in_flight.to_string())),
    };
    let begin = [begin.to_owned(), service.to_owned(), scenario.size().to_string()];
    let seconds = duration.as_secs_f64().to_string();
    let asking = begin.into_iter().chain(in_flight).chain([seconds]).collect();
    [vec!["serve".to_owned(), service.to_owned(), answer.to_string()], asking]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{MIB, rate};

    #[test]
    fn the_two_sides_agree_on_the_answers() {
        let second = Duration::from_secs(1);
        for (scenario, expected) in [
            (Scenario::RoundTrip { size: 4096 }, ["serve s 4096", "round-trip s 4096 1"]),
            (rate(Operation::Put, MIB, 8), ["serve s 8", "put s 1048576 8 1"]),
        ] {
            let found = arguments(scenario, "s", second).map(|words| words.join(" "));
            assert_eq!(found, expected, "{scenario}");
        }
    }
}
