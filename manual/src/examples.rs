//! The examples of section 3: pieces of `manual/examples.c`, `manual/examples_2_17.c` and `manual/examples_m0net.c`, which `make lint` compiles.

use crate::Result;
use crate::header::paragraphs;
use std::fs;
use std::path::Path;

const FILES: &[&str] = &["manual/examples.c", "manual/examples_2_17.c", "manual/examples_m0net.c"];

/// A piece of C, and what it shows.
pub(crate) struct Example {
    /// A sentence.
    pub(crate) about: String,
    /// The lines.
    pub(crate) code: Vec<String>,
}

impl Example {
    /// Whether it calls the function.
    pub(crate) fn calls(&self, function: &str) -> bool {
        let call = format!("{function}(");
        self.code.iter().any(|line| {
            line.match_indices(&call)
                .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    }
}

/// Reads the examples: each begins with a comment `/* Example: ... */` and ends with the function that it is.
pub(crate) fn read(root: &Path) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for file in FILES {
        let text = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        for piece in text.split("\n/* Example: ").skip(1) {
            let Some((about, code)) = piece.split_once("*/\n") else {
                return Err(format!("{file}: a comment does not end").into());
            };
            let about = paragraphs(&about.lines().collect::<Vec<_>>()).concat().join(" ");
            let code = code.split("\n}\n").next().unwrap_or_default();
            let code = code.lines().chain(["}"]).map(|line| line.replace("\t", "    ")).collect();
            examples.push(Example { about, code });
        }
    }
    Ok(examples)
}
