//! Interfaces as text on a command line or in a file: `eth0`, `eth0[0,1]`, `127.0.1.1`, `fd99::1`, `eth0[large]`.

use crate::CptList;
use lnet_os::interfaces::LARGE;
use lnet_wire::TextError;
use std::fmt;
use thiserror::Error;

/// The most bytes of a name without its CPTs; C adds a terminating zero (`LNET_MAX_STR_LEN`). Names of the system
/// have at most 15; addresses have more.
const MAX_NAME: usize = 127;

/// An interface and the CPU partitions that it is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceSpec {
    /// The name of the interface, with [`LARGE`] behind it if its IPv6 address is meant; or one of its addresses.
    pub name: String,
    /// The CPTs that it is to be bound to; `None` if none were given.
    pub cpts: Option<CptList>,
}

/// The ways in which a list of interfaces can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InterfaceError {
    /// An empty name.
    #[error("an interface without a name")]
    Nameless,
    /// A name that is too long.
    #[error("'{0}...' is longer than 127 characters")]
    TooLong(String),
    /// A `[` without `]`, or with something behind it.
    #[error("'{0}': a '[' needs its ']' at the end")]
    Bracket(String),
    /// CPTs that cannot be read.
    #[error("'{0}': CPTs: {1}")]
    Cpts(String, TextError),
}

impl InterfaceSpec {
    /// The interface with this name and without CPTs.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), cpts: None }
    }

    /// Reads one interface; blanks around it are ignored.
    pub fn parse(text: &str) -> Result<Self, InterfaceError> {
        let text = text.trim();
        let bare = text.find('[').unwrap_or(text.len());
        let end = if text[bare..].starts_with(LARGE) { bare + LARGE.len() } else { bare };
        let (name, cpts) = match text[end..].split_once('[') {
            None if end == text.len() => (text, None),
            Some(("", rest)) if rest.find(']') == Some(rest.len().saturating_sub(1)) => {
                let name = &text[..end];
                let list = &text[end..];
                let cpts = list.parse().map_err(|error| InterfaceError::Cpts(text.to_owned(), error))?;
                (name.trim_end(), Some(cpts))
            }
            _ => return Err(InterfaceError::Bracket(text.to_owned())),
        };
        match name.len() {
            0 => Err(InterfaceError::Nameless),
            1..=MAX_NAME => Ok(Self { name: name.to_owned(), cpts }),
            _ => Err(InterfaceError::TooLong(name.chars().take(15).collect())),
        }
    }

    /// Reads interfaces with commas between; commas in brackets do not count.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, InterfaceError> {
        split_outside_brackets(text).map(Self::parse).collect()
    }
}

/// The parts between commas that are not within brackets.
pub fn split_outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

impl fmt::Display for InterfaceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.cpts.as_ref().map_or(Ok(()), |cpts| cpts.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_commas_outside_brackets() {
        let spec = |name: &str, cpts: Option<&[u32]>| InterfaceSpec {
            name: name.into(),
            cpts: cpts.map(|cpts| CptList::new(cpts.to_vec())),
        };
        let table = [
            ("eth0", vec![spec("eth0", None)]),
            (
                "eth0[0,2], eth1 ,127.0.1.1",
                vec![spec("eth0", Some(&[0, 2])), spec("eth1", None), spec("127.0.1.1", None)],
            ),
            ("eth0[0-3/2]", vec![spec("eth0", Some(&[0, 2]))]),
            (
                "eth0[large], eth1[large][0,2],fd99::1[1],[large]",
                vec![
                    spec("eth0[large]", None),
                    spec("eth1[large]", Some(&[0, 2])),
                    spec("fd99::1", Some(&[1])),
                    spec("[large]", None),
                ],
            ),
        ];
        for (text, expected) in table {
            assert_eq!(InterfaceSpec::parse_list(text), Ok(expected), "{text}");
        }
        for wrong in [
            "",
            "eth0,",
            "eth0[0",
            "eth0[0]x",
            "[0]",
            "eth0[a]",
            "eth0[0][large]",
            "eth0[large]x",
            "eth0[large",
            &"x".repeat(128),
        ] {
            assert!(InterfaceSpec::parse_list(wrong).is_err(), "{wrong}");
        }
    }
}
