//! The C headers: cbindgen turns the Rust items into C; the templates in `liblnet/abi/headers` determine the place of each item and
//! contain everything that Rust cannot express (macros, inline functions, packed structures).
//!
//! A template line `@NAME@` becomes the item of that name with its documentation, `@SETTINGS@` all functions of the settings. A name
//! without an item, and an exported function without a place, are errors. An item that is the form of a later release, `LNetPut_2_17`, is
//! declared by its C name, with its symbol.

use super::exported::{Release, all_forms};
use super::{Files, files_below, sources_below};
use crate::Result;
use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[path = "../../../liblnet/abi/setting_functions.rs"]
mod setting_functions;

const TEMPLATES: &str = "liblnet/abi/headers";
const LINE_LENGTH: usize = 100;
const SOURCES: &str = "liblnet/abi/src";

/// Names that C defines itself, or that stand for a C spelling that Rust does not have.
const C_SPELLINGS: &[(&str, &str)] = &[
    ("__u8", "__u8"),
    ("__u16", "__u16"),
    ("__u32", "__u32"),
    ("__s32", "__s32"),
    ("__be16", "__be16"),
    ("__be32", "__be32"),
    ("__u64", "__u64"),
    ("Flag", "bool"),
    ("InString", "char *"),
    ("InConstString", "const char *"),
    ("YamlNode", "struct cYAML *"),
    ("RingArg", "struct list_head *"),
    ("ExprListArg", "struct cfs_expr_list *"),
    ("TreeOut", "struct cYAML **"),
    ("volatile_ulong", "volatile unsigned long"),
    ("EnumUnlink", "enum lnet_unlink"),
    ("EnumInsPos", "enum lnet_ins_pos"),
    ("EnumAckReq", "enum lnet_ack_req"),
    ("EnumCyamlType", "enum cYAML_object_type"),
];

/// Makes the headers.
pub(super) fn make(root: &Path) -> Result<Files> {
    let items = items(&c_of_rust(root)?);
    let mut placed = BTreeSet::new();
    let mut headers = Files::new();
    let templates = root.join(TEMPLATES);
    for template in files_below(&templates)? {
        let name = template.strip_prefix(&templates)?.with_extension("");
        let header = fill(&fs::read_to_string(&template)?, &items, &mut placed)
            .map_err(|error| format!("{}: {error}", template.display()))?;
        headers.insert(name, header);
    }
    let without_place = all_forms().map(|export| export.symbol()).find(|symbol| !placed.contains(symbol));
    match without_place {
        Some(symbol) => Err(format!("no template in {TEMPLATES} has a place for {symbol}").into()),
        None => Ok(headers),
    }
}

fn c_of_rust(root: &Path) -> Result<String> {
    let mut config = Config {
        language: Language::C,
        style: Style::Tag,
        documentation_style: DocumentationStyle::Doxy,
        no_includes: true,
        usize_is_size_t: true,
        line_length: LINE_LENGTH,
        tab_width: 8,
        ..Config::default()
    };
    config.export.exclude.extend(C_SPELLINGS.iter().map(|(rust, _)| (*rust).to_owned()));
    config.export.rename.extend(C_SPELLINGS.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())));
    config.layout.packed = Some("__attribute__((packed))".to_owned());
    config.export.include.extend(
        [
            "lnet_unlink",
            "lnet_ins_pos",
            "lnet_ack_req",
            "lnet_msg_type",
            "lnet_kiov",
            "lnet_md_2_17",
            "lnet_ioctl_numa_range",
            "lnet_ioctl_lnet_stats",
            "lnet_ioctl_ping_data",
            "cfs_range_expr",
            "lnet_dlc_intf_descr",
            "cfs_lstr",
            "parser_cmd",
            "cYAML",
        ]
        .map(str::to_owned),
    );

    let mut builder = Builder::new().with_config(config);
    for source in sources_below(&root.join(SOURCES))? {
        builder = builder.with_src(source);
    }
    // cbindgen reads files only.
    let of_settings = tempfile::Builder::new().suffix(".rs").tempfile()?;
    fs::write(&of_settings, setting_functions::source())?;
    let mut c = Vec::new();
    builder.with_src(of_settings.path()).generate()?.write(&mut c);
    Ok(String::from_utf8(c)?)
}

/// cbindgen's output by name. Items are separated by empty lines, which do not occur inside of one.
fn items(c: &str) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    for item in c.split("\n\n").map(str::trim).filter(|item| !item.is_empty()) {
        let after_doc = item.split_once("*/\n").filter(|_| item.starts_with("/**"));
        if let Some(name) = name_of(after_doc.map_or(item, |(_, code)| code)) {
            items.insert(name, tidy(item));
        }
    }
    items
}

fn name_of(code: &str) -> Option<String> {
    let word = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').find(|w| !w.is_empty()).map(str::to_owned)
    };
    for start in ["struct ", "enum ", "union "] {
        if let Some(rest) = code.strip_prefix(start)
            && code.contains("{\n")
        {
            return word(rest.strip_prefix("__attribute__((packed)) ").unwrap_or(rest));
        }
    }
    if let Some(rest) = code.strip_prefix("typedef ") {
        return match rest.split_once("(*") {
            Some((_, pointer)) => word(pointer),
            None => rest.trim_end_matches(';').rsplit(' ').next().map(str::to_owned),
        };
    }
    let before = code.split_once('(')?.0;
    let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    Some(name.strip_prefix('_').unwrap_or(name).to_owned())
}

/// C's own habits: no `_` before the names of functions, short comments on one line, tabs.
fn tidy(item: &str) -> String {
    let mut out = String::new();
    let lines: Vec<&str> = item.lines().collect();
    let mut i = 0;
    while i < lines.len() {
        let indent = &lines[i][..lines[i].len() - lines[i].trim_start().len()];
        if lines[i].trim() == "/**" && lines.get(i + 2).is_some_and(|l| l.trim() == "*/") {
            let text = lines[i + 1].trim().trim_start_matches('*').trim();
            out.push_str(&format!("{indent}/** {text} */\n"));
            i += 3;
            continue;
        }
        out.push_str(lines[i].trim_end());
        out.push('\n');
        i += 1;
    }
    let function = all_forms().find_map(|export| {
        let at = out.rfind(&format!("_{}(", export.symbol()))?;
        Some((export, at))
    });
    if let Some((export, at)) = function {
        let start = out[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let symbol = export.symbol();
        let arguments = without_releases(&out[at + 1 + symbol.len()..]);
        let prototype = wrap(&format!("{}{}{arguments}", without_releases(&out[start..at]), export.name));
        out.truncate(start);
        out += &match export.release {
            Release::V2_10 => prototype,
            _ => format!("{}\n\t\tLNET_SYMBOL({symbol});", prototype.trim_end().trim_end_matches(';')),
        };
    } else {
        out = without_releases(&out);
    }
    out.replace("        ", "\t").trim_end().to_owned()
}

/// Names of types without the release that they are of: headers of one release have no other form.
fn without_releases(code: &str) -> String {
    Release::ALL.iter().fold(code.to_owned(), |code, release| match release.suffix() {
        "" => code,
        suffix => code.replace(suffix, ""),
    })
}

/// A prototype on as few lines as possible.
fn wrap(prototype: &str) -> String {
    let one_line = prototype.split_whitespace().collect::<Vec<_>>().join(" ").replace("* ", "*");
    let (mut out, mut column) = (String::new(), 0);
    for argument in one_line.split_inclusive(", ") {
        if column + argument.trim_end().len() > LINE_LENGTH {
            out.truncate(out.trim_end().len());
            out.push_str("\n\t\t");
            column = 16;
        }
        out.push_str(argument);
        column += argument.len();
    }
    out
}

/// The parts of the package's version in a line.
fn with_version(line: &str) -> String {
    line.replace("@LIBLNET_VERSION_MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@LIBLNET_VERSION_MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@LIBLNET_VERSION_PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
        .replace("@LIBLNET_VERSION_STRING@", env!("CARGO_PKG_VERSION"))
}

/// A header from its template; adds the names that have a place in it to `placed`.
fn fill(text: &str, items: &BTreeMap<String, String>, placed: &mut BTreeSet<String>) -> Result<String> {
    let mut out = String::new();
    let settings: Vec<_> =
        lnet_settings::c_functions().iter().map(|function| format!("@{}@", function.name)).collect();
    for line in text.replace("@SETTINGS@", &settings.join("\n\n")).lines() {
        match line.strip_prefix('@').and_then(|l| l.strip_suffix('@')) {
            None => out.push_str(&with_version(line)),
            Some(name) => {
                out.push_str(items.get(name).ok_or_else(|| format!("no Rust item is called {name}"))?);
                placed.insert(name.to_owned());
            }
        }
        out.push('\n');
    }
    Ok(out)
}
