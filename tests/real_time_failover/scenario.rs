//! The scenarios: failures of rails and peers, and the outcome that each requires.

use super::ledger::{Failure, Totals};
use super::load::Weight;
use super::report::now;
use super::selftest::Selftest;
use super::site::{FAR, NEAR, RAIL, RAILS, ROUTERS, SECOND_ROUTERS, Site};
use super::testbed::{Conditions, Testbed};
use super::throughput;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::Duration;

/// A failure under load, with the outcome that it requires.
pub struct Scenario {
    pub name: &'static str,
    /// The name for files, and for the selection of scenarios.
    pub key: &'static str,
    /// The longest stall of the kernel in this scenario (Lustre 2.15.8, two machines with two rails each), if it was measured.
    pub kernel: &'static str,
    /// The longest stall that is aimed at.
    pub aim: &'static str,
    /// Maximum stall: the scenario fails beyond it, on a slow machine, too.
    pub bound: Duration,
    /// The number of incidents: of things that fail. Each may have [`MAX_LINES`] lines on a node.
    pub incidents: usize,
    conditions: Conditions,
    lasts: Duration,
    break_it: fn(&mut Testbed),
    mend_it: fn(&mut Testbed),
    loss: Loss,
}

/// The parts that fail in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// A rail fails, and is used again when it is repaired; no operation fails.
    Rail,
    /// Connections fail, or the process makes no progress, or a router fails; no operation fails.
    Nothing,
    /// The far process fails: operations may fail. The time until they succeed again counts from its return.
    Process,
    /// All rails fail: operations fail, at the latest by their timeout.
    AllRails,
    /// A rail fails for longer than a socket's timeout: operations on it may fail, or are lost with their response. No operation
    /// fails that began when the rail was known to be dead.
    RailForLong,
    /// All routers fail: operations fail with EHOSTUNREACH, at the latest by their timeout.
    AllRouters,
    /// A router that confirms nothing fails: messages that it had accepted are lost, or fail without a response; no others.
    KernelRouter,
}

/// The outcome of a scenario.
pub struct Outcome {
    pub totals: Totals,
    pub errors: Vec<String>,
    /// The longest time without any operation succeeding.
    pub stall: Duration,
    /// The same time before the failure.
    pub stall_before: Duration,
    /// The longest time from any moment until an operation had succeeded that began at that moment or later.
    pub new_operations: Duration,
    /// The time from the rail's return until it was used.
    pub back: Option<Duration>,
    /// The lines at the default level that each machine's nodes wrote about what failed and worked again.
    pub lines: BTreeMap<usize, usize>,
    /// The bytes of the operations that succeeded, over time: [`throughput::bins`].
    pub throughput: Vec<u64>,
    /// The nodes' log lines about whether they reach each other, where all rails failed.
    pub told: Vec<String>,
    /// Differences from the required outcome.
    pub faults: Vec<String>,
}

const USUAL: Conditions = Conditions {
    site: Site::Rails,
    weight: Weight {
        in_flight: 24,
        pause: Duration::from_millis(30),
        long_of_64: 1,
        timeout: Duration::from_secs(20),
        rpcs: false,
    },
    megabits: None,
    transaction_timeout: 0,
    kernel_peer: false,
    kernel_routers: false,
};

/// Conditions with a peer that passes for a kernel node, which does not recognize messages that are sent twice. Messages of all
/// sizes are in flight to it, more than the credits of both nodes' dead paths, so that TCP on those does not hold all of them.
const KERNEL_PEER: Conditions = Conditions {
    weight: Weight { in_flight: 64, pause: Duration::from_millis(80), long_of_64: 8, ..USUAL.weight },
    kernel_peer: true,
    ..USUAL
};

/// Conditions with RPCs: eight at once, one after the other, and new ones beside them. All eight may be on a dead path within
/// milliseconds.
const RPCS: Conditions = Conditions {
    weight: Weight {
        in_flight: 8,
        pause: Duration::from_millis(2),
        timeout: Duration::from_secs(80),
        rpcs: true,
        ..USUAL.weight
    },
    ..USUAL
};
const RPCS_TO_KERNEL_PEER: Conditions = Conditions { kernel_peer: true, ..RPCS };

/// Conditions with slow cards and long messages: some messages are always sent in part.
const LONG_MESSAGES: Conditions = Conditions {
    weight: Weight { long_of_64: 16, pause: Duration::from_millis(60), ..USUAL.weight },
    megabits: Some(500),
    ..USUAL
};

/// Two routers between the ends, which are on different nets.
const ROUTED: Conditions = Conditions { site: Site::Routers, ..USUAL };

/// The usual conditions with routers that behave like kernel nodes. Messages that wait for a response end within the timeout
/// of an operation.
const KERNEL_ROUTERS: Conditions =
    Conditions { kernel_routers: true, transaction_timeout: TRANSACTION, ..ROUTED };

/// The usual conditions with two routers in a row, and with one that has both rails.
const TWO_HOPS: Conditions = Conditions { site: Site::TwoHops, ..USUAL };
const RAILED_ROUTER: Conditions = Conditions { site: Site::RailedRouter, ..USUAL };

/// The same conditions with a timeout that is long enough for operations that end only by a missing response.
const KERNEL_PEER_FOR_LONG: Conditions =
    Conditions { weight: Weight { timeout: Duration::from_secs(80), ..KERNEL_PEER.weight }, ..KERNEL_PEER };

/// The lines at the default level of the log that one node may write about one incident and its end.
const MAX_LINES: usize = 3;
/// Maximum number of failed operations that are described one by one.
const MAX_TOLD: usize = 8;
const WARM_UP: Duration = Duration::from_secs(2);
/// The time at the end in which the nodes log the states that have lasted.
const LOGGED: Duration = Duration::from_secs(4);
/// The time in which a repaired rail must be used again.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// The longest stall of an operation while one rail works; the kernel's stall for 20 to 35 s.
const A_MOMENT: Duration = Duration::from_secs(5);
/// The time after which a rail that drops everything is known to be unresponsive.
const KNOWN: Duration = Duration::from_secs(2);
/// The error of an operation for which no router is left.
const NO_WAY: &str = "Send: EHOSTUNREACH";
/// The transaction timeout in seconds, for scenarios in which all rails or routers fail, or a kernel router loses messages.
const TRANSACTION: u32 = 10;

/// Returns all scenarios.
pub fn all() -> Vec<Scenario> {
    const fn nothing(_: &mut Testbed) {}
    let rail = |name, key, kernel, aim, break_it, mend_it| Scenario {
        name,
        key,
        kernel,
        aim,
        bound: A_MOMENT,
        incidents: 1,
        conditions: USUAL,
        lasts: Duration::from_secs(8),
        break_it,
        mend_it,
        loss: Loss::Rail,
    };
    let kernel_peer = |name, key| {
        let cut = |testbed: &mut Testbed| testbed.set_forwarding(FAR, RAIL, false);
        let mend = |testbed: &mut Testbed| testbed.set_forwarding(FAR, RAIL, true);
        rail(name, key, "", "1 s", cut, mend).with(KERNEL_PEER)
    };
    let router = |name, key, aim, seconds, break_it, mend_it| Scenario {
        lasts: Duration::from_secs(seconds),
        loss: Loss::Nothing,
        ..rail(name, key, "", aim, break_it, mend_it).with(ROUTED)
    };
    vec![
        router(
            "router killed, back after 1 s",
            "router-killed",
            "0.2 s",
            1,
            |testbed| testbed.kill(ROUTERS[0]),
            |testbed| {
                testbed.start(ROUTERS[0]);
            },
        ),
        Scenario {
            incidents: 6,
            ..router(
                "both routers killed in turn, thrice",
                "routers-in-turn",
                "0.2 s",
                0,
                |testbed| {
                    for _ in 0..3 {
                        for router in ROUTERS {
                            testbed.kill(router);
                            testbed.start(router);
                            let incarnation = testbed.incarnation(router);
                            let since = now();
                            testbed.pass_until(BACK_WITHIN, |ledger| {
                                (0..RAILS).all(|card| ledger.first_use(incarnation, card, since).is_some())
                            });
                        }
                    }
                },
                nothing,
            )
        },
        router(
            "router stopped for 5 s (SIGSTOP)",
            "router-stopped",
            "2 s",
            5,
            |testbed| testbed.signal(ROUTERS[0], Signal::STOP),
            |testbed| testbed.signal(ROUTERS[0], Signal::CONT),
        ),
        router(
            "blackhole around a router",
            "router-blackhole",
            "2 s",
            8,
            |testbed| (0..RAILS).for_each(|card| testbed.set_forwarding(ROUTERS[0], card, false)),
            |testbed| (0..RAILS).for_each(|card| testbed.set_forwarding(ROUTERS[0], card, true)),
        ),
        router(
            "blackhole on one side of a router",
            "router-one-side",
            "2 s",
            8,
            |testbed| testbed.set_forwarding(ROUTERS[0], 0, false),
            |testbed| testbed.set_forwarding(ROUTERS[0], 0, true),
        ),
        router(
            "router's link down on one side",
            "router-link-down",
            "0.2 s",
            8,
            |testbed| testbed.set_link(ROUTERS[0], 1, false),
            |testbed| testbed.set_link(ROUTERS[0], 1, true),
        ),
        router(
            "routing switched off and on again",
            "routing-off",
            "0.2 s",
            3,
            |testbed| testbed.forward(ROUTERS[0], false),
            |testbed| testbed.forward(ROUTERS[0], true),
        ),
        Scenario {
            loss: Loss::AllRouters,
            incidents: ROUTERS.len(),
            bound: Duration::from_secs(TRANSACTION as u64 * 3 / 2 + 2),
            ..router(
                "all routers dead",
                "all-routers",
                "each ends within 10 s",
                25,
                |testbed| ROUTERS.into_iter().for_each(|router| testbed.kill(router)),
                |testbed| {
                    ROUTERS.into_iter().for_each(|router| {
                        testbed.start(router);
                    });
                },
            )
            .with(Conditions { transaction_timeout: TRANSACTION, ..ROUTED })
        },
        Scenario {
            loss: Loss::KernelRouter,
            ..router(
                "kernel router killed",
                "kernel-router-killed",
                "0.2 s",
                1,
                |testbed| testbed.kill(ROUTERS[0]),
                |testbed| {
                    testbed.start(ROUTERS[0]);
                },
            )
            .with(KERNEL_ROUTERS)
        },
        Scenario {
            loss: Loss::KernelRouter,
            ..router(
                "kernel router stopped for 5 s",
                "kernel-router-stopped",
                "2 s",
                5,
                |testbed| testbed.signal(ROUTERS[0], Signal::STOP),
                |testbed| testbed.signal(ROUTERS[0], Signal::CONT),
            )
            .with(KERNEL_ROUTERS)
        },
        router(
            "first of two hops: router killed",
            "two-hops-first",
            "0.2 s",
            1,
            |testbed| testbed.kill(ROUTERS[0]),
            |testbed| {
                testbed.start(ROUTERS[0]);
            },
        )
        .with(TWO_HOPS),
        router(
            "second of two hops: router killed",
            "two-hops-second",
            "0.2 s",
            1,
            |testbed| testbed.kill(SECOND_ROUTERS[0]),
            |testbed| {
                testbed.start(SECOND_ROUTERS[0]);
            },
        )
        .with(TWO_HOPS),
        router(
            "second of two hops: stopped 5 s",
            "two-hops-stopped",
            "2 s",
            5,
            |testbed| testbed.signal(SECOND_ROUTERS[0], Signal::STOP),
            |testbed| testbed.signal(SECOND_ROUTERS[0], Signal::CONT),
        )
        .with(TWO_HOPS),
        Scenario {
            // The card has an NI on each of two nets.
            incidents: 2,
            ..router(
                "one of a router's rails down",
                "router-rail-down",
                "1 s",
                8,
                |testbed| testbed.set_link(ROUTERS[0], RAIL, false),
                |testbed| testbed.set_link(ROUTERS[0], RAIL, true),
            )
            .with(RAILED_ROUTER)
        },
        router(
            "blackhole on a router's rail",
            "router-rail-blackhole",
            "2 s",
            8,
            |testbed| testbed.set_forwarding(ROUTERS[0], RAIL, false),
            |testbed| testbed.set_forwarding(ROUTERS[0], RAIL, true),
        )
        .with(RAILED_ROUTER),
        rail(
            "link down on one side",
            "link-down",
            "21.8 s",
            "0.2 s",
            |testbed| testbed.set_link(NEAR, RAIL, false),
            |testbed| testbed.set_link(NEAR, RAIL, true),
        ),
        rail(
            "address removed",
            "address",
            "",
            "0.2 s",
            |testbed| testbed.set_address(NEAR, RAIL, false),
            |testbed| testbed.set_address(NEAR, RAIL, true),
        ),
        Scenario {
            conditions: LONG_MESSAGES,
            ..rail(
                "cable pulled, carrier stays",
                "cable",
                "34.7 s",
                "2 s",
                |testbed| testbed.set_plugged(NEAR, RAIL, false),
                |testbed| testbed.set_plugged(NEAR, RAIL, true),
            )
        },
        rail(
            "cable pulled, carrier lost",
            "carrier",
            "some RPCs 64 s",
            "0.2 s",
            |testbed| testbed.set_carrier(NEAR, RAIL, false),
            |testbed| testbed.set_carrier(NEAR, RAIL, true),
        ),
        rail(
            "blackhole at the peer",
            "blackhole",
            "32.3 s",
            "2 s",
            |testbed| testbed.set_forwarding(FAR, RAIL, false),
            |testbed| testbed.set_forwarding(FAR, RAIL, true),
        ),
        Scenario {
            lasts: Duration::from_millis(500),
            ..kernel_peer("0.5 s of blackhole, kernel peer", "kernel-0.5s")
        },
        Scenario {
            lasts: Duration::from_millis(1500),
            kernel: "3.2 s, and 0 failed",
            ..kernel_peer("1.5 s of blackhole, kernel peer", "kernel-1.5s")
        },
        Scenario {
            lasts: Duration::from_secs(3),
            ..kernel_peer("3 s of blackhole, kernel peer", "kernel-3s")
        },
        Scenario {
            lasts: Duration::from_secs(30),
            loss: Loss::RailForLong,
            ..rail(
                "cable pulled 30 s, kernel peer",
                "kernel-cable",
                "34.7 s",
                "1 s",
                |testbed| testbed.set_plugged(NEAR, RAIL, false),
                |testbed| testbed.set_plugged(NEAR, RAIL, true),
            )
            .with(KERNEL_PEER_FOR_LONG)
        },
        rail(
            "8 RPCs, blackhole at the peer",
            "rpcs",
            "",
            "new ops 1 s",
            |testbed| testbed.set_forwarding(FAR, RAIL, false),
            |testbed| testbed.set_forwarding(FAR, RAIL, true),
        )
        .with(RPCS),
        Scenario {
            lasts: Duration::from_secs(30),
            loss: Loss::RailForLong,
            ..rail(
                "8 RPCs, 30 s, kernel peer",
                "kernel-rpcs",
                "",
                "new ops 1 s",
                |testbed| testbed.set_forwarding(FAR, RAIL, false),
                |testbed| testbed.set_forwarding(FAR, RAIL, true),
            )
            .with(RPCS_TO_KERNEL_PEER)
        },
        Scenario {
            lasts: Duration::from_secs(1),
            loss: Loss::Nothing,
            incidents: 3,
            conditions: LONG_MESSAGES,
            ..rail(
                "RST on every connection, thrice",
                "reset",
                "",
                "0.2 s",
                |testbed| {
                    for _ in 0..3 {
                        testbed.reset_connections(NEAR);
                        testbed.pass(Duration::from_secs(1));
                    }
                },
                nothing,
            )
        },
        Scenario {
            lasts: Duration::from_secs(5),
            loss: Loss::Nothing,
            bound: Duration::from_secs(5) + A_MOMENT,
            ..rail(
                "peer stopped for 5 s (SIGSTOP)",
                "stopped",
                "",
                "5 s + 0.2 s",
                |testbed| testbed.signal(FAR, Signal::STOP),
                |testbed| testbed.signal(FAR, Signal::CONT),
            )
        },
        Scenario {
            lasts: Duration::from_secs(1),
            loss: Loss::Process,
            conditions: Conditions { transaction_timeout: TRANSACTION, ..USUAL },
            ..rail(
                "peer killed, back after 1 s",
                "restart",
                "lost its load",
                "1 s after it listens",
                |testbed| testbed.kill(FAR),
                |testbed| {
                    testbed.start(FAR);
                    testbed.go();
                },
            )
        },
        Scenario {
            lasts: Duration::from_secs(25),
            loss: Loss::AllRails,
            bound: Duration::from_secs(TRANSACTION as u64 * 3 / 2 + 2),
            conditions: Conditions { transaction_timeout: TRANSACTION, ..USUAL },
            ..rail(
                "all rails dead",
                "all-rails",
                "",
                "each ends within 10 s",
                |testbed| (0..RAILS).for_each(|rail| testbed.set_forwarding(FAR, rail, false)),
                |testbed| (0..RAILS).for_each(|rail| testbed.set_forwarding(FAR, rail, true)),
            )
        },
    ]
}

impl Scenario {
    const fn with(self, conditions: Conditions) -> Self {
        Self { conditions, ..self }
    }

    /// The scenario with the rail broken for this time, under the load whose throughput is recorded.
    pub const fn recorded_for(self, lasts: Duration) -> Self {
        Self { lasts, ..self }.with(LONG_MESSAGES)
    }

    /// Runs the scenario. `None`: it cannot be run here, or has been run in another process.
    pub fn run(&self) -> Option<Outcome> {
        let mut testbed = Testbed::or_skip(self.key, self.conditions)?;
        let mut faults = Vec::new();
        let began = now();
        // Strict scenarios are those in which no operation may fail.
        let is_strict = matches!(self.loss, Loss::Rail | Loss::Nothing) && !self.conditions.kernel_peer;
        let selftest = if is_strict { Selftest::start(&testbed) } else { None };
        testbed.go();
        testbed.pass(WARM_UP);
        let incarnations = [NEAR, FAR].map(|machine| testbed.incarnation(machine));
        let by_incarnation = |testbed: &Testbed, cards: Vec<(usize, usize)>| -> Vec<_> {
            cards.into_iter().map(|(machine, card)| (testbed.incarnation(machine), card)).collect()
        };
        let used = by_incarnation(&testbed, self.conditions.site.used());
        let are_used = testbed.pass_until(BACK_WITHIN, |ledger| {
            used.iter().all(|(incarnation, card)| ledger.first_use(*incarnation, *card, began).is_some())
        });
        if !are_used {
            faults.push("not all rails, or routers, were used to begin with".to_owned());
        }

        let broken = now();
        let lines_before = testbed.numbers_of_lines();
        let stall_before = self.stall_of(&testbed, &incarnations, began + WARM_UP / 2, broken);
        (self.break_it)(&mut testbed);
        testbed.pass(self.lasts);
        (self.mend_it)(&mut testbed);
        let mended = now();
        let now_alive = [NEAR, FAR].map(|machine| testbed.incarnation(machine));
        let was_broken = by_incarnation(&testbed, self.conditions.site.broken());
        let is_back = testbed.pass_until(BACK_WITHIN + A_MOMENT, |ledger| {
            was_broken
                .iter()
                .all(|(incarnation, card)| ledger.first_use(*incarnation, *card, mended).is_some())
                && now_alive.iter().all(|incarnation| ledger.first_success(*incarnation, mended).is_some())
        });
        let back = was_broken
            .iter()
            .filter_map(|(incarnation, card)| testbed.ledger.first_use(*incarnation, *card, mended))
            .max();
        let back = back.filter(|_| is_back).map(|at| at - mended);
        testbed.pass(LOGGED);
        let end = now();
        let mut lines = testbed.numbers_of_lines();
        lines.iter_mut().for_each(|(machine, number)| *number -= lines_before[machine]);
        now_alive.iter().for_each(|incarnation| testbed.ledger.close_gaps(*incarnation, end));
        let stall = match self.loss {
            Loss::Process => {
                let success =
                    now_alive.iter().map(|incarnation| testbed.ledger.first_success(*incarnation, mended));
                success.map(|at| at.unwrap_or(end) - mended).max().unwrap_or_default()
            }
            _ => self.stall_of(&testbed, &incarnations, broken, end),
        };
        let since_start = now_alive.iter().zip(incarnations).map(|(now, before)| match *now == before {
            true => testbed.ledger.longest_until_new_success(*now, broken, mended, end),
            false => testbed.ledger.longest_until_new_success(*now, mended, mended, end),
        });
        let new_operations = since_start.max().unwrap_or_default();
        let throughput = throughput::bins(testbed.ledger.succeeded(), broken, end);
        testbed.calm();
        match selftest.map(|selftest| selftest.end(&testbed)) {
            Some(Ok(checked)) => println!("{}: {checked}", self.key),
            Some(Err(fault)) => faults.push(fault),
            None => {}
        }
        testbed.end();
        let totals = testbed.ledger.settled().clone();
        let failures = testbed.ledger.take_failures();
        let lost = testbed.ledger.take_lost();
        let is_unexcused = |failure: &&Failure| failure.began > broken + KNOWN;
        let unexcused = failures.iter().filter(is_unexcused).count();
        let lost_late = lost.iter().filter(is_unexcused).count();
        // An operation that began before may have got as far as to wait for its response.
        let otherwise: Vec<&str> = failures
            .iter()
            .filter(|failure| failure.began > broken && !failure.text.contains(NO_WAY))
            .map(|failure| failure.text.as_str())
            .collect();
        if self.loss == Loss::AllRouters && !otherwise.is_empty() {
            faults.push(format!("{} do not say that there is no way: {:?}", otherwise.len(), otherwise[0]));
        }
        let mut errors = testbed.ledger.errors().to_vec();
        errors.extend(failures.into_iter().take(MAX_TOLD).map(|failure| failure.text));
        errors.push(testbed.logs());

        let longest = if self.loss == Loss::Process { stall } else { totals.longest };
        let measured = match self.loss {
            Loss::AllRails | Loss::AllRouters => longest,
            Loss::RailForLong | Loss::KernelRouter => stall,
            _ => longest.max(stall),
        };
        if measured > self.bound {
            faults.push(format!("{measured:.1?} is more than {:.1?}", self.bound));
        }
        if self.conditions.weight.rpcs && new_operations > self.bound {
            faults.push(format!(
                "new operations waited for {new_operations:.1?}, more than {:.1?}",
                self.bound
            ));
        }
        if back.is_none_or(|back| back > BACK_WITHIN) {
            faults.push(format!("the rail was not used again within {BACK_WITHIN:?} of its return"));
        }
        let too_many = lines.iter().filter(|(_, number)| **number > MAX_LINES * self.incidents);
        faults.extend(too_many.map(|(machine, number)| {
            format!("machine {machine} logged {number} lines about {} incidents", self.incidents)
        }));
        if matches!(self.loss, Loss::Rail | Loss::Nothing) && totals.errors() > 0 {
            faults.push(format!("failed: {:?}", totals.failed));
        }
        if matches!(self.loss, Loss::RailForLong | Loss::KernelRouter) && unexcused > 0 {
            faults.push(format!("failed although a path was known to work: {unexcused}"));
        }
        if matches!(self.loss, Loss::AllRails | Loss::AllRouters) && totals.errors() == 0 {
            faults.push("nothing failed although all rails, or routers, were dead".to_owned());
        }
        let told = match self.loss {
            Loss::AllRails => testbed.changes_of_peers(),
            Loss::AllRouters => testbed.changes_of_nets(),
            _ => Vec::new(),
        };
        for machine in [NEAR, FAR].into_iter().filter(|_| self.loss == Loss::AllRouters) {
            let start = format!("on {machine}: ");
            let of_it: Vec<_> = told.iter().filter(|line| line.starts_with(&start)).collect();
            let is_said = |what: &str| of_it.iter().filter(|line| line.contains(what)).count();
            if (is_said("no route is up"), is_said("up again")) != (1, 1) {
                faults.push(format!(
                    "machine {machine} did not say once that no way was left, and that one is: {of_it:?}"
                ));
            }
        }
        for machine in [NEAR, FAR].into_iter().filter(|_| self.loss == Loss::AllRails) {
            let start = format!("on {machine}: ");
            let of_it: Vec<_> = told.iter().filter(|line| line.starts_with(&start)).collect();
            let ways = of_it.iter().filter(|line| line.contains("-> unreachable")).count();
            if ways == 0 || of_it.last().is_some_and(|line| line.contains("-> unreachable")) {
                faults.push(format!("machine {machine} did not say that its peer was unreachable, and then that it is not: {of_it:?}"));
            }
        }
        let mut sins = totals.clone();
        if self.loss == Loss::KernelRouter {
            if lost_late > 0 {
                faults.push(format!("lost although a router was known to work: {lost_late}"));
            }
            sins.lost = 0;
        }
        faults.extend(sins.sins_in_words());
        Some(Outcome {
            totals,
            errors,
            stall,
            stall_before,
            new_operations,
            back,
            lines,
            throughput,
            told,
            faults,
        })
    }

    fn stall_of(&self, testbed: &Testbed, incarnations: &[u16], from: Duration, to: Duration) -> Duration {
        incarnations
            .iter()
            .map(|incarnation| testbed.ledger.longest_stall(*incarnation, from, to))
            .max()
            .unwrap_or_default()
    }
}
