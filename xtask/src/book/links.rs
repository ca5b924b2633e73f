//! The links of documents in Markdown.

/// The text with other targets of its links. Code has none.
pub(super) fn rewritten(text: &str, mut target: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            out += line;
            continue;
        }
        let mut rest = line;
        let mut in_span = false;
        while let Some(at) = rest.find(['`', ']']) {
            let (before, from) = rest.split_at(at);
            out += before;
            let link = from.strip_prefix("](").filter(|_| !in_span).and_then(|link| link.split_once(')'));
            rest = match link {
                Some((link, after)) => {
                    out += &format!("]({})", target(link));
                    after
                }
                None => {
                    in_span ^= from.starts_with('`');
                    out += &from[..1];
                    &from[1..]
                }
            };
        }
        out += rest;
    }
    out
}

/// The targets of the links of a text.
pub(super) fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    rewritten(text, |link| {
        targets.push(link.to_owned());
        String::new()
    });
    targets
}

/// The path that a link of the file `from` leads to, and its anchor with the `#`.
pub(super) fn resolved(from: &str, link: &str) -> (String, String) {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, format!("#{anchor}")),
        None => (link, String::new()),
    };
    if path.is_empty() {
        return (from.to_owned(), anchor);
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." => {}
            _ => parts.push(part),
        }
    }
    (parts.join("/"), anchor)
}

/// The link from one file to another.
pub(super) fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let same = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let same = same.min(from.len() - 1).min(to.len() - 1);
    let up = std::iter::repeat_n("..", from.len() - 1 - same);
    up.chain(to[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "[a](b.md) `[c](d)` [`e`](f#g)\n```\n[h](i)\n```\n    [j](k)\n";
        assert_eq!(targets(text), ["b.md", "f#g"]);
        let other = rewritten(text, |link| format!("x/{link}"));
        assert_eq!(other, "[a](x/b.md) `[c](d)` [`e`](x/f#g)\n```\n[h](i)\n```\n    [j](k)\n");
    }

    #[test]
    fn paths_are_resolved_and_made_relative() {
        let table = [
            ("docs/a.md", "../b/c.rs#L1", "b/c.rs", "#L1", "../b/c.rs"),
            ("docs/p/a.md", "b.md", "docs/p/b.md", "", "b.md"),
            ("docs/p/a.md", "../b.md", "docs/b.md", "", "../b.md"),
            ("a.md", "docs/b.md", "docs/b.md", "", "docs/b.md"),
        ];
        for (from, link, path, anchor, back) in table {
            assert_eq!(resolved(from, link), (path.to_owned(), anchor.to_owned()), "{from} {link}");
            assert_eq!(relative(from, path), back, "{from} {link}");
        }
    }
}
