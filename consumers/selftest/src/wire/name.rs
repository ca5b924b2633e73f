//! Names of sessions and groups.

use super::constants::NAME_LEN;
use std::borrow::Cow;
use std::fmt;

/// A name of at most 31 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Name([u8; NAME_LEN]);

/// A name is longer than 31 bytes, or has a NUL in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has at most 31 bytes")]
pub struct NameTooLong;

impl Name {
    /// The empty name.
    pub const EMPTY: Self = Self([0; NAME_LEN]);

    /// Reads a name that a peer has written: up to the first NUL, or the first 31 bytes if there is none.
    pub(crate) fn read(bytes: [u8; NAME_LEN]) -> Self {
        let length = bytes[..NAME_LEN - 1].iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN - 1);
        let mut name = Self::EMPTY;
        name.0[..length].copy_from_slice(&bytes[..length]);
        name
    }

    pub(crate) const fn bytes(&self) -> &[u8; NAME_LEN] {
        &self.0
    }

    /// The name as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
        String::from_utf8_lossy(&self.0[..length])
    }

    /// Whether the name is empty.
    pub const fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl std::str::FromStr for Name {
    type Err = NameTooLong;

    fn from_str(text: &str) -> Result<Self, NameTooLong> {
        if text.len() >= NAME_LEN || text.contains('\0') {
            return Err(NameTooLong);
        }
        let mut name = Self::EMPTY;
        name.0[..text.len()].copy_from_slice(text.as_bytes());
        Ok(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_at_most_31_bytes_whatever_a_peer_wrote() {
        let longest = "x".repeat(31);
        assert_eq!(longest.parse::<Name>().unwrap().text(), longest);
        assert_eq!("x".repeat(32).parse::<Name>(), Err(NameTooLong));
        assert_eq!("a\0b".parse::<Name>(), Err(NameTooLong));
        assert_eq!(Name::read([b'x'; NAME_LEN]).text(), longest);
        assert_eq!(Name::read(*b"sess\0rubbish....................").text(), "sess");
        assert_eq!(Name::read([0xff; NAME_LEN]).text().chars().next(), Some('\u{fffd}'));
        assert!(Name::EMPTY.is_empty());
    }
}
