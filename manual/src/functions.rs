//! Section 3: a page for each C function, from the comment in its header.

use crate::concepts;
use crate::examples::{self, Example};
use crate::header::{Header, Item};
use crate::prose::{self, Names, Parts, sentences};
use crate::roff::{Page, bold, code};
use crate::{Pages, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// The page of section 7 about the functions in a part of a header, or in a whole one (an empty title).
const CONCEPTS: &[(&str, &str, &str)] = &[
    ("lnet/api.h", "match entries", "lnet-portals"),
    ("lnet/api.h", "portals", "lnet-portals"),
    ("lnet/api.h", "memory", "lnet-memory"),
    ("lnet/api.h", "memory descriptors", "lnet-memory"),
    ("lnet/api.h", "event queues", "lnet-events"),
    ("lnet/api.h", "moving data", "lnet-portals"),
    ("lnet/api.h", "addresses", "lnet-multi-rail"),
    ("lnet/api.h", "up and down", "lnet-environment"),
    ("lnet/v2_15/api.h", "", "lnet-memory"),
    ("lnet/v2_17/api.h", "", "lnet-multi-rail"),
    ("lnetconfig/liblnetconfig.h", "", "lnet-yaml"),
    ("lnetconfig/cyaml.h", "", "lnet-yaml"),
    ("lnetconfig/lnetconfig_hld.h", "", "lnet-selection"),
    ("net/net.h", "", "m0net"),
    ("net/buffer_pool.h", "", "m0net"),
    ("net/lnet/lnet.h", "", "m0net"),
    ("net/lnet.h", "", "m0net"),
    ("motr/init.h", "", "m0net"),
];

/// The beginning of comments that say the same of another value as the comment before: both functions share a page.
const SHARES_A_PAGE: &str = "Shows that ";

/// The beginnings of a header's paragraphs about the results of all its functions, and about where they may be called.
const RESULTS: &str = "Results: ";
const THREADS: &str = "Threads: ";

/// From this length on, the section NAME has only the part of a sentence before a bracket or comma.
const LONG: usize = 90;
/// A part of the names of functions that only other functions of their header call.
const INTERNAL: &str = "_hld_";

/// The functions of one page, from one header.
struct Group<'a> {
    header: &'a Header,
    functions: Vec<&'a Item>,
}

/// Makes the pages of all functions.
pub(crate) fn pages(root: &Path, headers: &[Header]) -> Result<Pages> {
    let examples = examples::read(root)?;
    let groups: Vec<Group<'_>> = headers.iter().flat_map(groups).collect();
    let all: BTreeSet<String> = headers
        .iter()
        .flat_map(|header| &header.items)
        .filter(|item| item.is_function && !item.doc.is_empty())
        .map(|item| item.name.clone())
        .chain(concepts::types().map(|(name, _)| name.to_owned()))
        .collect();
    let mut pages = Pages::new();
    for group in &groups {
        let first = &group.functions[0].name;
        let text = group.page(&groups, &all, &examples);
        if pages.insert(format!("{first}.3"), text).is_some() {
            return Err(format!("{first} is in two headers").into());
        }
        for other in &group.functions[1..] {
            pages.insert(format!("{}.3", other.name), format!(".so man3/{first}.3\n"));
        }
    }
    // The types that these functions take, which are on pages of section 7.
    for (name, page) in concepts::types() {
        pages.insert(format!("{name}.3"), format!(".so man7/{page}.7\n"));
    }
    Ok(pages)
}

fn groups(header: &Header) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for item in header.items.iter().filter(|item| item.is_function && !item.name.contains(INTERNAL)) {
        let shares = item.doc.is_empty() || item.doc[0][0].starts_with(SHARES_A_PAGE);
        match groups.last_mut() {
            Some(last) if shares => last.functions.push(item),
            _ if item.doc.is_empty() => {}
            _ => groups.push(Group { header, functions: vec![item] }),
        }
    }
    groups
}

impl Group<'_> {
    fn page(&self, groups: &[Group<'_>], all: &BTreeSet<String>, examples: &[Example]) -> String {
        let first = self.functions[0];
        let own: Vec<&str> = self.functions.iter().map(|function| function.name.as_str()).collect();
        let names = Names {
            functions: all.clone(),
            own: own.iter().map(|name| (*name).to_owned()).collect(),
            parameters: self.functions.iter().flat_map(|function| parameters(function)).collect(),
        };
        let mut page = Page::new(&first.name, "3", &own, &about(first));
        self.synopsis(&mut page);
        let mut parts = prose::parts(&first.doc);
        for other in &self.functions[1..] {
            let text = other.doc.concat().join(" ");
            let text =
                text.strip_prefix("Shows that ").map(|rest| format!("{} shows the value {rest}", other.name));
            parts.description.extend(text);
        }
        page.heading("DESCRIPTION");
        for paragraph in &parts.description {
            page.paragraph();
            page.fill(&names.shown(paragraph));
        }
        self.with_general(&mut page, "RETURN VALUE", &parts.result, RESULTS, &names);
        errors(&mut page, &parts, &names);
        self.with_general(&mut page, "THREADS", &parts.threads, THREADS, &names);
        self.common(&mut page, &names);
        let example = self.example(groups, examples);
        if let Some(example) = example {
            page.heading("EXAMPLES");
            page.fill(&names.shown(&example.about));
            page.literal(&example.code.iter().map(String::as_str).collect::<Vec<_>>());
        }
        page.heading("FILES");
        page.item(&format!("\\fI<{}>\\fR", code(&self.header.name)), "The declaration.");
        page.see_also(&self.see_also(groups, all));
        page.finish()
    }

    fn synopsis(&self, page: &mut Page) {
        page.heading("SYNOPSIS");
        page.line(".nf");
        page.line(&bold(&format!("#include <{}>", self.header.name)));
        page.line("");
        for function in &self.functions {
            for line in &function.code {
                page.line(&bold(line.replace('\t', "    ").trim_end()));
            }
        }
        page.line(".fi");
        page.paragraph();
        let (package, library) = self.library();
        page.fill(&format!("Link with {} (pkg\\-config {package}).", code(library)));
    }

    fn library(&self) -> (&'static str, &'static str) {
        match self.header.name.as_str() {
            "lnet/selftest.h" => ("lnet", "-llnet_selftest -llnet"),
            name if name.starts_with("ptlrpc/") => ("ptlrpc", "-lptlrpc -llnet"),
            name if ["lib/", "module/", "motr/", "net/"].iter().any(|its| name.starts_with(its)) => {
                ("m0net", "-lm0net -llnet")
            }
            _ => ("lnet", "-llnet"),
        }
    }

    /// Adds a section: what is said of this function, and what the header says of all in a paragraph that begins with `beginning`.
    fn with_general(&self, page: &mut Page, title: &str, own: &[String], beginning: &str, names: &Names) {
        let general = self.header.about.iter().map(|paragraph| paragraph.join(" "));
        let general = general.filter_map(|text| text.strip_prefix(beginning).map(prose::capital));
        let paragraphs = Some(own.join(" ")).filter(|text| !text.is_empty()).into_iter().chain(general);
        for (at, paragraph) in paragraphs.enumerate() {
            if at == 0 {
                page.heading(title);
            }
            page.paragraph();
            page.fill(&names.shown(&paragraph));
        }
    }

    /// Adds what else the header says of all its functions.
    fn common(&self, page: &mut Page, names: &Names) {
        let is_other = |paragraph: &&Vec<String>| {
            ![RESULTS, THREADS].iter().any(|beginning| paragraph[0].starts_with(beginning))
        };
        let mut paragraphs = self.header.about.iter().filter(is_other);
        let first: Vec<String> =
            paragraphs.next().map(|lines| sentences(&lines.join(" "))).unwrap_or_default();
        let rest: Vec<&Vec<String>> = paragraphs.collect();
        if first.len() < 2 && rest.is_empty() {
            return;
        }
        page.heading("NOTES");
        page.fill(&format!("Of all functions of \\fI<{}>\\fR:", code(&self.header.name)));
        if first.len() > 1 {
            page.paragraph();
            page.fill(&names.shown(&first[1..].join(" ")));
        }
        for lines in rest {
            // A list: names, and what they mean from the same column on.
            let is_list = lines[0].split_once("  ").is_some_and(|(name, _)| !name.contains(' '));
            if !is_list {
                page.paragraph();
                page.fill(&names.shown(&lines.join(" ")));
                continue;
            }
            let mut items: Vec<(String, String)> = Vec::new();
            for line in lines {
                match (line.starts_with(' '), items.last_mut()) {
                    (true, Some(last)) => last.1 += &format!(" {}", line.trim()),
                    _ => items.extend(
                        line.split_once("  ").map(|(name, text)| (name.to_owned(), text.trim().to_owned())),
                    ),
                }
            }
            for (name, text) in items {
                page.item(&crate::roff::italic(&name), &names.shown(&text));
            }
        }
    }

    /// An example that calls a function of this page, or else one of the same part of the header, or of the header.
    fn example<'a>(&self, groups: &[Group<'_>], examples: &'a [Example]) -> Option<&'a Example> {
        let calls = |group: &Group<'_>| {
            examples
                .iter()
                .find(|example| group.functions.iter().any(|function| example.calls(&function.name)))
        };
        let of_header = || groups.iter().filter(|group| group.header.name == self.header.name);
        calls(self)
            .or_else(|| of_header().filter(|group| group.section() == self.section()).find_map(calls))
            .or_else(|| of_header().find_map(calls))
    }

    fn section(&self) -> &str {
        &self.functions[0].section
    }

    /// The functions that the comment names, those of the same part of the header, and the page about the concept.
    fn see_also(&self, groups: &[Group<'_>], all: &BTreeSet<String>) -> Vec<(String, String)> {
        const MAX_NAMES: usize = 8;
        let own: BTreeSet<&str> = self.functions.iter().map(|function| function.name.as_str()).collect();
        let text =
            self.functions.iter().flat_map(|function| function.doc.concat()).collect::<Vec<_>>().join(" ");
        let named = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| all.contains(*word));
        let beside = groups.iter().filter(|group| group.header.name == self.header.name);
        let beside = beside.filter(|group| group.section() == self.section());
        let beside = beside.map(|group| group.functions[0].name.as_str());
        let mut seen = BTreeSet::new();
        let pages = named.chain(beside).filter(|name| !own.contains(name) && seen.insert((*name).to_owned()));
        let mut pages: Vec<(String, String)> =
            pages.take(MAX_NAMES).map(|name| (name.to_owned(), "3".to_owned())).collect();
        pages.sort();
        let concept = CONCEPTS.iter().find(|(header, section, _)| {
            *header == self.header.name && (section.is_empty() || *section == self.section())
        });
        pages.extend(concept.map(|(_, _, page)| ((*page).to_owned(), "7".to_owned())));
        pages.push(("lnet".to_owned(), "7".to_owned()));
        pages
    }
}

fn errors(page: &mut Page, parts: &Parts, names: &Names) {
    if parts.errors.is_empty() {
        return;
    }
    page.heading("ERRORS");
    let mut after_items = false;
    for (name, text) in &parts.errors {
        if name.is_empty() {
            if after_items {
                page.line(".PP");
            }
            page.fill(&names.shown(text));
        } else {
            page.item(&bold(name), &names.shown(text));
        }
        after_items = true;
    }
}

/// What a function does, for the section NAME: the first sentence, up to a colon or semicolon.
fn about(function: &Item) -> String {
    let text = function.doc.first().map(|lines| lines.join(" ")).unwrap_or_default();
    let first = sentences(&text).into_iter().next().unwrap_or_default();
    // A sentence may begin with the name of a parameter.
    let first = before(before(before(&first, ":", 0), ";", 0), ". ", 0).trim_end_matches('.');
    let first = match first.len() > LONG {
        true => before(before(first, " (", LONG / 3), ", ", LONG / 3).to_owned(),
        false => first.to_owned(),
    };
    let word = first.split(' ').next().unwrap_or_default();
    // A capital letter stays only in names, such as YAML.
    match word.chars().skip(1).any(char::is_uppercase) {
        true => first,
        false => first[..1].to_lowercase() + &first[1..],
    }
}

/// The text before a mark that is not in brackets and has at least `least` bytes before it; all of the text if there is none.
fn before<'a>(text: &'a str, mark: &str, least: usize) -> &'a str {
    let is_outside = |at: usize| {
        let count = |bracket| text[..at].matches(bracket).count();
        count('(') <= count(')')
    };
    let found = text.match_indices(mark).map(|(at, _)| at).find(|at| *at >= least && is_outside(*at));
    found.map_or(text, |at| &text[..at])
}

/// The names of a function's parameters.
fn parameters(function: &Item) -> Vec<String> {
    let prototype = function.code.concat();
    let Some((_, list)) = prototype.split_once('(') else { return Vec::new() };
    list.trim_end_matches([';', ')'])
        .split(',')
        .filter_map(|parameter| {
            parameter.trim().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
        })
        .filter(|name| !name.is_empty() && name != "void")
        .collect()
}
