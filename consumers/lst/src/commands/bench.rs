//! `lst bench`: session, groups, test, result, and all is undone.

use super::measuring::{MIB, counters, error_count, pause, test_of};
use super::{batch, nids, session};
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result};
use crate::live;
use lnet_selftest::console::call::{AddTest, Target};
use lnet_selftest::console::rates::Rates;
use lnet_selftest::console::{Command, Direction, Distribution, Name, TestSpec};
use lnet_wire::Nid;
use serde::Serialize;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time for which the test runs before the measurement, so that connections exist.
const WARM_UP: Duration = Duration::from_millis(500);

/// The result of a measurement.
#[derive(Debug, Serialize)]
struct Measured {
    test: TestSpec,
    concurrency: u32,
    clients: usize,
    servers: usize,
    seconds: f64,
    /// Servers that sent their counters before and after; the result is the sum over them.
    answered: usize,
    /// Bytes of bulk in a second; 0 for pings, and `None` if no server answered.
    bytes_per_second: Option<f64>,
    /// Requests that servers received in a second; `None` if no server answered.
    rpcs_per_second: Option<f64>,
    /// Errors of tests during the measurement, on all nodes.
    errors: u64,
}

pub(super) fn bench(it: &cli::Bench, cx: &mut Context<'_>) -> Result {
    let test = test_of(&it.test)?;
    let servers = nids::expand(&it.nids).map_err(CommandFailure::usage)?;
    let clients = it.from.as_deref().map(nids::expand).transpose().map_err(CommandFailure::usage)?;
    let seconds = u32::try_from(it.time.as_secs()).unwrap_or(u32::MAX);
    session::of_its_own("bench", seconds, it.force, cx, |cx, info, interrupted| {
        let clients = match (clients, info.id.nid) {
            (Some(clients), _) => clients,
            (None, own) => own.into_iter().collect(),
        };
        measure(it, test, &clients, &servers, interrupted, cx)
    })
}

fn measure(
    it: &cli::Bench,
    test: TestSpec,
    clients: &[Nid],
    servers: &[Nid],
    interrupted: &AtomicBool,
    cx: &mut Context<'_>,
) -> Result {
    let (from, to, batch) = (super::name("clients")?, super::name("servers")?, Name::default_batch());
    for (group, nids) in [(&from, clients), (&to, servers)] {
        cx.call(Command::AddGroup { group: group.clone() })?;
        let outcome = cx.transact(Command::AddNodes { group: group.clone(), nids: nids.to_vec() })?;
        if cx.report(&outcome)? != Exit::Success {
            // The outcome replaces the measurement, which failed.
            cx.json(&outcome)?;
            return Ok(Exit::of(&outcome));
        }
    }
    let all = NonZeroU32::new(u32::try_from(servers.len()).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN);
    let distribution = match &it.distribute {
        Some(text) => text.parse::<Distribution>().map_err(CommandFailure::usage)?,
        None => Distribution { sources: NonZeroU32::MIN, span: all },
    };
    let (concurrency, repeat) = (it.concurrency, -1);
    let add = AddTest {
        batch: batch.clone(),
        from: from.clone(),
        to: to.clone(),
        concurrency,
        repeat,
        distribution,
        test,
    };
    for command in [Command::AddTest(add), Command::RunBatch { batch: batch.clone(), timeout: 0 }] {
        let outcome = cx.transact(command)?;
        if cx.report(&outcome)? != Exit::Success {
            cx.json(&outcome)?;
            return Ok(Exit::of(&outcome));
        }
    }
    pause(cx, WARM_UP, interrupted);
    let before = counters(cx, Target::Group(to.clone()))?;
    if it.live {
        live::watch(cx, &batch, Duration::from_secs(1), Some(it.time))?;
    } else {
        pause(cx, it.time, interrupted);
    }
    let after = counters(cx, Target::Group(to.clone()))?;
    let ends = cx.transact(Command::StopBatch { batch: batch.clone(), force: false })?;
    cx.report(&ends)?;
    let rows = || {
        before
            .nodes
            .iter()
            .zip(&after.nodes)
            .filter_map(|(one, other)| Some((one.counters()?, other.counters()?)))
    };
    let rates: Vec<Rates> = rows().filter_map(|(before, after)| Rates::between(before, after)).collect();
    let passed =
        rows().map(|(before, after)| after.running_ms.wrapping_sub(before.running_ms)).max().unwrap_or(0);
    let is_read = matches!(test, TestSpec::Brw(brw) if brw.direction == Direction::Read);
    let of_clients = counters(cx, Target::Group(from.clone()))?;
    let errors = [&of_clients, &after].into_iter().flat_map(|outcome| &outcome.nodes);
    let errors: u64 = errors.filter_map(|node| node.counters()).map(error_count).sum();
    let measured = Measured {
        test,
        concurrency: it.concurrency,
        clients: clients.len(),
        servers: servers.len(),
        seconds: f64::from(passed) / 1000.0,
        answered: rates.len(),
        bytes_per_second: sum(&rates, |rates| if is_read { rates.bulk_put } else { rates.bulk_got }),
        rpcs_per_second: sum(&rates, |rates| rates.rpcs_received),
        errors,
    };
    if !cx.json(&measured)? {
        say(cx, it, &measured)?;
    }
    batch::until_quiet(cx, &batch, false)?;
    let is_well = cx.report(&after)?;
    Ok(if errors == 0 { is_well } else { Exit::NodeRefused })
}

/// The sum over the servers that answered; `None` if none did.
fn sum(rates: &[Rates], of: impl Fn(&Rates) -> f64) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().map(of).fold(0.0, |sum, rate| sum + rate))
}

fn say(cx: &mut Context<'_>, it: &cli::Bench, measured: &Measured) -> Result<()> {
    let Measured { test, concurrency, clients, servers, seconds, answered, .. } = measured;
    let test = match test {
        TestSpec::Ping => "ping".to_owned(),
        TestSpec::Brw(brw) => {
            let direction = if brw.direction == Direction::Read { "read" } else { "write" };
            format!("brw {direction} of {} bytes", brw.size())
        }
    };
    let head = format!("{test}, {clients} to {servers} nodes ({}), {concurrency} at once", it.nids);
    match (measured.bytes_per_second, measured.rpcs_per_second) {
        (Some(bytes), Some(rpcs)) => {
            cx.say(&format!("{head}, {seconds:.1} s"))?;
            if answered < servers {
                cx.say(&format!("measured   on {answered} of {servers} servers; the others do not answer"))?;
            }
            if matches!(measured.test, TestSpec::Brw(_)) {
                cx.say(&format!("bandwidth  {:.2} MiB/s", bytes / MIB))?;
            }
            cx.say(&format!("RPCs       {rpcs:.0} in a second"))?;
        }
        _ => {
            cx.say(&head)?;
            cx.say("measured   nothing: no server answers any more")?;
        }
    }
    cx.say(&format!("errors     {}", measured.errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if a bench of servers that have died prints a rate.
    #[test]
    fn nothing_is_summed_where_nobody_answered() {
        assert_eq!(sum(&[], |rates| rates.rpcs_received), None);
        let rates = Rates { rpcs_received: 2.0, ..Rates::default() };
        assert_eq!(sum(&[rates, rates], |rates| rates.rpcs_received), Some(4.0));
    }
}
