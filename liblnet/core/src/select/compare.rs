//! Comparison of candidates by one criterion after the other, and the reasons that it gives.

use super::criterion::Criterion;
use crate::model::RulePriority;
use std::cmp::Ordering;
use std::fmt;

/// Specifies which of two values of a criterion is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    /// The higher value is better.
    Higher,
    /// The lower value is better; of two flags `false`.
    Lower,
}

impl Better {
    /// The order of two values: the better one first.
    #[inline]
    pub(super) fn order<V: Ord>(self, one: &V, other: &V) -> Ordering {
        match self {
            Self::Higher => other.cmp(one),
            Self::Lower => one.cmp(other),
        }
    }
}

/// The inputs that a criterion depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The state of the candidate itself, independent of the other end of the path.
    Standing,
    /// The values that selection rules give the candidate itself: they change with the rules only.
    Ruled,
    /// The criterion depends on both ends of the path.
    Pair,
    /// The message and the moment: turns, load, distances. A peer that is bound to a local NI does not leave it for these.
    Passing,
}

impl Scope {
    pub(super) const fn is_passing(self) -> bool {
        matches!(self, Self::Passing)
    }
}

/// [`Candidate::compare`] by all criteria.
pub(super) const ALL: bool = false;
/// [`Candidate::compare`] by those criteria that are not [`Scope::Passing`].
pub(super) const LASTING: bool = true;

/// A candidate of selection. `ONLY_LASTING` is [`ALL`] or [`LASTING`].
pub(super) trait Candidate {
    /// Compares by the criteria. `Less`: this candidate is better. `Equal`: the first in order is selected.
    fn compare<const ONLY_LASTING: bool>(&self, other: &Self) -> Ordering;

    /// The first criterion in which this candidate and the selected one differ.
    fn because<const ONLY_LASTING: bool>(&self, best: &Self) -> Reason;
}

/// The reason for which a candidate was not selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The deciding criterion.
    pub criterion: Criterion,
    /// The values of the candidate and of the selected one, if they are informative.
    values: Option<(Shown, Shown)>,
}

/// A value in the form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Number(i128),
    Priority(RulePriority),
}

impl Reason {
    pub(super) const fn new(criterion: Criterion, values: Option<(Shown, Shown)>) -> Self {
        Self { criterion, values }
    }
}

impl From<Criterion> for Reason {
    fn from(criterion: Criterion) -> Self {
        Self { criterion, values: None }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Priority(priority) => priority.fmt(f),
        }
    }
}

/// Writes the sentence for `explain`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.criterion.text())?;
        match self.values {
            Some((its, best)) => write!(f, ": {its}, the chosen one has {best}"),
            None => Ok(()),
        }
    }
}

/// The best candidate; of equals the first.
pub(super) fn best<C: Candidate, T>(candidates: impl IntoIterator<Item = (C, T)>) -> Option<(C, T)> {
    let mut candidates = candidates.into_iter();
    let first = candidates.next()?;
    let better =
        |best: (C, T), next: (C, T)| if next.0.compare::<ALL>(&best.0).is_lt() { next } else { best };
    Some(candidates.fold(first, better))
}

/// The same selection, with the reason why each other candidate lost.
pub(super) fn explained<C: Candidate, T>(candidates: Vec<(C, T)>) -> Option<Explained<C, T>> {
    let is_better = |next: usize, best: usize| candidates[next].0.compare::<ALL>(&candidates[best].0).is_lt();
    let at = (1..candidates.len()).fold(0, |best, next| if is_better(next, best) { next } else { best });
    let mut others = candidates;
    if at >= others.len() {
        return None;
    }
    let chosen = others.remove(at);
    let with_reason = |(candidate, it): (C, T)| {
        let why = candidate.because::<ALL>(&chosen.0);
        (it, why)
    };
    let others = others.into_iter().map(with_reason).collect();
    Some(Explained { chosen, others })
}

/// A selection with its reasons.
#[derive(Clone, Debug)]
pub(super) struct Explained<C, T> {
    /// The selected candidate.
    pub(super) chosen: (C, T),
    /// The other candidates in order, each with the reason why it lost.
    pub(super) others: Vec<(T, Reason)>,
}

/// Defines the type of a candidate, its comparison and its reasons by a list of criteria, the first of which counts most.
/// Each row has
///
/// - the documentation, the name and the type of the value,
/// - `of`: the expression for the value; nets have two of them (`common`, `routed`),
/// - `better`: a [`Better`],
/// - `scope`: a [`Scope`], where a part of the list is used alone (`ranked_candidate`),
/// - `because`: the [`Criterion`] by which the worse one loses, or in parentheses an expression for it,
/// - `shows`: the form of the two values in an explanation: `value`, `priority` (of a rule), or `nothing`.
macro_rules! candidate {
    (
        $(#[$doc:meta])* struct $name:ident of ($($with:tt)*) explained ($its:ident, $best:ident) {
            $($(#[$row:meta])* $field:ident: $type:ty {
                of: $of:expr, better: $better:ident, because: $because:tt, shows: $shows:ident
            })+
        }
    ) => {
        candidate! { @compared $(#[$doc])* $name ($its, $best)
            $($(#[$row])* $field: $type, $better, Standing, $because, $shows;)+ }

        impl $name {
            pub(super) fn of($($with)*) -> Self {
                Self { $($field: $of),+ }
            }
        }
    };
    (
        $(#[$doc:meta])* struct $name:ident of common ($($common_with:tt)*) or routed ($($routed_with:tt)*)
        explained ($its:ident, $best:ident) {
            $($(#[$row:meta])* $field:ident: $type:ty {
                common: $common:expr, routed: $routed:expr, better: $better:ident, because: $because:tt, shows: $shows:ident
            })+
        }
    ) => {
        candidate! { @compared $(#[$doc])* $name ($its, $best)
            $($(#[$row])* $field: $type, $better, Standing, $because, $shows;)+ }

        impl $name {
            pub(super) fn common($($common_with)*) -> Self {
                Self { $($field: $common),+ }
            }

            pub(super) fn routed($($routed_with)*) -> Self {
                Self { $($field: $routed),+ }
            }
        }
    };
    (
        @compared $(#[$doc:meta])* $name:ident ($its:ident, $best:ident)
        $($(#[$row:meta])* $field:ident: $type:ty, $better:ident, $scope:ident, $because:tt, $shows:ident;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name {
            $($(#[$row])* pub(super) $field: $type,)+
        }

        impl $crate::select::compare::Candidate for $name {
            #[inline]
            fn compare<const ONLY_LASTING: bool>(&self, other: &Self) -> std::cmp::Ordering {
                use $crate::select::compare::{Better, Scope};
                $(if !(ONLY_LASTING && Scope::$scope.is_passing()) {
                    let order = Better::$better.order(&self.$field, &other.$field);
                    if order.is_ne() {
                        return order;
                    }
                })+
                std::cmp::Ordering::Equal
            }

            fn because<const ONLY_LASTING: bool>(&self, best: &Self) -> $crate::select::compare::Reason {
                use $crate::select::compare::{Reason, Scope};
                let ($its, $best) = (self, best);
                $(if !(ONLY_LASTING && Scope::$scope.is_passing()) && $its.$field != $best.$field {
                    let values = candidate!(@shown $shows, $its.$field, $best.$field);
                    return Reason::new(candidate!(@criterion $because), values);
                })+
                Reason::from($crate::select::criterion::Criterion::Order)
            }
        }

        #[cfg(all(test, not(loom)))]
        impl $crate::select::criteria_tests::Listed for $name {
            const CRITERIA: &'static [$crate::select::criteria_tests::Row<Self>] = &[$(
                $crate::select::criteria_tests::Row {
                    name: stringify!($field),
                    order: |one, other| $crate::select::compare::Better::$better.order(&one.$field, &other.$field),
                    scope: $crate::select::compare::Scope::$scope,
                    copy: |from, to| to.$field = from.$field,
                },
            )+];

            fn any(seeds: &mut dyn Iterator<Item = u64>) -> Self {
                Self { $($field: $crate::select::criteria_tests::AnyValue::any(seeds.next().unwrap_or(0))),+ }
            }
        }
    };
    (@criterion ($criterion:expr)) => { $criterion };
    (@criterion $criterion:ident) => { $crate::select::criterion::Criterion::$criterion };
    (@shown nothing, $its:expr, $best:expr) => { None };
    (@shown value, $its:expr, $best:expr) => {{
        use $crate::select::compare::Shown;
        Some((Shown::Number(i128::from($its)), Shown::Number(i128::from($best))))
    }};
    (@shown priority, $its:expr, $best:expr) => {{
        use $crate::{model::RulePriority, select::compare::Shown};
        Some((Shown::Priority(RulePriority($its)), Shown::Priority(RulePriority($best))))
    }};
}

pub(super) use candidate;
