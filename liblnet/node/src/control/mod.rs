//! The node's backend of control requests: for `lnetctl`, the DLC calls and `LNetCtl`.

mod discovery;
mod fault;
mod health;
mod local_ni;
mod peer;
mod policy;
mod route;

use crate::node::Node;
use lnet_core::health::NiKind;
use lnet_core::{Errno, Setting};
use lnet_dlc::ranges::PING_TIMEOUT_MS;
use lnet_dlc::request::{AttachedPrograms, DistanceResponse, NodeInfo, PingResponse, Tunables};
use lnet_dlc::{Backend, Reply, Request, RequestError, request};
use lnet_settings::ChangeTime;
use std::time::Duration;

/// The longest ping: its client may be gone, and must not occupy the control socket without limit.
const MAX_PING_TIMEOUT: Duration = Duration::from_millis(PING_TIMEOUT_MS.most as u64);

impl Backend for Node {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.call_with_warnings(request, &mut Vec::new())
    }

    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        let core = self.core();
        let result = match request {
            Request::GetNode => Ok(Reply::Node(NodeInfo {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                name: self.name().to_string(),
                process: std::process::id(),
                started_ms: Some(self.started_ms()),
                selftest: None,
            })),
            // Who runs the node and lets programs attach adds them.
            Request::GetPrograms => Ok(Reply::Programs(AttachedPrograms::default())),
            Request::GetHistory(after) => {
                Ok(Reply::History(lnet_replies::changes_after(&self.history, after)))
            }
            Request::GetNi(index) => core.ni_by_index(index).map(Reply::Id).ok_or(Errno::NotFound),
            Request::FailNid(nid, count) => {
                core.admin().fail_nid(nid, count);
                Ok(Reply::Done)
            }
            // A node that replies is configured, and only its owner may shut it down.
            Request::Configure(how) => {
                if how.large_nids {
                    self.use_large_nids();
                }
                warnings.extend(local_ni::warnings(self));
                Ok(Reply::Done)
            }
            Request::Unconfigure => Err(Errno::Busy),
            Request::LnetDist(nid) => core.dist(nid).map(|far| {
                Reply::Distance(DistanceResponse { hops: far.hops, source: far.source, order: far.order })
            }),
            Request::PingPeer(ping) => self.control_ping(ping),
            Request::Discover(ask) => discovery::discover(self, ask).map(Reply::Discovered),
            Request::AddFault(rule) => fault::add(core, &rule).map(|()| Reply::Done),
            Request::DelFaults(which) => Ok(Reply::Number(fault::delete(core, which))),
            Request::ResetFaults(kind) => {
                fault::reset(core, kind);
                Ok(Reply::Done)
            }
            Request::GetFault(kind, index) => {
                fault::get(core, kind, index).map(|fault| Reply::Fault(Box::new(fault)))
            }
            Request::NotifyRouter(notice) => {
                core.admin().notify_peer_ni(notice.nid, notice.alive);
                Ok(Reply::Done)
            }
            Request::Explain(ask) => lnet_replies::explain(core, self.now(), ask).map(Reply::Explanation),
            Request::AddRoute(route) => route::add(self, route).map(|()| Reply::Done),
            Request::DelRoute(which) => route::delete(self, which).map(|()| Reply::Done),
            Request::GetRoute(index) => route::get(self, index).map(Reply::Route),
            Request::ConfigRouter(on) => route::switch(core, on).map(|()| Reply::Done),
            Request::AddBuffers(counts) => route::set_buffers(core, counts).map(|()| Reply::Done),
            Request::GetBuffers(cpt) => route::buffers(core, cpt).map(Reply::Buffers),
            Request::GetLnetStats => Ok(Reply::Stats(Box::new(lnet_replies::node_stats(core)))),
            Request::ResetLnetStats => {
                core.reset_counters();
                self.heat.reset(self.now());
                Ok(Reply::Done)
            }
            Request::AddPeerNi(add) => peer::add(core, add).map(|()| Reply::Done),
            Request::DelPeerNi(del) => {
                core.admin().delete_peer(del.primary, del.nid, del.force).map(|()| Reply::Done)
            }
            Request::GetPeerNi(nid) => {
                lnet_replies::peer(core, self.now(), &self.heat, nid).map(|peer| Reply::Peer(Box::new(peer)))
            }
            Request::GetPeerList => {
                let peers = core.admin().peers();
                self.heat.keep_peers(peers.iter().flat_map(|peer| &peer.nids));
                Ok(Reply::Nids(peers.iter().map(|peer| peer.primary).collect()))
            }
            Request::SetPeer(set) => peer::set_state(core, set).map(|()| Reply::Done),
            Request::AddLocalNi(add) => return local_ni::add(self, add, warnings),
            Request::CheckLocalNi(add) => return local_ni::check(self, add).map(|()| Reply::Done),
            Request::DelLocalNi(del) => return local_ni::delete(self, &del).map(|()| Reply::Done),
            Request::GetLocalNi(index) => lnet_replies::local_ni(core, self.now(), &self.heat, index)
                .map(|ni| Reply::LocalNi(Box::new(ni))),
            Request::GetWaitingNis => Ok(Reply::WaitingNis(self.waiting.list())),
            Request::SetNumaRange(range) => self.set(Setting::NumaRange, range.into()),
            Request::GetNumaRange => Ok(Reply::Number(core.settings().numa_range)),
            Request::SetTunable(setting, value) => self.set(setting, value),
            Request::GetSettings => Ok(Reply::Settings(self.setting_states.list(&core.settings()))),
            Request::GetTunables => Ok(Reply::Tunables(Tunables::of(core.settings()))),
            Request::SetHealth(set) => health::set(core, set).map(|()| Reply::Done),
            Request::GetRecoveryQueue(own) => {
                Ok(Reply::Nids(core.admin().recovery_queue(if own { NiKind::Local } else { NiKind::Peer })))
            }
            Request::AddUdsp(add) => policy::add(core, add).map(|()| Reply::Done),
            Request::DelUdsp(index) => {
                core.admin().delete_rule(index.map(|index| index as usize)).map(|()| Reply::Done)
            }
            Request::DelSameUdsp(del) => policy::delete_same(core, *del).map(|()| Reply::Done),
            Request::GetUdsp(index) => policy::get(core, index).map(|rule| Reply::Udsp(Box::new(rule))),
            Request::GetAppliedUdsp(nid, own) => policy::applied(core, nid, own).map(Reply::AppliedUdsp),
            Request::SetConnsPerPeer(set) => local_ni::set_conns_per_peer(core, set).map(|()| Reply::Done),
        };
        result.map_err(RequestError::from)
    }
}

impl Node {
    /// [`Errno::Invalid`] for a setting that cannot change while the node runs.
    fn set(&self, setting: Setting, value: i64) -> Result<Reply, Errno> {
        if setting.spec().change != ChangeTime::AnyTime {
            return Err(Errno::Invalid);
        }
        let mut change = None;
        self.core().admin().change_settings(|settings| {
            let before = *settings;
            settings.set(setting, value)?;
            change = Some((before, *settings));
            Ok(())
        })?;
        if let Some((before, now)) = change {
            self.setting_states.note_change(setting, &before, &now);
        }
        Ok(Reply::Done)
    }

    /// Pings a peer for a client. As in the kernel, the reply's primary NID and multi-rail state are those known to this node;
    /// its NIDs are those that the peer reports.
    fn control_ping(&self, ping: request::Ping) -> Result<Reply, Errno> {
        let response = self.ping(crate::PingRequest {
            target: ping.target,
            source: ping.source,
            max_entries: ping.max_nids,
            timeout: Some(
                ping.timeout_ms
                    .map_or(MAX_PING_TIMEOUT, |ms| Duration::from_millis(ms.into()))
                    .min(MAX_PING_TIMEOUT),
            ),
        })?;
        let nid = ping.target.nid;
        let known = self.core().admin().peer(nid);
        Ok(Reply::Ping(PingResponse {
            primary: known.as_ref().map_or(nid, |(peer, _)| peer.primary),
            pid: response.info.pid.0,
            multi_rail: known.is_some_and(|(peer, _)| peer.is_multi_rail()),
            nids: response
                .info
                .entries
                .iter()
                .map(|entry| entry.nid)
                .filter(|nid| !nid.is_loopback())
                .collect(),
        }))
    }
}
