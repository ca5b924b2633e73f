//! Text in pictures.

/// Text as the content of an element. Characters that XML does not have become question marks.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            _ => out.push(character),
        }
    }
    out
}
