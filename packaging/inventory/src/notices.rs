//! The notices: the crates of others that are linked, and the texts of their licences, each once.

use crate::Result;
use crate::crates::{Crate, Inventory};
use std::fs;
use std::path::Path;

/// A text, and the crates that it is for.
#[derive(Debug, PartialEq, Eq)]
struct LicenseText {
    text: String,
    crates: Vec<String>,
}

/// Makes the notices. A crate without the text of a licence is an error: it cannot be passed on.
pub(crate) fn text(inventory: &Inventory) -> Result<String> {
    let mut texts = Vec::new();
    let mut rows = Vec::new();
    for linked in inventory.foreign() {
        let numbers = add(&mut texts, linked)?;
        let place = linked.repository.as_deref().unwrap_or("no address is given");
        let (name, version) = &linked.key;
        rows.push(format!("{name} {version}\n    {}; {place}; {numbers}\n", linked.license));
    }
    let texts = texts.iter().enumerate().map(|(at, it)| {
        format!("\n{RULE}\nText {}, of {}\n\n{}\n", at + 1, it.crates.join(", "), it.text.trim_end())
    });
    let rust = match &inventory.rust_notices {
        Some(html) => without_tags(html),
        None => "Its notices are COPYRIGHT-library.html among the documents of the toolchain, which were not installed \
                 where this file was made.\n"
            .to_owned(),
    };
    Ok(format!(
        "liblnet {}: the work of others in it\n\nliblnet itself is licensed under MIT OR Apache-2.0: see LICENSE-MIT and \
         LICENSE-APACHE.\nIts libraries and programs contain {} crates of others, which are listed here with the texts of their \
         licences,\nand the standard library of Rust {}, whose notices follow at the end.\n\n{}{}\n{RULE}\nThe standard library of \
         Rust {}: MIT OR Apache-2.0\n\n{rust}",
        inventory.version,
        rows.len(),
        inventory.rust,
        rows.concat(),
        texts.collect::<String>(),
        inventory.rust,
    ))
}

const RULE: &str = "------------------------------------------------------------------------";

/// Adds the texts of a crate, and returns the words that refer to them.
fn add(texts: &mut Vec<LicenseText>, linked: &Crate) -> Result<String> {
    let found = license_texts(&linked.directory)?;
    if found.is_empty() {
        let place = linked.directory.display();
        return Err(format!("{} has no file with the text of its licence: {place}", linked.key.0).into());
    }
    let mut numbers: Vec<String> = Vec::new();
    for text in found {
        let at = texts.iter().position(|known| same(&known.text, &text)).unwrap_or_else(|| {
            texts.push(LicenseText { text, crates: Vec::new() });
            texts.len() - 1
        });
        if !texts[at].crates.contains(&linked.key.0) {
            texts[at].crates.push(linked.key.0.clone());
        }
        numbers.push(format!("text {}", at + 1));
    }
    numbers.dedup();
    Ok(numbers.join(", "))
}

/// The texts of the files in a directory whose names say that they are about licences, sorted by name.
fn license_texts(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && is_about_licenses(&entry.file_name().to_string_lossy()) {
            names.push(entry.path());
        }
    }
    names.sort();
    names.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())).collect()
}

fn is_about_licenses(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_code = Path::new(&name).extension().is_some_and(|ending| ending == "rs");
    !is_code
        && (["license", "licence"].iter().any(|word| name.contains(word))
            || ["copying", "copyright", "notice"].iter().any(|word| name.starts_with(word)))
}

/// Whether two texts differ in nothing but blanks and line ends.
fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// The text of HTML that has no more than paragraphs, headings, lists and links.
fn without_tags(html: &str) -> String {
    let body = html.split_once("<body>").map_or(html, |(_, body)| body);
    let parts = body.split('<').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('>').map_or("", |(_, text)| text),
    });
    let text: String = parts.collect();
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn linked(name: &str, directory: &Path) -> Crate {
        Crate {
            key: (name.to_owned(), "1.0.0".to_owned()),
            license: "MIT".to_owned(),
            repository: None,
            directory: directory.join(name),
            checksum: None,
            is_of_workspace: false,
            dependencies: Vec::new(),
        }
    }

    fn inventory(crates: Vec<Crate>) -> Inventory {
        let rust_notices = Some("<body>\n<p>Rust&#39;s\n</p>".to_owned());
        Inventory { version: "0.1.0".to_owned(), rust: "1.95.0".to_owned(), rust_notices, crates }
    }

    #[test]
    fn a_text_that_several_crates_have_stands_there_once() {
        let directory = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("a/LICENSE-MIT", "Permission  is granted\n"),
            ("b/MIT-LICENSE", "Permission is\ngranted"),
            ("b/COPYING", "Other words"),
            ("b/src/license.rs", "code"),
        ] {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let crates = ["a", "b"].map(|name| linked(name, directory.path()));
        let notices = text(&inventory(crates.into())).unwrap();
        assert!(notices.contains("Text 1, of a, b\n\nPermission  is granted\n"), "{notices}");
        assert!(notices.contains("b 1.0.0\n    MIT; no address is given; text 2, text 1\n"), "{notices}");
        assert!(notices.ends_with("\n\nRust's\n") && !notices.contains("code"), "{notices}");
    }

    #[test]
    fn a_crate_without_a_licence_text_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("bare")).unwrap();
        let error = text(&inventory(vec![linked("bare", directory.path())])).unwrap_err();
        assert!(error.to_string().starts_with("bare has no file with the text of its licence"), "{error}");
    }

    #[test]
    fn files_about_licences_are_found_by_their_names() {
        for name in
            ["LICENSE", "LICENCE.txt", "Apache-LICENSE", "UNLICENSE", "COPYING", "NOTICE.md", "COPYRIGHT"]
        {
            assert!(is_about_licenses(name), "{name}");
        }
        for name in ["Cargo.toml", "license.rs", "README.md", "src"] {
            assert!(!is_about_licenses(name), "{name}");
        }
    }

    #[test]
    fn tags_are_left_out_and_entities_are_read() {
        let html =
            "<head><title>x</title></head><body>\n\n\n<h1>A &lt;b&gt;</h1>\n<pre>1 &amp;lt; 2</pre>\n</body>";
        assert_eq!(without_tags(html), "A <b>\n1 &lt; 2\n");
    }
}
