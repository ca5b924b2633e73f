//! The completions of bash, zsh and fish, in these shells, with values that a running node has.
#![allow(clippy::unwrap_used, missing_docs)]

use clap_complete::Shell;
use lnet_dlc::request::{AddLocalNi, AddPeerNi, LndTunables, NiTunables};
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Request};
use lnet_node::{ControlConfig, ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use lnetctl::generate;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};
use test_support::terminal::Terminal;

/// Command lines up to the key that completes them, and the same lines completed.
const COMPLETED: [(&str, &str); 8] = [
    ("ping 127.0.99.9", "ping 127.0.99.9@tcp99"),
    ("ping 127.0.99.9@", "ping 127.0.99.9@tcp99"),
    ("ping 127.0.99.1@tcp99,127.0.99.9@t", "ping 127.0.99.1@tcp99,127.0.99.9@tcp99"),
    ("peer explain --to 127.0.99.9", "peer explain --to 127.0.99.9@tcp99"),
    ("peer explain --to=127.0.99.9", "peer explain --to=127.0.99.9@tcp99"),
    ("peer explain -t 127.0.99.9@tcp", "peer explain -t 127.0.99.9@tcp99"),
    ("--node completed net del --net tc", "--node completed net del --net tcp99"),
    // Not a value: what the script completes without the node.
    ("peer expl", "peer explain"),
];

/// Fails if the script of bash replaces more or less than bash does, which cuts words at characters such as `@` and `=`.
#[test]
fn bash_completes_nids_and_nets() {
    let scene = Scene::new();
    let script = scene.script(Shell::Bash, "lnetctl.bash");
    let start = format!("PS1='ready> '\nunset HISTFILE\nsource '{script}'\n");
    let rc = scene.file("rc", &start);
    scene.completes_in_terminal(scene.command("bash").args(["--rcfile", &rc, "-i"]));
}

#[test]
fn zsh_completes_nids_and_nets() {
    if !is_installed("zsh") {
        return;
    }
    let scene = Scene::new();
    scene.script(Shell::Zsh, "_lnetctl");
    let directory = scene.directory.path().display();
    let start = "PS1='ready> '\nunset HISTFILE\nautoload -Uz compinit\ncompinit -D -u\n";
    scene.file(".zshrc", &format!("fpath=('{directory}' $fpath)\n{start}"));
    scene.completes_in_terminal(
        scene.command("zsh").args(["-d", "-i"]).env("ZDOTDIR", scene.directory.path()),
    );
}

#[test]
fn fish_completes_nids_and_nets() {
    if !is_installed("fish") {
        return;
    }
    let scene = Scene::new();
    let script = scene.script(Shell::Fish, "lnetctl.fish");
    for (line, expected) in COMPLETED {
        let ask = format!("source '{script}'; complete -C 'lnetctl {line}'");
        let mut fish = scene.command("fish");
        let output =
            fish.args(["--no-config", "-c", &ask]).env("HOME", scene.directory.path()).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        // A description is behind a tabulator.
        let words: Vec<&str> = shown.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(
            words,
            [expected.rsplit(' ').next().unwrap()],
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A node with an interface and a peer, and the files of a shell.
struct Scene {
    directory: tempfile::TempDir,
    _server: ControlServer,
    node: Arc<Node>,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = StartConfig::default();
        config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
        let node = Node::start(Pid::LUSTRE, config).unwrap();
        let backend: &dyn Backend = &*node;
        let add = AddLocalNi {
            net: "tcp99".parse().unwrap(),
            interface: Some("127.0.99.1".to_owned()),
            tunables: NiTunables::default(),
            lnd: LndTunables::default(),
            cpts: None,
        };
        backend.tell(Request::AddLocalNi(add)).unwrap();
        let primary = "127.0.99.9@tcp99".parse().unwrap();
        let add = AddPeerNi { primary, nid: None, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
        let name: NodeName = "completed".parse().unwrap();
        let control = ControlConfig::new(RuntimeDir::at(directory.path()), name);
        let server = ControlServer::start(control, Arc::clone(&node) as SharedBackend).unwrap();
        Self { directory, _server: server, node }
    }

    /// Writes a file, and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn script(&self, shell: Shell, name: &str) -> String {
        self.file(name, &String::from_utf8(generate::program().completions(shell)).unwrap())
    }

    /// A command in an environment in which `lnetctl` is the program of this build, and the node is the only one.
    fn command(&self, program: &str) -> Command {
        let own = Path::new(env!("CARGO_BIN_EXE_lnetctl")).parent().unwrap();
        let mut path = OsString::from(own);
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command.env("PATH", path).env("LNET_RUNTIME_DIR", self.directory.path()).env("INPUTRC", "/dev/null");
        command.env_remove("LNET_NODE");
        command
    }

    /// Presses the keys of each line in a shell whose prompt is `ready>`.
    fn completes_in_terminal(&self, shell: &mut Command) {
        let mut terminal = Terminal::new();
        let mut shell = terminal.start(shell);
        terminal.until("ready>");
        for (index, (line, expected)) in COMPLETED.into_iter().enumerate() {
            // The index tells the lines apart that are completed to the same one.
            terminal.press(&format!("true {index} && lnetctl {line}\t"));
            terminal.until(&format!("true {index} && lnetctl {expected}"));
            // The line is deleted.
            terminal.press("\x15");
        }
        terminal.press("exit\r");
        shell.wait().unwrap();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.node.shutdown();
    }
}

/// Whether a shell is installed; the test is skipped without it.
fn is_installed(shell: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths).any(|path| path.join(shell).exists());
    if !found {
        test_support::skip(&format!("no {shell}"));
    }
    found
}
