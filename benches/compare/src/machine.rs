//! Facts about the machine of the measurement.

use crate::congestion;
use crate::libfabric;
use crate::mpi;
use crate::options::Options;
use crate::ucx;
use std::fs;
use std::process::Command;

/// Returns one fact a line, as Markdown list items.
pub(crate) fn facts(options: &Options) -> String {
    let version = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).map(str::to_owned)
    };
    let facts = [
        ("processor", processor()),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("TCP congestion control of all", congestion::fact()),
        (
            "compilers",
            version("rustc", "--version").zip(version("gcc", "--version")).map(|(r, c)| format!("{r}; {c}")),
        ),
        ("libfabric", package(libfabric::PACKAGE)),
        ("UCX", ucx::Programs::of(options.ucx.as_deref()).version()),
        ("Open MPI", options.mpirun.as_deref().and_then(mpi::version)),
    ];
    let lines = facts.into_iter().filter_map(|(name, fact)| Some(format!("- {name}: {}\n", fact?)));
    lines.collect()
}

fn processor() -> Option<String> {
    let info = read("/proc/cpuinfo")?;
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown", |(_, model)| model.trim());
    let count = std::thread::available_parallelism().map_or(0, usize::from);
    Some(format!("{model}, {count} CPUs for this process"))
}

/// Returns the version of an installed Debian package.
fn package(name: &str) -> Option<String> {
    let query = ["-W", "-f", "${Package} ${Version}", name];
    let output = Command::new("dpkg-query").args(query).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
