//! All contestants, including those that this machine lacks.

use crate::contestant::{Contestant, Timed};
use crate::lnet::Lnet;
use crate::peer_process::runs;
use crate::{libfabric, raw_tcp, ucx};
use std::path::Path;

/// A contestant, and the reason if it cannot take part.
pub(crate) struct Entrant {
    pub(crate) contestant: Box<dyn Contestant>,
    pub(crate) absent: Option<String>,
}

/// Returns all contestants; LNet only with its `lnet_perf`.
pub(crate) fn all(lnet_perf: Option<&Path>) -> Vec<Entrant> {
    let mut all = Vec::new();
    match lnet_perf {
        Some(program) => all.push(present(Lnet::new(program))),
        None => eprintln!("compare: without LNet: there is no --lnet-perf"),
    }
    all.extend(raw_tcp::MODES.map(present));
    let absent = absent(libfabric::PROGRAM, libfabric::PACKAGE);
    all.extend(libfabric::ENDPOINTS.map(|it| entrant(Timed::new(it), absent.clone())));
    let absent = self::absent(ucx::PROGRAM, ucx::PACKAGE);
    all.extend(ucx::TESTS.map(|it| entrant(Timed::new(it), absent.clone())));
    all
}

pub(crate) fn present(contestant: impl Contestant + 'static) -> Entrant {
    entrant(contestant, None)
}

pub(crate) fn entrant(contestant: impl Contestant + 'static, absent: Option<String>) -> Entrant {
    Entrant { contestant: Box::new(contestant), absent }
}

pub(crate) fn absent(program: &str, package: &str) -> Option<String> {
    (!runs(program, "-h")).then(|| format!("{program} is not installed ({package})"))
}
