//! Medians and spreads.

/// The samples of all rounds, and their statistics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The samples in the order of the rounds.
    pub(crate) samples: Vec<f64>,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Summary {
    /// Summarises the samples; `None` if there are none.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(*sorted.get(middle - 1)?, *sorted.get(middle)?)
        } else {
            *sorted.get(middle)?
        };
        Some(Self { samples: samples.to_vec(), median, least, most })
    }

    /// Divides this by another of the same rounds: the ratio of the medians, with the minimum and the maximum
    /// of the rounds' own ratios.
    pub(crate) fn ratio_to(&self, other: &Self) -> Option<Self> {
        let ratios: Vec<f64> = self.samples.iter().zip(&other.samples).map(|(a, b)| a / b).collect();
        Some(Self { median: self.median / other.median, ..Self::of(&ratios)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_sorted_samples() {
        for (samples, median) in
            [(vec![3.0, 1.0, 2.0], 2.0), (vec![4.0, 1.0, 2.0, 3.0], 2.5), (vec![7.0], 7.0)]
        {
            assert_eq!(Summary::of(&samples).map(|s| s.median), Some(median), "{samples:?}");
        }
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn a_ratio_compares_medians_and_keeps_the_spread_of_rounds() {
        let ours = Summary::of(&[2.0, 4.0, 6.0]);
        let theirs = Summary::of(&[1.0, 1.0, 2.0]);
        let ratio = ours.zip(theirs).and_then(|(ours, theirs)| ours.ratio_to(&theirs));
        let found = ratio.map(|r| (r.median, r.least, r.most));
        assert_eq!(found, Some((4.0, 2.0, 4.0)));
    }
}
