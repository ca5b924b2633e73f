//! The nodes of a drill from the model of a cluster: the first nodes of each class, and all routers.

use super::nodes::{DrillCluster, DrillInterface, DrillNode, DrillPeer, Sample};
use crate::model::{Class, ClassNi, ClassPeer, Cluster, NidIndex};
use crate::text::listed;
use lnet_core::NiTunables;
use lnet_core::policy::{Action, Rule};
use lnet_core::topology::Route;
use lnet_dlc::ops::policy::RuleAction;
use lnet_sim::NodeSpec;
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// The number of nodes of a class, without routers, that are simulated unless another is given.
pub const DEFAULT_SAMPLE: u64 = 4;
/// The most routers of a class that are simulated.
pub const MAX_ROUTERS: u64 = 64;

impl DrillCluster {
    /// Takes `per_class` nodes of each class, and all routers up to [`MAX_ROUTERS`] of a class.
    pub fn sample(cluster: &Cluster, per_class: u64) -> Self {
        let name = |index: usize| cluster.classes.get(index).map(|class| class.name.clone());
        let apart = cluster.apart.iter().filter_map(|(one, other)| Some((name(*one)?, name(*other)?)));
        let mut drill = Self { apart: apart.collect(), ..Self::default() };
        let nids = NidIndex::of(cluster);
        for (index, class) in cluster.classes.iter().enumerate() {
            let limit = if class.is_router { MAX_ROUTERS } else { per_class.max(1) };
            let simulated = class.count.min(limit);
            if class.is_router && simulated < class.count {
                let left = class.count - simulated;
                drill.left_out.push(format!("{left} of the {} routers of {}", class.count, class.name));
            }
            drill.left_out.extend(left_out(class));
            let is_of_class = |nid: &Nid| nids.owner(*nid).is_some_and(|owner| owner.node.class == index);
            let (peers, others): (Vec<_>, Vec<_>) =
                class.peers.iter().partition(|peer| is_of_all(class, peer, is_of_class));
            if !others.is_empty() {
                let (left, all) = (others.len(), class.peers.len());
                let name = &class.name;
                drill
                    .left_out
                    .push(format!("{left} of the {all} peers of {name}, which only some of its nodes have"));
            }
            drill.samples.push(Sample { class: class.name.clone(), simulated, nodes: class.count });
            let rest = class.nodes.iter().skip(usize::try_from(simulated).unwrap_or(usize::MAX));
            drill.not_sampled.extend(rest.cloned());
            drill.nodes.extend((0..simulated).map(|node| node_of(class, node, &peers)));
        }
        drill.leave_switches_out(cluster);
        drill
    }

    /// Notes the switches of a cluster that no simulated node is attached to.
    fn leave_switches_out(&mut self, cluster: &Cluster) {
        let interfaces = self.nodes.iter().flat_map(|node| &node.interfaces);
        let simulated: BTreeSet<&str> = interfaces.filter_map(|its| its.switch.as_deref()).collect();
        let others: Vec<&str> =
            cluster.switches().into_iter().filter(|label| !simulated.contains(label)).collect();
        if !others.is_empty() {
            let names = listed(&others);
            self.left_out.push(format!(
                "{} of the switches, as no node of the sample is on them: {names}; raise --clients",
                others.len()
            ));
        }
        self.not_sampled.extend(others.into_iter().map(|label| format!("switch:{label}")));
    }
}

/// Whether all nodes of a class have a peer. A node has no peer that is itself.
fn is_of_all(class: &Class, peer: &ClassPeer, is_of_class: impl Fn(&Nid) -> bool) -> bool {
    peer.nodes >= class.count - u64::from(peer.nids.iter().any(is_of_class))
}

/// The parts of a class's configuration that are not simulated.
fn left_out(class: &Class) -> Vec<String> {
    let mut all = Vec::new();
    let unknown = class.nis.iter().enumerate().filter(|(_, ni)| !ni.addresses.is_known());
    all.extend(
        unknown.map(|(index, _)| {
            format!("{} of {}: its address is not known", class.ni_label(index), class.name)
        }),
    );
    let mut tunables = class.nis.iter().map(|ni| ni.tunables);
    let first = tunables.next();
    if tunables.any(|its| Some(its) != first) {
        all.push(format!(
            "the credits of the interfaces of {} but the first: all have those of the first",
            class.name
        ));
    }
    all
}

/// A node of a class, with those of these peers that are not the node itself.
fn node_of(class: &Class, node: u64, peers: &[&ClassPeer]) -> DrillNode {
    let known = class.nis.iter().enumerate().filter_map(|(index, ni)| Some((class.nid(index, node)?, ni)));
    let (nids, interfaces): (Vec<Nid>, Vec<DrillInterface>) =
        known.map(|(nid, ni)| (nid, interface_of(ni, node))).unzip();
    let mut spec = NodeSpec {
        settings: class.settings,
        discovery: class.settings.discovery,
        first_ping: class.settings.first_ping,
        tunables: class.nis.first().map(tunables_of).unwrap_or_default(),
        routes: class
            .routes
            .iter()
            .map(|route| Route {
                net: route.net,
                gateway: route.gateway,
                hops: route.hops,
                priority: route.priority,
                health_sensitivity: route.sensitivity.unwrap_or(1),
            })
            .collect(),
        ..NodeSpec::new(&nids)
    };
    if class.is_router {
        spec.forwards = Some(class.buffers);
    }
    let is_other = |peer: &&&ClassPeer| !class.nids(node).any(|nid| peer.nids.contains(&nid));
    let peers = peers.iter().filter(is_other).filter_map(|peer| {
        let (primary, others) = peer.nids.split_first()?;
        Some(DrillPeer { primary: *primary, nids: others.to_vec(), multi_rail: peer.multi_rail })
    });
    let rules = class.rules.iter().map(|its| {
        let is_one_sided = [&its.src, &its.dst, &its.rte].into_iter().flatten().count() == 1;
        let action = match its.action {
            RuleAction::Suited if is_one_sided || its.messages.is_some() => Action::Priority(0),
            RuleAction::Priority(priority) => Action::Priority(priority),
            RuleAction::Suited | RuleAction::PreferredList => Action::PreferredList,
        };
        let messages = its.messages.and_then(NonZeroU32::new);
        Rule { messages, ..Rule::new(its.src.clone(), its.dst.clone(), its.rte.clone(), action) }
    });
    DrillNode {
        interfaces,
        peers: peers.collect(),
        rules: rules.collect(),
        ..DrillNode::new(&class.node_name(node), &class.name, spec)
    }
}

fn interface_of(ni: &ClassNi, node: u64) -> DrillInterface {
    DrillInterface { name: ni.interface.clone(), switch: ni.switch_of(node).map(str::to_owned) }
}

fn tunables_of(ni: &ClassNi) -> NiTunables {
    let (given, default) = (ni.tunables, NiTunables::default());
    NiTunables {
        credits: given.credits.unwrap_or(default.credits),
        peer_credits: given.peer_credits.unwrap_or(default.peer_credits),
        peer_buffer_credits: given.peer_buffer_credits.unwrap_or(default.peer_buffer_credits),
        peer_timeout: given.peer_timeout.unwrap_or(default.peer_timeout),
        ..default
    }
}
