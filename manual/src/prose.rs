//! The parts of a function's comment: what it does, what it returns, its errors, and where it may be called.

use crate::roff::{bold, escape, italic};
use std::collections::BTreeSet;

/// The comment of a function, divided.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parts {
    /// The paragraphs about what it does.
    pub(crate) description: Vec<String>,
    /// The sentences about its result.
    pub(crate) result: Vec<String>,
    /// The errors that have an explanation, and it; or sentences about errors, with an empty name.
    pub(crate) errors: Vec<(String, String)>,
    /// Where it may be called.
    pub(crate) threads: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Description,
    Result,
    Errors,
    Threads,
}

/// The beginnings of sentences that begin a part.
const BEGINNINGS: &[(&str, Mode)] = &[
    ("Returns ", Mode::Result),
    ("Also returns ", Mode::Result),
    ("Stores the handle in ", Mode::Result),
    ("Errors", Mode::Errors),
    ("Error:", Mode::Errors),
    ("-E", Mode::Errors),
    ("Must not be called from ", Mode::Threads),
    ("Not from an event handler", Mode::Threads),
    ("Allowed in an event handler", Mode::Threads),
    ("May be called from ", Mode::Threads),
    ("In an event handler", Mode::Threads),
];

/// Divides a comment. Its first sentence says what the function does, whatever it begins with.
pub(crate) fn parts(doc: &[Vec<String>]) -> Parts {
    let mut parts = Parts::default();
    for (at, paragraph) in doc.iter().enumerate() {
        let mut mode = Mode::Description;
        let mut description = String::new();
        for (number, sentence) in sentences(&paragraph.join(" ")).into_iter().enumerate() {
            let found = BEGINNINGS.iter().find(|(beginning, _)| sentence.starts_with(beginning));
            if let Some((_, found)) = found.filter(|_| (at, number) != (0, 0)) {
                mode = *found;
            } else if mode == Mode::Threads {
                mode = Mode::Description;
            }
            match mode {
                Mode::Description if description.is_empty() => description = sentence,
                Mode::Description => description = format!("{description} {sentence}"),
                Mode::Result => parts.result.push(sentence),
                Mode::Errors => parts.errors.extend(errors(&sentence)),
                Mode::Threads => parts.threads.push(sentence),
            }
        }
        if !description.is_empty() {
            parts.description.push(description);
        }
    }
    parts
}

/// The sentences of a paragraph.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let (mut from, mut depth) = (0, 0_u32);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'.' if depth == 0 && bytes.get(at + 1) == Some(&b' ') && begins_sentence(&text[at + 2..]) => {
                sentences.push(text[from..=at].trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    sentences.push(text[from..].trim().to_owned());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

fn begins_sentence(text: &str) -> bool {
    text.starts_with(|c: char| c.is_uppercase() || c == '-' || c == '`' || c == '*')
        || text.starts_with("md ")
}

/// The errors of a sentence: `Errors: -EINVAL (the configuration), -ENOMEM.`
fn errors(sentence: &str) -> Vec<(String, String)> {
    let list = match sentence.split_once(": ") {
        Some((head, list)) if head.starts_with("Error") => {
            let list = list.trim_end_matches('.');
            match head.split_once(", ") {
                Some((_, condition)) => return with_condition(condition, list),
                None => list,
            }
        }
        // `-EALREADY: a discovery is in progress.`
        Some((name, text)) if name.starts_with("-E") && !name.contains(' ') => {
            return vec![(name.to_owned(), capital(text))];
        }
        _ => return vec![(String::new(), sentence.to_owned())],
    };
    divided(list)
}

/// Errors that come only in some way: that is told first.
fn with_condition(condition: &str, list: &str) -> Vec<(String, String)> {
    let mut errors = vec![(String::new(), format!("{}:", capital(condition)))];
    errors.extend(divided(list));
    errors
}

fn divided(list: &str) -> Vec<(String, String)> {
    let mut errors = Vec::new();
    let (mut from, mut depth) = (0, 0_u32);
    let mut pieces = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ';' if depth == 0 && is_next_error(&list[at + 1..]) => {
                pieces.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&list[from..]);
    for piece in pieces {
        let piece = piece.trim();
        let (name, text) = piece.split_once(' ').unwrap_or((piece, ""));
        match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            _ if !name.starts_with("-E") => errors.push((String::new(), capital(&format!("{piece}.")))),
            Some(text) => errors.push((name.to_owned(), capital(&format!("{text}.")))),
            None if text.is_empty() => errors.push((name.to_owned(), String::new())),
            None => errors.push((String::new(), format!("{piece}."))),
        }
    }
    errors
}

fn is_next_error(rest: &str) -> bool {
    [" -E", " and the ", " and other "].iter().any(|beginning| rest.starts_with(beginning))
}

/// Text that begins with a capital letter, unless its first word is a name in code.
pub(crate) fn capital(text: &str) -> String {
    let text = text.strip_prefix("and ").unwrap_or(text);
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_word = first.chars().all(|c| c.is_ascii_lowercase() || c == ',');
    let is_parameter = ["md", "ack", "portal", "pos", "handle", "portal"].contains(&first);
    match text.chars().next() {
        Some(c) if is_word && !is_parameter => format!("{}{}", c.to_uppercase(), &text[c.len_utf8()..]),
        _ => text.to_owned(),
    }
}

/// The names that text of a page shows in other fonts.
#[derive(Default)]
pub(crate) struct Names {
    /// Functions that have pages.
    pub(crate) functions: BTreeSet<String>,
    /// The functions of this page.
    pub(crate) own: BTreeSet<String>,
    /// The parameters of the functions of this page.
    pub(crate) parameters: BTreeSet<String>,
}

impl Names {
    /// Text with escapes, and with names of functions in bold and of parameters in italics.
    pub(crate) fn shown(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
            let (before, from) = rest.split_at(at);
            let length = from.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(from.len());
            let (word, after) = from.split_at(length);
            // A part of a hyphenated word, or of a file name, is no name.
            let is_part = before.ends_with(['-', '/', '.']) && at > 0 && !before.ends_with(". ")
                || after.starts_with('-') && after[1..].starts_with(char::is_alphabetic)
                || after.starts_with(".h");
            let before_shown = match shown.is_empty() && before.is_empty() {
                true => String::new(),
                false => escape(before),
            };
            shown += &before_shown;
            shown += &match word {
                _ if is_part => escape(word),
                _ if self.own.contains(word) => format!("{}()", bold(word)),
                _ if self.functions.contains(word) => format!("{}(3)", bold(word)),
                _ if self.parameters.contains(word) => italic(word),
                _ => word.to_owned(),
            };
            rest = after;
            // The next part of a hyphenated word.
            while let Some(next) = rest.strip_prefix('-').filter(|next| next.starts_with(char::is_alphabetic))
            {
                let length = next.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(next.len());
                shown += &format!("-{}", &next[..length]);
                rest = &next[length..];
            }
        }
        shown + &escape(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(text: &str) -> Parts {
        let doc: Vec<Vec<String>> = text.split("\n\n").map(|paragraph| vec![paragraph.to_owned()]).collect();
        parts(&doc)
    }

    #[test]
    fn a_comment_is_divided_by_what_its_sentences_begin_with() {
        let parts = divide(
            "Makes it. count is 1 (e.g. two. Or three).\n\nReturns 0. Errors: -EINVAL (no such x, or y), -ENOMEM, and the errors \
             of a driver. Must not be called from an event handler.",
        );
        let expected = Parts {
            description: vec!["Makes it. count is 1 (e.g. two. Or three).".to_owned()],
            result: vec!["Returns 0.".to_owned()],
            errors: vec![
                ("-EINVAL".to_owned(), "No such x, or y.".to_owned()),
                ("-ENOMEM".to_owned(), String::new()),
                (String::new(), "The errors of a driver.".to_owned()),
            ],
            threads: vec!["Must not be called from an event handler.".to_owned()],
        };
        assert_eq!(parts, expected);
    }

    #[test]
    fn the_first_sentence_is_the_description() {
        let parts = divide("Returns 1 if so. Returns 0 if not.");
        assert_eq!(parts.description, ["Returns 1 if so."]);
        assert_eq!(parts.result, ["Returns 0 if not."]);
    }

    #[test]
    fn names_have_fonts_of_their_own() {
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let names = Names { functions: set("LNetPut"), own: set("LNetGet"), parameters: set("md") };
        assert_eq!(
            names.shown("LNetGet as LNetPut: md of cmd-md, -EIO"),
            "\\fBLNetGet\\fR() as \\fBLNetPut\\fR(3): \\fImd\\fR of cmd-md, \\-EIO"
        );
    }
}
