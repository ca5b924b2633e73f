//! `lnetctl`: configures and shows LNet nodes.
#![forbid(unsafe_code)]

use lnet_dlc::client::Client;
use lnet_dlc::runtime_dir::NodeName;
use lnetctl::cli::Globals;
use lnetctl::generate;
use lnetctl::lctl;
use lnetctl::node::Node;
use lnetctl::output::Streams;
use lnetctl::run::{self, LineEnd};
use lnetctl::shell;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match start() {
        Ok(code) => ExitCode::from(code),
        // The reader of the output has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lnetctl: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> io::Result<u8> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    if std::env::args_os().next().is_some_and(|name| lctl::is_called_by(&name.to_string_lossy())) {
        let node = Client::new(NodeName::of_environment());
        let status = lctl::run(&words, &node, &mut io::stdout(), &mut io::stderr())?;
        if let Some(why) = node.explain().filter(|_| status != 0) {
            eprintln!("lctl: {why}");
        }
        return Ok(status);
    }
    if words.first().is_some_and(|word| word == "generate") {
        return generate::program().run(&words[1..], &mut io::stdout());
    }
    let connect = |node| -> Box<dyn Node> { Box::new(Client::new(node)) };
    // The command has only `--node` and `--format`: start a shell in which they apply to each line.
    if let Ok((globals, rest)) = Globals::take(&words).map(|(globals, rest)| (globals.or_environment(), rest))
        && rest.is_empty()
    {
        return match io::stdin().is_terminal() {
            true => shell::interactive(&globals, &connect),
            false => {
                shell::piped(io::stdin().lock(), &globals, &connect, &mut io::stdout(), &mut io::stderr())
            }
        };
    }
    let (mut input, mut out, mut err) = (io::stdin().lock(), io::stdout().lock(), io::stderr().lock());
    let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err };
    let end = run::line(&words, &Globals::default().or_environment(), &connect, &mut streams)?;
    match out.flush() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        flushed => flushed?,
    }
    Ok(match end {
        LineEnd::Done(rc) => rc.exit_code(),
        LineEnd::Exit => 0,
    })
}
