//! Exploration of the orders in which racing messages may arrive: all of them one after the other, or some of them if
//! there are too many.
//!
//! A scenario is run again and again, each time from the beginning, with another choice of the next event: which
//! connection delivers its next message, which delivery ACK or confirmation arrives, or which actor takes its next step.
//! Two events on different nodes lead to the same state in either order, so only one of the two orders is tried (sleep
//! sets). Time stands still until no other event is possible.

use crate::link::LinkKey;
use crate::network::{Completion, Notice, Order};
use crate::trace::NodeId;
use crate::violation::Violation;
use crate::world::{World, WorldConfig};

/// A scenario that is to be tried in all orders.
pub struct Scenario<'a> {
    /// The name of the scenario in reports of violations.
    pub name: &'a str,
    /// Configuration of the scenario's worlds; its `order` is ignored.
    pub config: WorldConfig,
    /// Makes the nodes and the state before the race; returns the racers.
    pub build: &'a dyn Fn(&mut World) -> Vec<Actor>,
    /// Checks the conditions that must hold when all is quiet, beyond the usual ones.
    pub check: &'a dyn Fn(&mut World),
}

/// An actor that takes its steps in the given order, each at any moment.
pub struct Actor {
    /// The only node that the steps change; `None` if they change messages of other nodes, too, or whether those arrive:
    /// interfaces that come or go, nodes that die, connections that break.
    node: Option<NodeId>,
    steps: Vec<Act>,
}

type Act = Box<dyn Fn(&mut World)>;

impl Actor {
    /// Makes an actor whose steps change just this node.
    pub const fn on(node: NodeId) -> Self {
        Self { node: Some(node), steps: Vec::new() }
    }

    /// Makes an actor whose steps may change anything.
    pub const fn anywhere() -> Self {
        Self { node: None, steps: Vec::new() }
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, act: impl Fn(&mut World) + 'static) -> Self {
        self.steps.push(Box::new(act));
        self
    }
}

/// The orders that were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Number of orders that were tried to their end.
    pub orders: usize,
    /// Number of beginnings that led to a state that had been tried.
    pub pruned: usize,
    /// Whether all orders were tried.
    pub all: bool,
}

/// A possible next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Deliver(LinkKey),
    Tell(Notice),
    Act(usize, Option<NodeId>),
}

impl Choice {
    const fn node(self) -> Option<NodeId> {
        match self {
            Self::Deliver(key) => Some(key.receiver()),
            Self::Tell(notice) => Some(notice.receiver()),
            Self::Act(_, node) => node,
        }
    }

    /// Whether the two events lead to the same state in either order.
    fn commutes_with(self, other: Self) -> bool {
        matches!((self.node(), other.node()), (Some(a), Some(b)) if a != b)
    }
}

/// A point of choice, with the choices that are left to try.
struct Fork {
    choices: Vec<Choice>,
    taken: usize,
    /// Choices that were tried before and lead to the same state if they are made later.
    asleep: Vec<Choice>,
}

/// Maximum number of steps of any scenario.
const ENDLESS: usize = 20_000;

/// Tries all orders, or the first `most` of them and then as many random ones.
/// With `LNET_SIM_PATH` in the environment, tries just that order.
pub fn explore(scenario: &Scenario<'_>, most: usize) -> Result<Explored, Box<Violation>> {
    if let Ok(path) = std::env::var("LNET_SIM_PATH") {
        again(scenario, &path)?;
        return Ok(Explored { orders: 1, ..Explored::default() });
    }
    let mut explored = Explored::default();
    let mut forks: Vec<Fork> = Vec::new();
    loop {
        let mut depth = 0;
        let complete = run(scenario, &mut |enabled, _| {
            if depth == forks.len() {
                forks.push(fork(forks.last(), enabled));
            }
            let fork = &forks[depth];
            depth += 1;
            let choice = fork.choices.get(fork.taken)?;
            enabled.iter().position(|it| it == choice)
        })?;
        if complete {
            explored.orders += 1;
        } else {
            explored.pruned += 1;
        }
        if !next(&mut forks) {
            explored.all = true;
            return Ok(explored);
        }
        if explored.orders >= most {
            break;
        }
    }
    let mut random = fastrand::Rng::with_seed(scenario.config.seed);
    for _ in 0..most {
        run(scenario, &mut |enabled, _| Some(random.usize(0..enabled.len())))?;
        explored.orders += 1;
    }
    Ok(explored)
}

/// Repeats the order of [`Violation::path`]. After its end, or where it does not apply, steps are in the order of arrival.
pub fn again(scenario: &Scenario<'_>, path: &str) -> Result<(), Box<Violation>> {
    let mut path = path.split(',').map(|word| word.trim().parse().unwrap_or(0));
    run(scenario, &mut |_, _| path.next().or(Some(0))).map(drop)
}

fn fork(before: Option<&Fork>, enabled: &[Choice]) -> Fork {
    let asleep: Vec<Choice> = before.map_or_else(Vec::new, |before| {
        let Some(taken) = before.choices.get(before.taken) else { return Vec::new() };
        let tried = before.choices[..before.taken].iter();
        before.asleep.iter().chain(tried).filter(|it| it.commutes_with(*taken)).copied().collect()
    });
    let choices = enabled.iter().filter(|it| !asleep.contains(it)).copied().collect();
    Fork { choices, taken: 0, asleep }
}

/// Advances to the next order that has not been tried; returns false if there is none.
fn next(forks: &mut Vec<Fork>) -> bool {
    while let Some(last) = forks.last_mut() {
        last.taken += 1;
        if last.taken < last.choices.len() {
            return true;
        }
        forks.pop();
    }
    false
}

/// Runs the scenario once. `choose` picks one of the possible events, or `None` to stop there. Returns whether the run
/// reached its end.
fn run(
    scenario: &Scenario<'_>,
    choose: &mut dyn FnMut(&[Choice], &World) -> Option<usize>,
) -> Result<bool, Box<Violation>> {
    let mut config = scenario.config.clone();
    config.network.order = Order::Chosen;
    config.network.completion = Completion::AtOnce;
    let mut world = World::new(scenario.name, config);
    let actors = (scenario.build)(&mut world);
    let mut done = vec![0; actors.len()];
    let mut path: Vec<usize> = Vec::new();
    let complete = loop {
        while world.step_unchosen(false) {}
        let enabled = enabled(&world, &actors, &done);
        if !world.is_sound() || path.len() > ENDLESS {
            world.expect(path.len() <= ENDLESS, || "does not come to an end".to_owned());
            break true;
        }
        if enabled.is_empty() {
            if world.step_unchosen(true) {
                continue;
            }
            break true;
        }
        let Some(at) = choose(&enabled, &world).filter(|at| *at < enabled.len()) else { break false };
        path.push(at);
        match enabled[at] {
            Choice::Deliver(key) => world.deliver(key),
            Choice::Tell(notice) => world.tell(notice),
            Choice::Act(actor, _) => {
                let act = &actors[actor].steps[done[actor]];
                done[actor] += 1;
                act(&mut world);
            }
        }
    };
    if complete {
        world.check_quiet();
        if world.is_sound() {
            (scenario.check)(&mut world);
        }
    }
    let text: Vec<String> = path.iter().map(ToString::to_string).collect();
    world.finish().map(|()| complete).map_err(|mut broken| {
        broken.path = Some(text.join(","));
        broken
    })
}

fn enabled(world: &World, actors: &[Actor], done: &[usize]) -> Vec<Choice> {
    let deliver = world.ready().into_iter().map(Choice::Deliver);
    let act = actors.iter().zip(done).enumerate();
    let act = act.filter(|(_, (actor, done))| **done < actor.steps.len());
    let tell = world.notices().into_iter().map(Choice::Tell);
    deliver.chain(tell).chain(act.map(|(index, (actor, _))| Choice::Act(index, actor.node))).collect()
}
