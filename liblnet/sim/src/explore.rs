//! All orders in which racing messages may arrive, one after the other; and some of them, where there are too
//! many.
//!
//! A scenario is run again and again, each time from the beginning, with another choice of what happens next:
//! which connection delivers its next message, which delivery ACK or confirmation arrives, or which actor takes its next step. Two things that happen on
//! different nodes come to the same in either order, so only one of the two orders is tried (sleep sets). Time
//! stands still until nothing else can happen.

use crate::link::LinkKey;
use crate::network::{Completion, Notice, Order};
use crate::trace::NodeId;
use crate::violation::Violation;
use crate::world::{World, WorldConfig};

/// Something that is to be tried in all orders.
pub struct Scenario<'a> {
    /// What it is called when something breaks.
    pub name: &'a str,
    /// How its worlds are made; the order is chosen whatever it says.
    pub config: WorldConfig,
    /// Makes the nodes, and whatever is to be true before the race; gives the racers.
    pub build: &'a dyn Fn(&mut World) -> Vec<Actor>,
    /// What must be true when all is quiet, beyond what always must.
    pub check: &'a dyn Fn(&mut World),
}

/// Somebody who does things in the order given, each at any moment.
pub struct Actor {
    /// The only node that is touched; `None` if what others may send, or whether it arrives, changes too:
    /// interfaces that come or go, nodes that die, connections that break.
    node: Option<NodeId>,
    steps: Vec<Act>,
}

type Act = Box<dyn Fn(&mut World)>;

impl Actor {
    /// One that touches just this node.
    pub const fn on(node: NodeId) -> Self {
        Self { node: Some(node), steps: Vec::new() }
    }

    /// One that may touch anything.
    pub const fn anywhere() -> Self {
        Self { node: None, steps: Vec::new() }
    }

    /// What it does next.
    #[must_use]
    pub fn then(mut self, act: impl Fn(&mut World) + 'static) -> Self {
        self.steps.push(Box::new(act));
        self
    }
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Orders that were tried to their end.
    pub orders: usize,
    /// Beginnings that led to what had been tried.
    pub pruned: usize,
    /// Whether those were all that there are.
    pub all: bool,
}

/// Something that can happen next.
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

    /// Whether the two come to the same in either order.
    fn commutes_with(self, other: Self) -> bool {
        matches!((self.node(), other.node()), (Some(a), Some(b)) if a != b)
    }
}

/// What was decided at one point, and what is left to try there.
struct Fork {
    choices: Vec<Choice>,
    taken: usize,
    /// Choices that were tried before and lead to the same state if they are made later.
    asleep: Vec<Choice>,
}

/// More steps than any scenario takes.
const ENDLESS: usize = 20_000;

/// Tries all orders, or the first `most` of them and then as many that chance picks.
/// `LNET_SIM_PATH` in the environment has just that one order tried.
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

/// Repeats the order of [`Violation::path`]; where it ends, or does not apply, in the order of arrival.
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

/// Goes on to what has not been tried; false if that is nothing.
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

/// One run. `choose` picks one of what can happen next, or `None` to stop there. Whether it came to its end.
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
