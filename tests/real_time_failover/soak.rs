//! Random failures for a long time: rails that fail and recover, nodes that stop, crash and are reconfigured.

use super::ledger::{End, Totals};
use super::load::Weight;
use super::process::Order;
use super::report::now;
use super::rpc::{self, Rpcs};
use super::selftest::Selftest;
use super::site::{FAR, NEAR, RAILS, Site};
use super::testbed::{Conditions, Testbed};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Conditions light enough to run for hours beside other work. The timeout is short, so that operations that wait for a
/// response of a node that was killed do not hold the load up for long.
const CONDITIONS: Conditions = Conditions {
    site: Site::Rails,
    weight: Weight {
        in_flight: 16,
        pause: Duration::from_millis(30),
        long_of_64: 2,
        timeout: Duration::from_secs(40),
        rpcs: false,
    },
    megabits: None,
    transaction_timeout: 10,
    kernel_peer: false,
    kernel_routers: false,
};

/// The time after which every process has reported on an operation that has ended.
const SETTLED_AFTER: Duration = Duration::from_secs(15);
/// Maximum number of failed operations that are described one by one.
const MAX_TOLD: usize = 8;
/// Interval at which the progress is printed.
const SAID_EVERY: Duration = Duration::from_secs(60);
/// The time in which all rails are used again after every fault has ended.
const BACK_WITHIN: Duration = Duration::from_secs(15);

/// The outcome of a soak.
pub struct Outcome {
    pub totals: Totals,
    /// Operations that failed although nothing excuses it.
    pub unexcused: u64,
    /// The faults that were injected, with their counts.
    pub done: BTreeMap<&'static str, u64>,
    /// The summary of the RPCs, if there were any.
    pub rpcs: Option<String>,
    pub faults: Vec<String>,
}

/// A kind of rail failure.
#[derive(Clone, Copy, Debug)]
enum Wound {
    Link,
    Address,
    Cable,
    Carrier,
    Blackhole,
}

impl Wound {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Link, "link down"),
        (Self::Address, "address removed"),
        (Self::Cable, "cable pulled"),
        (Self::Carrier, "carrier lost"),
        (Self::Blackhole, "blackhole"),
    ];

    fn set(self, testbed: &Testbed, machine: usize, rail: usize, whole: bool) {
        match self {
            Self::Link => testbed.set_link(machine, rail, whole),
            Self::Address => testbed.set_address(machine, rail, whole),
            Self::Cable => testbed.set_plugged(machine, rail, whole),
            Self::Carrier => testbed.set_carrier(machine, rail, whole),
            Self::Blackhole => testbed.set_forwarding(machine, rail, whole),
        }
    }
}

struct Soak {
    testbed: Testbed,
    rpcs: Option<Rpcs>,
    selftest: Option<Selftest>,
    random: fastrand::Rng,
    /// Times in which operations may fail.
    excuses: Vec<(Duration, Duration)>,
    unexcused: u64,
    faults: Vec<String>,
    done: BTreeMap<&'static str, u64>,
}

/// Runs a soak for `time`. `None`: this machine cannot run it, or it has run in another process.
pub fn run(seed: u64, time: Duration) -> Option<Outcome> {
    let testbed = Testbed::or_skip("soak", CONDITIONS)?;
    let random = fastrand::Rng::with_seed(seed);
    let (excuses, faults, done) = (Vec::new(), Vec::new(), BTreeMap::new());
    let rpcs = Rpcs::start(&testbed);
    let selftest = Selftest::start(&testbed);
    let mut soak = Soak { testbed, rpcs, selftest, random, excuses, unexcused: 0, faults, done };
    soak.testbed.go();
    soak.testbed.pass(Duration::from_secs(1));
    let (end, mut said) = (Instant::now() + time, Instant::now());
    while Instant::now() < end {
        soak.episode();
        soak.settle(SETTLED_AFTER);
        if said.elapsed() > SAID_EVERY {
            said = Instant::now();
            let totals = soak.testbed.ledger.settled();
            let left = end.saturating_duration_since(said).as_secs() / 60;
            println!(
                "{left} minutes to go: {} operations ended well, {} with an error, {} {:?}",
                totals.well,
                totals.errors(),
                if soak.unexcused > 0 { "some without excuse," } else { "" },
                totals.sins()
            );
        }
    }
    Some(soak.finish())
}

impl Soak {
    /// Causes a random fault or change of the configuration, and ends it.
    fn episode(&mut self) {
        match self.random.u32(0..20) {
            0..11 => self.wound_a_rail(),
            11 => self.wound_all_rails(),
            12 | 13 => {
                let machine = self.machine();
                self.count("connections reset");
                self.testbed.reset_connections(machine);
            }
            14 => {
                let machine = self.machine();
                self.count("process stopped for a while");
                self.testbed.signal(machine, Signal::STOP);
                self.pass(50, 3000);
                self.testbed.signal(machine, Signal::CONT);
            }
            15 | 16 => self.restart(),
            17 | 18 => self.configure(),
            _ => self.excused("peer forgotten", |soak| {
                let machine = soak.machine();
                soak.order(machine, &Order::DelPeer);
                soak.order(machine, &Order::Discover);
            }),
        }
        self.pass(0, 2000);
    }

    /// Fails a rail once or several times. The other one works, though it may have been dead shortly before.
    fn wound_a_rail(&mut self) {
        let (rail, blows) = (self.random.usize(0..RAILS), self.random.usize(1..4));
        let (machine, wound) = self.blow();
        for _ in 0..blows {
            wound.set(&self.testbed, machine, rail, false);
            self.pass(20, 5000);
            wound.set(&self.testbed, machine, rail, true);
            self.pass(0, 300);
        }
    }

    fn wound_all_rails(&mut self) {
        self.excused("all rails", |soak| {
            let wounds = [0; RAILS].map(|_| soak.blow());
            for (rail, (machine, wound)) in wounds.iter().enumerate() {
                wound.set(&soak.testbed, *machine, rail, false);
            }
            soak.pass(20, 15_000);
            for (rail, (machine, wound)) in wounds.iter().enumerate() {
                wound.set(&soak.testbed, *machine, rail, true);
            }
        });
    }

    fn restart(&mut self) {
        let is_killed = self.random.bool();
        self.excused(if is_killed { "node killed" } else { "node shut down" }, |soak| {
            let machine = soak.machine();
            match is_killed {
                true => soak.testbed.kill(machine),
                false => soak.testbed.stop(machine, End::UnderLoad),
            }
            soak.pass(0, 2000);
            soak.testbed.start(machine);
            // Until the node knows the other's second rail it has only one.
            soak.order(machine, &Order::Discover);
            soak.testbed.tell(machine, &Order::Go);
        });
    }

    fn configure(&mut self) {
        self.excused("interface taken and given", |soak| {
            let (machine, card) = (soak.machine(), soak.random.usize(0..RAILS));
            soak.order(machine, &Order::DelNet(card));
            soak.pass(0, 3000);
            soak.order(machine, &Order::AddNet(card));
        });
    }

    fn blow(&mut self) -> (usize, Wound) {
        let (wound, name) = Wound::ALL[self.random.usize(0..Wound::ALL.len())];
        self.count(name);
        (self.machine(), wound)
    }

    fn machine(&mut self) -> usize {
        if self.random.bool() { NEAR } else { FAR }
    }

    fn order(&mut self, machine: usize, order: &Order) {
        self.testbed.tell(machine, order);
        if let Err(wrong) = self.testbed.wait_did(machine) {
            self.faults.push(format!("{order}: {wrong}"));
        }
    }

    /// Runs a fault during which operations may fail.
    fn excused(&mut self, what: &'static str, happens: impl FnOnce(&mut Self)) {
        self.count(what);
        let from = now();
        happens(self);
        // A node may have failed an operation before it learned of the recovery.
        self.excuses.push((from, now() + Duration::from_secs(1)));
    }

    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    /// Lets some time pass, in milliseconds, more often short than long.
    fn pass(&mut self, least: u64, most: u64) {
        let part = self.random.f64().powi(2);
        self.testbed.pass(Duration::from_millis(least + ((most - least) as f64 * part) as u64));
    }

    /// Settles operations that ended at least `ago` ago, and checks their failures.
    fn settle(&mut self, ago: Duration) {
        let before = now().saturating_sub(ago);
        self.testbed.ledger.settle_before(before);
        self.judge_failures();
        let oldest = before.saturating_sub(2 * CONDITIONS.weight.timeout);
        self.excuses.retain(|(_, to)| *to > oldest);
    }

    fn judge_failures(&mut self) {
        for failure in self.testbed.ledger.take_failures() {
            let overlaps = |(from, to): &(Duration, Duration)| failure.began < *to && failure.ended > *from;
            if !self.excuses.iter().any(overlaps) {
                self.unexcused += 1;
                if self.faults.len() < MAX_TOLD {
                    self.faults.push(failure.text);
                }
            }
        }
    }

    fn finish(mut self) -> Outcome {
        let whole = now();
        let incarnations = [NEAR, FAR].map(|machine| self.testbed.incarnation(machine));
        let are_used = self.testbed.pass_until(BACK_WITHIN, |ledger| {
            incarnations.iter().all(|incarnation| {
                (0..RAILS).all(|card| ledger.first_use(*incarnation, card, whole).is_some())
            })
        });
        if !are_used {
            self.faults.push(format!("not all rails are used again within {BACK_WITHIN:?}"));
        }
        self.testbed.calm();
        self.testbed.end();
        let rpc::Outcome { said, fault } = self.rpcs.take().map(Rpcs::end).unwrap_or_default();
        self.faults.extend(fault);
        let mut said: Vec<String> = said.into_iter().collect();
        match self.selftest.take().map(|selftest| selftest.end(&self.testbed)) {
            Some(Ok(checked)) => said.push(checked),
            Some(Err(fault)) => self.faults.push(fault),
            None => {}
        }
        self.judge_failures();
        let Self { testbed, mut faults, unexcused, done, .. } = self;
        let totals = testbed.ledger.settled().clone();
        if unexcused > 0 {
            faults.push(format!("{unexcused} failed while one rail worked"));
        }
        faults.extend(totals.sins_in_words());
        if !faults.is_empty() {
            faults.extend_from_slice(testbed.ledger.errors());
            faults.push(testbed.logs());
        }
        let rpcs = (!said.is_empty()).then(|| said.join("\n"));
        Outcome { totals, unexcused, done, rpcs, faults }
    }
}
