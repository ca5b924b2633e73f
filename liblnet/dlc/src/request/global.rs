//! Settings of the whole node.

use serde::{Deserialize, Serialize};

macro_rules! tunables {
    ($($(#[$doc:meta])* $variant:ident $field:ident,)*) => {
        /// A setting of the whole node that the kernel has as a module parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Tunable { $($(#[$doc])* $variant,)* }

        impl Tunable {
            /// All that can be set, in the order in which they are shown and applied.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name on the command line and in YAML.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field)),* }
            }
        }

        /// Their values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Tunables {
            $($(#[$doc])* pub $field: u32,)*
            /// Seconds that a driver has for one message: from transaction time-out and retry count.
            pub lnd_timeout: u32,
        }

        impl Tunables {
            /// The value of one.
            pub const fn get(&self, tunable: Tunable) -> u32 {
                match tunable { $(Tunable::$variant => self.$field),* }
            }

            /// Changes one.
            pub const fn set(&mut self, tunable: Tunable, value: u32) {
                match tunable { $(Tunable::$variant => self.$field = value),* }
            }
        }
    };
}

tunables! {
    /// The most interfaces that a peer may have.
    MaxInterfaces max_interfaces,
    /// Whether peers are discovered: 0 not, 1 yes, 2 only to compare with what is known of them.
    Discovery discovery,
    /// Whether messages that came by another way than the answer would go are dropped.
    DropAsymRoute drop_asym_route,
    /// How often a message is sent again.
    RetryCount retry_count,
    /// Seconds that a message and its answer may take.
    TransactionTimeout transaction_timeout,
    /// By how much a failure lowers a health value.
    HealthSensitivity health_sensitivity,
    /// Without effect, as in the kernel.
    RecoveryInterval recovery_interval,
    /// Percent of its health that a router must have.
    RouterSensitivity router_sensitivity,
    /// For which messages answers are tracked: 0 LNet's own, 1 GETs, 2 PUTs, 3 both.
    ResponseTracking response_tracking,
    /// Seconds for which recovery pings go to an unhealthy interface; 0: for ever.
    RecoveryLimit recovery_limit,
    /// The most seconds between two recovery pings to an unhealthy interface.
    MaxRecoveryPingInterval max_recovery_ping_interval,
    /// Whether a peer's interfaces are compared by their queued bytes before their credits.
    CompareQueuedBytes compare_queued_bytes,
    /// Seconds that a discovery may take, all steps together. The kernel has none.
    DiscoveryTimeout discovery_timeout,
}
