//! A simulated node as a backend of requests: those that the page makes.

use lnet_core::{Clock, Core, ManualClock};
use lnet_dlc::request::{AttachedPrograms, NodeInfo};
use lnet_dlc::{Backend, Reply, Request, RequestError};
use lnet_log::History;
use lnet_replies::HeatTable;
use lnet_wire::Errno;
use std::sync::Arc;

/// A simulated node.
pub(crate) struct SimulatedNode {
    pub(crate) core: Arc<Core>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) heat: HeatTable,
    pub(crate) history: Arc<History>,
    pub(crate) info: NodeInfo,
}

impl Backend for SimulatedNode {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        let (core, heat, now) = (&*self.core, &self.heat, self.clock.now());
        let reply = match request {
            Request::GetNode => Reply::Node(self.info.clone()),
            Request::GetPrograms => Reply::Programs(AttachedPrograms::default()),
            Request::GetHistory(after) => Reply::History(lnet_replies::changes_after(&self.history, after)),
            Request::GetLnetStats => Reply::Stats(Box::new(lnet_replies::node_stats(core))),
            Request::GetLocalNi(index) => {
                Reply::LocalNi(Box::new(lnet_replies::local_ni(core, now, heat, index)?))
            }
            Request::GetWaitingNis => Reply::WaitingNis(Vec::new()),
            Request::GetPeerList => {
                Reply::Nids(core.admin().peers().iter().map(|peer| peer.primary).collect())
            }
            Request::GetPeerNi(nid) => Reply::Peer(Box::new(lnet_replies::peer(core, now, heat, nid)?)),
            Request::GetRoute(_) | Request::GetBuffers(_) => return Err(Errno::NotFound.into()),
            _ => return Err(Errno::NotSupported.into()),
        };
        Ok(reply)
    }
}
