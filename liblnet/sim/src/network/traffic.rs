//! Counts of the traffic of interfaces, and the times at which payloads arrive.

use super::*;

impl Network {
    /// Counts a message that an interface is given to send.
    pub(crate) fn count_sent(&mut self, own: Option<Nid>, payload: Option<&[u8]>) {
        if let (Some(traffic), Some(own)) = (&mut self.traffic, own) {
            let its = traffic.entry(own).or_default();
            its.messages_sent += 1;
            its.bytes_sent += payload.map_or(0, <[u8]>::len) as u64;
        }
    }

    /// Counts a message that arrives at an interface.
    pub(crate) fn count_received(&mut self, own: Nid, payload: Option<&[u8]>) {
        if let Some(traffic) = &mut self.traffic {
            let its = traffic.entry(own).or_default();
            its.messages_received += 1;
            its.bytes_received += payload.map_or(0, <[u8]>::len) as u64;
        }
    }

    /// Returns the time at which a message of this length arrives that is sent now.
    pub(crate) fn arrival_time(
        &mut self,
        between: [InterfaceId; 2],
        length: usize,
        latency: Duration,
    ) -> Time {
        let now = self.now();
        match self.config.rate.filter(|_| length > 0) {
            Some(rate) => self.busy.reserve(between, now, latency, duration_of(length, rate)),
            None => now + latency,
        }
    }
}

/// The time that this many bytes take at this rate in bytes per second.
fn duration_of(length: usize, rate: NonZeroU64) -> Duration {
    let nanoseconds = length as u128 * 1_000_000_000 / u128::from(rate.get());
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
