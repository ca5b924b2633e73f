//! `udsp` and `selection`: canonical, FORM-7 and FORM-8 (the design documents).

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{number, selector, seq_no, text};
use super::super::tree::{Entry, Kind, Node};
use super::{items, some};
use crate::model::{Block, Item, UdspItem};
use crate::ops::policy::RuleAction;
use crate::{ReturnCode, SeqNo};

/// The block `udsp`.
pub(super) fn udsp(entry: &Entry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, rule), Block::Udsp)
}

fn rule(node: &Node, reader: &mut Reader) -> Vec<(UdspItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a selection rule", reader) else { return Vec::new() };
    let number = seq_no(&mut fields, reader);
    let problems = reader.problems.len();
    let index = index(&mut fields, "idx", reader);
    let src = selector(&mut fields, "src", reader);
    let dst = selector(&mut fields, "dst", reader);
    let rte = selector(&mut fields, "rte", reader);
    let action = action(&mut fields, reader);
    let at = fields.at;
    fields.finish(reader);
    if reader.purpose == Purpose::Add && reader.problems.len() == problems {
        let remedy = "give 'src', 'dst', 'src' with 'dst', or 'dst' with 'rte'";
        match (&src, &dst, &rte) {
            (None, None, None) => reader.wrong(at, format!("a selection rule about nothing; {remedy}")),
            (Some(_), _, Some(_)) => {
                reader.wrong(at, format!("'src' and 'rte' do not go together in one rule; {remedy}"));
            }
            _ => {}
        }
    }
    vec![(UdspItem { index, src, dst, rte, action }, number)]
}

/// A rule's place; -1 and nothing are none.
fn index(fields: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<u32> {
    let value = number(fields.get(key)?, key, -1..=i32::MAX.into(), ReturnCode::BAD_PARAM, reader)?;
    u32::try_from(value).ok()
}

fn priority(node: &Node, reader: &mut Reader) -> Option<u32> {
    // -1 is how the lowest is shown where it is taken for a signed number.
    let value = number(node, "priority", -1..=u32::MAX.into(), ReturnCode::BAD_PARAM, reader)?;
    Some(u32::try_from(value).unwrap_or(u32::MAX))
}

/// `priority` in the item, under `action`, or in a list under `action`.
fn action(fields: &mut Fields<'_>, reader: &mut Reader) -> RuleAction {
    let mut found = fields.get("priority").and_then(|node| priority(node, reader));
    for node in fields.get("action").map_or(&[][..], Node::items) {
        if matches!(&node.kind, Kind::Scalar(text) if matches!(text.as_str(), "NA" | "preferred_list" | "pref"))
        {
            continue;
        }
        let Some(mut fields) = Fields::of(node, "action", reader) else { continue };
        found = fields.get("priority").and_then(|node| priority(node, reader)).or(found);
        fields.finish(reader);
    }
    found.map_or(RuleAction::Suited, RuleAction::Priority)
}

/// The block `selection` of the design document. Its rules about pairs of NIDs all have a priority, which
/// pairs have no longer: they are put in the order of it.
pub(super) fn selection(entry: &Entry, reader: &mut Reader) -> Vec<Block> {
    let mut others = Vec::new();
    let mut pairs = Vec::new();
    for Item { it, at, seq_no } in items(entry, reader, drafted) {
        match it {
            (rule, None) => others.push(Item { it: rule, at, seq_no }),
            (rule, Some(priority)) => pairs.push((priority, Item { it: rule, at, seq_no })),
        }
    }
    pairs.sort_by_key(|(priority, _)| *priority);
    others.extend(pairs.into_iter().map(|(_, item)| item));
    some(others, Block::Udsp)
}

/// The rules that one of the draft comes to; with a pair, its priority.
type Drafted = (UdspItem, Option<u32>);

fn drafted(node: &Node, reader: &mut Reader) -> Vec<(Drafted, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a selection rule", reader) else { return Vec::new() };
    let item_number = seq_no(&mut fields, reader);
    let problems = reader.problems.len();
    let kind = fields.get("type").and_then(|node| text(node, "type", reader));
    let index = index(&mut fields, "id", reader).or_else(|| index(&mut fields, "idx", reader));
    let action = action(&mut fields, reader);
    let net = selector(&mut fields, "net", reader);
    let nid = selector(&mut fields, "nid", reader);
    let local = selector(&mut fields, "local", reader);
    let remote = selector(&mut fields, "remote", reader);
    let at = fields.at;
    fields.finish(reader);
    let rule = |src, dst, action| UdspItem { index, src, dst, rte: None, action };
    let rules = match (kind, net, nid, local, remote) {
        (Some("net") | None, Some(net), None, None, None) => vec![(rule(Some(net), None, action), None)],
        // A NID may be this node's or another's.
        (Some("nid") | None, None, Some(nid), None, None) => {
            vec![(rule(Some(nid.clone()), None, action), None), (rule(None, Some(nid), action), None)]
        }
        (Some("peer") | None, None, None, Some(local), Some(remote)) => {
            let order = match action {
                RuleAction::Priority(priority) => priority,
                RuleAction::Suited | RuleAction::PreferredList => u32::MAX,
            };
            vec![(rule(Some(local), Some(remote), RuleAction::Suited), Some(order))]
        }
        (_, None, None, None, None) if reader.purpose != Purpose::Add => {
            vec![(rule(None, None, action), None)]
        }
        _ => {
            if reader.problems.len() == problems {
                let said = "a rule has 'type: net' with 'net', 'type: nid' with 'nid', or 'type: peer' with \
                            'local' and 'remote'";
                reader.wrong(at, said);
            }
            Vec::new()
        }
    };
    rules.into_iter().map(|rule| (rule, item_number)).collect()
}
