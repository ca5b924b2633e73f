//! Every difference between the kernel's tool and ours, each with its reason.

/// Why ours is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What the kernel or its tool does is wrong, or harms.
    KernelBug,
    /// There is nothing in user space that it could tell of.
    KernelOnly,
    OursSaysMore,
    /// Comes with the issue of this name.
    NotYet(&'static str),
}

/// A row of the table.
#[derive(Debug)]
pub struct Difference {
    /// The commands in which it is, each as recorded; `*` at its end stands for any rest.
    pub commands: &'static [&'static str],
    /// The lines, as `compare` writes them; `*` at an end stands for any rest.
    pub lines: &'static [&'static str],
    pub reason: Reason,
    pub words: &'static str,
}

use Reason::{KernelBug, KernelOnly, NotYet, OursSaysMore};

const fn row(
    reason: Reason,
    commands: &'static [&'static str],
    lines: &'static [&'static str],
    words: &'static str,
) -> Difference {
    Difference { commands, lines, reason, words }
}

pub const DIFFERENCES: &[Difference] = &[
    row(KernelOnly, &["lctl *"], &["not run"], "lctl is the kernel's; nothing in user space is told by it"),
];

/// Whether `pattern` means `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == pattern,
    }
}
