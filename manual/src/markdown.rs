//! Markdown of the documents as text of a manual page.

use crate::roff::{Page, bold, code, escape, italic};

/// A part of a document.
#[derive(Debug, PartialEq)]
pub(crate) enum Block {
    /// A heading with its level.
    Heading(usize, String),
    /// A paragraph.
    Paragraph(String),
    /// The lines of code.
    Code(Vec<String>),
    /// The items of a list, with their numbers or dashes.
    List(Vec<(String, String)>),
    /// A table: the first row is its head.
    Table(Vec<Vec<String>>),
}

/// The parts of a document, without pictures.
pub(crate) fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    let mut paragraph: Vec<&str> = Vec::new();
    let end = |paragraph: &mut Vec<&str>, blocks: &mut Vec<Block>| {
        if !paragraph.is_empty() {
            blocks.push(Block::Paragraph(std::mem::take(paragraph).join(" ")));
        }
    };
    while let Some(line) = lines.next() {
        let begins_block = line.is_empty() || line.starts_with("<!--") || line.starts_with("![");
        if begins_block || line.starts_with(['#', '|']) || line.starts_with("```") {
            end(&mut paragraph, &mut blocks);
        }
        if begins_block {
        } else if let Some(language) = line.strip_prefix("```") {
            let code: Vec<String> =
                lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect();
            if language != "mermaid" {
                blocks.push(Block::Code(code));
            }
        } else if line.starts_with('#') {
            let level = line.chars().take_while(|c| *c == '#').count();
            blocks.push(Block::Heading(level, line[level..].trim().to_owned()));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            rows.retain(|row| !row.iter().all(|cell| cell.starts_with("---")));
            blocks.push(Block::Table(rows));
        } else if paragraph.is_empty() && line.starts_with("    ") {
            let mut code = vec![line[4..].to_owned()];
            while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
                code.push(line[4..].to_owned());
            }
            blocks.push(Block::Code(code));
        } else if let Some((tag, text)) = item(line) {
            end(&mut paragraph, &mut blocks);
            let mut items = vec![(tag, text)];
            while let Some(line) = lines.next_if(|line| line.starts_with("  ") || item(line).is_some()) {
                match item(line) {
                    Some(next) => items.push(next),
                    None => {
                        items.last_mut().into_iter().for_each(|last| last.1 += &format!(" {}", line.trim()))
                    }
                }
            }
            blocks.push(Block::List(items));
        } else {
            paragraph.push(line.trim());
        }
    }
    end(&mut paragraph, &mut blocks);
    blocks
}

/// The sections of a document with these titles, each with its heading and all below it; the empty title stands for what is
/// before the first section. An error is a title that the document does not have.
pub(crate) fn sections(blocks: Vec<Block>, titles: &[&str]) -> Result<Vec<Block>, String> {
    let mut found: Vec<(usize, Vec<Block>)> = titles.iter().map(|_| (0, Vec::new())).collect();
    let mut current = titles.iter().position(|title| title.is_empty());
    let mut level = 2;
    for block in blocks {
        if let Block::Heading(its, title) = &block {
            if *its == 1 {
                continue;
            }
            if current.is_none() || *its <= level {
                current = titles.iter().position(|wanted| wanted == title);
                level = *its;
            }
        }
        if let Some(at) = current {
            found[at].1.push(block);
        }
    }
    match found.iter().position(|(_, blocks)| blocks.is_empty()) {
        Some(at) => Err(format!("no section {:?}", titles[at])),
        None => Ok(found.into_iter().flat_map(|(_, blocks)| blocks).collect()),
    }
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    line.replace("\\|", "\u{1}").split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The mark of a list's item, and its text.
fn item(line: &str) -> Option<(String, String)> {
    if let Some(text) = line.strip_prefix("- ") {
        return Some(("\\(bu".to_owned(), text.to_owned()));
    }
    let (number, text) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (format!("{number}."), text.trim().to_owned()))
}

/// Writes parts of a document. `link` gives what stands in the place of a link's text, where that is something else.
pub(crate) fn write(page: &mut Page, blocks: &[Block], link: &dyn Fn(&str, &str) -> Option<String>) {
    let inline = |text: &str| inline(text, link);
    for block in blocks {
        match block {
            Block::Heading(level, title) if *level <= 2 => page.heading(&plain(title).to_uppercase()),
            Block::Heading(_, title) => page.subheading(&plain(title)),
            Block::Paragraph(text) => {
                page.paragraph();
                page.fill(&inline(text));
            }
            Block::Code(lines) => page.literal(&lines.iter().map(String::as_str).collect::<Vec<_>>()),
            Block::List(items) => {
                for (tag, text) in items {
                    page.line(&format!(".IP {tag} 4"));
                    page.fill(&inline(text));
                }
            }
            Block::Table(rows) => table(page, rows, &inline),
        }
    }
}

/// The first column of a table are tags; further columns than the second have their heads before them.
fn table(page: &mut Page, rows: &[Vec<String>], inline: &dyn Fn(&str) -> String) {
    let Some((head, rows)) = rows.split_first() else { return };
    for row in rows {
        let mut cells = row.iter().zip(head).skip(1).filter(|(cell, _)| !cell.is_empty());
        let mut text = cells.next().map(|(cell, _)| inline(cell)).unwrap_or_default();
        for (cell, head) in cells {
            let end = if text.ends_with(['.', ';', ':']) { "" } else { ";" };
            let head = if head.is_empty() { String::new() } else { format!("{}: ", escape(head)) };
            text += &format!("{end} {head}{}", inline(cell));
        }
        let tag =
            row.first().filter(|tag| !tag.is_empty()).map_or_else(|| "\\&".to_owned(), |tag| inline(tag));
        page.item(&tag, &text);
    }
}

/// The text of a heading without marks.
fn plain(text: &str) -> String {
    text.replace(['`', '*'], "")
}

/// Text with its marks: code and strong words in bold.
fn inline(text: &str, link: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        let (before, from) = rest.split_at(at);
        shown += &escape(before);
        let marked = |open: &str, close: &str| {
            let inner = from.strip_prefix(open)?;
            let end = inner.find(close)?;
            (end > 0).then(|| (inner[..end].to_owned(), &inner[end + close.len()..]))
        };
        if let Some((code, after)) = marked("`", "`") {
            shown += &bold(&code);
            rest = after;
        } else if let Some((strong, after)) = marked("**", "**") {
            shown += &bold(&strong);
            rest = after;
        } else if let Some((text, after)) = marked("[", "](")
            && !text.contains(']')
            && let Some((target, after)) = after.split_once(')')
        {
            shown += &link(&text, target).unwrap_or_else(|| inline(&text, &|_, _| None));
            rest = after;
        } else {
            shown += &code(&from[..1]);
            rest = &from[1..];
        }
    }
    shown + &escape(rest)
}

/// The place of a file in the repository, as pages show it.
pub(crate) fn file(path: &str) -> String {
    italic(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let text = "# T\n\nOne\ntwo.\n\n## A\n\n    $ x\n\n- a\n  b\n- c\n\n### B\n\n| h | i |\n|---|---|\n| 1 | 2 |\n\n## C\n\nend\n";
        let blocks = sections(parse(text), &["A"]);
        let expected = vec![
            Block::Heading(2, "A".to_owned()),
            Block::Code(vec!["$ x".to_owned()]),
            Block::List(vec![("\\(bu".to_owned(), "a b".to_owned()), ("\\(bu".to_owned(), "c".to_owned())]),
            Block::Heading(3, "B".to_owned()),
            Block::Table(vec![vec!["h".to_owned(), "i".to_owned()], vec!["1".to_owned(), "2".to_owned()]]),
        ];
        assert_eq!(blocks, Ok(expected));
        assert!(sections(parse(text), &["D"]).is_err());
    }

    #[test]
    fn marks_become_fonts() {
        let link = |text: &str, target: &str| (target == "a.md").then(|| format!("<{text}>"));
        let table = [
            ("`a-b` and **c**", "\\fBa\\-b\\fR and \\fBc\\fR"),
            ("[x](a.md) [`y`](b.md)", "<x> \\fBy\\fR"),
            ("a * b", "a * b"),
        ];
        for (text, expected) in table {
            assert_eq!(inline(text, &link), expected, "{text}");
        }
    }
}
