//! Counts the requests of a service of tests that its posted buffers have space for (selftest 4.4). Pure.

/// The number of requests that a buffer has space for.
pub(crate) const REQUESTS_PER_BUFFER: u16 = 16;
/// The least number of requests that a reservation adds space for, and the number that it adds beyond its load.
const MIN_BUFFERS: u32 = 256;
const SPARE: u32 = 64;
/// Maximum number of requests that a service's buffers have space for: the sum of reservations is the peers' choice.
const MAX_REQUESTS: u32 = 1 << 14;

/// The numbers of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferCounts {
    /// The number of requests that there should be space for.
    total: u32,
    /// The number of requests that there is space for.
    posted: u32,
}

/// Returns the number of requests to reserve space for when a server instance with this load is added; `None`: a load without end.
pub(crate) fn reservation(load: Option<u32>, most: u32) -> u32 {
    load.map_or(most, |load| load.min(most)).saturating_add(SPARE).max(MIN_BUFFERS)
}

impl BufferCounts {
    /// Adds a reservation. Returns the number of buffers to post.
    pub(crate) fn reserve(&mut self, count: u32) -> u32 {
        self.total = self.total.saturating_add(count).min(MAX_REQUESTS);
        self.post_to(self.total)
    }

    /// Gives a reservation back. Posted buffers stay until they are used.
    pub(crate) const fn release(&mut self, count: u32) {
        self.total = self.total.saturating_sub(count);
    }

    /// Notes that a request has arrived. Returns the number of further buffers to post, if few are left because
    /// requests arrive faster than they are handled.
    pub(crate) fn arrived(&mut self) -> u32 {
        self.posted = self.posted.saturating_sub(1);
        if self.posted >= (self.total / 4).max(2) || self.total == 0 {
            return 0;
        }
        self.total = self.total.saturating_add((self.total / 2).max(MIN_BUFFERS)).min(MAX_REQUESTS);
        self.post_to(self.total)
    }

    /// Counts a buffer whose requests have all been read as posted again, if it is needed; returns whether it is.
    pub(crate) fn repost(&mut self) -> bool {
        let needed = self.posted < self.total;
        if needed {
            self.posted += u32::from(REQUESTS_PER_BUFFER);
        }
        needed
    }

    /// Notes that a buffer with space for this number of requests could not be posted, or was unlinked.
    pub(crate) const fn lost(&mut self, space: u32) {
        self.posted = self.posted.saturating_sub(space);
    }

    /// Returns the number of buffers that make space for `target` requests, and counts them as posted.
    fn post_to(&mut self, target: u32) -> u32 {
        let more = target.saturating_sub(self.posted).div_ceil(REQUESTS_PER_BUFFER.into());
        self.posted += more * u32::from(REQUESTS_PER_BUFFER);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_follow_the_load_within_bounds() {
        for (load, wanted) in
            [(Some(1), 256), (Some(192), 256), (Some(193), 257), (Some(9999), 2112), (None, 2112)]
        {
            assert_eq!(reservation(load, 2048), wanted, "{load:?}");
        }
    }

    #[test]
    fn buffers_are_posted_grown_and_released() {
        let of_buffer = u32::from(REQUESTS_PER_BUFFER);
        let mut counts = BufferCounts::default();
        assert_eq!(counts.arrived(), 0, "nothing is reserved");
        assert_eq!(counts.reserve(250), 16);
        assert_eq!(counts.reserve(6), 0, "there is space for 256");
        for _ in 0..192 {
            assert_eq!(counts.arrived(), 0);
        }
        // Otherwise there would be space for 63 of 256.
        assert_eq!(counts.arrived(), (256_u32 + 193).div_ceil(of_buffer));
        counts.release(512);
        assert!(!counts.repost(), "there is more space than is wanted");
        assert_eq!(counts.reserve(u32::MAX), (MAX_REQUESTS - 63 - 464).div_ceil(of_buffer));
        counts.lost(of_buffer);
        assert!(counts.repost());
        assert!(!counts.repost());
    }
}
