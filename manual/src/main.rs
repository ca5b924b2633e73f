//! `lnet-manual ROOT DIRECTORY` writes the manual pages of sections 3 and 7 into the directory. `scripts/generate-manual` calls it.
//!
//! Section 3 has the C functions, from the comments in the headers. Section 7 has the concepts, from sections of documents and from
//! the comments of structures. ROOT is the repository.

mod concepts;
mod examples;
mod functions;
mod header;
mod markdown;
mod prose;
mod roff;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// The result of what reads or writes files.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The texts of pages by the names of their files.
type Pages = BTreeMap<String, String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, directory] = words.as_slice() else {
        eprintln!("usage: lnet-manual ROOT DIRECTORY");
        return ExitCode::FAILURE;
    };
    match write(Path::new(root), Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lnet-manual: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(root: &Path, directory: &Path) -> Result<()> {
    for (name, text) in pages(root)? {
        fs::write(directory.join(name), text)?;
    }
    Ok(())
}

/// All pages of sections 3 and 7 but those written by hand.
fn pages(root: &Path) -> Result<Pages> {
    let headers = header::read_all(root)?;
    let mut pages = functions::pages(root, &headers)?;
    pages.extend(concepts::pages(root, &headers)?);
    Ok(pages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    /// Fails if a function that the library exports has no page.
    #[test]
    fn each_function_of_the_c_api_has_a_page() {
        let pages = pages(root()).unwrap();
        let matrix = fs::read_to_string(root().join("docs/c-api-matrix.md")).unwrap();
        let names = matrix.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let without: Vec<&str> = names.filter(|name| !pages.contains_key(&format!("{name}.3"))).collect();
        assert_eq!(without, Vec::<&str>::new());
    }

    /// Fails if a function that the library of Motr's network layer exports has no page. Lists and data have none.
    #[test]
    fn each_function_of_libm0net_has_a_page() {
        const LISTS: &[&str] = &["m0_list_", "m0_tl", "_tlink_", "_tlist_"];
        const DATA: &[&str] = &[
            "m0_nep_tl",
            "m0_net_pool_tl",
            "m0_net_tm_tl",
            "m0_net_mutex",
            "m0_net_lnet_xprt",
            "m0_lnet_xprt",
        ];
        let pages = pages(root()).unwrap();
        let symbols = fs::read_to_string(root().join("packaging/abi/symbols")).unwrap();
        let of_library = symbols.lines().skip_while(|line| !line.starts_with("libm0net.so.1 "));
        let names = of_library.skip(1).map_while(|line| line.strip_prefix(' ')?.split('@').next());
        let is_function = |name: &&str| {
            name.starts_with("m0_") && !LISTS.iter().any(|list| name.contains(list)) && !DATA.contains(name)
        };
        let (names, without): (Vec<&str>, Vec<&str>) =
            names.filter(is_function).partition(|name| pages.contains_key(&format!("{name}.3")));
        assert_eq!(without, Vec::<&str>::new());
        assert!(names.len() > 100, "{names:?}");
    }

    /// Fails if a page lacks a section that readers look for.
    #[test]
    fn each_page_has_its_sections() {
        for (name, text) in pages(root()).unwrap() {
            let wanted: &[&str] = match name.rsplit_once('.') {
                _ if text.starts_with(".so ") => continue,
                Some((_, "3")) => &["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "FILES", "SEE ALSO"],
                _ => &["NAME", "DESCRIPTION", "EXAMPLES", "FILES", "SEE ALSO"],
            };
            for section in wanted {
                let heading = match section.contains(' ') {
                    true => format!(".SH \"{section}\"\n"),
                    false => format!(".SH {section}\n"),
                };
                assert!(text.contains(&heading), "{name}: no {section}");
            }
        }
    }

    /// Fails if a page refers to one of these manuals that is not there.
    #[test]
    fn each_reference_leads_to_a_page() {
        let pages = pages(root()).unwrap();
        let by_hand = ["lnet-attach.7", "lnetctl.8", "lnetd.8", "lst.8"];
        for (name, text) in &pages {
            for line in text.lines().filter_map(|line| line.strip_prefix(".BR ")) {
                let Some((page, section)) = line.split_once(" (") else { continue };
                let page = format!("{}.{}", page.replace("\\-", "-"), &section[..1]);
                let known = pages.contains_key(&page)
                    || by_hand.contains(&page.as_str())
                    || page.starts_with("lnetctl-");
                assert!(known, "{name}: there is no {page}");
            }
        }
    }
}
