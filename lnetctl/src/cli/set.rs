//! `lnetctl set`, `lnetctl routing`

use super::number;
use clap::{Args, Subcommand};

/// The new value of a setting.
#[derive(Clone, Copy, Debug, Args)]
pub struct Value {
    /// A whole number
    #[arg(allow_negative_numbers = true, value_parser = number::whole)]
    pub value: i64,
}

/// The new mode of discovery.
#[derive(Clone, Copy, Debug, Args)]
pub struct Mode {
    /// off (0), on (1) or verify (2)
    #[arg(allow_negative_numbers = true, value_parser = number::discovery_mode)]
    pub value: i64,
}

/// Settings of the whole node.
#[derive(Debug, Subcommand)]
#[command(rename_all = "snake_case")]
pub enum Set {
    /// Router buffers for messages without data, over all CPU partitions; 0 is the default, -1 changes nothing
    TinyBuffers(Value),
    /// Router buffers of one page, over all CPU partitions; 0 is the default, -1 changes nothing
    SmallBuffers(Value),
    /// Router buffers of 1 MiB, over all CPU partitions; 0 is the default, -1 changes nothing
    LargeBuffers(Value),
    /// Forward messages for others (1) or not (0)
    Routing(Value),
    /// How far apart NUMA nodes may be and count as near: 0 to 4294967295 [default: 0]
    NumaRange(Value),
    /// The most interfaces that a peer may have: from 16 [default: 200]
    MaxInterfaces(Value),
    /// Discover peers (1, on) or not (0, off), or only compare what they say with what is known of them and
    /// report what differs (2, verify) [default: 1]
    Discovery(Mode),
    /// Drop messages that came by another way than the answer would go (1) or not (0) [default: 0]
    DropAsymRoute(Value),
    /// How often a message is sent again: 0 to transaction_timeout, and only 0 while health_sensitivity is 0
    /// [default: 2]
    RetryCount(Value),
    /// Seconds that a message and its answer may take: more than retry_count [default: 50]
    TransactionTimeout(Value),
    /// By how much a failure lowers the health of an interface: 0 to 1000; 0 sets retry_count to 0 as well
    /// [default: 100]
    HealthSensitivity(Value),
    /// Accepted and without effect
    RecoveryInterval(Value),
    /// Percent of its health that a router must have to be used: 0 to 100 [default: 100]
    RouterSensitivity(Value),
    /// For which messages answers are awaited: 0 LNet's own, 1 GETs, 2 PUTs, 3 both [default: 3]
    ResponseTracking(Value),
    /// Seconds for which recovery pings go to an unhealthy interface, from 0, which is no limit [default: 0]
    RecoveryLimit(Value),
    /// The longest time between two recovery pings to an unhealthy interface, in seconds from 1 [default: 900]
    MaxRecoveryPingInterval(Value),
    /// Compare a peer's interfaces by their queued bytes before their credits (1) or not (0) [default: 0]
    CompareQueuedBytes(Value),
    /// Seconds that a discovery may take, all of its steps together, and that a message waits for one, from 1 [default: 10]
    DiscoveryTimeout(Value),
}

/// Subcommands of `routing`, which show the node as a router.
#[derive(Debug, Subcommand)]
pub enum Routing {
    /// Show whether the node forwards, and its router buffers; nothing if it never forwarded
    Show,
}
