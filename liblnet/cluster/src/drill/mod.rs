//! Drills: the loss of interfaces, nodes, nets and switches under load, on the core itself with virtual time.
//!
//! [`DrillCluster`] has the nodes that are simulated: a sample of each class. A [`DrillPlan`] says what is lost and when, and what load
//! there is. [`run()`] makes a world of the simulator of both, and returns a [`DrillReport`]: the same seed gives the same report.
//! [`survey()`] makes one drill for each element of a kind. Reports are data; [`text`], [`json`](report) and [`chart`] show them.

pub mod chart;
mod elements;
mod error;
mod load;
mod nodes;
mod observe;
mod of_model;
mod paths;
mod phases;
mod plan;
pub mod report;
mod run;
mod survey;
pub mod text;
mod units;

pub use crate::text::shell_word;
pub use elements::{LossKind, LossTarget};
pub use error::DrillError;
pub use lnet_sim::Delivery;
pub use nodes::{DrillCluster, DrillInterface, DrillNode, DrillPeer, Sample};
pub use of_model::{DEFAULT_SAMPLE, MAX_ROUTERS};
pub use plan::{DrillPlan, Load, Loss, MAX_IN_FLIGHT, MAX_SIZE, OPERATIONS_PER_SECOND};
pub use report::{DrillReport, DrillSurvey};
pub use run::{Progress, run};
pub use survey::survey;

/// The JSON Schema of reports and surveys.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/cluster-drill.schema.json");
