//! `lst generate`: the manual page and completions, made from the definition of the command line. The help does not list it:
//! `make` and the tests call it.

use crate::cli::{Cli, EXIT_STATUS};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::Path;

const USAGE: &str = "usage: lst generate man DIRECTORY | completions bash|zsh|fish\n";
const SHELL_ONLY: [&str; 3] = ["help", "exit", "quit"];
/// Text that the renderer puts before every section, and that a page needs once.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Carries it out; `words` are those behind `generate`.
pub fn run(words: &[String], out: &mut dyn Write) -> io::Result<u8> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["man", directory] => std::fs::write(Path::new(directory).join("lst.8"), manual_page()?)?,
        ["completions", shell] => match shell.parse() {
            Ok(shell) => out.write_all(&completions(shell))?,
            Err(error) => {
                eprintln!("lst: {error}");
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
    let global = |argument: clap::Arg| argument.global(true);
    let mut definition = Cli::command().mut_arg("node", global).mut_arg("format", global);
    clap_complete::generate(shell, &mut definition, "lst", &mut text);
    text
}

/// `lst.8`: all commands, each in a section of its own.
pub fn manual_page() -> io::Result<Vec<u8>> {
    let mut definition = Cli::command();
    definition.build();
    let hide = |it: clap::Command| {
        let hidden = SHELL_ONLY.contains(&it.get_name());
        it.hide(hidden)
    };
    let man = Man::new(definition.clone().mut_subcommands(hide))
        .title("LST")
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
    for command in definition.get_subcommands().filter(|it| !SHELL_ONLY.contains(&it.get_name())) {
        render_command(command, &mut text)?;
    }
    writeln!(text, ".SH \"EXIT STATUS\"")?;
    writeln!(text, "{}", EXIT_STATUS.strip_prefix("Exit status: ").unwrap_or(EXIT_STATUS))?;
    text.extend_from_slice(b".SH \"SEE ALSO\"\nlnetd(8), lnetctl(8)\n");
    let text = String::from_utf8_lossy(&text);
    Ok(format!("{PREAMBLE}{}", text.replace(PREAMBLE, "")).into_bytes())
}

fn render_command(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone().mut_arg("help", |help| help.hide(true)));
    let mut text = Vec::new();
    man.render_description_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace(".SH DESCRIPTION\n", "").replace(".SH ", ".SS ");
    writeln!(page, ".SH \"lst {}\"", command.get_name())?;
    page.write_all(text.as_bytes())
}
