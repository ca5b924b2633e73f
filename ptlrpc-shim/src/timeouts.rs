//! Timeouts of RPCs: fixed, or derived from the time that a service has needed lately (PR-74).

use std::time::Duration;

/// Bounds of adaptive timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// The shortest estimate of a service's time.
    pub min: Duration,
    /// The longest; 0: timeouts are not adaptive, and [`Timeouts::fixed`] applies.
    pub max: Duration,
    /// The time for which a measurement counts.
    pub history: Duration,
}

/// The configuration of RPC timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Lustre's `obd_timeout`: the timeout of requests where it is not adaptive. The ping interval is a quarter of it, the
    /// timeout of a connect request a twentieth, but not less than 5 s (PR-12, PR-62).
    pub fixed: Duration,
    /// Bounds of adaptive timeouts.
    pub adaptive: Adaptive,
    /// The timeout of a connect request in place of the default, before the network latency is added.
    pub connect: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let adaptive = Adaptive {
            min: Duration::ZERO,
            max: Duration::from_secs(600),
            history: Duration::from_secs(600),
        };
        Self { fixed: Duration::from_secs(100), adaptive, connect: None }
    }
}

/// The estimate of a service's time before anything was measured.
const INITIAL_ESTIMATE: Duration = Duration::from_secs(10);
/// The shortest estimate of a service's time, which replies carry in whole seconds. With a timeout of no more than [`SLACK`]
/// every request would get an early reply at once.
const MIN_ESTIMATE: Duration = Duration::from_secs(1);
/// The part of a timeout beyond the estimate and a quarter of it.
const SLACK: Duration = Duration::from_secs(5);
impl Timeouts {
    /// The timeout of a request to a service whose time is estimated as `estimate`.
    pub fn of_request(&self, estimate: Option<Duration>) -> Duration {
        if self.adaptive.max.is_zero() {
            return self.fixed;
        }
        let estimate = estimate
            .unwrap_or(INITIAL_ESTIMATE)
            .max(self.adaptive.min.max(MIN_ESTIMATE))
            .min(self.adaptive.max);
        estimate + estimate / 4 + SLACK
    }

    /// The timeout of a connect request, with this estimate of the network latency (PR-62).
    pub fn of_connect(&self, net_latency: Duration) -> Duration {
        self.connect.unwrap_or_else(|| (self.fixed / 20).max(Duration::from_secs(5))) + net_latency
    }

    /// The interval at which an idle import pings.
    pub fn ping_interval(&self) -> Duration {
        self.fixed / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_request_times_out_after_the_estimate_a_quarter_of_it_and_five_seconds() {
        let timeouts = Timeouts::default();
        let table = [(None, 17), (Some(0), 6), (Some(1), 6), (Some(40), 55), (Some(9000), 755)];
        for (estimate, want) in table {
            let got = timeouts.of_request(estimate.map(s)).as_secs();
            assert_eq!(got, want, "{estimate:?}");
        }
        let fixed = Timeouts { adaptive: Adaptive { max: s(0), ..timeouts.adaptive }, ..timeouts };
        assert_eq!(fixed.of_request(Some(s(40))), s(100));
        assert_eq!((timeouts.of_connect(s(0)), timeouts.of_connect(s(10))), (s(5), s(15)));
        assert_eq!(Timeouts { fixed: s(200), ..timeouts }.of_connect(s(0)), s(10));
    }
}
