//! The distribution of destinations: the nodes of the destination group that each node of the source group sends to
//! (lnet-selftest 12.6).

use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The value `D:S` of `lst add_test --distribute`: each D sources in a row share S destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// D: sources that have the same destinations.
    pub sources: NonZeroU32,
    /// S, the span: destinations that each source has.
    pub span: NonZeroU32,
}

impl Distribution {
    /// `1:1`.
    pub const ONE_TO_ONE: Self = Self { sources: NonZeroU32::MIN, span: NonZeroU32::MIN };

    /// The positions, in a group of `destinations` nodes, of the nodes that source number `source` (from 0 on) sends to: S
    /// of them in a row from (source / D) * S on, wrapping around at the end of the group. Empty for a group without nodes.
    pub fn destinations(self, source: usize, destinations: usize) -> impl Iterator<Item = usize> {
        let group = source / self.sources.get() as usize;
        let span = self.span.get() as usize;
        let first = group.checked_mul(span).and_then(|at| at.checked_rem(destinations)).unwrap_or(0);
        let count = if destinations == 0 { 0 } else { span };
        (0..count).map(move |at| (first + at) % destinations)
    }

    /// Returns the loop count sent to a server instance, which is a hint for the number of buffers to post:
    /// D * C * ceil(ceil(Ns / D) / ceil(Nd / S)).
    pub fn server_load(self, sources: usize, destinations: usize, concurrency: u32) -> i32 {
        let (d, s) = (u64::from(self.sources.get()), u64::from(self.span.get()));
        let groups = (sources as u64).div_ceil(d);
        let spans = (destinations as u64).div_ceil(s).max(1);
        let load = d.saturating_mul(u64::from(concurrency)).saturating_mul(groups.div_ceil(spans));
        i32::try_from(load).unwrap_or(i32::MAX)
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::ONE_TO_ONE
    }
}

/// A text that is not a distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}': it takes two numbers above 0, such as 1:1")]
pub struct NotADistribution(String);

impl FromStr for Distribution {
    type Err = NotADistribution;

    fn from_str(text: &str) -> Result<Self, NotADistribution> {
        let wrong = || NotADistribution(text.to_owned());
        let (sources, span) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Self { sources: number(sources)?, span: number(span)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(distribution: &str, sources: usize, destinations: usize) -> Vec<Vec<usize>> {
        let distribution: Distribution = distribution.parse().unwrap();
        (0..sources).map(|source| distribution.destinations(source, destinations).collect()).collect()
    }

    #[test]
    fn destinations_follow_the_formula_of_the_console() {
        assert_eq!(rows("1:1", 3, 1), [[0], [0], [0]]);
        assert_eq!(rows("1:1", 3, 3), [[0], [1], [2]]);
        assert_eq!(rows("1:1", 4, 3), [[0], [1], [2], [0]]);
        assert_eq!(rows("1:2", 3, 3), [[0, 1], [2, 0], [1, 2]]);
        assert_eq!(rows("2:1", 4, 2), [[0], [0], [1], [1]]);
        assert_eq!(rows("2:3", 4, 4), [[0, 1, 2], [0, 1, 2], [3, 0, 1], [3, 0, 1]]);
        assert_eq!(rows("1:1", 1, 0), [[0_usize; 0]]);
    }

    /// The captures have 4 with concurrency 4 and 1 with concurrency 1, one node to one.
    #[test]
    fn the_load_of_a_server_is_that_of_the_sources_which_share_it() {
        let table = [
            ("1:1", 1, 1, 1, 1),
            ("1:1", 1, 1, 4, 4),
            ("1:1", 4, 2, 8, 16),
            ("2:1", 5, 2, 3, 12),
            ("1:2", 4, 4, 1, 2),
            ("3:4", 7, 4, 2, 18),
        ];
        for (distribution, sources, destinations, concurrency, load) in table {
            let distribution: Distribution = distribution.parse().unwrap();
            assert_eq!(
                distribution.server_load(sources, destinations, concurrency),
                load,
                "{distribution:?}"
            );
        }
    }

    #[test]
    fn a_distribution_is_two_numbers_above_0() {
        for wrong in ["", "1", ":", "1:", ":1", "0:1", "1:0", "-1:1", "1:1:1", "a:b", "4294967296:1"] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
    }
}
