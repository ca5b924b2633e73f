//! `lnetctl top` in a pseudo-terminal, on a running node.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use lnet_dlc::request::{AddLocalNi, AddPeerNi, LndTunables, NiTunables};
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Request};
use lnet_node::{ControlConfig, ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const WIDTH: NonZeroU16 = NonZeroU16::new(80).unwrap();
const HEIGHT: NonZeroU16 = NonZeroU16::new(24).unwrap();
/// After so long in which nothing comes, nothing will.
const TIMEOUT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

struct Terminal {
    /// The side of the person in front of it.
    front: File,
    /// The side of programs.
    back: File,
    before: Termios,
    screen: vt100::Parser,
}

impl Terminal {
    fn open() -> Self {
        let front = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
        grantpt(&front).unwrap();
        unlockpt(&front).unwrap();
        let name = ptsname(&front, Vec::new()).unwrap();
        let back = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = Winsize { ws_row: HEIGHT.get(), ws_col: WIDTH.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&back, size).unwrap();
        let before = tcgetattr(&back).unwrap();
        Self { front, back, before, screen: vt100::Parser::new(HEIGHT, WIDTH, 0) }
    }

    fn start(&self, directory: &Path, words: &[&str]) -> Child {
        let side = || Stdio::from(self.back.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
        command.args(words).env("LNET_RUNTIME_DIR", directory).env("TERM", "xterm");
        command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap()
    }

    /// Reads until the screen has the text.
    fn until(&mut self, text: &str) {
        while !self.screen.screen().contents().contains(text) {
            let mut ready = [PollFd::new(&self.front, PollFlags::IN)];
            let came = poll(&mut ready, Some(&TIMEOUT)).unwrap();
            assert!(came > 0, "no '{text}' on\n{}", self.screen.screen().contents());
            self.read();
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        let count = self.front.read(&mut bytes).unwrap();
        self.screen.process(&bytes[..count]);
    }

    fn press(&mut self, keys: &str) {
        self.front.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads what a program that has ended left unread.
    fn drain(&mut self) {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&self.front, PollFlags::IN)], Some(&at_once)).unwrap() > 0 {
            self.read();
        }
    }

    fn is_as_before(&self) -> bool {
        let now = tcgetattr(&self.back).unwrap();
        let screen = self.screen.screen();
        let modes = |it: &Termios| (it.local_modes, it.input_modes, it.output_modes, it.control_modes);
        modes(&now) == modes(&self.before) && !screen.alternate_screen() && !screen.hide_cursor()
    }
}

fn node() -> Arc<Node> {
    let mut config = StartConfig::default();
    config.socklnd.accept = socklnd::AcceptFrom::None;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let backend: &dyn Backend = &*node;
    let add = AddLocalNi {
        net: "tcp7".parse().unwrap(),
        interface: Some("127.0.7.1".to_owned()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    };
    backend.tell(Request::AddLocalNi(add)).unwrap();
    let primary = "127.0.7.9@tcp7".parse().unwrap();
    let add = AddPeerNi { primary, nid: None, multi_rail: true, lock_primary: false };
    backend.tell(Request::AddPeerNi(add)).unwrap();
    node
}

fn serve(node: &Arc<Node>, directory: &Path) -> ControlServer {
    let name: NodeName = "pty".parse().unwrap();
    let config = ControlConfig::new(RuntimeDir::at(directory), name);
    ControlServer::start(config, Arc::clone(node) as SharedBackend).unwrap()
}

#[test]
fn top_shows_rails_and_peers_survives_the_node_and_restores_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let server = serve(&node, directory.path());
    let mut terminal = Terminal::open();
    let mut top = terminal.start(directory.path(), &["top", "--interval", "0.1"]);
    terminal.until("127.0.7.1@tcp7");
    terminal.until("127.0.7.9@tcp7");
    assert!(terminal.screen.screen().alternate_screen());

    server.stop();
    terminal.until("node does not answer");
    let _server = serve(&node, directory.path());
    terminal.until("rate   out");

    terminal.press("s");
    terminal.until("by nid");
    terminal.press("p");
    terminal.until("PAUSED");
    terminal.press("q");
    assert_eq!(top.wait().unwrap().code(), Some(0));
    terminal.drain();
    assert!(terminal.is_as_before());
}

#[test]
fn control_c_ends_top() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let _server = serve(&node, directory.path());
    let mut terminal = Terminal::open();
    let mut top = terminal.start(directory.path(), &["top"]);
    terminal.until("127.0.7.1@tcp7");
    terminal.press("\x03");
    assert_eq!(top.wait().unwrap().code(), Some(0));
    terminal.drain();
    assert!(terminal.is_as_before());
}

#[test]
fn top_does_not_start_without_a_node() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open();
    let mut top = terminal.start(directory.path(), &["top"]);
    terminal.until("Network is down");
    assert_eq!(top.wait().unwrap().code(), Some(156));
    terminal.drain();
    assert!(terminal.is_as_before());
}

#[test]
fn a_single_sample_and_statistics_need_no_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let _server = serve(&node, directory.path());
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
        let output = command.args(words).env("LNET_RUNTIME_DIR", directory.path()).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let (text, code) = run(&["top", "--once", "--interval", "0.1"]);
    assert!(text.contains("127.0.7.1@tcp7        127.0.7. up   1000   256/256"), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = run(&["stats", "--prometheus"]);
    let up = format!("lnet_ni_up{{node=\"{}\",net=\"tcp7\",nid=\"127.0.7.1@tcp7\",", std::process::id());
    assert!(text.contains(&up), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = run(&["stats", "rate", "0.1"]);
    let rail = "            - nid: 127.0.7.1@tcp7\n              rate:\n                  send_count: 0\n";
    assert!(text.contains(rail), "{text}");
    assert_eq!(code, Some(0));
    let (_, code) = run(&["top"]);
    assert_eq!(code, Some(255));
}
