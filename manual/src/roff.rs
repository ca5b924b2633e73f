//! The text of a manual page, in the macros of man(7).

use std::fmt::Write as _;

/// The length of lines, which mandoc(1) wants below 80 bytes.
const WIDTH: usize = 76;

/// A page that is being written.
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// Begins a page with its title and the section NAME.
    pub(crate) fn new(name: &str, section: &str, names: &[&str], about: &str) -> Self {
        let version = concat!("liblnet ", env!("CARGO_PKG_VERSION"));
        let mut page =
            Self { text: format!(".TH {} {section} \"\" \"{version}\" LNet\n", code(&name.to_uppercase())) };
        page.heading("NAME");
        page.fill(&format!(
            "{} \\- {}",
            names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", "),
            escape(about)
        ));
        page
    }

    /// Begins a section.
    pub(crate) fn heading(&mut self, title: &str) {
        self.titled(".SH", title);
    }

    /// Begins a sub-section.
    pub(crate) fn subheading(&mut self, title: &str) {
        self.titled(".SS", title);
    }

    fn titled(&mut self, request: &str, title: &str) {
        // A paragraph before a heading has nothing to separate.
        self.text.truncate(self.text.trim_end_matches(".PP\n").len());
        let title = escape(title);
        _ = match title.contains(' ') {
            true => writeln!(self.text, "{request} \"{}\"", title.replace('"', "\\(dq")),
            false => writeln!(self.text, "{request} {title}"),
        };
    }

    /// Begins a paragraph, if something is before it in the section.
    pub(crate) fn paragraph(&mut self) {
        let last = self.text.lines().next_back().unwrap_or_default();
        if ![".SH", ".SS", ".PP", ".TH"].iter().any(|request| last.starts_with(request)) {
            self.line(".PP");
        }
    }

    /// Adds a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// Adds text with escapes, in lines of the right length.
    pub(crate) fn fill(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
                self.text_line(&line);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        if !line.is_empty() {
            self.text_line(&line);
        }
    }

    fn text_line(&mut self, line: &str) {
        if line.starts_with(['.', '\'']) {
            self.text += "\\&";
        }
        self.line(line);
    }

    /// Adds an item: a tag with escapes, and its text.
    pub(crate) fn item(&mut self, tag: &str, text: &str) {
        self.line(".TP");
        self.tag(tag);
        match text.is_empty() {
            true => self.line("\\&"),
            false => self.fill(text),
        }
    }

    /// Adds a tag, which is one line for roff: where it is long its lines end with a backslash.
    fn tag(&mut self, tag: &str) {
        let mut line = String::new();
        for word in tag.split_inclusive(' ') {
            if line.len() + word.len() > WIDTH {
                self.text_line(&format!("{line}\\"));
                line.clear();
            }
            line += word;
        }
        self.text_line(&line);
    }

    /// Adds text as it is, with its lines.
    pub(crate) fn literal(&mut self, lines: &[&str]) {
        self.paragraph();
        self.line(".nf");
        self.line(".RS 4");
        for line in lines {
            self.text_line(&code(&line.replace('\t', "    ")));
        }
        self.line(".RE");
        self.line(".fi");
    }

    /// Adds the section SEE ALSO: names with their sections.
    pub(crate) fn see_also(&mut self, pages: &[(String, String)]) {
        self.heading("SEE ALSO");
        for (at, (name, section)) in pages.iter().enumerate() {
            let comma = if at + 1 < pages.len() { "," } else { "" };
            self.line(&format!(".BR {} ({section}){comma}", code(name)));
        }
    }

    /// The text of the page.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Text with the escapes that roff needs. Dashes within words are hyphens.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escaped += "\\e",
            '-' if !(before.is_alphabetic() && rest.peek().is_some_and(|next| next.is_alphabetic())) => {
                escaped += "\\-";
            }
            '`' => {}
            _ => escaped.push(c),
        }
        before = c;
    }
    escaped
}

/// Code with the escapes that roff needs: every dash is a minus.
pub(crate) fn code(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga")
}

/// Code in bold.
pub(crate) fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", code(text))
}

/// Text in italics.
pub(crate) fn italic(text: &str) -> String {
    format!("\\fI{}\\fR", code(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_are_hyphens_only_within_words() {
        let table =
            [("Multi-Rail", "Multi-Rail"), ("-EINVAL", "\\-EINVAL"), ("--nid a\\b", "\\-\\-nid a\\eb")];
        for (text, expected) in table {
            assert_eq!(escape(text), expected, "{text}");
        }
    }

    #[test]
    fn a_line_of_text_is_never_taken_for_a_request() {
        let mut page = Page::new("a", "7", &["a"], "b");
        page.fill("'tis .so");
        assert!(page.finish().ends_with("\\&'tis .so\n"));
    }
}
