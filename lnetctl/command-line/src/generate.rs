//! `PROGRAM generate`: manual pages and completions, from the definition of a command line. `make build` calls it; the help does not
//! show it.

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// A program whose manual and completions are made.
pub struct Program {
    /// The definition of the program's command line.
    pub definition: Command,
    /// The help's text about exit statuses.
    pub exit_status: &'static str,
    /// The manual pages of the program.
    pub pages: Pages,
    /// The pages that the manual refers to; empty: none.
    pub see_also: &'static str,
}

/// The pages of a manual.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// A single page, with a section for each command.
    One,
    /// A page for the program, and one for each command or group of commands.
    EachCommand,
}

/// Commands of the interactive mode, which no page describes.
const SHELL_ONLY: [&str; 3] = ["help", "exit", "quit"];
/// `clap_mangen` writes this before every section; a page needs it once.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
/// The exit status of a usage error.
const USAGE_ERROR: u8 = 255;

impl Program {
    /// Carries out the words behind `generate`: `man DIRECTORY`, or `completions SHELL`, which go to `out`. Returns the exit status.
    pub fn run(&self, words: &[String], out: &mut dyn Write) -> io::Result<u8> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["man", directory] => {
                for (name, text) in self.manual_pages()? {
                    fs::write(Path::new(directory).join(name), text)?;
                }
            }
            ["completions", shell] => match shell.parse() {
                Ok(shell) => out.write_all(&self.completions(shell))?,
                Err(error) => {
                    eprintln!("{}: {error}", self.name());
                    return Ok(USAGE_ERROR);
                }
            },
            _ => {
                eprintln!("usage: {} generate man DIRECTORY | completions bash|zsh|fish", self.name());
                return Ok(USAGE_ERROR);
            }
        }
        Ok(0)
    }

    /// The script that completes the program's command lines in a shell.
    pub fn completions(&self, shell: Shell) -> Vec<u8> {
        let everywhere = |argument: clap::Arg| argument.global(true);
        let mut definition =
            self.definition.clone().mut_arg("node", everywhere).mut_arg("format", everywhere);
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut definition, self.name(), &mut text);
        text
    }

    /// The file names and texts of all pages.
    pub fn manual_pages(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut definition = self.definition.clone();
        definition.build();
        let mut pages = vec![(format!("{}.8", self.name()), self.page(&definition)?)];
        if self.pages == Pages::EachCommand {
            for command in definition.get_subcommands().filter(|command| is_described(command)) {
                pages.push((format!("{}-{}.8", self.name(), command.get_name()), self.page(command)?));
            }
        }
        Ok(pages)
    }

    fn name(&self) -> &str {
        self.definition.get_name()
    }

    fn page(&self, command: &Command) -> io::Result<Vec<u8>> {
        let is_first = command.get_name() == self.name();
        // Pages are found by the name with dashes.
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
        let hide = |command: Command| {
            let hidden = !is_described(&command);
            command.hide(hidden)
        };
        let man = Man::new(command.clone().display_name(name.clone()).mut_subcommands(hide))
            .title(name.to_uppercase())
            .section("8")
            .source(concat!("liblnet ", env!("CARGO_PKG_VERSION")))
            .manual("LNet")
            .date("");
        let mut text = Vec::new();
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if is_first && self.pages == Pages::EachCommand {
            man.render_subcommands_section(&mut text)?;
        } else {
            command
                .get_subcommands()
                .filter(|part| is_described(part))
                .try_for_each(|part| render_part(part, &mut text))?;
        }
        let exit_status = self.exit_status.strip_prefix("Exit status: ").unwrap_or(self.exit_status);
        writeln!(text, ".SH \"EXIT STATUS\"\n{exit_status}")?;
        let see_also = if is_first { self.see_also.to_owned() } else { format!("{}(8)", self.name()) };
        if !see_also.is_empty() {
            writeln!(text, ".SH \"SEE ALSO\"\n{see_also}")?;
        }
        let text = String::from_utf8_lossy(&text);
        Ok(format!("{PREAMBLE}{}", text.replace(PREAMBLE, "")).into_bytes())
    }
}

/// Whether the manual describes a command.
fn is_described(command: &Command) -> bool {
    !command.is_hide_set() && !SHELL_ONLY.contains(&command.get_name())
}

/// Writes a section for a command, with the sections of its own page as sub-sections. A group of commands gets a section for each of
/// its commands.
fn render_part(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    if command.has_subcommands() {
        return command.get_subcommands().try_for_each(|part| render_part(part, page));
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let man = Man::new(command.clone().mut_arg("help", |help| help.hide(true)));
    let mut text = Vec::new();
    man.render_description_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace(".SH DESCRIPTION\n", "").replace(".SH ", ".SS ");
    writeln!(page, ".SH \"{name}\"")?;
    page.write_all(text.as_bytes())
}
