//! The world of the page: a client that sends PUTs to a server over two rails, each of which may be cut.

use crate::node::SimulatedNode;
use lnet_core::{Clock, ManualClock, Time};
use lnet_dlc::request::NodeInfo;
use lnet_log::History;
use lnet_metrics::{Feed, NamedNode};
use lnet_replies::HeatTable;
use lnet_sim::{
    Delivery, NetworkConfig, NodeId, NodeSpec, Op, OpKind, OpSpec, Rail, World, WorldConfig, nid,
};
use lnet_wire::Nid;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// The number of rails. Each is a net: `tcp`, `tcp1`.
pub const RAILS: usize = 2;
/// The time from one PUT to the next.
const PUT_INTERVAL: Duration = Duration::from_millis(5);
/// The length of a PUT in bytes.
const PUT_LENGTH: u32 = 64;
/// The longest time that one call simulates: a page in the background is not woken for minutes.
const MAX_STEP: Duration = Duration::from_secs(2);
const CLIENT: NodeId = NodeId(0);

/// The world, and what the page has been sent of it.
pub struct Show {
    world: World,
    nodes: Vec<NamedNode>,
    feed: Feed,
    is_cut: [bool; RAILS],
    /// The time of the next PUT.
    due: Time,
    /// The results of PUTs that the world has forgotten.
    earlier: Results,
}

/// Numbers of operations that have ended.
#[derive(Clone, Copy, Default)]
struct Results {
    succeeded: u64,
    failed: u64,
}

impl Results {
    fn add(&mut self, ops: &[Op]) {
        for op in ops.iter().filter(|op| op.ended) {
            let which = if op.succeeded() { &mut self.succeeded } else { &mut self.failed };
            *which += 1;
        }
    }
}

/// The NID of a node on a rail.
const fn nid_on(rail: usize, node: u32) -> Nid {
    nid(rail as u16, (rail as u32) << 8 | (node + 1))
}

impl Show {
    /// Two nodes that have discovered each other. `unix_time` is the time since 1970-01-01 UTC.
    pub fn new(unix_time: Duration) -> Self {
        let network = NetworkConfig { delivery: Delivery::Acked, ..NetworkConfig::default() };
        let config = WorldConfig { network, trace: 0, check_every: 0, ..WorldConfig::default() };
        let mut world = World::new("two nodes, two rails", config);
        let clock = Arc::clone(world.clock());
        let mut nodes = Vec::new();
        for (number, name) in (0..).zip(["client", "server"]) {
            let nids: Vec<Nid> = (0..RAILS).map(|rail| nid_on(rail, number)).collect();
            (0..).zip(&nids).for_each(|(rail, nid)| world.attach(*nid, Rail(rail)));
            let now = Arc::clone(&clock);
            let history = Arc::new(History::new(move || UNIX_EPOCH + unix_time + now.exact().0));
            let id = world.add_node(NodeSpec { history: Some(Arc::clone(&history)), ..NodeSpec::new(&nids) });
            nodes.extend(node(&world, id, &clock, history, name, unix_time));
        }
        let due = world.now();
        let mut show = Self {
            world,
            nodes,
            feed: Feed::default(),
            is_cut: [false; RAILS],
            due,
            earlier: Results::default(),
        };
        show.advance(PUT_INTERVAL);
        show
    }

    /// Runs the world for this time, in which the client sends PUTs.
    pub fn advance(&mut self, time: Duration) {
        let end = self.world.now() + time.min(MAX_STEP);
        // No PUT starts at the end, so that all have ended there unless a path fails, and can be forgotten.
        while self.due < end {
            self.world.run_until(self.due);
            let spec = OpSpec { ask: OpKind::PutWithAck, bytes: PUT_LENGTH, ..OpSpec::default() };
            self.world.start_op_with(CLIENT, nid_on(0, 1), spec);
            self.due += PUT_INTERVAL;
        }
        self.world.run_until(end);
        let ops = self.world.ops();
        if ops.iter().all(|op| op.ended) {
            self.earlier.add(&ops);
            self.world.forget_ended_ops();
        }
    }

    /// Cuts or joins a rail.
    pub fn set_rail(&mut self, rail: usize, works: bool) {
        let Some(is_cut) = self.is_cut.get_mut(rail) else { return };
        *is_cut = !works;
        let rail = Rail(rail as u16);
        if works { self.world.heal_rail(rail) } else { self.world.kill_rail(rail) }
    }

    /// The numbers of PUTs that have succeeded, and that have failed.
    pub fn results(&self) -> (u64, u64) {
        let mut all = self.earlier;
        all.add(&self.world.ops());
        (all.succeeded, all.failed)
    }

    /// The events for the page since the last time, in the format of server-sent events: those that nodes send, and `rails`.
    pub fn update(&mut self) -> String {
        let update = self.feed.read(self.world.now().0, &self.nodes, &[]);
        let (succeeded, failed) = self.results();
        let rails = self.is_cut.iter().enumerate();
        let rails: Vec<_> = rails
            .map(|(rail, is_cut)| json!({"net": nid_on(rail, 0).net().to_string(), "cut": is_cut}))
            .collect();
        let rails = json!({"rails": rails, "succeeded": succeeded, "failed": failed});
        format!("{}event: rails\ndata: {rails}\n\n", String::from_utf8_lossy(&update.since_last))
    }
}

fn node(
    world: &World,
    id: NodeId,
    clock: &Arc<ManualClock>,
    history: Arc<History>,
    name: &str,
    unix_time: Duration,
) -> Option<NamedNode> {
    let info = NodeInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: name.to_owned(),
        process: id.0,
        started_ms: u64::try_from(unix_time.as_millis()).ok(),
        selftest: None,
    };
    let heat = HeatTable::new(clock.now());
    let backend = SimulatedNode { core: world.core(id)?, clock: Arc::clone(clock), heat, history, info };
    Some(NamedNode { name: name.to_owned(), backend: Arc::new(backend) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn run(show: &mut Show, seconds: u32) {
        (0..seconds).for_each(|_| show.advance(Duration::from_secs(1)));
    }

    /// The data of an event of this name in an update.
    fn event(text: &str, name: &str) -> Value {
        let mut events = text.split("\n\n").filter_map(|event| event.strip_prefix("event: "));
        events
            .find_map(|event| event.strip_prefix(name)?.strip_prefix("\ndata: "))
            .map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
    }

    #[test]
    fn traffic_goes_on_when_one_rail_is_cut_and_no_put_fails() {
        let mut show = Show::new(Duration::from_secs(1_700_000_000));
        run(&mut show, 3);
        let before = event(&show.update(), "nodes");
        let peer = &before[0]["peer"][0];
        assert_eq!((&before[0]["name"], &peer["reachability"]), (&"client".into(), &"reachable".into()));
        assert_eq!((&peer["paths"], &peer["usable paths"]), (&2.into(), &2.into()), "{before}");
        for rail in 0..RAILS {
            show.set_rail(rail, false);
            let (sent, _) = show.results();
            run(&mut show, 5);
            let text = show.update();
            let (nodes, rails) = (event(&text, "nodes"), event(&text, "rails"));
            let peer = &nodes[0]["peer"][0];
            assert_eq!(
                (&peer["reachability"], &peer["usable paths"]),
                (&"degraded".into(), &1.into()),
                "{peer}"
            );
            assert!(nodes[0]["rate"]["send_count"].as_f64().unwrap() > 100.0, "{nodes}");
            assert_eq!((&rails["rails"][rail]["cut"], &rails["failed"]), (&true.into(), &0.into()));
            let changes = event(&text, "changes");
            assert!(changes[0]["changes"][0]["at_ms"].as_u64() > Some(1_700_000_000_000), "{changes}");
            show.set_rail(rail, true);
            run(&mut show, 20);
            let nodes = event(&show.update(), "nodes");
            assert_eq!(nodes[0]["peer"][0]["usable paths"], 2, "{nodes}");
            let (now_sent, failed) = show.results();
            assert!(now_sent > sent + 4000 && failed == 0, "{sent}, {now_sent}, {failed}");
        }
    }

    #[test]
    fn with_both_rails_cut_puts_fail_and_after_that_succeed_again() {
        let mut show = Show::new(Duration::ZERO);
        (0..RAILS).for_each(|rail| show.set_rail(rail, false));
        run(&mut show, 120);
        assert!(show.results().1 > 0);
        assert_eq!(event(&show.update(), "nodes")[0]["peer"][0]["reachability"], "unreachable");
        (0..RAILS).for_each(|rail| show.set_rail(rail, true));
        run(&mut show, 60);
        let (sent, failed) = show.results();
        run(&mut show, 5);
        let (now_sent, now_failed) = show.results();
        assert!(now_sent > sent + 900 && now_failed == failed, "{sent}, {now_sent}, {failed}, {now_failed}");
    }
}
