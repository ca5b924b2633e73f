//! Counts the request buffers of a service of tests (selftest 4.4). Pure.

/// The least number of buffers that a reservation adds, and the number that it adds beyond its load.
const MIN_BUFFERS: u32 = 256;
const SPARE: u32 = 64;
/// Maximum number of buffers of a service: the sum of reservations is the peers' choice.
const MAX_BUFFERS: u32 = 1 << 14;

/// The numbers of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferCounts {
    /// The number of buffers that should be posted.
    total: u32,
    /// The number of buffers that are posted.
    posted: u32,
}

/// Returns the number of buffers to reserve when a server instance with this load is added; `None`: a load without end.
pub(crate) fn reservation(load: Option<u32>, most: u32) -> u32 {
    load.map_or(most, |load| load.min(most)).saturating_add(SPARE).max(MIN_BUFFERS)
}

impl BufferCounts {
    /// Adds a reservation. Returns the number of buffers to post.
    pub(crate) fn reserve(&mut self, count: u32) -> u32 {
        self.total = self.total.saturating_add(count).min(MAX_BUFFERS);
        self.post_to(self.total)
    }

    /// Gives a reservation back. Posted buffers stay until they are used.
    pub(crate) const fn release(&mut self, count: u32) {
        self.total = self.total.saturating_sub(count);
    }

    /// Notes that a request has arrived in a buffer. Returns the number of further buffers to post, if few are left because
    /// requests arrive faster than they are handled.
    pub(crate) fn arrived(&mut self) -> u32 {
        self.posted = self.posted.saturating_sub(1);
        if self.posted >= (self.total / 4).max(2) || self.total == 0 {
            return 0;
        }
        self.total = self.total.saturating_add((self.total / 2).max(MIN_BUFFERS)).min(MAX_BUFFERS);
        self.post_to(self.total)
    }

    /// Counts the buffer of a request that has been read as posted again, if it is needed; returns whether it is.
    pub(crate) const fn repost(&mut self) -> bool {
        let needed = self.posted < self.total;
        self.posted += needed as u32;
        needed
    }

    /// Notes that a buffer could not be posted, or was unlinked.
    pub(crate) const fn lost(&mut self) {
        self.posted = self.posted.saturating_sub(1);
    }

    fn post_to(&mut self, target: u32) -> u32 {
        let more = target.saturating_sub(self.posted);
        self.posted += more;
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
        let mut counts = BufferCounts::default();
        assert_eq!(counts.arrived(), 0, "nothing is reserved");
        assert_eq!(counts.reserve(256), 256);
        for _ in 0..192 {
            assert_eq!(counts.arrived(), 0);
        }
        // Otherwise 63 of 256 would be left.
        assert_eq!(counts.arrived(), 256 + 193);
        counts.release(512);
        assert!(!counts.repost(), "more are posted than are wanted");
        assert_eq!(counts.reserve(u32::MAX), MAX_BUFFERS - 512);
        counts.lost();
        assert!(counts.repost());
        assert!(!counts.repost());
    }
}
