//! The common syntax of the legacy strings: entries between `;` and line ends, words between blanks, each with
//! the byte at which it begins.

/// A part of a text, with the position of its first byte in the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) at: usize,
    pub(crate) text: &'a str,
}

/// The entries of a string that are not empty. `#` begins a comment, which ends at the next separator.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0;
    text.split([';', '\n'])
        .map(move |entry| {
            let start = at;
            at += entry.len() + 1;
            let code = entry.split('#').next().unwrap_or_default();
            Piece { at: start, text: code }.trimmed()
        })
        .filter(|piece| !piece.text.is_empty())
}

impl<'a> Piece<'a> {
    /// The piece without the blanks around it.
    pub(crate) fn trimmed(self) -> Self {
        let from_start = self.text.trim_start();
        Self { at: self.at + self.text.len() - from_start.len(), text: from_start.trim_end() }
    }

    /// The rest of the piece from its byte `from` on.
    pub(crate) fn from(self, from: usize) -> Self {
        Self { at: self.at + from, text: self.text.get(from..).unwrap_or_default() }
    }

    /// The parts between separators that are not within brackets; empty parts too.
    pub(crate) fn split(self, separates: impl Fn(char) -> bool) -> impl Iterator<Item = Self> {
        let mut depth = 0_u32;
        let mut at = self.at;
        let parts = self.text.split(move |letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && separates(letter)
        });
        // Both separators are one byte long.
        parts.map(move |text| {
            let start = at;
            at += text.len() + 1;
            Self { at: start, text }
        })
    }

    /// The words between blanks; blanks within brackets do not count.
    pub(crate) fn words(self) -> impl Iterator<Item = Self> {
        self.split(|letter| letter.is_ascii_whitespace()).filter(|word| !word.text.is_empty())
    }

    /// The parts between commas, without blanks around them; commas within brackets do not count.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        self.split(|letter| letter == ',').map(Self::trimmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_has_its_position() {
        let text = " a [1, 2] ;# x\n b\t c#d;; e";
        let all: Vec<_> = entries(text).collect();
        assert_eq!(all.iter().map(|piece| piece.text).collect::<Vec<_>>(), ["a [1, 2]", "b\t c", "e"]);
        let words: Vec<_> = all.iter().flat_map(|piece| piece.words()).collect();
        assert_eq!(words.iter().map(|piece| piece.text).collect::<Vec<_>>(), ["a", "[1, 2]", "b", "c", "e"]);
        for piece in words.iter().chain(&all) {
            assert_eq!(&text[piece.at..piece.at + piece.text.len()], piece.text);
        }
    }
}
