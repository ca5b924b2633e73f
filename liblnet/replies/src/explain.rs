//! Explanation of the path that a message would take, and of why it would take no other.

use crate::reachability;
use lnet_core::policy::{PartnerByRule, RuleEffect, RulePriority};
use lnet_core::select::{ChosenPath, Reason};
use lnet_core::{Core, Errno, Time};
use lnet_dlc::request::{Explain, Explanation, Passed, PassedOver, RuleOfWay};
use lnet_wire::Nid;

/// The path that a message would take now, and the reasons against the others, from the same selection code as sending.
/// [`Errno::HostUnreachable`] if there is no path.
pub fn explain(core: &Core, now: Time, ask: Explain) -> Result<Explanation, Errno> {
    let known = core.admin().peer(ask.destination);
    let explained = core.data_path().explain(ask.source, ask.destination)?;
    let chosen = &explained.chosen;
    let passed = |candidate: Passed, why: &Reason| PassedOver { candidate, why: why.to_string() };
    let to_gateway =
        |candidate: Passed, why: &Reason| PassedOver { candidate, why: format!("to the gateway: {why}") };
    let gateways = explained.gateways.iter().map(|(nid, why)| passed(Passed::Gateway(*nid), why));
    let nets = explained.nets.iter().map(|(net, why)| passed(Passed::Net(*net), why));
    let nets_to_gateway = explained.gateway_nets.iter().map(|(net, why)| to_gateway(Passed::Net(*net), why));
    let local = explained.local_nis.iter().map(|(nid, why)| passed(Passed::LocalNi(*nid), why));
    let of_gateway = explained.gateway_nis.iter().map(|(nid, why)| to_gateway(Passed::PeerNi(*nid), why));
    let remote = explained.peer_nis.iter().map(|(nid, why)| passed(Passed::PeerNi(*nid), why));
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
        reachability: reachability(core, now, ask.destination),
        remark: remark(core, now, chosen),
    })
}

/// The selection rules that apply to a path.
fn rules(core: &Core, chosen: &ChosenPath) -> Vec<RuleOfWay> {
    let own = chosen.ni.nid();
    let local = core.admin().applied_to_ni(own);
    let remote = core.admin().applied_to_peer_ni(chosen.destination());
    let gateway = chosen.route().map(|route| route.route.gateway);
    let next_hop = gateway.map(|_| core.admin().applied_to_peer_ni(chosen.next_hop())).unwrap_or_default();
    let partner = |list: &[PartnerByRule], nid: Option<Nid>| {
        list.iter().find(|partner| Some(partner.nid) == nid).map(|partner| partner.given)
    };
    // The partners of the gateway count if the destination prefers no interface on the net.
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
        let gives = format!("priority {}{turn}", RulePriority(its));
        Some(RuleOfWay { about: about.to_owned(), index: u32::try_from(rule).unwrap_or(u32::MAX), gives })
    };
    found.into_iter().filter_map(told).collect()
}

/// The fault of a path that was selected because there is no better one.
fn remark(core: &Core, now: Time, chosen: &ChosenPath) -> Option<String> {
    let (local, its) = (chosen.ni.nid(), chosen.peer_ni.as_ref()?);
    let unresponsive = core.admin().unresponsive_paths(its.nid()).into_iter();
    let since = unresponsive
        .filter(|path| (path.local, path.peer) == (local, its.nid()))
        .map(|path| path.since)
        .next();
    let wrong = match since {
        _ if chosen.ni.is_fatal() => format!("{local} is down"),
        _ if its.is_reported_down() => format!("{} is down, as its node says", its.nid()),
        Some(since) => format!("the path has been unresponsive for {} s", now.since(since).as_secs()),
        None => match chosen.route() {
            Some(route) if !core.admin().route_is_up(route) => {
                format!("the route to {} via {} is down", route.route.net, route.route.gateway)
            }
            _ => return None,
        },
    };
    Some(format!("{wrong}; there is no better one"))
}
