//! Readers of single values: each takes a node, and records what is wrong with it.

use super::fields::{Fields, Reader};
use super::tree::{Node, NodeKind};
use crate::ops::peer::{MAX_NIDS, not_nids, parse_named_nids};
use crate::ranges::{Range, SEQ_NO};
use crate::{CptList, InterfaceSpec, ReturnCode, SeqNo};
use lnet_wire::{NetId, Nid, Selector, TextError};
use std::str::FromStr;

/// The text of a single value.
pub(super) fn text<'a>(node: &'a Node, what: &str, reader: &mut Reader) -> Option<&'a str> {
    match &node.kind {
        NodeKind::Scalar(text) => Some(text),
        NodeKind::Empty | NodeKind::Null(_) | NodeKind::Seq(_) | NodeKind::Map(_) => {
            reader.wrong(node.at, format!("{what} must be a single value, not {}", node.what()));
            None
        }
    }
}

/// Reads a value of any type that is parsed from text.
fn parsed<T: FromStr<Err = TextError>>(node: &Node, what: &str, reader: &mut Reader) -> Option<T> {
    let text = text(node, what, reader)?;
    match text.trim().parse() {
        Ok(it) => Some(it),
        Err(error) => {
            reader.wrong(node.at, format!("{what} '{text}': {error}"));
            None
        }
    }
}

/// Reads a whole decimal number within `range`; `out_of_range` is the return code for a number outside.
pub(super) fn number(
    node: &Node,
    range: Range,
    out_of_range: ReturnCode,
    reader: &mut Reader,
) -> Option<i64> {
    let text = text(node, range.name, reader)?;
    let Ok(value) = text.trim().parse() else {
        let said =
            format!("{} '{text}' is not a whole decimal number; it takes {}", range.name, range.wanted());
        reader.wrong(node.at, said);
        return None;
    };
    range.check(value).map_err(|error| reader.wrong_with(node.at, out_of_range, error.to_string())).ok()
}

/// Reads a number whose key is the name of its range.
pub(super) fn count(fields: &mut Fields<'_>, range: Range, reader: &mut Reader) -> Option<u32> {
    let node = fields.get(range.name, reader)?;
    u32::try_from(number(node, range, ReturnCode::BAD_PARAM, reader)?).ok()
}

/// Reads a number of which 0 is the default, which is `None`.
pub(super) fn count_or_default(fields: &mut Fields<'_>, range: Range, reader: &mut Reader) -> Option<u32> {
    count(fields, range, reader).filter(|value| *value > 0)
}

/// Reads `seq_no`, which all problems of the item carry from now on.
pub(super) fn seq_no(fields: &mut Fields<'_>, reader: &mut Reader) -> SeqNo {
    reader.seq_no = SeqNo::NONE;
    if let Some(node) = fields.get("seq_no", reader) {
        let number = number(node, SEQ_NO, ReturnCode::BAD_PARAM, reader);
        reader.seq_no =
            number.and_then(|number| i32::try_from(number).ok()).map_or(SeqNo::NONE, SeqNo::from_c);
    }
    reader.seq_no
}

/// Reads a flag: 0, 1, true or false.
pub(super) fn flag(node: &Node, name: &'static str, reader: &mut Reader) -> Option<bool> {
    match yes_or_no(node) {
        None => {
            let range = Range { name, least: 0, most: 1 };
            number(node, range, ReturnCode::BAD_PARAM, reader).map(|value| value == 1)
        }
        said => said,
    }
}

/// The value of a word for true or false, which files have in place of 1 or 0.
pub(super) fn yes_or_no(node: &Node) -> Option<bool> {
    let NodeKind::Scalar(text) = &node.kind else { return None };
    match text.trim() {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Reads `True` or `False`, in upper or lower case.
pub(super) fn truth(node: &Node, what: &str, reader: &mut Reader) -> Option<bool> {
    let text = text(node, what, reader)?;
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => {
            reader.wrong(node.at, format!("{what} must be True or False, not '{text}'"));
            None
        }
    }
}

/// Reads the name of a net.
pub(super) fn net(node: &Node, what: &str, reader: &mut Reader) -> Option<NetId> {
    let text = text(node, what, reader)?;
    let net = text.trim().parse().map_err(|error| {
        reader.wrong(node.at, format!("{what} '{text}': {error}; one is a kind and a number, such as tcp1"));
    });
    net.ok()
}

/// Reads one NID, whose address may be a host name; without a net it is on TCP.
pub(super) fn nid(node: &Node, what: &str, reader: &mut Reader) -> Option<Nid> {
    let text = text(node, what, reader)?;
    let found = reader.names.nid(text.trim());
    found.map_err(|error| reader.wrong(node.at, format!("{what} '{text}': {error}"))).ok()
}

/// Reads a list of NID ranges, expanded.
pub(super) fn nids(node: &Node, what: &str, reader: &mut Reader) -> Option<Vec<Nid>> {
    let text = text(node, what, reader)?;
    // A single NID is the usual case, and costs a fraction of the general one.
    if let (true, Ok(nid)) = (text.contains('@'), text.parse::<Nid>())
        && nid.check_address().is_ok()
    {
        return Some(vec![nid]);
    }
    match parse_named_nids(text, MAX_NIDS, &reader.names) {
        Ok(nids) => Some(nids),
        Err(error) => {
            reader.wrong(node.at, not_nids(what, text, &error));
            None
        }
    }
}

/// Reads a selector of a selection rule; `NA` and `null` select nothing.
pub(super) fn selector(fields: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<Selector> {
    match &fields.entry(key)?.value.kind {
        NodeKind::Null(_) => None,
        NodeKind::Scalar(text) if text == "NA" => None,
        _ => parsed(fields.get(key, reader)?, key, reader),
    }
}

/// Reads CPTs: `4`, `1,3`, `"[0-3/2]"`, or a YAML list `[0,1]` without quotes.
pub(super) fn cpts(node: &Node, reader: &mut Reader) -> Option<CptList> {
    let joined;
    let text = match &node.kind {
        NodeKind::Seq(items) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| text(item, "a CPT", reader)).collect();
            joined = texts?.join(",");
            &joined
        }
        NodeKind::Empty | NodeKind::Null(_) | NodeKind::Scalar(_) | NodeKind::Map(_) => {
            text(node, "CPT", reader)?
        }
    };
    let bare = text.trim();
    let list = if bare.starts_with('[') { bare.to_owned() } else { format!("[{bare}]") };
    match list.parse() {
        Ok(cpts) => Some(cpts),
        Err(error) => {
            reader.wrong(
                node.at,
                format!("CPT '{text}': {error}; write a number or a list such as \"[0,2-3]\""),
            );
            None
        }
    }
}

/// Reads one interface, with its CPTs if it has any.
pub(super) fn interface(node: &Node, reader: &mut Reader) -> Option<InterfaceSpec> {
    let text = text(node, "an interface", reader)?;
    match InterfaceSpec::parse(text) {
        Ok(spec) if spec.name.chars().any(|letter| letter.is_whitespace() || letter.is_control()) => {
            reader.wrong(node.at, format!("'{text}': an interface's name has no blanks; give one name each"));
            None
        }
        Ok(spec) => Some(spec),
        Err(error) => {
            reader.wrong(node.at, error.to_string());
            None
        }
    }
}
