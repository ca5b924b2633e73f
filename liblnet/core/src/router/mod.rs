//! Forwarding of messages between nets: the switch, the buffers and the checks of gateways.

mod buffer_pool;
mod buffers;
mod cut_through;
mod gateway_checks;
mod gateway_watch;
mod net_liveness;
mod stopping;

pub use buffer_pool::PoolState;
pub(crate) use buffer_pool::Waiting;
pub use buffers::Forwarded;
pub(crate) use buffers::{BufferGrant, BufferRequest, RouterBuffers, Served};
pub use cut_through::CutThroughCounts;
pub(crate) use cut_through::{CutThroughDecision, CutThroughFacts, decide as decide_cut_through};
pub(crate) use gateway_checks::{DueCheck, Gateway, GatewayChecks, NetRoutes};
pub(crate) use gateway_watch::{GatewayActions, GatewayWatch};
pub(crate) use net_liveness::NetLiveness;
pub(crate) use stopping::Stopping;

use std::num::NonZeroUsize;

/// The buffers of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSize {
    /// The pages of each buffer.
    pub pages: u32,
    /// The default number of buffers over all CPTs.
    pub default_count: u32,
}

/// The sizes of buffers: tiny, small and large (core-behaviour 7.5).
pub const BUFFER_SIZES: [BufferSize; 3] = [
    BufferSize { pages: 0, default_count: 2048 },
    BufferSize { pages: 1, default_count: 16384 },
    BufferSize { pages: 256, default_count: 1024 },
];

/// The state of the forwarding switch, with the numbers of buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Router {
    /// Forwarding has never been enabled since the start.
    #[default]
    Never,
    /// Forwarding is disabled again, and its buffers are freed.
    Disabled,
    /// Forwarding is enabled, with these numbers of tiny, small and large buffers over all CPTs; 0 is the default number.
    Enabled([u32; 3]),
    /// Forwarding is being switched off: the node reports that it does not forward, and still does, with the same buffers, until
    /// its peers must know (RT-43).
    Stopping([u32; 3]),
}

impl Router {
    /// Switches forwarding on (no change if it is on) or begins to switch it off (RT-43).
    #[must_use]
    pub const fn switched(self, on: bool) -> Self {
        match (self, on) {
            (Self::Enabled(counts), true) => Self::Enabled(counts),
            (_, true) => Self::Enabled([0; 3]),
            (Self::Enabled(counts) | Self::Stopping(counts), false) => Self::Stopping(counts),
            (Self::Never, false) => Self::Never,
            (Self::Disabled, false) => Self::Disabled,
        }
    }

    /// Completes disabling, and forgets the configured buffer counts.
    #[must_use]
    pub const fn stopped(self) -> Self {
        match self {
            Self::Stopping(_) => Self::Disabled,
            other => other,
        }
    }

    /// Whether the node reports to its peers that it forwards.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::Enabled(_))
    }

    /// Whether the node forwards messages that arrive.
    pub const fn forwards(self) -> bool {
        matches!(self, Self::Enabled(_) | Self::Stopping(_))
    }

    /// Changes the numbers of buffers; `None` keeps one. Without effect while forwarding is off.
    #[must_use]
    pub fn with_buffers(self, counts: [Option<u32>; 3]) -> Self {
        match self {
            Self::Enabled(now) => Self::Enabled(std::array::from_fn(|i| counts[i].unwrap_or(now[i]))),
            other => other,
        }
    }

    /// The numbers of buffers of each size per CPT (RT-40); `None` if forwarding was never enabled.
    pub fn buffers_per_cpt(self, cpts: NonZeroUsize) -> Option<[u32; 3]> {
        let cpts = u32::try_from(cpts.get()).unwrap_or(u32::MAX);
        let share = |total: u32, default: u32| (if total == 0 { default } else { total } / cpts).max(1);
        match self {
            Self::Never => None,
            Self::Disabled => Some([0; 3]),
            Self::Enabled(totals) | Self::Stopping(totals) => {
                Some(std::array::from_fn(|i| share(totals[i], BUFFER_SIZES[i].default_count)))
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn router_buffers_are_spread_over_partitions_and_reset_when_routing_is_switched_off() {
        let cpts = |n| NonZeroUsize::new(n).unwrap();
        assert_eq!(Router::Never.buffers_per_cpt(cpts(1)), None);
        assert_eq!(Router::Never.switched(false), Router::Never);
        let on = Router::Never.switched(true);
        assert_eq!(on.buffers_per_cpt(cpts(1)), Some([2048, 16384, 1024]));
        assert_eq!(on.buffers_per_cpt(cpts(4)), Some([512, 4096, 256]));
        let fewer = on.with_buffers([Some(1), None, Some(128)]);
        assert_eq!(fewer.buffers_per_cpt(cpts(2)), Some([1, 8192, 64]));
        assert_eq!(fewer.switched(true), fewer);
        assert_eq!(
            fewer.with_buffers([Some(0), None, None]).buffers_per_cpt(cpts(1)),
            Some([2048, 16384, 128])
        );
        let stopping = fewer.switched(false);
        assert_eq!(stopping.buffers_per_cpt(cpts(1)), fewer.buffers_per_cpt(cpts(1)));
        assert_eq!(
            (stopping.is_on(), stopping.forwards(), stopping.switched(false)),
            (false, true, stopping)
        );
        assert_eq!(stopping.with_buffers([Some(9); 3]), stopping);
        assert_eq!(stopping.switched(true), on);
        let stopped = stopping.stopped();
        assert_eq!((stopped.forwards(), stopped.buffers_per_cpt(cpts(1))), (false, Some([0; 3])));
        assert_eq!((stopped.switched(true), on.stopped()), (on, on));
    }
}
