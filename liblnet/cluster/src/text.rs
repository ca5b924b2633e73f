//! Text for a terminal: names from files, counts, lists.

use std::borrow::Cow;
use std::fmt::Display;

/// The most names of nodes, nets or pairs that a finding shows; it says how many more there are.
pub(crate) const MAX_SHOWN: usize = 4;

/// The text with each character escaped that moves the cursor, changes colours, ends the line, or turns the direction of writing, so
/// that a name from a file can neither forge a line of a report nor hide one.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match is_escaped(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

fn is_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A count with its noun.
pub(crate) fn counted(count: impl TryInto<u64> + Display + Copy, one: &str, many: &str) -> String {
    let word = if count.try_into().is_ok_and(|count| count == 1) { one } else { many };
    format!("{count} {word}")
}

/// Some texts with commas between, at most [`MAX_SHOWN`], and the number of the others.
pub(crate) fn listed<T: ToString>(texts: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = texts.into_iter().map(|text| text.to_string()).collect();
    match all.len().checked_sub(MAX_SHOWN) {
        None | Some(0) => all.join(", "),
        Some(more) => format!("{} and {more} more", all[..MAX_SHOWN].join(", ")),
    }
}

/// A text of at most `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}

/// A word of a command for a shell, in quotes if it needs them.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:=@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_something_to_a_shell_are_quoted() {
        for (word, expected) in
            [("oss1:eth0@2s", "oss1:eth0@2s"), ("", "''"), ("oss[0]", "'oss[0]'"), ("a'; b", r"'a'\''; b'")]
        {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn characters_that_a_terminal_obeys_are_escaped_and_all_others_stay() {
        for (given, expected) in [
            ("oss[3]:eth0", "oss[3]:eth0"),
            ("façade \\ 集群 é", "façade \\ 集群 é"),
            ("a\x1b[31mRED", "a\\u{1b}[31mRED"),
            ("a\nFAKE\r\t", "a\\nFAKE\\r\\t"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("a\u{202e}b\u{2028}", "a\\u{202e}b\\u{2028}"),
        ] {
            assert_eq!(printable(given), expected, "{given:?}");
        }
    }
}
