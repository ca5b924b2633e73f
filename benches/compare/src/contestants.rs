//! All contestants, including those that this machine lacks.

use crate::contestant::{Contestant, Timed};
use crate::lnet::Lnet;
use crate::mpi::{Mpi, Transport};
use crate::options::Options;
use crate::peer_process::runs;
use crate::{libfabric, raw_tcp, ucx};
use std::path::Path;
use std::process::Command;

/// A contestant, and the reason if it cannot take part.
pub(crate) struct Entrant {
    pub(crate) contestant: Box<dyn Contestant>,
    pub(crate) absent: Option<String>,
}

/// Returns all contestants; LNet only with its `lnet_perf`.
pub(crate) fn all(options: &Options) -> Vec<Entrant> {
    let mut all = Vec::new();
    match options.lnet_perf.as_deref() {
        Some(program) => all.push(present(Lnet::new(program))),
        None => eprintln!("compare: without LNet: there is no --lnet-perf"),
    }
    all.extend(raw_tcp::MODES.map(present));
    let absent = absent(libfabric::PROGRAM, libfabric::PACKAGE);
    all.extend(libfabric::ENDPOINTS.map(|it| entrant(Timed::new(it), absent.clone())));
    all.extend(of_ucx(ucx::TESTS, options));
    all.push(of_mpi(Transport::Tcp, options));
    all
}

/// Returns tests of UCX.
pub(crate) fn of_ucx<const N: usize>(tests: [ucx::Test; N], options: &Options) -> [Entrant; N] {
    let programs = ucx::Programs::of(options.ucx.as_deref());
    let absent = programs.absent();
    tests.map(|test| entrant(Timed::new(ucx::Ucx { programs: programs.clone(), test }), absent.clone()))
}

/// Returns MPI over this transport.
pub(crate) fn of_mpi(transport: Transport, options: &Options) -> Entrant {
    let programs = options.mpirun.as_deref().zip(options.mpi_perf.as_deref());
    let absent = programs.is_none().then(|| "there is no --mpirun, or no --mpi-perf".to_owned());
    let (mpirun, mpi_perf) = programs.unwrap_or_else(|| (Path::new(""), Path::new("")));
    entrant(Timed::new(Mpi::new(mpirun, mpi_perf, transport)), absent)
}

pub(crate) fn present(contestant: impl Contestant + 'static) -> Entrant {
    entrant(contestant, None)
}

pub(crate) fn entrant(contestant: impl Contestant + 'static, absent: Option<String>) -> Entrant {
    Entrant { contestant: Box::new(contestant), absent }
}

pub(crate) fn absent(program: &str, package: &str) -> Option<String> {
    (!runs(&mut Command::new(program), "-h")).then(|| format!("{program} is not installed ({package})"))
}
