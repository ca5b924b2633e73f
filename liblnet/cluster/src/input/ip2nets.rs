//! Rules of `ip2nets`, which put a machine on nets by its addresses. They are evaluated where a topology file has the addresses of a class; of other
//! files each rule is taken for one that matches.

use crate::model::{Addresses, Class, ClassNi};
use lnet_dlc::ip2nets::{HostInterface, Rule, matched, parse_string};
use lnet_dlc::model::{Block, Document, Item, Place};
use lnet_dlc::request::{LndTunables, NiTunables};
use lnet_wire::NetId;

/// The most nodes of a class with rules: each address is compared with each rule.
const MAX_NODES: u64 = 1 << 18;

/// A rule of a file.
struct PlacedRule {
    rule: Rule,
    tunables: NiTunables,
    lnd: LndTunables,
    at: Place,
}

impl PlacedRule {
    fn ni(&self, interface: Option<String>, addresses: Addresses, is_assumed: bool) -> ClassNi {
        ClassNi {
            net: self.rule.net,
            interface,
            addresses,
            is_assumed,
            switches: Vec::new(),
            mtu: None,
            tunables: self.tunables,
            lnd: self.lnd,
            place: self.at,
        }
    }
}

/// The rules of a file, also those of the legacy key `ip2net`. The error is a text with its place.
fn rules(document: &Document) -> Result<Vec<PlacedRule>, (Place, String)> {
    let mut all = Vec::new();
    for block in &document.blocks {
        match block {
            Block::Ip2nets(items) => all.extend(items.iter().map(|Item { it, at, .. }| PlacedRule {
                rule: it.rule.clone(),
                tunables: it.tunables,
                lnd: it.lnd,
                at: *at,
            })),
            Block::Net(items) => {
                for Item { it, at, .. } in items {
                    let text = it.ip2net.as_deref().unwrap_or_default();
                    let of_text = parse_string(text).map_err(|error| (*at, error.to_string()))?;
                    all.extend(of_text.into_iter().map(|rule| PlacedRule {
                        rule,
                        tunables: NiTunables::default(),
                        lnd: LndTunables::default(),
                        at: *at,
                    }));
                }
            }
            _ => {}
        }
    }
    all.retain(|its| its.rule.net != NetId::LOOPBACK);
    Ok(all)
}

/// The interfaces that the rules of a file add on a machine with matching addresses; these are not known.
pub(super) fn assumed(document: &Document) -> Result<Vec<ClassNi>, (Place, String)> {
    let of_rule = |its: PlacedRule| -> Vec<ClassNi> {
        match its.rule.interfaces.is_empty() {
            true => vec![its.ni(None, Addresses::UNKNOWN, true)],
            false => {
                let names = its.rule.interfaces.iter().map(|spec| Some(spec.name.clone()));
                names.map(|name| its.ni(name, Addresses::UNKNOWN, true)).collect()
            }
        }
    };
    Ok(rules(document)?.into_iter().flat_map(of_rule).collect())
}

/// Adds to a class the interfaces that its rules add on machines with these interfaces. All nodes of a class must match the
/// same ranges. A rule that names an interface whose address it excludes adds nothing, as on kernel nodes.
pub(super) fn evaluate(class: &mut Class, host: &[(String, Addresses)]) -> Result<(), (Place, String)> {
    let mut nis = Vec::new();
    let machine: Vec<HostInterface> = host
        .iter()
        .map(|(name, addresses)| HostInterface {
            name: name.clone(),
            up: true,
            loopback: false,
            address: addresses.at(0).map(|address| address.ip()),
        })
        .collect();
    for its in rules(&class.config)? {
        if class.count > MAX_NODES && !its.rule.ranges.is_empty() {
            return Err((its.at, format!("a class with rules for ranges has at most {MAX_NODES} nodes")));
        }
        host.iter()
            .try_for_each(|(_, addresses)| is_uniform(&its.rule, addresses))
            .map_err(|text| (its.at, text))?;
        for spec in matched(&its.rule, &machine, false).interfaces {
            let is_it = |(name, addresses): &&(String, Addresses)| {
                let address = addresses.at(0).map(|address| address.ip());
                *name == spec.name || spec.name.parse().ok() == address && address.is_some()
            };
            let Some((name, addresses)) = host.iter().find(is_it) else { continue };
            let is_known = |ni: &ClassNi| ni.net == its.rule.net && ni.interface.as_ref() == Some(name);
            if !nis.iter().any(is_known) {
                nis.push(its.ni(Some(name.clone()), addresses.clone(), false));
            }
        }
    }
    class.nis.extend(nis);
    Ok(())
}

/// Checks that each range of a rule matches all addresses or none.
fn is_uniform(rule: &Rule, addresses: &Addresses) -> Result<(), String> {
    let Some(first) = addresses.at(0).map(|address| address.ip()) else { return Ok(()) };
    for range in &rule.ranges {
        let is_first = range.matches(first);
        let all = addresses.runs().iter().flat_map(|run| (0..run.count).map(|index| run.at(index).ip()));
        if let Some(other) = all.into_iter().find(|other| range.matches(*other) != is_first) {
            return Err(format!(
                "the range {range} has one of {first} and {other}, and not the other one; make two classes of these nodes"
            ));
        }
    }
    Ok(())
}
