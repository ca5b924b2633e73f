//! Sections of documents that are made from sources, between `<!-- generated: NAME -->` and `<!-- end of NAME -->`.

use crate::Result;

/// Returns the text with `content` in the section of this name.
pub(super) fn replace(text: &str, name: &str, content: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let place = text.find(&begin).map(|at| at + begin.len()).zip(text.find(&end));
    let Some((from, to)) = place.filter(|(from, to)| from <= to) else {
        return Err(format!("no section between `{}` and `{}`", begin.trim(), end.trim()).into());
    };
    Ok(format!("{}{content}{}", &text[..from], &text[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_section_of_the_name_is_replaced() {
        let document = |content| {
            format!(
                "1\n<!-- generated: a -->\n2\n<!-- end of a -->\n<!-- generated: b -->\n{content}<!-- end of b -->\n3\n"
            )
        };
        assert_eq!(replace(&document("old\n"), "b", "new\n").ok(), Some(document("new\n")));
        assert!(replace(&document(""), "c", "").is_err());
    }
}
