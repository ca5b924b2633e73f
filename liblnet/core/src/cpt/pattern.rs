//! Partitions in the operator's notation: `0[0,2] 1[1,3]` by CPUs, `N 0[0] 1[1]` by NUMA nodes, `N` one for each
//! node.

use lnet_wire::{Expression, TextError};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The maximum number of partitions (NU-1).
pub const MAX_CPTS: usize = 256;
/// The highest number that a CPU or node may have.
const MAX_NUMBER: u32 = 0xffff;

/// The CPUs or nodes of each partition, not checked against any machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A partition for each NUMA node that has CPUs.
    EachNode,
    /// The NUMA nodes of each partition.
    Nodes(Vec<Vec<u32>>),
    /// The CPUs of each partition.
    Cpus(Vec<Vec<u32>>),
}

/// The reason why a pattern cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The text at this byte is not of the form `NUMBER[NUMBERS]`.
    #[error("no partition, such as 0[0-3], at byte {0}")]
    NotAPartition(usize),
    /// The numbers in brackets cannot be parsed.
    #[error("{0}")]
    Numbers(TextError),
    /// There are more than 256 partitions, or more numbers than are valid.
    #[error("too many at byte {0}")]
    TooMany(usize),
    /// A partition is missing or named twice: they are numbered from 0 without gaps.
    #[error("partition {0} is missing or named twice")]
    Numbering(usize),
}

/// Writes the text that the pattern is parsed from.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = |all: &[Vec<u32>]| {
            let lists = all.iter().map(|list| list.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
            lists.enumerate().map(|(number, list)| format!("{number}[{list}]")).collect::<Vec<_>>().join(" ")
        };
        match self {
            Self::EachNode => f.write_str("N"),
            Self::Nodes(all) => write!(f, "N {}", partitions(all)),
            Self::Cpus(all) => f.write_str(&partitions(all)),
        }
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    /// Parses partitions in any order; blanks between them are optional.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let bare = text.trim_ascii_start();
        let by_node = bare.strip_prefix(['N', 'n']);
        let rest = by_node.unwrap_or(bare);
        if by_node.is_some() && rest.trim_ascii().is_empty() {
            return Ok(Self::EachNode);
        }
        let groups = groups(rest).map_err(|error| error.within(text.len() - rest.len()))?;
        Ok(if by_node.is_some() { Self::Nodes(groups) } else { Self::Cpus(groups) })
    }
}

impl PatternError {
    /// The same error with its position relative to a text that contains the parsed one from byte `start` on.
    const fn within(self, start: usize) -> Self {
        match self {
            Self::NotAPartition(at) => Self::NotAPartition(at + start),
            Self::Numbers(TextError { problem, at }) => Self::Numbers(TextError { problem, at: at + start }),
            Self::TooMany(at) => Self::TooMany(at + start),
            Self::Numbering(_) => self,
        }
    }
}

fn groups(text: &str) -> Result<Vec<Vec<u32>>, PatternError> {
    let mut numbered: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut rest = text.trim_ascii();
    let start = text.len() - text.trim_ascii_start().len();
    let end = start + rest.len();
    while !rest.is_empty() || numbered.is_empty() {
        let at = end - rest.len();
        let (number, list, after) = group(rest).ok_or(PatternError::NotAPartition(at))?;
        if numbered.len() == MAX_CPTS {
            return Err(PatternError::TooMany(at));
        }
        let list_at = at + (rest.len() - after.len() - list.len());
        let expression = Expression::parse(list, 0..=MAX_NUMBER)
            .map_err(|error| PatternError::Numbers(error).within(list_at))?;
        let numbers = expression.values(MAX_NUMBER as usize).map_err(|_| PatternError::TooMany(list_at))?;
        numbered.push((number, numbers));
        rest = after.trim_ascii_start();
    }
    numbered.sort_by_key(|(number, _)| *number);
    match numbered.iter().enumerate().find(|(i, (number, _))| i != number) {
        Some((i, (number, _))) => Err(PatternError::Numbering(i.min(*number))),
        None => Ok(numbered.into_iter().map(|(_, numbers)| numbers).collect()),
    }
}

/// Splits the text into the number, the list in brackets, and the rest.
fn group(text: &str) -> Option<(usize, &str, &str)> {
    let open = text.find('[')?;
    let close = text.find(']')?;
    let number = text.get(..open)?.trim_ascii_end();
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((number.parse().ok()?, text.get(open..=close)?, text.get(close + 1..)?))
}
