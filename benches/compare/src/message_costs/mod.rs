//! Cost of a message, counted and not timed: instructions, atomic ones among them, copies, work of RDMA devices, system calls,
//! allocations. Each cost has a limit in a file that is checked in; a cost above its limit is a failure.
//!
//! ```text
//! compare message-costs --limits FILE --lnet-perf FILE --message-path FILE --tcp-path FILE --o2ib-path FILE
//!         --attach-path FILE --attach-calls FILE --rpc-path FILE [--valgrind] [--strace] [--count-allocations FILE]
//! ```
//!
//! Each of the last three options adds a kind of cost that needs the tool: instructions and copies, system calls, allocations. `make message-costs`
//! builds the programs and runs it.

mod allocations;
mod atomics;
mod attached_calls;
mod copies;
mod instructions;
mod limits;
mod many_peers;
mod o2ib;
pub(crate) mod options;
mod system_calls;

use crate::error::{Error, context};
use limits::{Comparison, Limits};
use options::Options;
use std::fs;

/// Maximum number of times that a cost which depends on the load of the machine is counted while it is above its limit.
const ATTEMPTS: u32 = 3;

/// A cost, by its name in the file of limits.
#[derive(Clone, Debug, PartialEq)]
struct Cost {
    name: String,
    figure: f64,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let path = options.limits.display().to_string();
    let limits = Limits::parse(&fs::read_to_string(&options.limits).map_err(context(&path))?)?;
    let mut report = Report { limits, above: 0 };
    if options.valgrind {
        for operation in instructions::OPERATIONS {
            report.add(&[instructions::count(&options.message_path, operation)?])?;
        }
        report.add_best(|| Ok(vec![instructions::count_over_tcp(&options.tcp_path)?]))?;
        for operation in atomics::OPERATIONS {
            report.add(&[atomics::count(&options.message_path, operation)?])?;
        }
        report.add_best(|| Ok(vec![atomics::count_over_tcp(&options.tcp_path)?]))?;
        let over_o2ib = || Ok(vec![instructions::count(&options.o2ib_path, instructions::OVER_O2IB)?]);
        report.add_best(over_o2ib)?;
        report.add_best(|| Ok(vec![instructions::count_attachment(&options.attach_path)?]))?;
        for peers in many_peers::PEERS_OF_INSTRUCTIONS {
            report.add_best(|| many_peers::count_instructions(&options.lnet_perf, peers))?;
        }
        report.add_best(|| instructions::count_rpcs(&options.rpc_path))?;
        for work in copies::WORK {
            report.add(&[copies::count(&options.attach_path, work)?])?;
        }
    }
    for work in o2ib::WORK {
        report.add(&o2ib::count(&options.o2ib_path, work)?)?;
    }
    if options.strace {
        for work in system_calls::WORK {
            report.add_best(|| system_calls::count(&options.lnet_perf, work))?;
        }
        for peers in many_peers::PEERS {
            report.add_best(|| many_peers::count(&options.lnet_perf, peers))?;
        }
        report.add(&attached_calls::count(&options.attach_calls)?)?;
    }
    if let Some(library) = &options.count_allocations {
        for work in allocations::WORK {
            report.add_best(|| allocations::count(&options.lnet_perf, work, library))?;
        }
        for work in allocations::ROUTER_WORK {
            report.add_best(|| allocations::count_in_router(&options.lnet_perf, work, library))?;
        }
    }
    match report.above {
        0 => Ok(()),
        count => Err(format!("{count} costs are above their limits in {path}")),
    }
}

struct Report {
    limits: Limits,
    above: u32,
}

impl Report {
    /// Prints costs beside their limits.
    fn add(&mut self, costs: &[Cost]) -> Result<(), Error> {
        for cost in costs {
            let limit = self.limits.of(&cost.name)?;
            let comparison = limit.compare(cost.figure);
            let line = format!(
                "{:68} {:>10} {:>10}  {comparison}",
                cost.name,
                show(cost.figure),
                show(limit.figure)
            );
            println!("{}", line.trim_end());
            self.above += u32::from(comparison == Comparison::Above);
        }
        Ok(())
    }

    /// Prints the best of some attempts beside the limits: the load of the machine only adds to these costs.
    fn add_best(&mut self, count: impl Fn() -> Result<Vec<Cost>, Error>) -> Result<(), Error> {
        let mut best = count()?;
        for _ in 1..ATTEMPTS {
            if !self.any_above(&best)? {
                break;
            }
            best = lowest(best, &count()?);
        }
        self.add(&best)
    }

    fn any_above(&self, costs: &[Cost]) -> Result<bool, Error> {
        for cost in costs {
            if self.limits.of(&cost.name)?.compare(cost.figure) == Comparison::Above {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the lower figure of each cost in two attempts.
fn lowest(costs: Vec<Cost>, others: &[Cost]) -> Vec<Cost> {
    let lower = |(cost, other): (Cost, &Cost)| Cost { figure: cost.figure.min(other.figure), ..cost };
    costs.into_iter().zip(others).map(lower).collect()
}

fn show(figure: f64) -> String {
    if figure < 100.0 { format!("{figure:.3}") } else { format!("{figure:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_attempts_the_lowest_figure_of_each_cost_counts() {
        let costs = |figures: [f64; 2]| {
            ["a", "b"].into_iter().zip(figures).map(|(name, figure)| Cost { name: name.into(), figure })
        };
        let best = lowest(costs([1.0, 4.0]).collect(), &costs([2.0, 3.0]).collect::<Vec<_>>());
        assert_eq!(best, costs([1.0, 3.0]).collect::<Vec<_>>());
    }

    #[test]
    fn every_cost_has_a_limit() {
        let limits = Limits::parse(include_str!("../../message-costs.txt")).unwrap_or_else(|e| panic!("{e}"));
        let names = instructions::OPERATIONS
            .iter()
            .chain([&instructions::OVER_TCP, &instructions::OVER_O2IB])
            .chain(&instructions::OF_RPCS)
            .chain(&instructions::OF_SELFTEST)
            .chain(&atomics::OPERATIONS)
            .chain([&atomics::OVER_TCP])
            .map(|operation| operation.name.to_owned())
            .chain([instructions::BY_ATTACHMENT, instructions::RPC_BY_PUTS].map(str::to_owned))
            .chain(many_peers::PEERS_OF_INSTRUCTIONS.into_iter().flat_map(many_peers::names_of_instructions))
            .chain(copies::WORK.iter().map(|work| work.name.to_owned()))
            .chain(attached_calls::NAMES.map(str::to_owned))
            .chain(o2ib::WORK.iter().flat_map(|work| work.names()))
            .chain(system_calls::WORK.iter().flat_map(|work| work.names()))
            .chain(many_peers::PEERS.iter().flat_map(|peers| many_peers::names(*peers)))
            .chain(allocations::WORK.iter().flat_map(|work| allocations::names(*work)))
            .chain(allocations::ROUTER_WORK.iter().map(|work| allocations::name_in_router(*work)));
        let names: Vec<String> = names.collect();
        for name in &names {
            assert!(limits.of(name).is_ok(), "{name}");
        }
        assert_eq!(limits.len(), names.len(), "limits of what is not counted");
    }
}
