//! Settings of the whole node.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::{Backend, Tunable};

/// One of the settings of the `global` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// By how much NUMA distances may differ.
    NumaRange,
    /// What the kernel has as a module parameter.
    Tunable(Tunable),
    /// Shown only.
    LndTimeout,
}

impl Setting {
    /// All, in the order in which they are shown (DLC sheet 2.7).
    pub const ALL: &[Self] = &[
        Self::NumaRange,
        Self::Tunable(Tunable::MaxInterfaces),
        Self::Tunable(Tunable::Discovery),
        Self::Tunable(Tunable::DropAsymRoute),
        Self::Tunable(Tunable::RetryCount),
        Self::Tunable(Tunable::TransactionTimeout),
        Self::Tunable(Tunable::HealthSensitivity),
        Self::Tunable(Tunable::RecoveryInterval),
        Self::Tunable(Tunable::RouterSensitivity),
        Self::LndTimeout,
        Self::Tunable(Tunable::ResponseTracking),
        Self::Tunable(Tunable::RecoveryLimit),
    ];

    /// Its name on the command line and in YAML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NumaRange => "numa_range",
            Self::Tunable(tunable) => tunable.name(),
            Self::LndTimeout => "lnd_timeout",
        }
    }
}

/// Sets one. [`Rc::GENERIC`] when the node refuses the value. `lustre_lnet_config_numa_range` and the like.
pub fn config(backend: &dyn Backend, setting: Setting, value: i64, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{setting:?} {value} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows one under `global`. `lustre_lnet_show_numa_range` and the like.
pub fn show(backend: &dyn Backend, setting: Setting, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{setting:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows all: `lnetctl global show`.
pub fn show_all(backend: &dyn Backend, report: &mut Report) -> Rc {
    todo!("{report:?} {}", size_of_val(backend))
}
