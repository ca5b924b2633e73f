//! Tasks of this repository that are no tests:
//!
//! - `cargo run -p xtask -- layers` fails if a crate or a folder names one that is not below it in the tables of
//!   `src/layers/tables.rs`;
//! - `cargo run -p xtask -- generate [PATH...]` makes the generated files anew, all or those that the paths name;
//!   `generate --check` only tells which are not what their sources say, and fails if there is one;
//! - `cargo run -p xtask -- book DIRECTORY` writes the sources of the site that `make docs` makes; `book --check` only tells which documents the
//!   site lacks; `check-site DIRECTORY` fails if a link between pages of HTML leads nowhere.

mod book;
mod generated;
mod layers;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: xtask layers\n       xtask generate [--check] [PATH...]\n       xtask book --check | DIRECTORY\n       \
                     xtask check-site DIRECTORY";

/// The result of whatever reads or writes files.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(mistakes) if mistakes.is_empty() => ExitCode::SUCCESS,
        Ok(mistakes) => {
            eprintln!("{}", mistakes.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the task that the words of the command line name; returns the mistakes that it has found, each a line or several.
fn run(words: &[String]) -> Result<Vec<String>> {
    match words {
        [task] if task == "layers" => layers::check(),
        [task, check] if task == "book" && check == "--check" => book::check(root()),
        [task, target] if task == "book" => book::write(root(), Path::new(target)).map(|()| Vec::new()),
        [task, directory] if task == "check-site" => book::check_site(Path::new(directory)),
        [task, check, paths @ ..] if task == "generate" && check == "--check" => {
            generated::check(root(), paths)
        }
        [task, paths @ ..] if task == "generate" && !paths.iter().any(|path| path.starts_with('-')) => {
            generated::write(root(), paths).map(|()| Vec::new())
        }
        _ => Err(USAGE.into()),
    }
}

/// The directory of the workspace.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
