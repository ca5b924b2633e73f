use super::*;
use crate::environment::time::ManualClock;
use crate::environment::{ConfigLock, CoreConfig};
use crate::memory::RecvBuffer;
use crate::model::PeerState;
use lnet_log::RateLimitedLog;
use lnet_settings::{DiscoveryMode, Settings};
use lnet_wire::{NetId, NetType, Pid};
use std::time::Duration;

/// A discovery engine with peers, without a node around it.
struct Rig {
    clock: ManualClock,
    env: Environment,
    topology: Topology,
    discovery: Discovery,
}

impl Rig {
    fn new() -> Self {
        let clock = ManualClock::default();
        let config = CoreConfig { clock: Arc::new(clock.clone()), ..CoreConfig::new(Pid::LUSTRE, 1) };
        let env = Environment::new(config, RateLimitedLog::new());
        let topology = Topology::new();
        let discovery = Discovery::new(|_| Duration::ZERO, topology.peers().revision().clone());
        let rig = Self { clock, env, topology, discovery };
        let settings = Settings { discovery: DiscoveryMode::On, ..rig.env.settings() };
        rig.discovery.set_local_state(&ConfigLock::default().lock(), &settings, 1);
        rig
    }

    fn peer(&self, address: u32) -> Arc<Peer> {
        let nid = Nid::new(NetId::new(NetType::TCP, 0), address);
        self.topology.peers().make(&ConfigLock::default().lock(), nid, PeerState::default(), 8);
        self.topology.peer(nid).unwrap()
    }

    /// Runs the discovery, whose actions must all be pings; returns the primary NIDs of the pinged peers.
    fn pings(&self) -> Vec<Nid> {
        let mut run = self.discovery.begin_run();
        let mut pinged = Vec::new();
        while let Some(action) = run.poll(&self.env, &self.topology) {
            let Action::Ping { peer, reply_len, .. } = action else { panic!("{action:?}") };
            self.discovery.begin_ping(&self.env, &peer, peer.primary, RecvBuffer::new(reply_len));
            pinged.push(peer.primary);
        }
        pinged
    }
}

#[test]
fn peers_with_waiting_requests_are_pinged_first_and_each_peer_once() {
    let rig = Rig::new();
    let (first, second) = (rig.peer(1), rig.peer(2));
    rig.discovery.handle_input(&first.discovery, Input::BadPush { path: (first.primary, first.primary) });
    rig.discovery.handle_input(&second.discovery, Input::Wanted);
    rig.discovery.handle_input(&second.discovery, Input::Wanted);
    assert_eq!(rig.pings(), [second.primary, first.primary]);
    assert_eq!(rig.pings(), []);
}

#[test]
fn a_ping_without_a_reply_in_time_fails_the_discovery_which_says_the_limit() {
    let rig = Rig::new();
    let peer = rig.peer(1);
    rig.discovery.handle_input(&peer.discovery, Input::Wanted);
    assert_eq!(rig.pings(), [peer.primary]);
    let timeout = rig.env.discovery_timeout();
    assert_eq!(rig.discovery.next_poll(), Some(Time(timeout)));
    rig.clock.advance_to(timeout);
    assert_eq!(rig.pings(), []);
    let status = rig.discovery.status(&rig.topology, peer.primary).unwrap();
    let (nid, limit) = (peer.primary, Some(10));
    let failure = Failure { step: Step::Ping, nid, errno: Errno::TimedOut, limit };
    let text = format!("discovery ping to {nid} failed: Connection timed out (discovery_timeout: 10 s)");
    assert_eq!(failure.to_string(), text);
    assert_eq!((status.failure, status.up_to_date), (Some(failure), false));
    assert_eq!(rig.discovery.next_poll(), None);
}

#[test]
fn a_node_that_shuts_down_processes_no_peer() {
    let rig = Rig::new();
    let peer = rig.peer(1);
    rig.discovery.handle_input(&peer.discovery, Input::Wanted);
    rig.env.begin_ending();
    assert_eq!(rig.pings(), []);
}
