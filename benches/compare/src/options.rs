//! The command line.

use crate::error::Error;
use crate::message_costs::options as message_costs;
use crate::raw_tcp::carrier::Copying;
use crate::raw_tcp::exchange::Waits;
use crate::raw_tcp::words;
use crate::scenario::Scenario;
use std::path::PathBuf;
use std::time::Duration;

/// The command to run.
pub(crate) enum Command {
    Compare(Options),
    /// The process is this program, started by itself as the other end of raw TCP.
    RawTcpServer,
    /// The same with this number of connections.
    RawTcpManyServer(usize, Waits),
    /// The process is this program, started by itself as a relay, which passes bytes on to this port.
    RawTcpRelay(Copying, u16),
    MessageCosts(message_costs::Options),
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Number of runs of every contestant.
    pub(crate) rounds: usize,
    /// Approximate duration of one measurement.
    pub(crate) duration: Duration,
    /// Whether to measure only the part about many peers.
    pub(crate) many_peers: bool,
    /// Whether to measure only the part about routers.
    pub(crate) routing: bool,
    /// Whether to measure only the part about programs of one machine.
    pub(crate) sharing: bool,
    /// Whether to measure only the most important lines.
    pub(crate) quick: bool,
    /// Texts of which the line of a contestant in a scenario must contain one; if empty, all are measured.
    pub(crate) only: Vec<String>,
    /// Maximum time for taking samples again that other programs disturbed, in all.
    pub(crate) repeat_limit: Duration,
    /// The TCP congestion control of all contestants; `None`: the system's default.
    pub(crate) congestion: Option<String>,
    /// The C program that measures LNet; without it there is no LNet in the comparison.
    pub(crate) lnet_perf: Option<PathBuf>,
    /// The daemon that programs are attached to; without it the part about programs of one machine is not measured.
    pub(crate) lnetd: Option<PathBuf>,
    /// The program that measures iceoryx2; without it there is no iceoryx2 among programs of one machine.
    pub(crate) iceoryx2_perf: Option<PathBuf>,
    /// The directory of UCX's programs; without it those of the system are used.
    pub(crate) ucx: Option<PathBuf>,
    /// The program that starts ranks of MPI, and the one that they run; without both there is no MPI.
    pub(crate) mpirun: Option<PathBuf>,
    pub(crate) mpi_perf: Option<PathBuf>,
    /// The console of LNet selftest; without it there is no grid.
    pub(crate) lst: Option<PathBuf>,
    /// Whether to measure only the grid of LNet selftest.
    pub(crate) selftest: bool,
    /// The library that counts allocations when it is preloaded.
    pub(crate) count_allocations: Option<PathBuf>,
    /// Number of connections in the memory measurement.
    pub(crate) connections: u8,
    /// The document whose section the report replaces.
    pub(crate) write: Option<PathBuf>,
}

impl Options {
    /// Whether to measure this contestant in this scenario.
    pub(crate) fn want(&self, contestant: &str, scenario: Scenario) -> bool {
        let line = format!("{scenario}: {contestant}");
        self.only.is_empty() || self.only.iter().any(|text| line.contains(text.as_str()))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: 7,
            duration: Duration::from_millis(300),
            many_peers: false,
            routing: false,
            sharing: false,
            quick: false,
            only: Vec::new(),
            repeat_limit: Duration::from_secs(600),
            congestion: None,
            lnet_perf: None,
            lnetd: None,
            iceoryx2_perf: None,
            ucx: None,
            mpirun: None,
            mpi_perf: None,
            lst: None,
            selftest: false,
            count_allocations: None,
            connections: 200,
            write: None,
        }
    }
}

pub(crate) const CONGESTION: &str = "--congestion";
const MESSAGE_COSTS: &str = "message-costs";

pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, Error> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            words::SERVER => return Ok(Command::RawTcpServer),
            words::MANY_SERVER => {
                let connections = number(words::MANY_SERVER, &value()?)?;
                return Ok(Command::RawTcpManyServer(connections, Waits::parse(&value()?)?));
            }
            words::RELAY => {
                let copying = Copying::parse(&value()?)?;
                return Ok(Command::RawTcpRelay(copying, number(words::RELAY, &value()?)?));
            }
            MESSAGE_COSTS => return message_costs::parse(arguments).map(Command::MessageCosts),
            "--quick" => {
                options.quick = true;
                options.rounds = 3;
                options.duration = Duration::from_millis(200);
                options.repeat_limit = Duration::from_secs(20);
                options.connections = 20;
            }
            "--many-peers" => options.many_peers = true,
            "--routing" => options.routing = true,
            "--sharing" => options.sharing = true,
            "--rounds" => options.rounds = number(&argument, &value()?)?,
            "--seconds" => options.duration = seconds(&argument, &value()?)?,
            "--repeat-limit" => options.repeat_limit = seconds(&argument, &value()?)?,
            "--only" => options.only.push(value()?),
            CONGESTION => options.congestion = Some(value()?),
            "--connections" => options.connections = number(&argument, &value()?)?,
            "--lnet-perf" => options.lnet_perf = Some(value()?.into()),
            "--lnetd" => options.lnetd = Some(value()?.into()),
            "--iceoryx2-perf" => options.iceoryx2_perf = Some(value()?.into()),
            "--mpirun" => options.mpirun = Some(value()?.into()),
            "--mpi-perf" => options.mpi_perf = Some(value()?.into()),
            "--ucx" => options.ucx = Some(value()?.into()),
            "--lst" => options.lst = Some(value()?.into()),
            "--selftest" => options.selftest = true,
            "--count-allocations" => options.count_allocations = Some(value()?.into()),
            "--write" => options.write = Some(value()?.into()),
            _ => return Err(format!("unknown argument {argument}; see the top of main.rs")),
        }
    }
    Ok(Command::Compare(options))
}

fn seconds(option: &str, text: &str) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(number(option, text)?).map_err(|error| format!("{option}: {error}"))
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| format!("{option}: {text} is not a number that fits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(arguments: &[&str]) -> Result<Options, Error> {
        match parse(arguments.iter().map(ToString::to_string))? {
            Command::Compare(options) => Ok(options),
            Command::RawTcpServer
            | Command::RawTcpManyServer(..)
            | Command::RawTcpRelay(..)
            | Command::MessageCosts(_) => Err("not a comparison".into()),
        }
    }

    #[test]
    fn later_options_refine_earlier_ones() {
        let options = compare(&["--quick", "--rounds", "9", "--seconds", "0.25"]);
        let found = options.map(|o| (o.quick, o.rounds, o.duration));
        assert_eq!(found, Ok((true, 9, Duration::from_millis(250))));
    }

    #[test]
    fn only_lines_with_a_text_of_the_options_are_measured() {
        let scenario = Scenario::RoundTrip { size: 8 };
        for (arguments, wanted) in [
            (&[][..], true),
            (&["--only", "trip, 8 B: raw"], true),
            (&["--only", "PUT", "--only", "polled"], true),
            (&["--only", "PUT"], false),
        ] {
            let found = compare(arguments).map(|it| it.want("raw TCP, polled", scenario));
            assert_eq!(found, Ok(wanted), "{arguments:?}");
        }
    }

    #[test]
    fn invalid_options_are_rejected() {
        for arguments in
            [&["--rounds", "x"][..], &["--seconds", "-1"], &["--rounds"], &["--fast"], &["--congestion"]]
        {
            assert!(compare(arguments).is_err(), "{arguments:?}");
        }
    }
}
