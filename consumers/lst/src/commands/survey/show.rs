//! Shows the results of a survey: matrices, what is slow, and what failed.

use super::super::measuring::MIB;
use super::{PairResult, Results};
use crate::cli;
use crate::context::{Context, Exit, Result};
use crate::survey::Pair;
use crate::survey::analysis::{self, Culprit, Slow};
use crate::survey::matrix::{self, Cell};
use crate::survey::plan::Plan;
use lnet_selftest::console::TestSpec;
use lnet_wire::Nid;
use serde::Serialize;
use std::collections::BTreeSet;

const MICROSECONDS: f64 = 1e6;

/// The survey, as JSON shows it.
#[derive(Serialize)]
struct Json {
    test: TestSpec,
    concurrency: u32,
    seconds: f64,
    nodes: Vec<Nid>,
    pairs: Vec<PairJson>,
    slow: Vec<SlowJson>,
}

#[derive(Serialize)]
struct PairJson {
    from: Nid,
    to: Nid,
    bytes_per_second: Option<f64>,
    round_trip_us: Option<f64>,
    failure: Option<String>,
}

/// A slow client (`from` alone), server (`to` alone) or pair, by bytes a second or microseconds.
#[derive(Serialize)]
struct SlowJson {
    measure: &'static str,
    from: Option<Nid>,
    to: Option<Nid>,
    value: f64,
    others: f64,
}

/// A kind of result, with a name in JSON, its unit in text, the rate that is compared, and the number that is shown for a rate.
struct Measure {
    name: &'static str,
    unit: &'static str,
    rate: fn(&PairResult) -> Option<f64>,
    json: fn(f64) -> f64,
    shown: fn(f64) -> f64,
}

const MEASURES: [Measure; 2] = [
    Measure {
        name: "bandwidth",
        unit: "MiB/s",
        rate: |result| result.bytes_per_second,
        json: |rate| rate,
        shown: |rate| rate / MIB,
    },
    Measure {
        name: "round_trip",
        unit: "us",
        rate: |result| result.pings_per_second,
        json: round_trip,
        shown: round_trip,
    },
];

/// Microseconds from a ping to the next, of which there is one at a time.
fn round_trip(rate: f64) -> f64 {
    MICROSECONDS / rate
}

pub(super) fn show(
    it: &cli::Survey,
    test: TestSpec,
    plan: &Plan,
    results: &Results,
    cx: &mut Context<'_>,
) -> Result {
    let view = View { plan, results, share: f64::from(it.slow_below) / 100.0 };
    let failures = results.pairs.values().filter_map(|result| result.failure.as_ref());
    let exit = failures.map(|failure| failure.exit).reduce(Exit::worse).unwrap_or(Exit::Success);
    let json = Json {
        test,
        concurrency: it.concurrency,
        seconds: it.time.as_secs_f64(),
        nodes: plan.nodes.clone(),
        pairs: view.pairs_json(),
        slow: view.slow_json(),
    };
    if !cx.json(&json)? {
        let is_measured = |measure: &&Measure| test != TestSpec::Ping || measure.name != "bandwidth";
        view.say(MEASURES.iter().filter(is_measured), cx)?;
    }
    Ok(exit)
}

struct View<'a> {
    plan: &'a Plan,
    results: &'a Results,
    share: f64,
}

impl View<'_> {
    fn nid(&self, at: usize) -> Option<Nid> {
        self.plan.nodes.get(at).copied()
    }

    /// The client and the server that a culprit names.
    fn nodes_of(&self, culprit: Culprit) -> (Option<Nid>, Option<Nid>) {
        match culprit {
            Culprit::Client(from) => (self.nid(from), None),
            Culprit::Server(to) => (None, self.nid(to)),
            Culprit::Pair(pair) => (self.nid(pair.from), self.nid(pair.to)),
        }
    }

    fn slow(&self, measure: &Measure) -> Vec<Slow> {
        let rate = |(pair, result): (&Pair, &PairResult)| Some((*pair, (measure.rate)(result)?));
        let rates: Vec<(Pair, f64)> = self.results.pairs.iter().filter_map(rate).collect();
        analysis::slow(&rates, self.share)
    }

    fn pairs_json(&self) -> Vec<PairJson> {
        let json = |(pair, result): (&Pair, &PairResult)| {
            Some(PairJson {
                from: self.nid(pair.from)?,
                to: self.nid(pair.to)?,
                bytes_per_second: result.bytes_per_second,
                round_trip_us: result.pings_per_second.map(round_trip),
                failure: result.failure.as_ref().map(|failure| failure.text.clone()),
            })
        };
        self.results.pairs.iter().filter_map(json).collect()
    }

    fn slow_json(&self) -> Vec<SlowJson> {
        let mut all = Vec::new();
        for measure in &MEASURES {
            all.extend(self.slow(measure).into_iter().map(|slow| {
                let (from, to) = self.nodes_of(slow.culprit);
                let (value, others) = ((measure.json)(slow.rate), (measure.json)(slow.others));
                SlowJson { measure: measure.name, from, to, value, others }
            }));
        }
        all
    }

    fn say<'a>(&self, measures: impl Iterator<Item = &'a Measure>, cx: &mut Context<'_>) -> Result<()> {
        for (at, nid) in self.plan.nodes.iter().enumerate() {
            cx.say(&format!("{:>4}  {nid}", at + 1))?;
        }
        for measure in measures {
            cx.say("")?;
            cx.say(self.matrix(measure).trim_end_matches('\n'))?;
        }
        cx.say("")?;
        for measure in &MEASURES {
            for slow in self.slow(measure) {
                let what = self.names(slow.culprit);
                let (value, others) = ((measure.shown)(slow.rate), (measure.shown)(slow.others));
                let unit = measure.unit;
                cx.say(&format!("slow    {what}: {value:.1} {unit}, others {others:.1} {unit}"))?;
            }
        }
        for (at, failure) in &self.results.absent {
            let nid = self.nid(*at).map(|nid| nid.to_string()).unwrap_or_default();
            cx.say(&format!("failed  all pairs of {nid}: {}", failure.text))?;
        }
        let is_absent =
            |pair: &Pair| [pair.from, pair.to].iter().any(|at| self.results.absent.contains_key(at));
        for (pair, result) in self.results.pairs.iter().filter(|(pair, _)| !is_absent(pair)) {
            if let Some(failure) = &result.failure {
                cx.say(&format!("failed  {}: {}", self.names(Culprit::Pair(*pair)), failure.text))?;
            }
        }
        let measured = self.results.pairs.values().filter(|result| result.failure.is_none()).count();
        cx.say(&format!("{measured} of {} pairs measured without failure", self.plan.pairs()))
    }

    fn names(&self, culprit: Culprit) -> String {
        match self.nodes_of(culprit) {
            (Some(from), Some(to)) => format!("{from} -> {to}"),
            (Some(from), None) => format!("{from} as a client"),
            (None, Some(to)) => format!("{to} as a server"),
            (None, None) => String::new(),
        }
    }

    fn matrix(&self, measure: &Measure) -> String {
        let positions = |of: fn(&Pair) -> usize| -> Vec<usize> {
            self.results.pairs.keys().map(of).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (clients, servers) = (positions(|pair| pair.from), positions(|pair| pair.to));
        matrix::text(measure.unit, &clients, &servers, |pair| {
            let Some(result) = self.results.pairs.get(&pair) else { return Cell::None };
            (measure.rate)(result).map_or(Cell::Failed, |rate| Cell::Number((measure.shown)(rate)))
        })
    }
}
