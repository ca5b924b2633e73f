//! The configuration of RPCs.

use std::time::Duration;

/// The configuration of RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcConfig {
    /// The time without a reply after which a request is aborted; `None`: never.
    pub timeout: Option<Duration>,
    /// Request buffers of each service of the framework.
    pub framework_buffers: u32,
    /// The most request buffers that the load of one brw test reserves.
    pub max_brw_buffers: u32,
    /// The same number for ping.
    pub max_ping_buffers: u32,
    /// Threads for all but the framework; `None`: as many as the machine has processors.
    pub workers: Option<usize>,
}

impl Default for RpcConfig {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(64)),
            framework_buffers: 256,
            max_brw_buffers: 2048,
            max_ping_buffers: 2048,
            workers: None,
        }
    }
}
