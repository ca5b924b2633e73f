//! The command line of `message-costs`.

use crate::error::Error;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Options {
    /// The file of limits.
    pub(super) limits: PathBuf,
    pub(super) lnet_perf: PathBuf,
    /// The program whose instructions are counted.
    pub(super) message_path: Option<PathBuf>,
    /// Whether system calls are counted.
    pub(super) strace: bool,
    /// The library that counts allocations when it is preloaded.
    pub(super) count_allocations: Option<PathBuf>,
}

pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Error> {
    let (mut limits, mut lnet_perf) = (None, None);
    let (mut message_path, mut strace, mut count_allocations) = (None, false, None);
    while let Some(argument) = arguments.next() {
        let target = match argument.as_str() {
            "--limits" => &mut limits,
            "--lnet-perf" => &mut lnet_perf,
            "--message-path" => &mut message_path,
            "--count-allocations" => &mut count_allocations,
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
        message_path,
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
        let options = of("--limits l --lnet-perf p --strace --message-path m");
        let found = options.map(|o| (o.strace, o.message_path, o.count_allocations));
        assert_eq!(found, Ok((true, Some("m".into()), None)));
    }

    #[test]
    fn invalid_options_are_rejected() {
        for arguments in ["--limits l", "--lnet-perf p", "--limits l --lnet-perf", "--limits l --fast"] {
            assert!(of(arguments).is_err(), "{arguments}");
        }
    }
}
