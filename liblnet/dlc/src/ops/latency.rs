//! Output of delays.

use crate::Value;
use lnet_wire::latency::Histogram;
use std::time::Duration;

/// The lowest verbosity at which delays are shown. The kernel's tool does not show them.
pub(super) const DETAIL: u32 = 4;

/// Adds a key with the delays that have been measured, if there are any.
pub(super) fn push(shown: &mut Value, latencies: &[Histogram]) {
    if latencies.is_empty() {
        return;
    }
    let mut all = Value::map();
    latencies.iter().for_each(|histogram| all.push(histogram.delay.name(), to_value(histogram)));
    shown.push("latency", all);
}

/// The value for a delay: how many were measured, their mean, quantiles as bounds that they are below, and the number in each bucket by
/// its bound, all in microseconds.
fn to_value(histogram: &Histogram) -> Value {
    let mut shown = Value::map().with("measured", histogram.count());
    if let Some(mean) = histogram.mean() {
        shown.push("mean_us", Value::Float(mean.as_secs_f64() * 1e6));
    }
    for (key, thousandths) in [("p50_us", 500), ("p90_us", 900), ("p99_us", 990)] {
        if let Some(bound) = histogram.quantile(thousandths) {
            shown.push(key, us(bound));
        }
    }
    let mut buckets = Value::map();
    for (bound, count) in histogram.non_empty() {
        buckets.push(bound.map_or_else(|| "longer".to_owned(), us), count);
    }
    shown.with("below_us", buckets)
}

/// A bound in microseconds, which is 0.25, 0.5 or a whole number.
fn us(bound: Duration) -> String {
    match bound.subsec_nanos() % 1000 {
        0 => bound.as_micros().to_string(),
        _ => (bound.as_secs_f64() * 1e6).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::latency::{BUCKETS, Delay};

    #[test]
    fn a_delay_is_shown_with_its_quantiles_and_its_buckets_in_microseconds() {
        let mut counts = vec![0; BUCKETS];
        (counts[0], counts[3], counts[BUCKETS - 1]) = (1, 8, 1);
        let histogram = Histogram { delay: Delay::PutAck, sum_ns: 15_000, counts };
        let mut shown = Value::map();
        push(&mut shown, &[histogram]);
        let expected = [
            "latency:",
            "    put_ack:",
            "        measured: 10",
            "        mean_us: 1.500000",
            "        p50_us: 2",
            "        p90_us: 2",
            "        below_us:",
            "            0.25: 1",
            "            2: 8",
            "            longer: 1",
        ];
        assert_eq!(shown.to_yaml(), expected.join("\n") + "\n");
        let mut nothing = Value::map();
        push(&mut nothing, &[]);
        assert!(nothing.is_empty());
    }
}
