//! Recorded consoles: commands, their output, and how they ended.
//!
//! A record is text with `## ` headings and blocks between fences:
//!
//! ````text
//! ```console
//! # COMMAND
//! STDOUT
//! --- stderr:
//! STDERR
//! --- exit: N
//! ```
//! ````
//!
//! `--- stderr:` is present only if there is output. A heading with the words "fresh boot" begins a session.

use std::fmt::Write;

/// A command and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The heading above the block.
    pub section: String,
    pub command: String,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub out: String,
    pub err: String,
    pub exit: i32,
}

const FENCE: &str = "```";
const STDERR: &str = "--- stderr:";
const EXIT: &str = "--- exit: ";

/// All blocks in their order. A block with an incorrect end fails the test.
pub fn parse(record: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut section = String::new();
    let mut lines = record.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut section);
        } else if line == "```console" {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != FENCE).collect();
            blocks.push(block(&section, &inside));
        }
    }
    blocks
}

fn block(section: &str, lines: &[&str]) -> Block {
    let bad = || -> ! { panic!("not a command with its end: {lines:?}") };
    let Some((first, rest)) = lines.split_first() else { bad() };
    let Some((last, output)) = rest.split_last() else { bad() };
    let (Some(command), Some(exit)) = (first.strip_prefix("# "), last.strip_prefix(EXIT)) else { bad() };
    let at = output.iter().position(|line| *line == STDERR).unwrap_or(output.len());
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect();
    let outcome = Outcome {
        out: text(&output[..at]),
        err: text(output.get(at + 1..).unwrap_or_default()),
        exit: exit.parse().unwrap_or_else(|_| bad()),
    };
    Block { section: section.to_owned(), command: command.to_owned(), outcome }
}

/// The blocks as text that [`parse`] reads.
pub fn write(blocks: &[Block]) -> String {
    let mut text = String::new();
    let mut section = "";
    for block in blocks {
        if block.section != section {
            section = &block.section;
            write!(text, "## {section}\n\n").unwrap();
        }
        let Outcome { out, err, exit } = &block.outcome;
        let stderr = if err.is_empty() { String::new() } else { format!("{STDERR}\n{err}") };
        write!(text, "{FENCE}console\n# {}\n{out}{stderr}{EXIT}{exit}\n{FENCE}\n\n", block.command).unwrap();
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = "## one\n\n```console\n# a | b\nsome\n  text\n--- stderr:\nan error\n--- exit: 255\n```\n\n\
                  ```console\n# c\n--- exit: 0\n```\n\n## two\n\n```console\n# c\n--- stderr:\ne\n--- exit: 0\n```\n";
    let blocks = parse(record);
    assert_eq!(blocks[0].outcome.out, "some\n  text\n");
    assert_eq!(blocks[0].outcome.err, "an error\n");
    assert_eq!((blocks[0].outcome.exit, blocks[1].outcome.exit), (255, 0));
    assert_eq!((blocks[1].section.as_str(), blocks[2].section.as_str()), ("one", "two"));
    assert_eq!(write(&blocks), record);
}
