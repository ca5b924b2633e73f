//! `PROGRAM generate`: manual pages and completions, from the definition of a command line. `make build` calls it; the help does not
//! show it.

mod page;
mod values;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use page::{example, lines_of_80, reference};
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
    /// The examples of all pages: below `## NAME` those of the command NAME, or of the program; code is indented by four blanks.
    pub examples: &'static str,
    /// The files that the program uses, and what they are.
    pub files: &'static [(&'static str, &'static str)],
    /// The pages that the pages of commands refer to; those of the empty name are for the program's own page.
    pub see_also: &'static [(&'static str, &'static [&'static str])],
    /// The values that completions ask the program for.
    pub values: Option<KnownValues>,
}

/// Values that only the running program knows, such as those of a node.
pub struct KnownValues {
    /// The long options that take such values.
    pub options: Vec<&'static str>,
    /// The words that complete the last word of a command line without the program's name, if that is such a value.
    pub complete: fn(&str) -> Vec<String>,
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
    /// Carries out the words behind `generate`: `man DIRECTORY`, or `completions SHELL`, or `values LINE`, which completions ask for;
    /// these two go to `out`. Returns the exit status.
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
            ["values", line] if let Some(values) = &self.values => {
                (values.complete)(line).iter().try_for_each(|word| writeln!(out, "{word}"))?;
            }
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
        match &self.values {
            None => text,
            Some(KnownValues { options, .. }) => {
                values::with_values(shell, self.name(), options, &String::from_utf8_lossy(&text)).into_bytes()
            }
        }
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
        let man = Man::new(command.clone().display_name(name.clone()).mut_subcommands(hide)).section("8");
        let mut text = Vec::new();
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
        if let Some(example) = example(self.examples, command.get_name()) {
            writeln!(text, ".SH EXAMPLES\n{example}")?;
        }
        writeln!(text, ".SH FILES")?;
        for (file, about) in self.files {
            writeln!(text, ".TP\n\\fI{}\\fR\n{about}", file.replace('-', "\\-"))?;
        }
        let key = if is_first { "" } else { command.get_name() };
        let own = self.see_also.iter().find(|(its, _)| *its == key).map_or(&[][..], |(_, pages)| *pages);
        let program = format!("{}(8)", self.name());
        let pages = own.iter().copied().chain((!is_first).then_some(program.as_str()));
        let references: Vec<String> = pages.map(reference).collect();
        writeln!(text, ".SH \"SEE ALSO\"\n{}", references.join(",\n"))?;

        let version = concat!("liblnet ", env!("CARGO_PKG_VERSION"));
        let title = format!(".TH {} 8 \"\" \"{version}\" LNet\n", name.to_uppercase().replace('-', "\\-"));
        let text = String::from_utf8_lossy(&text).replace(PREAMBLE, "");
        Ok(format!("{PREAMBLE}{title}{}", lines_of_80(&text)).into_bytes())
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
