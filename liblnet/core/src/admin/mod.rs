//! Administration: configuration changes, interfaces, and queries of operators and programs about peers.

mod configure;
mod consumers;
mod discovery;
mod discovery_events;
mod fault;
mod health;
mod interfaces;
mod ni_state;
mod ping_target;
mod push_buffers;
mod route_states;
mod router;

use crate::data_path::DataPath;
use crate::discovery::{Discovery, PingTarget};
use crate::environment::{ConfigLock, Environment};
use crate::fault::{FailRules, FaultRules};
use crate::health::Health;
use crate::objects::Objects;
use crate::router::{GatewayChecks, RouterBuffers, Stopping};
use crate::stats::NodeCounters;
use crate::sync::Mutex;
use crate::topology::Topology;
use std::sync::Arc;

/// The administration of a node. All methods may be called from any thread.
#[derive(Clone, Copy)]
pub struct Admin<'a> {
    pub(crate) data_path: &'a Arc<DataPath>,
    pub(crate) env: &'a Environment,
    pub(crate) objects: &'a Objects,
    pub(crate) topology: &'a Topology,
    pub(crate) discovery: &'a Discovery,
    pub(crate) health: &'a Health,
    pub(crate) router_buffers: &'a RouterBuffers,
    pub(crate) gateway_checks: &'a GatewayChecks,
    pub(crate) stopping: &'a Stopping,
    pub(crate) faults: &'a FaultRules,
    pub(crate) fail_rules: &'a FailRules,
    pub(crate) configuration: &'a ConfigLock,
    pub(crate) ping_target: &'a Mutex<PingTarget>,
    pub(crate) retired: &'a Mutex<NodeCounters>,
}
