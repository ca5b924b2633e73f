//! Comparing candidates by one criterion after the other, with the deciding criterion as a result.

/// The criteria, under the names of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// The interface has a fatal error: used only if all have one.
    Fatal,
    /// The path is unresponsive: used only if there is no other.
    Unresponsive,
    /// The path is suspect or untested: used only if no other works.
    Unproven,
    /// The path is late: something is in flight on it, and nothing is heard.
    Late,
    /// Health value: higher is better.
    Health,
    /// Its node reports it as down: its health counts as 0.
    ReportedDown,
    /// Priority from selection rules: lower is better.
    Priority,
    /// NUMA distance from the memory to the device: lower is better.
    Distance,
    /// A selection rule prefers the path.
    Preferred,
    /// Selection rules give another a turn of several messages.
    MessageTurn,
    /// The state of a route: one that is not up is used only if none is.
    RouteState,
    /// Hops of a route: fewer are better.
    Hops,
    /// Bytes queued or in flight: fewer is better.
    QueuedBytes,
    /// Send credits: more is better.
    Credits,
    /// Least recently used.
    RoundRobin,
    /// The first in order, when nothing else differs.
    Order,
    /// Health of the local net: that of its best interface.
    LocalNetHealth,
    /// Priority of the local net.
    LocalNetPriority,
    /// Least recently used local net.
    LocalNetRoundRobin,
    /// Health of the local NI to a gateway.
    LocalNiHealth,
    /// Priority of the local NI to a gateway.
    LocalNiPriority,
    /// A selection rule about pairs prefers the local NI to a gateway.
    LocalNiPreferred,
    /// It is behind a gateway: used only if no common net works, or a rule prefers it.
    BehindGateway,
    /// The peer, which is not multi-rail, knows this node by another NID.
    Bound,
}

impl Criterion {
    /// A short text, for `explain`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Fatal => "the driver reports it as broken",
            Self::Unresponsive => "nothing gets through over it",
            Self::Unproven => "nothing heard on it since other paths failed",
            Self::Late => "nothing heard on it since something was sent",
            Self::Health => "lower health",
            Self::ReportedDown => "its node says that it is down",
            Self::Priority => "lower priority by selection rules",
            Self::Distance => "farther from the memory",
            Self::Preferred => "less preferred by selection rules",
            Self::MessageTurn => "not its turn by selection rules",
            Self::RouteState => "its route is down",
            Self::Hops => "more hops",
            Self::QueuedBytes => "more bytes queued",
            Self::Credits => "fewer credits",
            Self::RoundRobin => "used more recently",
            Self::Order => "later in the configuration",
            Self::LocalNetHealth => "its local net has lower health",
            Self::LocalNetPriority => "its local net has lower priority",
            Self::LocalNetRoundRobin => "its local net was used more recently",
            Self::LocalNiHealth => "the interface to it has lower health",
            Self::LocalNiPriority => "the interface to it has lower priority",
            Self::LocalNiPreferred => "selection rules about pairs prefer the interface to it less",
            Self::BehindGateway => "behind a gateway, and there is a common net",
            Self::Bound => "the peer knows this node by another interface",
        }
    }

    /// Whether it says which of two is in better health, or works at all: such a criterion comes before all rules (UD-41).
    pub(super) const fn is_of_health(self) -> bool {
        use Criterion::*;
        matches!(
            self,
            Fatal
                | Unresponsive
                | Unproven
                | Late
                | Health
                | ReportedDown
                | RouteState
                | LocalNetHealth
                | LocalNiHealth
        )
    }
}

/// A candidate of selection.
pub trait Candidate {
    /// Whether this candidate is better than the best so far, and the deciding criterion. In a tie
    /// ([`Criterion::Order`]) the earlier one stays.
    fn beats(&self, best: &Self) -> (bool, Criterion);
}

/// The best candidate: the first, unless a later one beats it, and so on.
pub fn best<C: Candidate, T>(candidates: impl IntoIterator<Item = (C, T)>) -> Option<(C, T)> {
    let mut candidates = candidates.into_iter();
    let first = candidates.next()?;
    Some(candidates.fold(first, |best, next| if next.0.beats(&best.0).0 { next } else { best }))
}

/// The same selection with, for each other candidate, the criterion by which it lost.
pub fn explained<C: Candidate, T>(candidates: Vec<(C, T)>) -> Option<Explained<C, T>> {
    let chosen = (1..candidates.len())
        .fold(0, |best, next| if candidates[next].0.beats(&candidates[best].0).0 { next } else { best });
    let mut others = Vec::new();
    let mut winner = None;
    let why: Vec<Criterion> = candidates
        .iter()
        .map(|(candidate, _)| match candidates.get(chosen) {
            Some((best, _)) => candidate.beats(best).1,
            None => Criterion::Order,
        })
        .collect();
    for (i, ((candidate, it), why)) in candidates.into_iter().zip(why).enumerate() {
        match i == chosen {
            true => winner = Some((candidate, it)),
            false => others.push((candidate, it, why)),
        }
    }
    winner.map(|chosen| Explained { chosen, others })
}

/// A selection with its reasons.
#[derive(Clone, Debug)]
pub struct Explained<C, T> {
    /// The selected candidate.
    pub chosen: (C, T),
    /// The other candidates in order, each with the criterion by which it lost.
    pub others: Vec<(C, T, Criterion)>,
}

/// Compares by criteria in order, no further than to the first that differs. `Greater` is better in each [`std::cmp::Ordering`].
macro_rules! first_difference {
    ($($ordering:expr => $criterion:expr,)+) => {
        $(match $ordering {
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => return (true, $criterion),
            std::cmp::Ordering::Less => return (false, $criterion),
        })+
        return (false, Criterion::Order)
    };
}

pub(super) use first_difference;
