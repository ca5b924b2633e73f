//! The C headers: their items with the comments before them.

use crate::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A header.
pub(crate) struct Header {
    /// The name that programs include: `lnet/api.h`.
    pub(crate) name: String,
    /// The comment about the whole header, a string for each paragraph.
    pub(crate) about: Vec<Vec<String>>,
    /// The items in their order.
    pub(crate) items: Vec<Item>,
}

/// A function, type or macro.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The name; empty for items that no page shows.
    pub(crate) name: String,
    /// Whether it is a function.
    pub(crate) is_function: bool,
    /// The title of the part of the header that it is in; empty: none.
    pub(crate) section: String,
    /// The comment: the lines of each paragraph.
    pub(crate) doc: Vec<Vec<String>>,
    /// The declaration, without the body of an inline function.
    pub(crate) code: Vec<String>,
}

/// Directories with headers, and the prefixes by which programs include those.
const DIRECTORIES: &[(&str, &str)] = &[
    ("include/lnet", "lnet/"),
    ("include/lnet/v2_17", "lnet/v2_17/"),
    ("include/lnet/v2_15", "lnet/v2_15/"),
    ("include/lnet/lnetconfig", "lnetconfig/"),
    ("include/libcfs", "libcfs/"),
    ("include/libcfs/util", "libcfs/util/"),
    ("include/ptlrpc", "ptlrpc/"),
    ("consumers/motr-net/include/lib", "lib/"),
    ("consumers/motr-net/include/module", "module/"),
    ("consumers/motr-net/include/motr", "motr/"),
    ("consumers/motr-net/include/net", "net/"),
    ("consumers/motr-net/include/net/lnet", "net/lnet/"),
];

/// Headers without a page: lists and pages of memory as Linux has them; lists, numbers and assertions as Motr has them.
const WITHOUT_PAGES: &[&str] = &[
    "libcfs/util/list.h",
    "libcfs/linux_compat.h",
    "lib/arith.h",
    "lib/assert.h",
    "lib/atomic.h",
    "lib/list.h",
    "lib/tlist.h",
    "lib/trace.h",
];

/// Reads all headers.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Header>> {
    let mut headers = Vec::new();
    for (directory, prefix) in DIRECTORIES {
        let mut files: Vec<PathBuf> =
            fs::read_dir(root.join(directory))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "h"));
        files.sort();
        for file in files {
            let name = format!("{prefix}{}", file.file_name().unwrap_or_default().to_string_lossy());
            if !WITHOUT_PAGES.contains(&name.as_str()) {
                let text =
                    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                headers.push(parse(name, &text));
            }
        }
    }
    without_later_forms(&mut headers);
    Ok(headers)
}

/// Removes the functions of later releases that have the name of one before: a page shows the form of 2.10, or else the newest.
fn without_later_forms(headers: &mut [Header]) {
    let mut seen = BTreeSet::new();
    for header in headers.iter_mut().filter(|header| header.name.starts_with("lnet/")) {
        header
            .items
            .retain(|item| !item.is_function || seen.insert(item.name.clone()) || item.doc.is_empty());
    }
}

fn parse(name: String, text: &str) -> Header {
    let mut header = Header { name, about: Vec::new(), items: Vec::new() };
    let (mut section, mut doc) = (String::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("/*") {
            let mut comment = vec![line];
            while !comment.last().is_some_and(|last| last.ends_with("*/")) {
                let Some(next) = lines.next() else { break };
                comment.push(next);
            }
            let is_title = comment.len() == 1;
            let about = paragraphs(&comment);
            if line.starts_with("/**") {
                doc = about;
            } else if header.items.is_empty() && header.about.is_empty() && !line.contains("SPDX") {
                header.about = about;
            } else if is_title
                && !line.contains("SPDX")
                && let Some(title) = about.first().map(|lines| lines.join(" "))
            {
                section = title.trim_matches(['-', ' ', '.']).to_owned();
            }
        } else if line.trim().is_empty() {
            doc = Vec::new();
        } else if line.starts_with("extern \"C\"") {
        } else if !line.starts_with(['#', '}', ' ', '\t']) || line.starts_with("#define") {
            let code = declaration(line, &mut lines);
            let (name, is_function) = name_of(&code);
            let doc = std::mem::take(&mut doc);
            header.items.push(Item { name, is_function, section: section.clone(), doc, code });
        }
    }
    header
}

/// The lines of a declaration that begins with `first`.
fn declaration<'a>(
    first: &str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Vec<String> {
    let mut code = vec![without_attributes(first).to_owned()];
    if first.starts_with("#define") {
        return code;
    }
    while code.last().is_some_and(|last| !last.ends_with(';') && !last.starts_with('}') && *last != "{") {
        let Some(next) = lines.next() else { break };
        code.push(next.to_owned());
        // The members of a type follow.
        if code[code.len() - 2].ends_with('{') || next.starts_with('\t') && code[0].ends_with('{') {
            while code.last().is_some_and(|last| !last.starts_with('}')) {
                let Some(next) = lines.next() else { break };
                code.push(next.to_owned());
            }
        }
    }
    // The symbol is the linker's business.
    if code.last().is_some_and(|last| last.trim_start().starts_with("LNET_SYMBOL(")) {
        code.pop();
        if let Some(last) = code.last_mut() {
            last.push(';');
        }
    }
    // The body of an inline function is no part of its declaration.
    if code.last().is_some_and(|last| last == "{") {
        code.pop();
        for line in lines.by_ref() {
            if line.starts_with('}') {
                break;
            }
        }
        if let Some(last) = code.last_mut() {
            last.push(';');
        }
    }
    code
}

/// The name of an item, and whether it is a function.
fn name_of(code: &[String]) -> (String, bool) {
    let word = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .find(|w| !w.is_empty())
            .unwrap_or_default()
            .to_owned()
    };
    let first = &code[0];
    if let Some(rest) = first.strip_prefix("#define ") {
        return (word(rest), false);
    }
    if let Some(rest) = first.strip_prefix("typedef ") {
        let name = match rest.split_once("(*") {
            Some((_, pointer)) => word(pointer),
            None => word(rest.trim_end_matches(';').rsplit(' ').next().unwrap_or_default()),
        };
        return (name, false);
    }
    if first.ends_with('{') || !code.iter().any(|line| line.contains('(')) {
        return (word(first.split(' ').nth(1).unwrap_or_default()), false);
    }
    let before = first.split('(').next().unwrap_or_default();
    let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // A call of a macro, which declares functions of its own, has only capital letters.
    (name.to_owned(), name.contains(char::is_lowercase))
}

/// A declaration from behind the attributes before it.
fn without_attributes(declaration: &str) -> &str {
    match declaration.strip_prefix("__attribute__((").and_then(|rest| rest.split_once(")) ")) {
        Some((_, rest)) => rest,
        None => declaration,
    }
}

/// The paragraphs of a comment, each with its lines.
pub(crate) fn paragraphs(comment: &[&str]) -> Vec<Vec<String>> {
    let mut paragraphs = vec![Vec::new()];
    for line in comment {
        let line = line.trim_start().trim_start_matches('/').trim_start_matches('*');
        let line = line.strip_suffix("*/").unwrap_or(line).trim_end();
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.trim() {
            "" | "/" => paragraphs.push(Vec::new()),
            _ => paragraphs.last_mut().into_iter().for_each(|last| last.push(line.to_owned())),
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// A member of a structure or enumeration.
pub(crate) struct Member {
    /// Its declarations, such as `int status;`; several share a comment.
    pub(crate) code: Vec<String>,
    /// Its comment.
    pub(crate) doc: String,
}

impl Item {
    /// The members of a structure or enumeration, with their comments.
    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        let mut comment: Vec<&str> = Vec::new();
        let mut is_open = false;
        for line in self.code.iter().skip(1).filter(|line| line.starts_with('\t')) {
            let text = line.trim();
            if text.starts_with("/*") {
                comment.clear();
                is_open = true;
            }
            if is_open {
                comment.push(text);
                is_open = !text.ends_with("*/");
            } else if comment.is_empty()
                && let Some(last) = members.last_mut()
            {
                last.code.push(text.to_owned());
            } else {
                let doc = paragraphs(&comment).concat().join(" ");
                members.push(Member { code: vec![text.to_owned()], doc });
                comment.clear();
            }
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_their_comments() {
        let header = parse(
            "a.h".to_owned(),
            "/* SPDX */\n/* All. */\n#ifndef A\n#define A\n\n/* ---- one ---- */\n\n/**\n * Does.\n *\n * Returns 0.\n */\n\
             int f(int a,\n\t\tint b);\n\n/** Inline. */\nstatic inline int g(void)\n{\n\treturn 1;\n}\n\n/** S. */\nstruct s {\n\
             \t/** M. */\n\tint m;\n\tint n;\n};\ntypedef struct s s_t;\nFUNCTIONS(of, s);\n__attribute__((format(printf, 1, 2))) int h(int a, ...);\n#endif\n",
        );
        let shown: Vec<(&str, bool, usize, &str)> = header
            .items
            .iter()
            .map(|item| (item.name.as_str(), item.is_function, item.doc.len(), item.section.as_str()))
            .collect();
        let expected = [
            ("A", false, 0, ""),
            ("f", true, 2, "one"),
            ("g", true, 1, "one"),
            ("s", false, 1, "one"),
            ("s_t", false, 0, "one"),
            ("FUNCTIONS", false, 0, "one"),
            ("h", true, 0, "one"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(header.about, [["All."]]);
        assert_eq!(header.items[2].code, ["static inline int g(void);"]);
        let members = header.items[3].members();
        assert_eq!((members.len(), members[0].code.len(), members[0].doc.as_str()), (1, 2, "M."));
    }
}
