//! The plan of a drill: what is lost and when, the load, the seed.

use super::elements::LossTarget;
use super::error::DrillError;
use super::nodes::DrillCluster;
use super::units::ms;
use crate::text::shell_word;
use lnet_sim::{Delivery, OpKind};
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// The largest operation, in bytes: the largest payload of LNet.
pub const MAX_SIZE: u32 = 1 << 20;
/// The most operations of a client that are in flight.
pub const MAX_IN_FLIGHT: u32 = 1024;

/// The time of a loss that is given without one.
const LOSS_AT: Duration = Duration::from_secs(5);
/// The time in which operations begin, unless another is given.
const DURATION: Duration = Duration::from_secs(30);
/// The longest time in which operations begin.
const MAX_DURATION: Duration = Duration::from_secs(3600);
/// The most points of the throughput over time.
const MAX_SLICES: u32 = 240;
/// The shortest time between two of these points.
const MIN_SLICE: Duration = Duration::from_millis(250);

/// The plan of a drill.
#[derive(Clone, Debug)]
pub struct DrillPlan {
    /// The losses.
    pub losses: Vec<Loss>,
    /// The load.
    pub load: Load,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The virtual time in which operations begin.
    pub duration: Duration,
    /// The bytes that each interface sends, and receives, in a second; `None`: as many as make about
    /// [`OPERATIONS_PER_SECOND`] operations a second over all targets.
    pub rate: Option<NonZeroU64>,
    /// When messages count as sent: by nodes of this library, or by the kernel's.
    pub delivery: Delivery,
}

/// The number of operations in a second that interfaces carry together, unless their rate is given.
pub const OPERATIONS_PER_SECOND: u64 = 1000;

/// A loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The element that is lost.
    pub target: LossTarget,
    /// The time of the loss, from the start of the drill.
    pub at: Duration,
}

/// The load: what each client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The kind of the operations.
    pub kind: OpKind,
    /// The length of each in bytes.
    pub size: u32,
    /// The number of operations that each client has in flight.
    pub in_flight: u32,
}

impl Default for DrillPlan {
    fn default() -> Self {
        Self {
            losses: Vec::new(),
            load: Load::default(),
            seed: 1,
            duration: DURATION,
            rate: None,
            delivery: Delivery::Acked,
        }
    }
}

impl Default for Load {
    fn default() -> Self {
        Self { kind: OpKind::PutWithAck, size: MAX_SIZE, in_flight: 8 }
    }
}

impl DrillPlan {
    /// The time between two points of the throughput over time: at least a quarter of a second.
    pub fn slice(&self) -> Duration {
        let slices = MIN_SLICE.as_millis().max(self.duration.as_millis().div_ceil(MAX_SLICES.into()));
        Duration::from_millis(u64::try_from(slices).unwrap_or(u64::MAX))
    }

    /// The options of `lnetctl cluster check` that repeat the drill, for a shell.
    pub fn options(&self, cluster: &DrillCluster) -> String {
        let losses = self
            .losses
            .iter()
            .flat_map(|loss| ["--lose".to_owned(), shell_word(&loss.text(cluster)).into_owned()]);
        let duration = humantime::format_duration(Duration::from_millis(ms(self.duration))).to_string();
        let rest = [
            format!("--load {}", self.load),
            format!("--for {}", shell_word(&duration)),
            format!("--seed {}", self.seed),
        ];
        let kernel = (self.delivery == Delivery::Kernel).then(|| "--kernel-nodes".to_owned());
        losses.chain(rest).chain(kernel).collect::<Vec<_>>().join(" ")
    }

    /// Reads a duration such as `30s` or `2m`, at most an hour.
    pub fn parse_duration(text: &str) -> Result<Duration, DrillError> {
        let parsed = humantime::parse_duration(text).ok();
        parsed.filter(|time| !time.is_zero() && *time <= MAX_DURATION).ok_or_else(|| DrillError::Unparsable {
            given: text.to_owned(),
            expected: "a time such as 500ms, 30s or 2m, at most 1h".to_owned(),
        })
    }
}

impl Loss {
    /// Reads `ELEMENT` or `ELEMENT@TIME`; without a time the loss is at five seconds.
    pub fn parse(cluster: &DrillCluster, text: &str) -> Result<Self, DrillError> {
        // A NID has an `@`, too.
        let timed = text
            .rsplit_once('@')
            .and_then(|(name, time)| Some((name, humantime::parse_duration(time).ok()?)));
        let (name, at) = timed.unwrap_or((text, LOSS_AT));
        Ok(Self { target: LossTarget::find(cluster, name)?, at })
    }

    /// The loss of an element at the default time.
    pub const fn of(target: LossTarget) -> Self {
        Self { target, at: LOSS_AT }
    }

    /// The loss as [`Loss::parse`] reads it.
    pub fn text(&self, cluster: &DrillCluster) -> String {
        let name = self.target.name(cluster);
        if self.at == LOSS_AT { name } else { format!("{name}@{}", humantime::format_duration(self.at)) }
    }
}

impl std::str::FromStr for Load {
    type Err = DrillError;

    /// Reads `put:1M,x8`: kind, size, number in flight. Size and number may be left out.
    fn from_str(text: &str) -> Result<Self, DrillError> {
        let parsed = || {
            let mut load = Self::default();
            let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
            load.kind = match kind {
                "put" => OpKind::PutWithAck,
                "get" => OpKind::Get,
                _ => return None,
            };
            for part in rest.split(',').filter(|part| !part.is_empty()) {
                match part.strip_prefix('x') {
                    Some(number) => {
                        load.in_flight = number.parse().ok().filter(|it| (1..=MAX_IN_FLIGHT).contains(it))?;
                    }
                    None => load.size = size(part).filter(|size| (1..=MAX_SIZE).contains(size))?,
                }
            }
            Some(load)
        };
        parsed().ok_or_else(|| DrillError::Unparsable {
            given: text.to_owned(),
            expected: format!(
                "a load such as put:1M,x8 or get:4k,x64: at most 1M, at most {MAX_IN_FLIGHT} in flight"
            ),
        })
    }
}

/// Reads a size in bytes, in units of 1024 with `k`, and of 1024 of those with `M`.
fn size(text: &str) -> Option<u32> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u32>().ok()?.checked_mul(unit)
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind == OpKind::Get { "get" } else { "put" };
        let (number, unit) = match self.size {
            size if size.is_multiple_of(1 << 20) => (size >> 20, "M"),
            size if size.is_multiple_of(1 << 10) => (size >> 10, "k"),
            size => (size, ""),
        };
        write!(f, "{kind}:{number}{unit},x{}", self.in_flight)
    }
}
