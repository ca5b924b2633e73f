//! The contestants that this machine has.

use crate::contestant::{Contestant, Timed};
use crate::lnet::Lnet;
use crate::{libfabric, raw_tcp, ucx};
use std::path::Path;
use std::process::{Command, Stdio};

/// All that can run here, LNet only with its `lnet_perf`; says which are missing.
pub(crate) fn present(lnet_perf: Option<&Path>) -> Vec<Box<dyn Contestant>> {
    let mut found: Vec<Box<dyn Contestant>> = Vec::new();
    match lnet_perf {
        Some(program) => found.push(Box::new(Lnet::new(program))),
        None => eprintln!("compare: without LNet: there is no --lnet-perf"),
    }
    for mode in raw_tcp::MODES {
        found.push(Box::new(mode));
    }
    if is_installed("libfabric", libfabric::PROGRAM, libfabric::PACKAGE) {
        for endpoint in libfabric::ENDPOINTS {
            found.push(Box::new(Timed::new(endpoint)));
        }
    }
    if is_installed("UCX", ucx::PROGRAM, ucx::PACKAGE) {
        for test in ucx::TESTS {
            found.push(Box::new(Timed::new(test)));
        }
    }
    found
}

fn is_installed(name: &str, program: &str, package: &str) -> bool {
    let run = Command::new(program).arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if run.is_err() {
        eprintln!("compare: without {name}: {program} is not installed ({package})");
    }
    run.is_ok()
}
