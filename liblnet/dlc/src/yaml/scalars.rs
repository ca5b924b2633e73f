//! Single values: each reader takes a node, and notes what is wrong with it.

use super::fields::{Fields, Reader};
use super::tree::{Kind, Node};
use crate::ops::peer::{MAX_NIDS, not_nids, parse_nids};
use crate::{CptList, InterfaceSpec, ReturnCode, SeqNo};
use lnet_wire::{NetId, Nid, Pid, ProcessId, Selector, TextError};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The text of a single value.
pub(super) fn text<'a>(node: &'a Node, what: &str, reader: &mut Reader) -> Option<&'a str> {
    match &node.kind {
        Kind::Scalar(text) => Some(text),
        Kind::Null | Kind::Seq(_) | Kind::Map(_) => {
            reader.wrong(node.at, format!("{what} must be a single value, not {}", node.what()));
            None
        }
    }
}

/// Anything that reads itself from text.
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

/// A whole number in decimal; `true` is 1 and `false` is 0, as lnetctl has it.
pub(super) fn number(
    node: &Node,
    what: &str,
    range: RangeInclusive<i64>,
    out_of_range: ReturnCode,
    reader: &mut Reader,
) -> Option<i64> {
    let text = text(node, what, reader)?;
    let value = match text.trim() {
        "true" | "True" | "TRUE" => 1,
        "false" | "False" | "FALSE" => 0,
        digits => match digits.parse::<i64>() {
            Ok(value) => value,
            Err(_) => {
                reader.wrong(node.at, format!("{what} '{text}' is not a whole decimal number"));
                return None;
            }
        },
    };
    if range.contains(&value) {
        return Some(value);
    }
    let said = format!("{what} {value} is not within {} to {}", range.start(), range.end());
    reader.wrong_with(node.at, out_of_range, said);
    None
}

/// A number that fits its type, under `key`; -1 is "not said".
pub(super) fn count<T: TryFrom<i64>>(
    fields: &mut Fields<'_>,
    key: &'static str,
    max: i64,
    reader: &mut Reader,
) -> Option<T> {
    let node = fields.get(key)?;
    let value = number(node, key, -1..=max, ReturnCode::BAD_PARAM, reader)?;
    T::try_from(value).ok()
}

/// `seq_no`, for all problems of the item from now on.
pub(super) fn seq_no(fields: &mut Fields<'_>, reader: &mut Reader) -> SeqNo {
    reader.seq_no = SeqNo::NONE;
    if let Some(node) = fields.get("seq_no") {
        let number = number(node, "seq_no", -1..=i32::MAX.into(), ReturnCode::BAD_PARAM, reader);
        reader.seq_no =
            number.and_then(|number| i32::try_from(number).ok()).map_or(SeqNo::NONE, SeqNo::from_c);
    }
    reader.seq_no
}

/// 0, 1, true or false.
pub(super) fn flag(node: &Node, what: &str, reader: &mut Reader) -> Option<bool> {
    number(node, what, 0..=1, ReturnCode::BAD_PARAM, reader).map(|value| value == 1)
}

/// `True` or `False`, in any case.
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

/// A net.
pub(super) fn net(node: &Node, what: &str, reader: &mut Reader) -> Option<NetId> {
    let text = text(node, what, reader)?;
    let net = text.trim().parse().map_err(|error| {
        reader.wrong(node.at, format!("{what} '{text}': {error}; one is a kind and a number, such as tcp1"));
    });
    net.ok()
}

/// One NID; TCP where no net is named.
pub(super) fn nid(node: &Node, what: &str, reader: &mut Reader) -> Option<Nid> {
    parsed(node, what, reader)
}

/// A list of NID ranges, expanded.
pub(super) fn nids(node: &Node, what: &str, reader: &mut Reader) -> Option<Vec<Nid>> {
    let text = text(node, what, reader)?;
    // The usual case, at a fraction of the cost.
    if let (true, Ok(nid)) = (text.contains('@'), text.parse()) {
        return Some(vec![nid]);
    }
    match parse_nids(text, MAX_NIDS) {
        Ok(nids) => Some(nids),
        Err(error) => {
            reader.wrong(node.at, not_nids(what, text, &error));
            None
        }
    }
}

/// `[PID-]NID`.
pub(super) fn process(text: &str) -> Result<ProcessId, TextError> {
    let address_ends = text.find('@').unwrap_or(text.len());
    match text[..address_ends].contains('-') {
        true => text.parse(),
        false => text.parse().map(|nid| ProcessId { nid, pid: Pid::LUSTRE }),
    }
}

/// What a selection rule is about; `NA` and nothing are no criterion.
pub(super) fn selector(fields: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<Selector> {
    let node = fields.get(key)?;
    if matches!(&node.kind, Kind::Scalar(text) if text == "NA") {
        return None;
    }
    parsed(node, key, reader)
}

/// CPTs: `4`, `1,3`, `"[0-3/2]"`, or a YAML list `[0,1]` without quotes.
pub(super) fn cpts(node: &Node, reader: &mut Reader) -> Option<CptList> {
    let joined;
    let text = match &node.kind {
        Kind::Seq(items) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| text(item, "a CPT", reader)).collect();
            joined = texts?.join(",");
            &joined
        }
        Kind::Null | Kind::Scalar(_) | Kind::Map(_) => text(node, "CPT", reader)?,
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

/// One interface, perhaps with its CPTs.
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
