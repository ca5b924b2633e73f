//! The lines that a source can log, found by how they are written:
//!
//! - `write_line!(LogClass::X, "text", ...)`;
//! - a method with a class and a text: `.log(LogClass::X, subject, format_args!("text", ...))`. In place of the class there
//!   may be a call of a function of the same file that chooses one; in place of the text a `line` of the same block,
//!   `let line = format_args!("text", ...)`;
//! - `start_error!(errno, "text", ...)`, which the node logs;
//! - `log::debug!` and `log::trace!`, which have no class;
//! - `log::error!`, `log::warn!`, `log::info!` and `log::log!`: a mistake.

use super::tokens::{self, Tokens, is_ident, is_punct};
use crate::Result;
use lnet_log::LogClass;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;

/// The log lines found in all files, and the calls that could not be read.
#[derive(Debug, Default)]
pub(crate) struct LogLine {
    /// The log lines, each with its class as named in the sources, the library, and the text.
    pub(crate) lines: BTreeSet<(String, &'static str, String)>,
    /// The level, the library, the text.
    pub(crate) debug: BTreeSet<(&'static str, &'static str, String)>,
    pub(crate) mistakes: Vec<String>,
}

impl LogLine {
    pub(crate) fn classes_without_lines(&self) -> Vec<String> {
        let is_unused = |class: &LogClass| self.lines.iter().all(|(name, ..)| *name != format!("{class:?}"));
        let unused = LogClass::ALL.into_iter().filter(is_unused);
        unused.map(|class| format!("LogClass::{class:?}: no line has it")).collect()
    }
}

/// Adds the lines of one file.
pub(crate) fn of_file(library: &'static str, file: &str, text: &str, found: &mut LogLine) -> Result<()> {
    let all = tokens::of(text.parse::<TokenStream>()?);
    tokens::each_level(&all, &mut |level| {
        for index in 0..level.len() {
            if let Some(mistake) = at(level, index, library, &all, file, found) {
                let line = level[index].span().start().line;
                found.mistakes.push(format!("{file}:{line}: {mistake}"));
            }
        }
    });
    Ok(())
}

/// Adds the log line that begins at token `index`, if one does; returns the mistake in it, if there is one.
fn at(
    level: &[TokenTree],
    index: usize,
    library: &'static str,
    all: &[TokenTree],
    file: &str,
    found: &mut LogLine,
) -> Option<&'static str> {
    match &level[index..] {
        [crate_name, colon, _, TokenTree::Ident(name), bang, TokenTree::Group(group), ..]
            if is_ident(crate_name, "log") && is_punct(colon, ':') && is_punct(bang, '!') =>
        {
            let arguments = tokens::arguments(group);
            let is_target =
                |argument: &&Tokens| argument.first().is_some_and(|first| is_ident(first, "target"));
            let from = arguments.iter().take_while(is_target).count();
            let text = text(&arguments[from..]);
            match (name.to_string().as_str(), text) {
                ("debug", Some(text)) => _ = found.debug.insert(("debug", library, text)),
                ("trace", Some(text)) => _ = found.debug.insert(("trace", library, text)),
                ("debug" | "trace", None) => return Some("the text is no literal"),
                ("log" | "error" | "warn" | "info", _) => {
                    let line = name.span().start().line;
                    found.mistakes.push(format!("{file}:{line}: log::{name}! without a class: see lnet_log"));
                }
                _ => {}
            }
            None
        }
        [name, bang, TokenTree::Group(group), ..] if is_ident(name, "write_line") && is_punct(bang, '!') => {
            let arguments = tokens::arguments(group);
            let (Some(class), Some(text)) = (arguments.first(), arguments.get(1..).and_then(text)) else {
                return Some("write_line!(LogClass::X, \"text\", ...)");
            };
            // The text of a `start_error!`.
            if text == "{error}" { None } else { add(&tokens::classes_in(class), library, &text, found) }
        }
        [name, bang, TokenTree::Group(group), ..] if is_ident(name, "start_error") && is_punct(bang, '!') => {
            let arguments = tokens::arguments(group);
            let Some(text) = arguments.get(1..).and_then(text) else {
                return Some("start_error!(errno, \"text\", ...)");
            };
            add(&[format!("{:?}", LogClass::NiNotStarted)], library, &text, found)
        }
        [dot, TokenTree::Ident(_), TokenTree::Group(group), ..] if is_punct(dot, '.') => {
            let arguments = tokens::arguments(group);
            let classes: Vec<String> =
                arguments.iter().flat_map(|argument| classes_of(argument, all)).collect();
            let found_text = arguments.last().and_then(|argument| format_of(argument, &level[..index]));
            match (classes.as_slice(), found_text.and_then(|arguments| text(&arguments))) {
                ([], _) => None,
                (_, Some(text)) => add(&classes, library, &text, found),
                _ => Some("the last argument is not format_args!(\"text\", ...)"),
            }
        }
        _ => None,
    }
}

/// Returns the arguments of the `format_args!` that makes an argument, in place or bound to a name before.
fn format_of(argument: &[TokenTree], before: &[TokenTree]) -> Option<Vec<Tokens>> {
    if let [TokenTree::Ident(name)] = argument {
        let is_its = |tokens: &&[TokenTree]| {
            is_ident(&tokens[0], "let") && *name == tokens[1].to_string() && is_punct(&tokens[2], '=')
        };
        let given = before.windows(6).rev().find(is_its)?;
        return tokens::macro_call(&given[3..], "format_args");
    }
    tokens::macro_call(argument, "format_args")
}

fn add(classes: &[String], library: &'static str, text: &str, found: &mut LogLine) -> Option<&'static str> {
    found.lines.extend(classes.iter().map(|class| (class.clone(), library, text.to_owned())));
    classes.is_empty().then_some("the class is not written out")
}

/// Returns the class that an argument is, or the classes that the function in it chooses from.
fn classes_of(argument: &[TokenTree], all: &[TokenTree]) -> Vec<String> {
    match argument {
        [class, colon, _, TokenTree::Ident(variant)]
            if is_ident(class, "LogClass") && is_punct(colon, ':') =>
        {
            vec![variant.to_string()]
        }
        [TokenTree::Ident(function), TokenTree::Group(_)] => {
            let mut classes = Vec::new();
            tokens::each_level(all, &mut |level| {
                let start = level
                    .windows(2)
                    .position(|pair| is_ident(&pair[0], "fn") && *function == pair[1].to_string());
                let body = start.and_then(|start| level[start..].iter().find(|token| is_braces(token)));
                classes
                    .extend(body.into_iter().flat_map(|body| tokens::classes_in(std::slice::from_ref(body))));
            });
            classes
        }
        _ => Vec::new(),
    }
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace)
}

/// Returns the text of a line: its literal, with the names of the arguments in it.
fn text(arguments: &[Tokens]) -> Option<String> {
    let [TokenTree::Literal(literal)] = arguments.first()?.as_slice() else { return None };
    let text = syn::parse_str::<syn::LitStr>(&literal.to_string()).ok()?.value();
    let mut printed = arguments[1..].iter();
    let mut parts = text.split("{}");
    let mut named = parts.next()?.to_owned();
    for part in parts {
        let name = printed.next().map_or_else(|| "...".to_owned(), |argument| name_of(argument));
        named.push_str(&format!("{{{name}}}{part}"));
    }
    Some(named)
}

/// Returns the name for an argument: the last informative part of its path.
fn name_of(argument: &[TokenTree]) -> String {
    const SAY_HOW: [&str; 7] = ["text", "name", "nid", "len", "display", "to_yaml", "errors_to_yaml"];
    let names: Vec<String> = argument
        .iter()
        .filter_map(|token| if let TokenTree::Ident(name) = token { Some(name.to_string()) } else { None })
        .filter(|name| name != "self")
        .collect();
    let telling = names.iter().rev().find(|name| !SAY_HOW.contains(&name.as_str()));
    telling.or_else(|| names.first()).map_or_else(|| "...".to_owned(), String::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> LogLine {
        let mut found = LogLine::default();
        of_file("core", "file.rs", source, &mut found).unwrap();
        found
    }

    #[test]
    fn lines_are_found_however_deep_they_are_and_not_in_tests() {
        let source = r#"
            fn act(&self) {
                let done = vec![self.look().inspect_err(|error| {
                    self.env.log(LogClass::NiState, ni.nid(), format_args!("NI {}: {error}", ni.nid()))
                })];
                write_line!(LogClass::FaultRule, "rule {} added", self.rule);
                let line = format_args!("rule {name} gone");
                self.log(LogClass::FaultRule, name, line);
                log::debug!(target: "lnet::api", "{}: called", name);
            }
            #[cfg(test)]
            mod tests {
                fn act() { log::warn!("only here"); }
            }
        "#;
        let found = found(source);
        let lines: Vec<_> =
            found.lines.iter().map(|(class, _, text)| (class.as_str(), text.as_str())).collect();
        assert_eq!(
            lines,
            [
                ("FaultRule", "rule {name} gone"),
                ("FaultRule", "rule {rule} added"),
                ("NiState", "NI {ni}: {error}")
            ]
        );
        assert_eq!(
            found.debug.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>(),
            ["{name}: called"]
        );
        assert_eq!(found.mistakes.len(), 0);
    }

    #[test]
    fn a_class_that_a_function_chooses_is_each_that_it_may_choose() {
        let source = r#"
            fn act(&self) { self.log(class_of(state), peer, format_args!("peer {peer}: {state}")); }
            const fn class_of(state: State) -> LogClass {
                match state { State::Up => LogClass::PeerReachable, State::Down => LogClass::PeerUnreachable }
            }
        "#;
        let classes: Vec<_> = found(source).lines.into_iter().map(|(class, ..)| class).collect();
        assert_eq!(classes, ["PeerReachable", "PeerUnreachable"]);
    }

    #[test]
    fn a_line_without_a_class_or_without_a_literal_is_a_mistake() {
        for source in [
            r#"fn f() { log::warn!("no"); }"#,
            r#"fn f() { g(log::error!("no")); }"#,
            r#"fn f() { h!(log::log!(level, "no")); }"#,
        ] {
            assert_eq!(found(source).mistakes.len(), 1, "{source}");
        }
        for source in
            ["fn f() { self.log(LogClass::NiState, nid, line); }", "fn f() { write_line!(class, \"text\"); }"]
        {
            assert_eq!(found(source).mistakes.len(), 1, "{source}");
        }
    }
}
