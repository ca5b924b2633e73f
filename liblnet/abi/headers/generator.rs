//! Makes the C headers: cbindgen turns the Rust items into C; the templates beside this file determine the place
//! of each item and contain everything that Rust cannot express (macros, inline functions, packed structures).
//!
//! A template line `@NAME@` becomes the item of that name with its documentation, `@SETTINGS@` all functions of the settings. A name
//! without an item, and an exported function without a place, stop the build.

use crate::exported::exported;
use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

const TEMPLATES: &str = "liblnet/abi/headers";
const LINE_LENGTH: usize = 100;
const SOURCES: &str = "liblnet/abi/src";

/// Names that C defines itself, or that stand for a C spelling that Rust does not have.
const C_SPELLINGS: &[(&str, &str)] = &[
    ("__u8", "__u8"),
    ("__u16", "__u16"),
    ("__u32", "__u32"),
    ("__s32", "__s32"),
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

/// `setting_functions` is the file with the functions of the settings. Writes the headers into `LNET_HEADERS_DIR`, or into `OUT_DIR/include` without it.
pub(crate) fn generate(setting_functions: &Path) {
    println!("cargo::rerun-if-changed={TEMPLATES}");
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-env-changed=LNET_HEADERS_DIR");
    let out = env::var_os("LNET_HEADERS_DIR").map_or_else(
        || PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("include"),
        PathBuf::from,
    );

    let items = items(&c_of_rust(setting_functions));
    let mut placed = BTreeSet::new();
    for template in files_below(Path::new(TEMPLATES), "in") {
        let text = fs::read_to_string(&template).unwrap_or_default();
        let header = fill(&text, &items, &mut placed, &template);
        let name = template.strip_prefix(TEMPLATES).unwrap_or(&template).with_extension("");
        let path = out.join(name);
        if let Err(error) =
            fs::create_dir_all(path.parent().unwrap_or(&out)).and_then(|()| fs::write(&path, header))
        {
            println!("cargo::error=cannot write {}: {error}", path.display());
        }
    }
    for export in exported() {
        if !placed.contains(export.name) {
            println!("cargo::error=no header template has a place for {}", export.name);
        }
    }
}

fn c_of_rust(setting_functions: &Path) -> String {
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
    for source in files_below(Path::new(SOURCES), "rs") {
        builder = builder.with_src(source);
    }
    builder = builder.with_src(setting_functions);
    let mut c = Vec::new();
    match builder.generate() {
        Ok(bindings) => bindings.write(&mut c),
        Err(error) => println!("cargo::error=cbindgen: {error}"),
    }
    String::from_utf8_lossy(&c).into_owned()
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
    if let Some(at) = exported().find_map(|export| out.rfind(&format!("_{}(", export.name))) {
        let start = out[..at].rfind('\n').map_or(0, |newline| newline + 1);
        out = format!("{}{}", &out[..start], wrap(&format!("{}{}", &out[start..at], &out[at + 1..])));
    }
    out.replace("        ", "\t").trim_end().to_owned()
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

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The parts of the package's version in a line.
fn with_version(line: &str) -> String {
    line.replace("@LIBLNET_VERSION_MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@LIBLNET_VERSION_MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@LIBLNET_VERSION_PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
        .replace("@LIBLNET_VERSION_STRING@", env!("CARGO_PKG_VERSION"))
}

fn fill(
    text: &str,
    items: &BTreeMap<String, String>,
    placed: &mut BTreeSet<String>,
    template: &Path,
) -> String {
    let mut out = String::new();
    let settings: Vec<_> =
        lnet_settings::c_functions().iter().map(|function| format!("@{}@", function.name)).collect();
    for line in text.replace("@SETTINGS@", &settings.join("\n\n")).lines() {
        match line.strip_prefix('@').and_then(|l| l.strip_suffix('@')) {
            None => out.push_str(&with_version(line)),
            Some(name) => match items.get(name) {
                Some(item) => {
                    out.push_str(item);
                    placed.insert(name.to_owned());
                }
                None => println!("cargo::error={}: no Rust item is called {name}", template.display()),
            },
        }
        out.push('\n');
    }
    out
}
