//! The blocks `udsp` and `selection`: canonical, FORM-7 and FORM-8 (the design documents).

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{number, selector, seq_no, text};
use super::super::tree::{MapEntry, Node, NodeKind};
use super::{items, some};
use crate::model::{Block, Place, UdspItem};
use crate::ops::policy::{RuleAction, priority_of};
use crate::ranges::{RULE_INDEX, RULE_MESSAGES, RULE_PRIORITY, Range};
use crate::{ReturnCode, SeqNo};

/// The block `udsp`.
pub(super) fn udsp(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, rule), Block::Udsp)
}

fn rule(node: &Node, reader: &mut Reader) -> Vec<(UdspItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a selection rule", reader) else { return Vec::new() };
    let number = seq_no(&mut fields, reader);
    let problems = reader.problems.len();
    let has_index = fields.has("idx");
    let index = index(&mut fields, "idx", reader);
    let src = selector(&mut fields, "src", reader);
    let dst = selector(&mut fields, "dst", reader);
    let rte = selector(&mut fields, "rte", reader);
    let Effect { action, messages } = effect(&mut fields, reader);
    let at = fields.at;
    fields.finish(reader);
    if reader.purpose == Purpose::Del && !has_index && (&src, &dst, &rte) == (&None, &None, &None) {
        reader.wrong(at, "say which rule: 'idx' (-1 for all), or what it is about ('src', 'dst', 'rte')");
    }
    if reader.purpose == Purpose::Add && reader.problems.len() == problems {
        let remedy = "give 'src', 'dst', 'src' with 'dst', or 'dst' with 'rte'";
        match (&src, &dst, &rte) {
            (None, None, None) => reader.wrong(at, format!("a selection rule about nothing; {remedy}")),
            (Some(_), _, Some(_)) => {
                reader.wrong(at, format!("'src' and 'rte' do not go together in one rule; {remedy}"));
            }
            (None, None, Some(_)) => reader.wrong(at, format!("'rte' alone is no rule; {remedy}")),
            (Some(_), None, None) | (None, Some(_), None) if action == RuleAction::PreferredList => {
                let text = "a rule with one criterion has nothing to prefer it for; give it a priority";
                reader.wrong(at, text);
            }
            _ => {}
        }
    }
    vec![(UdspItem { index, src, dst, rte, action, messages }, number)]
}

/// Reads the index of a rule. To delete and to show, -1 is all.
fn index(fields: &mut Fields<'_>, name: &'static str, reader: &mut Reader) -> Option<u32> {
    let least = if reader.purpose == Purpose::Add { RULE_INDEX.least } else { -1 };
    let range = Range { name, least, ..RULE_INDEX };
    let value = number(fields.get(name, reader)?, range, ReturnCode::BAD_PARAM, reader)?;
    u32::try_from(value).ok()
}

fn priority(node: &Node, reader: &mut Reader) -> Option<u32> {
    let any = Range { least: i64::MIN, most: i64::MAX, ..RULE_PRIORITY };
    let value = number(node, any, ReturnCode::BAD_PARAM, reader)?;
    priority_of(value).map_err(|error| reader.wrong(node.at, error.to_string())).ok()
}

fn messages(node: &Node, reader: &mut Reader) -> Option<u32> {
    let value = number(node, RULE_MESSAGES, ReturnCode::BAD_PARAM, reader)?;
    u32::try_from(value).ok()
}

/// The action of a rule, and the number of messages of one turn.
struct Effect {
    action: RuleAction,
    messages: Option<u32>,
}

/// Reads `priority` and `messages` in the item, under `action`, or in a list under `action`.
fn effect(fields: &mut Fields<'_>, reader: &mut Reader) -> Effect {
    let mut found = ActionFields::default();
    found.take(fields, reader);
    for node in fields.get("action", reader).map_or(&[][..], Node::items) {
        match &node.kind {
            NodeKind::Scalar(text) if text == "NA" => {}
            NodeKind::Scalar(text) if matches!(text.as_str(), "preferred_list" | "pref") => found.list = true,
            _ => {
                let Some(mut fields) = Fields::of(node, "action", reader) else { continue };
                found.take(&mut fields, reader);
                fields.finish(reader);
            }
        }
    }
    let action = match (found.priority, found.list) {
        (Some(_), true) => {
            reader.wrong(fields.at, "a priority and a preferred list contradict each other; leave one out");
            RuleAction::PreferredList
        }
        (Some(priority), false) => RuleAction::Priority(priority),
        (None, true) => {
            if found.messages.is_some() {
                let said = "a preferred list counts no messages; give a priority instead";
                reader.wrong(fields.at, said);
            }
            RuleAction::PreferredList
        }
        (None, false) => RuleAction::Suited,
    };
    Effect { action, messages: found.messages }
}

#[derive(Default)]
struct ActionFields {
    priority: Option<u32>,
    messages: Option<u32>,
    list: bool,
}

impl ActionFields {
    fn take(&mut self, fields: &mut Fields<'_>, reader: &mut Reader) {
        let given = fields.get("priority", reader).map(|node| (node.at, priority(node, reader)));
        one(&mut self.priority, given, "priorities", reader);
        let given = fields.get("messages", reader).map(|node| (node.at, messages(node, reader)));
        one(&mut self.messages, given, "numbers of messages", reader);
    }
}

/// Keeps the given value; two different ones contradict each other, which is a problem.
fn one(kept: &mut Option<u32>, given: Option<(Place, Option<u32>)>, what: &str, reader: &mut Reader) {
    let Some((at, Some(value))) = given else { return };
    if kept.is_some_and(|kept| kept != value) {
        reader.wrong(at, format!("two {what} in one rule; leave one out"));
    }
    *kept = Some(value);
}

/// The block `selection` of the design document.
pub(super) fn selection(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, drafted), Block::Udsp)
}

/// The rules that one rule in the form of the draft stands for.
fn drafted(node: &Node, reader: &mut Reader) -> Vec<(UdspItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a selection rule", reader) else { return Vec::new() };
    let item_number = seq_no(&mut fields, reader);
    let problems = reader.problems.len();
    let kind = fields.get("type", reader).and_then(|node| text(node, "type", reader));
    let index = index(&mut fields, "id", reader).or_else(|| index(&mut fields, "idx", reader));
    let Effect { action, messages } = effect(&mut fields, reader);
    let net = selector(&mut fields, "net", reader);
    let nid = selector(&mut fields, "nid", reader);
    let local = selector(&mut fields, "local", reader);
    let remote = selector(&mut fields, "remote", reader);
    let at = fields.at;
    fields.finish(reader);
    let rule = |src, dst| UdspItem { index, src, dst, rte: None, action, messages };
    let rules = match (kind, net, nid, local, remote) {
        (Some("net") | None, Some(net), None, None, None) => vec![rule(Some(net), None)],
        // A NID may be this node's or another's.
        (Some("nid") | None, None, Some(nid), None, None) => {
            vec![rule(Some(nid.clone()), None), rule(None, Some(nid))]
        }
        (Some("peer") | None, None, None, Some(local), Some(remote)) => vec![rule(Some(local), Some(remote))],
        // A rule without an index would mean every rule.
        (_, None, None, None, None)
            if reader.purpose != Purpose::Add && (reader.purpose != Purpose::Del || index.is_some()) =>
        {
            vec![rule(None, None)]
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
