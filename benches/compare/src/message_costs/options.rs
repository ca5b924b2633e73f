//! The command line of `message-costs`.

use crate::error::Error;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Options {
    /// The file of limits.
    pub(super) limits: PathBuf,
    pub(super) lnet_perf: PathBuf,
    pub(super) message_path: PathBuf,
    pub(super) tcp_path: PathBuf,
    pub(super) o2ib_path: PathBuf,
    pub(super) attach_path: PathBuf,
    pub(super) attach_calls: PathBuf,
    pub(super) rpc_path: PathBuf,
    /// Whether instructions and copies are counted.
    pub(super) valgrind: bool,
    /// Whether system calls are counted.
    pub(super) strace: bool,
    /// The library that counts allocations when it is preloaded.
    pub(super) count_allocations: Option<PathBuf>,
}

pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Error> {
    let (mut limits, mut lnet_perf, mut message_path) = (None, None, None);
    let (mut tcp_path, mut o2ib_path, mut rpc_path) = (None, None, None);
    let (mut attach_path, mut attach_calls) = (None, None);
    let (mut valgrind, mut strace, mut count_allocations) = (false, false, None);
    while let Some(argument) = arguments.next() {
        let target = match argument.as_str() {
            "--limits" => &mut limits,
            "--lnet-perf" => &mut lnet_perf,
            "--message-path" => &mut message_path,
            "--tcp-path" => &mut tcp_path,
            "--o2ib-path" => &mut o2ib_path,
            "--attach-path" => &mut attach_path,
            "--attach-calls" => &mut attach_calls,
            "--rpc-path" => &mut rpc_path,
            "--count-allocations" => &mut count_allocations,
            "--valgrind" => {
                valgrind = true;
                continue;
            }
            "--strace" => {
                strace = true;
                continue;
            }
            _ => return Err(format!("unknown argument {argument}; see the top of message_costs/mod.rs")),
        };
        *target = Some(arguments.next().ok_or_else(|| format!("{argument} needs a value"))?.into());
    }
    Ok(Options {
        limits: limits.ok_or("--limits is missing")?,
        lnet_perf: lnet_perf.ok_or("--lnet-perf is missing")?,
        message_path: message_path.ok_or("--message-path is missing")?,
        tcp_path: tcp_path.ok_or("--tcp-path is missing")?,
        o2ib_path: o2ib_path.ok_or("--o2ib-path is missing")?,
        attach_path: attach_path.ok_or("--attach-path is missing")?,
        attach_calls: attach_calls.ok_or("--attach-calls is missing")?,
        rpc_path: rpc_path.ok_or("--rpc-path is missing")?,
        valgrind,
        strace,
        count_allocations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &str) -> Result<Options, Error> {
        parse(arguments.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_counted_follows_from_the_options() {
        let programs = "--limits l --lnet-perf p --message-path m --tcp-path t --o2ib-path o --attach-path a --attach-calls b --rpc-path r";
        for (more, expected) in [
            ("--strace", (false, true, None)),
            ("--valgrind --count-allocations c", (true, false, Some("c".into()))),
        ] {
            let options = of(&format!("{programs} {more}"));
            let found = options.map(|o| (o.valgrind, o.strace, o.count_allocations));
            assert_eq!(found, Ok(expected), "{more}");
        }
    }

    #[test]
    fn invalid_options_are_rejected() {
        for arguments in [
            "--limits l",
            "--lnet-perf p",
            "--limits l --lnet-perf",
            "--limits l --fast",
            "--limits l --lnet-perf p --message-path m",
            "--limits l --lnet-perf p --o2ib-path o",
            "--limits l --lnet-perf p --message-path m --tcp-path t",
            "--limits l --lnet-perf p --message-path m --tcp-path t --o2ib-path o",
            "--limits l --lnet-perf p --message-path m --tcp-path t --o2ib-path o --attach-path a",
            "--limits l --lnet-perf p --message-path m --tcp-path t --o2ib-path o --attach-path a --attach-calls b",
        ] {
            assert!(of(arguments).is_err(), "{arguments}");
        }
    }
}
