//! `lnetctl generate`: manual pages and completions, made from the definition of the command line. The help does not list it:
//! `make` and the tests call it.

use crate::cli::{Cli, EXIT_STATUS};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::Path;

const USAGE: &str = "usage: lnetctl generate man DIRECTORY | completions bash|zsh|fish\n";

/// Carries it out; `words` are those behind `generate`.
pub fn run(words: &[String], out: &mut dyn Write) -> io::Result<u8> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["man", directory] => {
            for (name, text) in manual_pages()? {
                std::fs::write(Path::new(directory).join(name), text)?;
            }
        }
        ["completions", shell] => match shell.parse() {
            Ok(shell) => out.write_all(&completions(shell))?,
            Err(error) => {
                eprintln!("lnetctl: {error}");
                return Ok(255);
            }
        },
        _ => {
            eprint!("{USAGE}");
            return Ok(255);
        }
    }
    Ok(0)
}

/// The script that completes command lines in a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut everywhere(), "lnetctl", &mut text);
    text
}

/// All pages: file names and texts. `lnetctl.8`, and one for each command or group of commands.
pub fn manual_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut definition = Cli::command();
    definition.build();
    let mut pages = vec![("lnetctl.8".to_owned(), page(&definition)?)];
    let own_page = |it: &&clap::Command| !it.is_hide_set() && !SHELL_ONLY.contains(&it.get_name());
    for command in definition.get_subcommands().filter(own_page) {
        pages.push((format!("lnetctl-{}.8", command.get_name()), page(command)?));
    }
    Ok(pages)
}

const SHELL_ONLY: [&str; 3] = ["help", "exit", "quit"];

/// Returns the definition in which every command has the options that may stand anywhere.
fn everywhere() -> clap::Command {
    let global = |argument: clap::Arg| argument.global(true);
    Cli::command().mut_arg("node", global).mut_arg("format", global)
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    let version = env!("CARGO_PKG_VERSION");
    // Pages are found by the name with dashes.
    let hide = |it: clap::Command| {
        let hidden = it.is_hide_set() || SHELL_ONLY.contains(&it.get_name());
        it.hide(hidden)
    };
    let titled = command.clone().display_name(name.clone()).mut_subcommands(hide);
    let man = Man::new(titled)
        .title(name.to_uppercase())
        .section("8")
        .source(format!("liblnet {version}"))
        .manual("LNet")
        .date("");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let top = command.get_name() == "lnetctl";
    if top {
        man.render_subcommands_section(&mut text)?;
    } else {
        for part in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            render_part(part, &mut text)?;
        }
    }
    writeln!(text, ".SH \"EXIT STATUS\"\n{}", exit_status())?;
    if !top {
        text.extend_from_slice(b".SH \"SEE ALSO\"\nlnetctl(8)\n");
    }
    Ok(once(PREAMBLE, &text))
}

/// Text that the renderer puts before every section, and that a page needs once.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

fn once(preamble: &str, text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    format!("{preamble}{}", text.replace(preamble, "")).into_bytes()
}

/// Returns the section on the exit status, without its title; the same for all commands.
fn exit_status() -> &'static str {
    EXIT_STATUS.strip_prefix("Exit status: ").unwrap_or(EXIT_STATUS)
}

/// A command of a group: a section, with what would be sections as its parts. A group within a group: one for each of
/// its commands.
fn render_part(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
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
