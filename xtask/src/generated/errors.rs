//! docs/errors.md: every error that a user can meet, from the types that derive `thiserror::Error`. A text that says nothing but an
//! error number is a mistake, and so is an error that is no such type.

use super::sources_below;
use crate::Result;
use lnet_wire::Errno;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Fields, ItemEnum, ItemImpl, ItemStruct, Lit, LitStr, Meta, Type};

/// The crates whose errors reach a user: the heading, and the folder of the sources.
const CRATES: [(&str, &str); 21] = [
    ("NIDs, messages", "liblnet/wire/src"),
    ("The operating system", "liblnet/os/src"),
    ("Settings", "liblnet/settings/src"),
    ("The core of a node", "liblnet/core/src"),
    ("The running node", "liblnet/node/src"),
    ("Programs that attach to a node", "liblnet/attach/src"),
    ("Rings of records", "liblnet/ring/src"),
    ("Configuration", "liblnet/dlc/src"),
    ("Metrics", "liblnet/metrics/src"),
    ("The C API", "liblnet/abi/src"),
    ("Drivers over IP", "lnds/common/src"),
    ("o2iblnd", "lnds/o2iblnd/src"),
    ("socklnd", "lnds/socklnd/src"),
    ("Command lines", "lnetctl/command-line/src"),
    ("lnetctl", "lnetctl/src"),
    ("lnetd", "lnetd/src"),
    ("The C API for programs in Rust", "consumers/lnet-api/src"),
    ("PtlRPC", "ptlrpc-shim/src"),
    ("Motr's network layer", "consumers/motr-net/src"),
    ("LNet selftest", "consumers/selftest/src"),
    ("lst", "consumers/lst/src"),
];

const BEGINNING: &str = "\
# Errors

The errors that a user can meet, with their texts; braces hold what differs from case to case, by its name or
type if it has one. Errors that
drivers report when an interface is added are lines of the log, too: [logs.md](logs.md).

`cargo run -p xtask -- generate docs/errors.md` writes this document from the types of errors; it fails where a text says nothing but an
error number.
";

/// An error: its text, and when it occurs.
#[derive(Debug, PartialEq, Eq)]
struct ErrorRow {
    name: String,
    text: String,
    when: String,
}

/// The errors of some sources, and what is wrong with them.
#[derive(Default)]
struct DocumentedErrors {
    rows: Vec<ErrorRow>,
    mistakes: Vec<String>,
}

/// Returns docs/errors.md.
pub(super) fn document(root: &Path) -> Result<String> {
    let (mut out, mut mistakes) = (String::from(BEGINNING), Vec::new());
    for (heading, folder) in CRATES {
        let mut found = DocumentedErrors::default();
        for file in sources_below(&root.join(folder))? {
            let text = fs::read_to_string(&file)?;
            let name = file.strip_prefix(root)?.display();
            of_source(&text, &mut found).map_err(|error| format!("{name}: {error}"))?;
            mistakes.extend(found.mistakes.drain(..).map(|mistake| format!("{name}: {mistake}")));
        }
        if !found.rows.is_empty() {
            // A String takes everything.
            let _ = writeln!(out, "\n## {heading}\n\n| error | text | when |\n|---|---|---|");
            for ErrorRow { name, text, when } in found.rows {
                let _ = writeln!(out, "| `{name}` | {text} | {when} |");
            }
        }
    }
    if mistakes.is_empty() { Ok(out) } else { Err(mistakes.join("\n").into()) }
}

fn of_source(text: &str, found: &mut DocumentedErrors) -> syn::Result<()> {
    found.visit_file(&syn::parse_file(text)?);
    Ok(())
}

impl DocumentedErrors {
    /// Adds the error that these attributes and fields make, unless its text is that of the error within it.
    fn add(&mut self, name: &str, attributes: &[Attribute], fields: &Fields) {
        let Some(attribute) = attributes.iter().find(|attribute| attribute.path().is_ident("error")) else {
            return self.mistakes.push(format!("{name} has no #[error]"));
        };
        match attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
            let template = input.parse::<LitStr>();
            // The arguments of the template, or `transparent`.
            input.parse::<proc_macro2::TokenStream>().map(|_| template.ok())
        }) {
            Err(error) => self.mistakes.push(format!("{name}: {error}")),
            Ok(None) => {}
            Ok(Some(template)) => {
                let text = shown(&template.value(), fields);
                if is_only_a_number(&text) {
                    self.mistakes.push(format!("{name} says nothing but an error number: `{text}`"));
                }
                self.rows.push(ErrorRow { name: name.to_owned(), text: code(&text), when: doc(attributes) });
            }
        }
    }
}

impl<'ast> Visit<'ast> for DocumentedErrors {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        if derives_error(&item.attrs) {
            for variant in &item.variants {
                self.add(&format!("{}::{}", item.ident, variant.ident), &variant.attrs, &variant.fields);
            }
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if derives_error(&item.attrs) {
            self.add(&item.ident.to_string(), &item.attrs, &item.fields);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        let of = last_name(&item.self_ty);
        // The numbers are what the texts of other errors are held against.
        if name.is_some_and(|name| name.ident == "Error") && of != "Errno" {
            self.mistakes.push(format!("{of} has an impl of Error in place of #[derive(thiserror::Error)]"));
        }
    }
}

fn derives_error(attributes: &[Attribute]) -> bool {
    let mut derives = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // A derive that cannot be parsed does not compile either.
        let _ = attribute.parse_nested_meta(|meta| {
            derives |= meta.path.segments.last().is_some_and(|name| name.ident == "Error");
            Ok(())
        });
    }
    derives
}

/// The template of a text, with the types of fields in place of their numbers.
fn shown(template: &str, fields: &Fields) -> String {
    let types = fields.iter().enumerate().map(|(index, field)| (index, last_name(&field.ty)));
    types.fold(template.to_owned(), |text, (index, name)| {
        text.replace(&format!("{{{index}}}"), &format!("{{{name}}}"))
            .replace(&format!("{{{index}:"), &format!("{{{name}:"))
    })
}

/// The last name of a type's path, such as `Error` for `std::io::Error`.
fn last_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|name| name.ident.to_string()).unwrap_or_default(),
        Type::Reference(reference) => last_name(&reference.elem),
        _ => String::new(),
    }
}

/// Whether a text has no words but those of an error number.
fn is_only_a_number(text: &str) -> bool {
    let of_numbers = ["{Error}", "{Errno}", "{errno}", "{error}"];
    of_numbers.contains(&text) || Errno::NAMED.iter().any(|errno| errno.text().eq_ignore_ascii_case(text))
}

/// The first paragraph of the documentation.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(line) => Some(line.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    let paragraph = lines.iter().take_while(|line| !line.is_empty());
    paragraph.map(String::as_str).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Formats a text as code, on one line of a table.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> DocumentedErrors {
        let mut found = DocumentedErrors::default();
        of_source(text, &mut found).unwrap();
        found
    }

    #[test]
    fn each_variant_and_each_struct_of_an_error_is_listed_with_its_text() {
        let found = found(
            "#[derive(Debug, thiserror::Error)]
             enum ReadError {
                 /// The file is [long].
                 ///
                 /// More.
                 #[error(\"{0} bytes, of {limit}\", limit = MAX)]
                 TooLong(u64),
                 #[error(transparent)]
                 Other(#[from] OtherError),
             }
             /// None.
             #[derive(Error)]
             #[error(\"`{name}` is missing\")]
             struct Missing { name: String }
             enum NoError { A }
             mod tests { #[derive(Error)] enum InTest { A } }",
        );
        let row = |name: &str, text: &str, when: &str| ErrorRow {
            name: name.into(),
            text: text.into(),
            when: when.into(),
        };
        let expected = [
            row("ReadError::TooLong", "`{u64} bytes, of {limit}`", "The file is [long]."),
            row("Missing", "`` `{name}` is missing ``", "None."),
        ];
        assert_eq!(found.rows, expected);
        assert!(found.mistakes.is_empty(), "{:?}", found.mistakes);
    }

    #[test]
    fn a_text_that_says_nothing_but_an_error_number_is_a_mistake() {
        let table = [
            "#[derive(Error)] #[error(\"Invalid argument\")] struct Bad;",
            "#[derive(Error)] enum Bad { #[error(\"{0}\")] Io(std::io::Error) }",
            "#[derive(Error)] #[error(\"{errno}\")] struct Bad { errno: Errno }",
            "#[derive(Error)] enum Bad { Untold }",
            "impl std::error::Error for Bad {}",
        ];
        for text in table {
            assert_eq!(found(text).mistakes.len(), 1, "{text}");
        }
    }
}
