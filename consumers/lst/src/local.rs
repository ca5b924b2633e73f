//! Finds the consoles of this machine, by their sockets in the runtime directory, and starts one if there is none.

use crate::console::{CallError, Consoles};
use crate::resident;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_selftest::console::call::{Call, Command};
use lnet_selftest::console::{Refusal, Response, socket};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The node of a console that `lst` starts, unless LNET_NODE or `--node` names it.
const OWN_NODE: &str = "lst";

/// The consoles of this machine.
pub struct LocalConsoles {
    directory: RuntimeDir,
    /// The only node whose console is used, if one is named.
    node: Option<String>,
    started: Instant,
}

impl LocalConsoles {
    /// The consoles in a directory; only that of `node` if one is named.
    pub fn new(directory: RuntimeDir, node: Option<String>) -> Self {
        Self { directory, node, started: Instant::now() }
    }

    fn name(&self) -> Result<NodeName, CallError> {
        let name = self.node.as_deref().unwrap_or(OWN_NODE);
        name.parse().map_err(|error| CallError::NoConsole(format!("{error}")))
    }

    /// The existing sockets, of dead consoles, too.
    fn sockets(&self) -> Result<Vec<PathBuf>, CallError> {
        if self.node.is_some() {
            return Ok(vec![resident::socket_of(&self.directory, &self.name()?)]);
        }
        let failed =
            |error: io::Error| CallError::NoConsole(format!("{}: {error}", self.directory.path().display()));
        let entries = match self.directory.check().and_then(|()| fs::read_dir(self.directory.path())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed)?,
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_one = |path: &PathBuf| path.to_str().is_some_and(|path| path.ends_with(socket::SUFFIX));
        let mut sockets: Vec<PathBuf> = paths.filter(is_one).collect();
        sockets.sort();
        Ok(sockets)
    }

    /// Returns the sockets whose consoles answer, each with the key of its session, if it has one.
    fn alive(&self) -> Result<Vec<(PathBuf, Option<u32>)>, CallError> {
        let show = Call { key: 0, command: Command::ShowSession };
        let mut alive = Vec::new();
        for path in self.sockets()? {
            match socket::call(&path, &show) {
                Ok(Ok(Response::Session(info))) => alive.push((path, Some(info.key))),
                Ok(_) => alive.push((path, None)),
                Err(error) if is_dead(&error) => {}
                Err(error) => return Err(CallError::NoConsole(format!("{}: {error}", path.display()))),
            }
        }
        Ok(alive)
    }

    /// Finds the console for a command: the one whose session has the key; otherwise one with a session; otherwise any.
    fn find(&self, key: u32) -> Result<Option<PathBuf>, CallError> {
        let alive = self.alive()?;
        let with = |wanted: &dyn Fn(&Option<u32>) -> bool| alive.iter().find(|(_, key)| wanted(key));
        let found =
            with(&|it| *it == Some(key)).or_else(|| with(&|it| it.is_some())).or_else(|| alive.first());
        Ok(found.map(|(path, _)| path.clone()))
    }
}

fn is_dead(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
    )
}

impl Consoles for LocalConsoles {
    fn call(&mut self, call: &Call) -> Result<Response, CallError> {
        let begins = matches!(call.command, Command::NewSession(_));
        loop {
            let path = match self.find(call.key)? {
                Some(path) => path,
                None if begins => {
                    resident::start(&self.directory, &self.name()?).map_err(CallError::NoConsole)?;
                    continue;
                }
                None => return Err(Refusal::NoSession.into()),
            };
            // The user may use the session's address and port as soon as the command that ends it returns.
            let ends = matches!(call.command, Command::EndSession);
            let owner = ends.then(|| resident::owner(&path)).flatten();
            match socket::call(&path, call) {
                Ok(Ok(response)) => {
                    if let Some(owner) = owner {
                        resident::wait_for_end(&path, owner);
                    }
                    return Ok(response);
                }
                Ok(Err(refusal)) => return Err(refusal.into()),
                // The console has just ended with its session: look for another, or start one.
                Err(error) if begins && is_dead(&error) => {}
                Err(error) => {
                    let text = format!("the console has ended ({}: {error})", path.display());
                    return Err(CallError::NoConsole(text));
                }
            }
        }
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
