//! The tokens of a source without its tests, and helpers for parts of them.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The tokens at one level: groups are one token, with their contents inside.
pub(crate) type Tokens = Vec<TokenTree>;

/// Returns the tokens of a file or a group, without the items that have `#[cfg(test)]`.
pub(crate) fn of(stream: TokenStream) -> Tokens {
    let mut kept: Tokens = Vec::new();
    let mut rest = stream.into_iter();
    while let Some(token) = rest.next() {
        let is_attribute = kept.last().is_some_and(|before| is_punct(before, '#'));
        match &token {
            TokenTree::Group(group) if is_attribute && is_for_tests(group) => {
                kept.pop();
                skip_item(&mut rest);
            }
            _ => kept.push(token),
        }
    }
    kept
}

/// Skips an item: up to its body or a semicolon.
fn skip_item(rest: &mut impl Iterator<Item = TokenTree>) {
    for token in rest {
        let is_body = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_body || is_punct(&token, ';') {
            return;
        }
    }
}

/// `cfg(test)`, or `cfg(all(test, ...))`.
fn is_for_tests(attribute: &Group) -> bool {
    let tokens: Tokens = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [name, TokenTree::Group(condition)] if is_ident(name, "cfg") => {
            let condition: Tokens = condition.stream().into_iter().collect();
            match condition.as_slice() {
                [only] => is_ident(only, "test"),
                [all, TokenTree::Group(of)] if is_ident(all, "all") => {
                    of.stream().into_iter().any(|token| is_ident(&token, "test"))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

pub(crate) fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

pub(crate) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if *ident == name)
}

/// Splits the content of a group at its commas.
pub(crate) fn arguments(group: &Group) -> Vec<Tokens> {
    let mut all: Vec<Tokens> = vec![Vec::new()];
    for token in group.stream() {
        if is_punct(&token, ',') {
            all.push(Vec::new());
        } else if let Some(last) = all.last_mut() {
            last.push(token);
        }
    }
    all.retain(|argument| !argument.is_empty());
    all
}

/// The arguments of `name!(...)`, if the tokens are just that.
pub(crate) fn macro_call(tokens: &[TokenTree], name: &str) -> Option<Vec<Tokens>> {
    match tokens {
        [called, bang, TokenTree::Group(group)] if is_ident(called, name) && is_punct(bang, '!') => {
            Some(arguments(group))
        }
        _ => None,
    }
}

/// The `X` of each `LogClass::X` in the tokens, at any depth.
pub(crate) fn classes_in(tokens: &[TokenTree]) -> Vec<String> {
    let mut classes = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            classes.extend(classes_in(&of(group.stream())));
        }
        if let [class, colon, _, TokenTree::Ident(variant), ..] = &tokens[index..]
            && is_ident(class, "LogClass")
            && is_punct(colon, ':')
        {
            classes.push(variant.to_string());
        }
    }
    classes
}

/// Calls `visit` with the tokens of every level.
pub(crate) fn each_level(tokens: &[TokenTree], visit: &mut impl FnMut(&[TokenTree])) {
    visit(tokens);
    for token in tokens {
        if let TokenTree::Group(group) = token {
            each_level(&of(group.stream()), visit);
        }
    }
}
