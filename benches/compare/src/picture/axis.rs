//! Logarithmic axes: positions of values, the values with a mark, and the labels of the marks.

/// A logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
    /// Position of `low` on the page; `to` is that of `high`.
    from: f64,
    to: f64,
}

impl LogAxis {
    /// Makes an axis; `None` unless both bounds are positive and differ.
    pub(super) fn new(low: f64, high: f64, from: f64, to: f64) -> Option<Self> {
        (low > 0.0 && low < high && high.is_finite()).then_some(Self { low, high, from, to })
    }

    /// Makes an axis as wide as the values need, with round numbers at both ends. `None` if there are no positive values.
    pub(super) fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0f64), |(low, high), value| (value.min(low), value.max(high)));
        if high == 0.0 {
            return None;
        }
        let (low, high) = (round_down(low), round_up(high));
        Self::new(low, if low < high { high } else { 10.0 * low }, from, to)
    }

    /// Returns the position of a value on the page.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Returns the numbers 1, 2 and 5 of every power of ten, or the powers alone where that would be many.
    pub(super) fn marks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        // The bounds themselves are included, however they were rounded.
        all.filter(|mark| *mark > self.low * 0.999 && *mark < self.high * 1.001).collect()
    }
}

/// Returns the largest of 1, 2 or 5 times a power of ten that is not above the value.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let step = [5.0, 2.0].into_iter().find(|step| step * power <= value);
    step.unwrap_or(1.0) * power
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is not below the value.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= value);
    step.unwrap_or(10.0) * power
}

/// Formats a number without superfluous digits.
pub(super) fn label(value: f64) -> String {
    if value >= 0.999 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}").trim_end_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equal_distances() {
        let axis = LogAxis::new(1.0, 1000.0, 100.0, 400.0).unwrap();
        for (value, place) in [(1.0, 100.0), (10.0, 200.0), (100.0, 300.0), (1000.0, 400.0)] {
            assert!((axis.place(value) - place).abs() < 1e-9, "{value}");
        }
        let upwards = LogAxis::new(8.0, 512.0, 300.0, 0.0).unwrap();
        assert!((upwards.place(64.0) - 150.0).abs() < 1e-9);
    }

    #[test]
    fn bounds_are_round_numbers_around_the_values() {
        for (values, low, high) in [
            (&[3.0, 70.0][..], 2.0, 100.0),
            (&[1.0, 10.0], 1.0, 10.0),
            (&[0.3, 4900.0], 0.2, 5000.0),
            (&[7.0], 5.0, 10.0),
            (&[2.0], 2.0, 20.0),
            (&[0.0, -1.0, f64::NAN, f64::INFINITY, 6.0], 5.0, 10.0),
        ] {
            let axis = LogAxis::around(values.iter().copied(), 0.0, 1.0).unwrap();
            assert!(
                (axis.low / low - 1.0).abs() < 1e-9 && (axis.high / high - 1.0).abs() < 1e-9,
                "{values:?}"
            );
        }
    }

    #[test]
    fn there_is_no_axis_without_positive_values() {
        assert_eq!(LogAxis::around([0.0, -3.0].into_iter(), 0.0, 1.0), None);
        for (low, high) in [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(LogAxis::new(low, high, 0.0, 1.0), None);
        }
    }

    #[test]
    fn marks_are_round_and_few() {
        for (low, high, expected) in [
            (2.0, 100.0, &["2", "5", "10", "20", "50", "100"][..]),
            (0.2, 2.0, &["0.2", "0.5", "1", "2"]),
            (1.0, 1e5, &["1", "10", "100", "1000", "10000", "100000"]),
            (0.05, 5000.0, &["0.1", "1", "10", "100", "1000"]),
        ] {
            let marks = LogAxis::new(low, high, 0.0, 1.0).unwrap().marks();
            assert_eq!(marks.into_iter().map(label).collect::<Vec<_>>(), expected);
        }
    }
}
