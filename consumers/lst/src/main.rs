//! `lst`: the console of LNet selftest.
#![forbid(unsafe_code)]

use lnet_dlc::runtime_dir::RuntimeDir;
use lst::cli::Globals;
use lst::console::Consoles;
use lst::local::LocalConsoles;
use lst::run::{self, LineEnd, RunContext};
use lst::{generate, resident, shell};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    match start() {
        Ok(code) => ExitCode::from(code),
        // The reader of the output has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lst: {error}");
            ExitCode::from(255)
        }
    }
}

fn start() -> io::Result<u8> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    match words.first().map(String::as_str) {
        Some("generate") => return generate::program().run(&words[1..], &mut io::stdout()),
        Some(resident::WORD) => {
            return Ok(resident::run(words.get(1).is_some_and(|word| word == resident::STAY)));
        }
        _ => {}
    }
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_node = named("LNET_NODE");
    let consoles = |node: Option<String>| -> Box<dyn Consoles> {
        Box::new(LocalConsoles::new(RuntimeDir::from_env(), node.or_else(|| of_node.clone())))
    };
    let mut run_context = RunContext {
        consoles: &consoles,
        key: named("LST_SESSION"),
        features: named("LST_FEATURES"),
        globals: Globals::default(),
        is_terminal: io::stdout().is_terminal(),
    };
    // The command has only `--node` and `--format`: start a shell in which they apply to each line.
    if let Ok((globals, rest)) = Globals::take(&words)
        && rest.is_empty()
    {
        run_context.globals = globals;
        let exit = match io::stdin().is_terminal() {
            true => shell::interactive(&run_context)?,
            false => shell::piped(io::stdin().lock(), &run_context, &mut io::stdout(), &mut io::stderr())?,
        };
        return Ok(exit.code());
    }
    match run::line(&words, &run_context, &mut io::stdout(), &mut io::stderr())? {
        LineEnd::Done(exit) => Ok(exit.code()),
        LineEnd::Shell => Ok(0),
    }
}
