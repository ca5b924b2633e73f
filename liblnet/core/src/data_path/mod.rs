//! The path of a message: PUT and GET of programs, receiving, sending, completion, forwarding.

mod confirm;
mod credit_waits;
mod cut_through;
mod deferred_posts;
mod deferred_responses;
mod delays;
mod dropped;
mod events;
mod fault;
mod forward;
mod lost_requests;
mod matching;
mod me_md_eq;
mod messages;
mod ni_removal;
mod path_reports;
mod paths;
mod peers;
mod put_get;
mod receive;
mod received;
mod refusal;
mod request_message;
mod request_path;
mod resend;
mod restarts;
mod send;
mod sent;

use crate::confirm::{Origins, Unconfirmed};
use crate::discovery::Discovery;
use crate::environment::time::Time;
use crate::environment::{CoreConfig, Environment};
use crate::fault::{FailRules, FaultRules};
use crate::health::{Health, pause};
use crate::model::message::MessagePool;
use crate::objects::Objects;
use crate::router::{GatewayChecks, GatewayWatch, RouterBuffers};
use crate::sending::Sending;
use crate::stats::MessageCounters;
use crate::sync::Mutex;
use crate::topology::Topology;
use cut_through::HeldMessages;
use deferred_posts::DeferredPosts;
use deferred_responses::DeferredResponses;
use lnet_log::RateLimitedLog;
use lost_requests::LostRequests;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};

/// The engines that messages pass, and the calls of programs and drivers that move messages. All methods may be called from any
/// thread.
pub struct DataPath {
    pub(crate) env: Environment,
    pub(crate) objects: Objects,
    pub(crate) topology: Topology,
    pub(crate) discovery: Discovery,
    pub(crate) health: Health,
    pub(crate) router_buffers: RouterBuffers,
    pub(crate) gateway_checks: GatewayChecks,
    pub(crate) gateway_watch: GatewayWatch,
    pub(crate) unconfirmed: Unconfirmed,
    pub(crate) faults: FaultRules,
    pub(crate) fail_rules: FailRules,
    pub(crate) message_counters: MessageCounters,
    sending: Sending,
    held: HeldMessages,
    /// The message pool of the loopback.
    spare: MessagePool,
    origins: Origins,
    deferred_posts: DeferredPosts,
    lost_requests: LostRequests,
    deferred: DeferredResponses,
    /// The number of messages that drivers have lost since the last search, and that may wait at lazy portals.
    lost_deferred: AtomicUsize,
    /// The earliest time of the next such search.
    next_lost_deferred: Mutex<Time>,
    /// This data path, for what follows a call of another thread.
    this: Weak<Self>,
}

impl DataPath {
    /// The data path of a node without nets.
    pub(crate) fn new(config: CoreConfig) -> Arc<Self> {
        let history = config.history.clone();
        let topology = Topology::new();
        let revision = topology.peers().revision().clone();
        Arc::new_cyclic(|this| Self {
            objects: Objects::new(config.interface_cookie, config.multi_rail),
            faults: FaultRules::new(config.interface_cookie),
            router_buffers: RouterBuffers::new(config.cpts.count()),
            env: Environment::new(config, log_that_wakes_the_monitor(Weak::clone(this)).keeping(history)),
            topology,
            discovery: Discovery::new(pause, revision),
            health: Health::default(),
            gateway_checks: GatewayChecks::default(),
            gateway_watch: GatewayWatch::default(),
            unconfirmed: Unconfirmed::default(),
            fail_rules: FailRules::default(),
            message_counters: MessageCounters::default(),
            sending: Sending::default(),
            held: HeldMessages::default(),
            spare: MessagePool::default(),
            origins: Origins::default(),
            deferred_posts: DeferredPosts::default(),
            lost_requests: LostRequests::default(),
            deferred: DeferredResponses::default(),
            lost_deferred: AtomicUsize::new(0),
            next_lost_deferred: Mutex::default(),
            this: Weak::clone(this),
        })
    }
}

/// A log whose suppressed lines are counted and reported by the monitor thread, which it wakes.
fn log_that_wakes_the_monitor(data_path: Weak<DataPath>) -> RateLimitedLog {
    RateLimitedLog::with_wake(move || {
        if let Some(data_path) = data_path.upgrade() {
            data_path.health.wake();
        }
    })
}
