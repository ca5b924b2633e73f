//! The topology: local nets and NIs, peers and peer NIs, routes, selection rules.

mod applied_rules;
mod former_routes;
mod nets;
mod paths;
pub(crate) mod peer_config;
mod peer_table;
mod peers;
#[cfg(all(test, not(loom)))]
mod route_tests;
mod routes;
mod rules;
mod truncated_nids;

pub use crate::model::{
    ActiveRoute, Distance, FatalReporter, GatewayTerms, Net, NetUsage, Nets, Ni, NiConfig, NiTunables,
    Partner, Partners, Peer, PeerNi, PeerState, Preference, Route, RouteState, Routes,
};
pub(crate) use nets::WayTo;
pub(crate) use peer_table::PeerTable;
pub(crate) use rules::RuleChange;

use crate::model::TurnClock;
use crate::router::Router;
use crate::select::Paths;
use crate::sync::Mutex;
use applied_rules::AppliedRules;
use arc_swap::{ArcSwap, Guard};
use former_routes::FormerRoutes;
use lnet_wire::Nid;
use rules::RuleSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use truncated_nids::TruncatedNids;

/// The nets, peers, routes and rules of a node. Values that are read for each message are replaced as a whole;
/// any thread may read.
pub(crate) struct Topology {
    tables: ArcSwap<PathTables>,
    /// Whether there is one interface beside the loopback, or none.
    single_rail: AtomicBool,
    peers: PeerTable,
    former_routes: Mutex<FormerRoutes>,
    router: ArcSwap<Router>,
    /// A copy of [`Router::forwards`], which every message for another node needs.
    forwards: AtomicBool,
    basis: AppliedRules<RuleSet>,
    /// Whether any rule counts messages.
    counts_messages: AtomicBool,
    turn_clock: TurnClock,
    truncated_nids: TruncatedNids,
}

/// The local nets and the routes, which a message reads together. They are replaced under the configuration lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTables {
    nets: Arc<Nets>,
    routes: Arc<Routes>,
}

impl PathTables {
    #[inline(always)]
    pub(crate) fn paths(&self) -> Paths<'_> {
        Paths { nets: &self.nets, routes: &self.routes }
    }
}

impl Topology {
    /// A topology without nets and peers.
    pub(crate) fn new() -> Self {
        Self {
            tables: ArcSwap::default(),
            single_rail: AtomicBool::new(true),
            peers: PeerTable::new(),
            former_routes: Mutex::default(),
            router: ArcSwap::default(),
            forwards: AtomicBool::new(Router::default().forwards()),
            basis: AppliedRules::new(RuleSet::default()),
            counts_messages: AtomicBool::new(false),
            turn_clock: TurnClock::default(),
            truncated_nids: TruncatedNids::default(),
        }
    }

    /// The current nets.
    pub(crate) fn nets(&self) -> Arc<Nets> {
        Arc::clone(&self.tables.load().nets)
    }

    /// Calls `look` with the current nets, for a short access.
    #[inline(always)]
    pub(crate) fn with_nets<R>(&self, look: impl FnOnce(&Nets) -> R) -> R {
        look(&self.tables.load().nets)
    }

    /// The current nets and routes, for a short access.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Guard<Arc<PathTables>> {
        self.tables.load()
    }

    /// Calls `look` with the current nets and routes, for a short access.
    #[inline(always)]
    pub(crate) fn with_paths<R>(&self, look: impl FnOnce(Paths<'_>) -> R) -> R {
        look(self.tables.load().paths())
    }

    /// All peers and peer NIs.
    pub(crate) const fn peers(&self) -> &PeerTable {
        &self.peers
    }

    /// The peer NI with this NID, if it is known.
    #[inline(always)]
    pub(crate) fn peer_ni(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        self.peers.get(nid)
    }

    /// The current routes.
    pub(crate) fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.tables.load().routes)
    }
}
