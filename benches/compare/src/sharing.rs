//! Messages between two programs of one machine: attached to one node, beside shared memory as others use it, TCP, and bare copying.

use crate::attached::{Attached, NODES};
use crate::contestant::{Contestant, Sample, Timed};
use crate::contestants::{Entrant, absent, entrant, of_mpi, of_ucx, present};
use crate::error::Error;
use crate::iceoryx2::Iceoryx2;
use crate::lnet::{Lnet, PathKind};
use crate::mpi::Transport;
use crate::options::Options;
use crate::results::Results;
use crate::rounds;
use crate::scenario::{KIB, MIB, Operation, Scenario, rate};
use crate::{libfabric, ucx};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Returns the scenarios of the table.
fn table() -> Vec<Scenario> {
    vec![
        Scenario::RoundTrip { size: 8 },
        Scenario::RoundTrip { size: 4 * KIB },
        rate(Operation::Put, 8, 8),
        rate(Operation::Put, 8, 64),
        rate(Operation::Put, 4 * KIB, 8),
        rate(Operation::Put, 4 * KIB, 64),
        rate(Operation::Put, MIB, 1),
        rate(Operation::Put, MIB, 8),
    ]
}

pub(crate) fn measure(options: &Options) -> Result<Results, Error> {
    let program = options.lnet_perf.as_deref().ok_or("there is no --lnet-perf")?;
    let lnetd = options.lnetd.as_deref().ok_or("there is no --lnetd")?;
    let mut entrants: Vec<Entrant> =
        NODES.into_iter().map(|nodes| present(Attached::new(program, lnetd, nodes))).collect();
    entrants.push(present(Lnet::by(program, PathKind::SharedMemory)));
    entrants.push(present(Lnet::new(program)));
    let no_libfabric = absent(libfabric::PROGRAM, libfabric::PACKAGE);
    entrants.push(entrant(Timed::new(libfabric::Endpoint::SharedMemory), no_libfabric));
    entrants.extend(of_ucx(ucx::IN_SHARED_MEMORY, options));
    entrants.push(of_mpi(Transport::SharedMemory, options));
    let absent = options.iceoryx2_perf.is_none().then(|| "there is no --iceoryx2-perf".to_owned());
    entrants.push(entrant(Iceoryx2::new(options.iceoryx2_perf.clone().unwrap_or_default()), absent));
    entrants.push(present(Copying));
    Ok(rounds::run(&mut entrants, &table(), |name, scenario| options.want(name, scenario), options))
}

/// One copy of each message by one thread, without anybody to tell: no way between two processes is faster.
struct Copying;

impl Contestant for Copying {
    fn name(&self) -> &'static str {
        "one copy, and nothing else"
    }

    fn supports(&self, scenario: Scenario) -> bool {
        matches!(scenario, Scenario::Rate { size: MIB, .. })
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let (from, mut to) = (vec![1_u8; scenario.size()], vec![0; scenario.size()]);
        let begin = Instant::now();
        let mut messages = 0;
        while messages == 0 || begin.elapsed() < duration {
            black_box(&mut to).copy_from_slice(black_box(&from));
            messages += 1;
        }
        let microseconds = begin.elapsed().as_secs_f64() * 1e6 / messages as f64;
        Ok(Sample { value: scenario.value_of_one_way(microseconds), messages, between: None, delays: None })
    }
}
