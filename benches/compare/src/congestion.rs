//! The TCP congestion control that all contestants use: the system's default, or another one, which is set as the default of
//! a network namespace of this program.

use crate::error::{Error, context};
use crate::options::CONGESTION;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

const CHOSEN: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Returns the congestion control in use, and the available ones.
pub(crate) fn fact() -> Option<String> {
    let read = |path| Some(fs::read_to_string(path).ok()?.trim().to_owned());
    let available = read(AVAILABLE).map_or_else(String::new, |names| format!(" (available: {names})"));
    Some(format!("{}{available}", read(CHOSEN)?))
}

/// Shell script for an empty namespace: brings up the loopback interface, sets the default, and becomes the program
/// in the other arguments.
const SET_UP: &str = r#"
ip link set lo up || exit
if ! printf %s "$1" 2>/dev/null >/proc/sys/net/ipv4/tcp_congestion_control; then
    echo "compare: the kernel does not let a network namespace have $1 by default; where the system has the module," \
        "it does so once root has added the name to net.ipv4.tcp_allowed_congestion_control" >&2
    exit 1
fi
shift
exec "$@"
"#;

/// Becomes this program in a new network namespace, with the same arguments except the one for this. Returns only
/// if that fails.
pub(crate) fn enter(name: &str, arguments: impl Iterator<Item = String>) -> Error {
    let program = match std::env::current_exe().map_err(context("this program")) {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut command = Command::new("unshare");
    command.arg("--net");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--", "sh", "-c", SET_UP, "sh", name]).arg(program).args(without_option(arguments));
    context("unshare")(command.exec())
}

fn without_option(mut arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == CONGESTION {
            arguments.next();
        } else {
            kept.push(argument);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_the_namespace_the_option_is_gone_and_the_others_are_not() {
        let arguments = ["--quick", CONGESTION, "reno", "--rounds", "1"].map(str::to_owned);
        assert_eq!(without_option(arguments.into_iter()), ["--quick", "--rounds", "1"]);
    }
}
