//! The file of limits, with one cost per line.
//!
//! ```text
//! # A bound: a cost above it is a failure.
//! receives for each message, round trip of 8 B: 1.1
//! # A counted figure: a cost above it by more than the share is a failure; far below it the figure should be counted anew.
//! instructions, PUT of 8 B with ACK, 1 x 1: 10775 + 5 %
//! ```

use crate::error::{Error, context};
use std::fmt::{self, Display};

/// Share of a counted figure below which the figure should be replaced by the present one.
const LOWER_BELOW: f64 = 0.9;

#[derive(Debug)]
pub(super) struct Limits(Vec<(String, Limit)>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    pub(super) figure: f64,
    /// The share of a counted figure by which a cost may exceed it; `None` for a bound.
    allowance: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Within,
    Above,
    /// The cost is far below the counted figure.
    LowerTheLimit,
}

impl Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Within => "",
            Self::Above => "ABOVE THE LIMIT",
            Self::LowerTheLimit => "lower the limit",
        })
    }
}

impl Limits {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        lines.map(|line| limit(line).map_err(context(line))).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn of(&self, cost: &str) -> Result<Limit, Error> {
        let found = self.0.iter().find(|(name, _)| name == cost);
        found.map(|(_, limit)| *limit).ok_or_else(|| format!("no limit for \"{cost}\""))
    }

    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }
}

fn limit(line: &str) -> Result<(String, Limit), Error> {
    let (name, limit) = line.rsplit_once(": ").ok_or("no limit")?;
    let (figure, allowance) = match limit.split_once(" + ") {
        Some((figure, allowance)) => (figure, Some(allowance.strip_suffix(" %").ok_or("no percentage")?)),
        None => (limit, None),
    };
    let number = |text: &str| text.parse::<f64>().map_err(context(text));
    let allowance = allowance.map(number).transpose()?.map(|percent| percent / 100.0);
    Ok((name.to_owned(), Limit { figure: number(figure)?, allowance }))
}

impl Limit {
    pub(super) fn compare(self, figure: f64) -> Comparison {
        if figure > self.figure * (1.0 + self.allowance.unwrap_or(0.0)) {
            Comparison::Above
        } else if self.allowance.is_some() && figure < self.figure * LOWER_BELOW {
            Comparison::LowerTheLimit
        } else {
            Comparison::Within
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_compared_with_bounds_and_with_counted_figures() {
        let limits = Limits::parse("# a comment\n\nbound, a: b: 1.1\ncounted: 1000 + 5 %\n").unwrap();
        for (name, figure, expected) in [
            ("bound, a: b", 1.1, Comparison::Within),
            ("bound, a: b", 1.11, Comparison::Above),
            ("bound, a: b", 0.1, Comparison::Within),
            ("counted", 1050.0, Comparison::Within),
            ("counted", 1051.0, Comparison::Above),
            ("counted", 900.0, Comparison::Within),
            ("counted", 899.0, Comparison::LowerTheLimit),
        ] {
            assert_eq!(limits.of(name).map(|limit| limit.compare(figure)), Ok(expected), "{name}: {figure}");
        }
        assert!(limits.of("another").is_err());
    }

    #[test]
    fn lines_without_a_limit_are_rejected() {
        for line in ["name", "name: ", "name: x", "name: 1 + 5", "name: 1 + x %"] {
            assert!(Limits::parse(line).is_err(), "{line}");
        }
    }
}
