//! Messages through a router, beside the same without one, and beside a simple relay of TCP connections.

use crate::contestants::{Entrant, present};
use crate::error::Error;
use crate::lnet::{Lnet, PathKind};
use crate::options::Options;
use crate::raw_tcp::carrier::Copying;
use crate::raw_tcp::{Mode, Relayed};
use crate::results::Results;
use crate::rounds;
use crate::scenario::{KIB, MIB, Operation, Scenario, rate};
use std::time::Duration;

/// Maximum time for taking disturbed samples again: this part takes less than four minutes.
const REPEAT_LIMIT: Duration = Duration::from_secs(45);

pub(crate) const RELAYS: [Relayed; 3] = [
    Relayed {
        name: "relay, ends that poll",
        copying: Copying::Buffer,
        ends: [Mode::Polled, Mode::Acknowledged],
    },
    Relayed { name: "relay, ends that sleep", copying: Copying::Buffer, ends: [Mode::Sleeping; 2] },
    Relayed { name: "relay, splice, ends that sleep", copying: Copying::Splice, ends: [Mode::Sleeping; 2] },
];

/// Returns the scenarios of the table.
fn table() -> Vec<Scenario> {
    vec![
        Scenario::RoundTrip { size: 8 },
        rate(Operation::Put, 8, 8),
        rate(Operation::Put, 8, 64),
        rate(Operation::Put, 4 * KIB, 8),
        rate(Operation::Put, MIB, 1),
        rate(Operation::Put, MIB, 8),
        rate(Operation::Get, MIB, 1),
        rate(Operation::Get, MIB, 8),
    ]
}

pub(crate) fn measure(options: &Options) -> Result<Results, Error> {
    let program = options.lnet_perf.as_deref().ok_or("there is no --lnet-perf to be a router")?;
    let routed = || Lnet::by(program, PathKind::ThroughRouter);
    let mut entrants: Vec<Entrant> =
        vec![present(routed()), present(routed().sleeping()), present(Lnet::new(program))];
    entrants.extend(RELAYS.map(present));
    entrants.extend([Mode::Polled, Mode::Acknowledged].map(present));
    let options = Options { repeat_limit: options.repeat_limit.min(REPEAT_LIMIT), ..options.clone() };
    Ok(rounds::run(&mut entrants, &table(), |name, scenario| options.want(name, scenario), &options))
}
