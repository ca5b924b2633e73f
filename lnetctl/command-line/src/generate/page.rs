//! The text of manual pages: examples, references, and lines as mandoc(1) wants them.

use std::fmt::Write as _;

/// The length that lines of a page have at most.
const WIDTH: usize = 79;

/// The examples of the command of this name, in roff; `text` has those of all, each below `## NAME`.
pub(super) fn example(text: &str, name: &str) -> Option<String> {
    let heading = format!("## {name}");
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .collect();
    let end = lines.iter().rposition(|line| !line.is_empty())?;
    let mut roff = String::new();
    let mut is_code = false;
    let mut is_new = false;
    let mut lines = lines[..=end].iter().skip_while(|line| line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let code = line.strip_prefix("    ");
        if line.is_empty() {
            // An empty line within code stays.
            let goes_on = is_code && lines.peek().is_some_and(|next| next.starts_with("    "));
            if goes_on {
                roff.push('\n');
            } else {
                is_new = true;
            }
            continue;
        }
        if is_code && code.is_none() {
            roff += ".RE\n.fi\n";
        }
        if is_new && !roff.is_empty() {
            roff += ".PP\n";
        }
        if !is_code && code.is_some() {
            roff += ".nf\n.RS 4\n";
        }
        is_new = false;
        is_code = code.is_some();
        let escaped = code
            .unwrap_or(line)
            .replace('\\', "\\e")
            .replace('-', "\\-")
            .replace('\'', "\\(aq")
            .replace('`', "\\(ga");
        let escaped = if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped };
        _ = writeln!(roff, "{escaped}");
    }
    Some(roff + if is_code { ".RE\n.fi" } else { "" })
}

/// A reference to a page such as `lnetd(8)`.
pub(super) fn reference(page: &str) -> String {
    match page.split_once('(') {
        Some((name, section)) => format!(".BR {} ({section}", name.replace('-', "\\-")),
        None => page.to_owned(),
    }
}

/// The text with lines of at most 80 bytes and without blanks at their ends. The line after `.TP` is a tag, which stays one for
/// roff; text that is not filled keeps its lines.
pub(super) fn lines_of_80(text: &str) -> String {
    let mut out = String::new();
    let (mut is_tag, mut is_literal) = (false, false);
    // `clap_mangen` has an empty line between two requests to break the line.
    let text = text.replace(".br\n\n.br\n", ".sp\n");
    for line in text.lines() {
        let line = line.trim_end();
        match line {
            ".nf" => is_literal = true,
            ".fi" => is_literal = false,
            _ => {}
        }
        if is_literal || line.starts_with('.') || line.len() <= WIDTH {
            out += line;
            out.push('\n');
        } else {
            wrap(line, if is_tag { " \\" } else { "" }, &mut out);
        }
        is_tag = line == ".TP";
    }
    out
}

/// Adds a line of text in several lines, each but the last with `end`.
fn wrap(line: &str, end: &str, out: &mut String) {
    let mut length = 0;
    for word in line.split(' ') {
        if length > 0 && length + 1 + word.len() + end.len() > WIDTH {
            out.push_str(end);
            out.push('\n');
            length = 0;
            // A word at the beginning of a line is no request.
            if word.starts_with(['.', '\'']) {
                out.push_str("\\&");
            }
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += word.len();
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_by_their_headings() {
        let text = "## a\n\nText:\n\n    $ x --y\n\n    end\n\nMore:\n\n    $ z\n\n## b\n\n    $ b\n";
        let expected = "Text:\n.PP\n.nf\n.RS 4\n$ x \\-\\-y\n\nend\n.RE\n.fi\n.PP\nMore:\n.PP\n.nf\n.RS 4\n$ z\n.RE\n.fi";
        assert_eq!(example(text, "a").as_deref(), Some(expected));
        assert_eq!(example(text, "b").as_deref(), Some(".nf\n.RS 4\n$ b\n.RE\n.fi"));
        assert_eq!(example(text, "c"), None);
    }

    #[test]
    fn long_lines_are_wrapped_and_tags_stay_one() {
        let long = "word ".repeat(20);
        let half = ["word"; 15].join(" ");
        let rest = ["word"; 5].join(" ");
        let table = [
            (format!("{long}\n"), format!("{half} word\n{}\n", ["word"; 4].join(" "))),
            (format!(".TP\n{long}\n"), format!(".TP\n{half} \\\n{rest}\n")),
            (format!(".nf\n{}\n.fi\n", long.trim_end()), format!(".nf\n{}\n.fi\n", long.trim_end())),
            ("a \n".to_owned(), "a\n".to_owned()),
        ];
        for (text, expected) in table {
            assert_eq!(lines_of_80(&text), expected, "{text}");
        }
    }
}
