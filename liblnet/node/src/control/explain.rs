//! The path that a message would take, and why no other.

use super::peer;
use crate::node::Node;
use lnet_core::policy::{PartnerByRule, RuleEffect};
use lnet_core::select::{
    ChosenPath, Criterion, GatewayCandidate, LocalNiCandidate, NetCandidate, PeerNiCandidate,
};
use lnet_core::{Core, Errno};
use lnet_dlc::request::{Explain, Explanation, Passed, PassedOver, RuleOfWay};
use lnet_wire::Nid;
use std::fmt::Display;

/// Uses the same selection code as sending.
pub(super) fn explain(node: &Node, ask: Explain) -> Result<Explanation, Errno> {
    let core = node.core();
    let known = core.peer(ask.destination);
    let explained = core.explain(ask.source, ask.destination)?;
    let chosen = &explained.chosen;
    let gateways = explained.gateways.iter().map(|(nid, its, why)| PassedOver {
        candidate: Passed::Gateway(*nid),
        why: why_gateway(*why, its, &explained.gateway),
    });
    let nets = explained.nets.iter().map(|(net, its, why)| PassedOver {
        candidate: Passed::Net(*net),
        why: why_net(*why, its, &explained.net),
    });
    let to_gateway = |why: String| format!("to the gateway: {why}");
    let nets_to_gateway = explained.gateway_nets.iter().map(|(net, its, why)| PassedOver {
        candidate: Passed::Net(*net),
        why: to_gateway(why_net(*why, its, &explained.gateway_net)),
    });
    let local = explained.local_nis.iter().map(|(nid, its, why)| PassedOver {
        candidate: Passed::LocalNi(*nid),
        why: why_local(*why, its, &explained.local_ni),
    });
    let of_gateway = explained.gateway_nis.iter().map(|(nid, its, why)| PassedOver {
        candidate: Passed::PeerNi(*nid),
        why: to_gateway(why_peer(*why, its, &explained.gateway_ni)),
    });
    let remote = explained.peer_nis.iter().map(|(nid, its, why)| PassedOver {
        candidate: Passed::PeerNi(*nid),
        why: why_peer(*why, its, &explained.peer_ni),
    });
    let passed_over =
        gateways.chain(nets).chain(nets_to_gateway).chain(local).chain(of_gateway).chain(remote);
    Ok(Explanation {
        primary: known.as_ref().map_or(ask.destination, |(peer, _)| peer.primary),
        multi_rail: known.as_ref().is_some_and(|(peer, _)| peer.is_multi_rail()),
        known: known.is_some() || ask.destination.is_loopback(),
        local: chosen.ni.nid(),
        remote: chosen.destination(),
        gateway: chosen.route().map(|_| chosen.next_hop()),
        passed_over: passed_over.collect(),
        rules: rules(core, chosen),
        reachability: peer::reachability(node, ask.destination),
        remark: remark(node, chosen),
    })
}

/// The rules that concern a path.
fn rules(core: &Core, chosen: &ChosenPath) -> Vec<RuleOfWay> {
    let own = chosen.ni.nid();
    let local = core.applied_to_ni(own);
    let remote = core.applied_to_peer_ni(chosen.destination());
    let gateway = chosen.route().map(|route| route.route.gateway);
    let next_hop = gateway.map(|_| core.applied_to_peer_ni(chosen.next_hop())).unwrap_or_default();
    let partner = |list: &[PartnerByRule], nid: Option<Nid>| {
        list.iter().find(|partner| Some(partner.nid) == nid).map(|partner| partner.given)
    };
    // Those of the gateway count if the destination prefers no interface on the net.
    let is_on_net = |partner: &PartnerByRule| partner.nid.net() == own.net();
    let of_gateway =
        if remote.local_nids.iter().any(is_on_net) { None } else { partner(&next_hop.local_nids, Some(own)) };
    let found = [
        ("local net", local.net),
        ("local nid", local.nid),
        ("peer net", remote.net),
        ("peer nid", remote.nid),
        ("pair", partner(&remote.local_nids, Some(own))),
        ("gateway", partner(&remote.gateways, gateway)),
        ("gateway net", next_hop.net),
        ("gateway nid", next_hop.nid),
        ("pair with the gateway", of_gateway),
    ];
    let told = |(about, given): (&str, Option<RuleEffect>)| {
        let RuleEffect { priority: its, messages, rule } = given?;
        let turn = messages.map_or_else(String::new, |messages| format!(", {messages} messages in a turn"));
        let gives = format!("priority {}{turn}", priority(its));
        Some(RuleOfWay { about: about.to_owned(), index: u32::try_from(rule).unwrap_or(u32::MAX), gives })
    };
    found.into_iter().filter_map(told).collect()
}

/// What is wrong with a path that was selected because there is no better one.
fn remark(node: &Node, chosen: &ChosenPath) -> Option<String> {
    let (local, its) = (chosen.ni.nid(), chosen.peer_ni.as_ref()?);
    let unresponsive = node.core().unresponsive_paths(its.nid()).into_iter();
    let since = unresponsive
        .filter(|path| (path.local, path.peer) == (local, its.nid()))
        .map(|path| path.since)
        .next();
    let wrong = match since {
        _ if chosen.ni.is_fatal() => format!("{local} is down"),
        _ if its.is_reported_down() => format!("{} is down, as its node says", its.nid()),
        Some(since) => format!("the path has been unresponsive for {} s", node.now().since(since).as_secs()),
        None => match chosen.route() {
            Some(route) if !node.core().route_is_up(route) => {
                format!("the route to {} via {} is down", route.route.net, route.route.gateway)
            }
            _ => return None,
        },
    };
    Some(format!("{wrong}; there is no better one"))
}

fn why_net(why: Criterion, its: &NetCandidate, best: &NetCandidate) -> String {
    match why {
        Criterion::Health => told(why, its.peer_health, best.peer_health),
        Criterion::Priority => told(why, priority(its.peer_priority), priority(best.peer_priority)),
        Criterion::LocalNetHealth => told(why, its.local_health, best.local_health),
        Criterion::LocalNetPriority => told(why, priority(its.local_priority), priority(best.local_priority)),
        Criterion::LocalNiPreferred => {
            told(why, priority(its.preference.priority), priority(best.preference.priority))
        }
        _ => why.text().to_owned(),
    }
}

fn why_local(why: Criterion, its: &LocalNiCandidate, best: &LocalNiCandidate) -> String {
    match why {
        Criterion::Health => told(why, its.health, best.health),
        Criterion::Priority => told(why, priority(its.priority), priority(best.priority)),
        Criterion::Preferred => {
            told(why, priority(its.preference.priority), priority(best.preference.priority))
        }
        Criterion::Distance => told(why, its.distance, best.distance),
        Criterion::Credits => told(why, its.credits, best.credits),
        _ => why.text().to_owned(),
    }
}

fn why_peer(why: Criterion, its: &PeerNiCandidate, best: &PeerNiCandidate) -> String {
    match why {
        Criterion::Health => told(why, its.health, best.health),
        Criterion::Priority => told(why, priority(its.priority), priority(best.priority)),
        Criterion::Preferred => {
            told(why, priority(its.preference.priority), priority(best.preference.priority))
        }
        Criterion::QueuedBytes => told(why, its.queued_bytes, best.queued_bytes),
        Criterion::Credits => told(why, its.credits, best.credits),
        _ => why.text().to_owned(),
    }
}

fn why_gateway(why: Criterion, its: &GatewayCandidate, best: &GatewayCandidate) -> String {
    match why {
        Criterion::Health => told(why, its.health, best.health),
        Criterion::Priority => {
            format!("lower priority of its route: {}, the chosen one has {}", its.priority, best.priority)
        }
        Criterion::Preferred => {
            told(why, priority(its.preference.priority), priority(best.preference.priority))
        }
        Criterion::LocalNiHealth => told(why, its.local_health, best.local_health),
        Criterion::LocalNetPriority => {
            told(why, priority(its.local_net_priority), priority(best.local_net_priority))
        }
        Criterion::LocalNiPriority => {
            told(why, priority(its.local_ni_priority), priority(best.local_ni_priority))
        }
        Criterion::LocalNiPreferred => {
            told(why, priority(its.local_ni_preference.priority), priority(best.local_ni_preference.priority))
        }
        Criterion::Hops => told(why, its.hops, best.hops),
        Criterion::QueuedBytes => told(why, its.queued_bytes, best.queued_bytes),
        Criterion::Credits => told(why, its.credits, best.credits),
        _ => why.text().to_owned(),
    }
}

fn told(why: Criterion, its: impl Display, best: impl Display) -> String {
    format!("{}: {its}, the chosen one has {best}", why.text())
}

/// As rules are written; `None` without a rule.
fn priority(priority: u32) -> String {
    match priority {
        u32::MAX => "none".to_owned(),
        number => number.to_string(),
    }
}
