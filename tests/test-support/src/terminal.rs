//! A pseudo-terminal in which a test starts a program, presses keys, and reads the screen.
//!
//! # Panics
//! All functions panic on failure: they are for tests only.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc, reason = "for tests only")]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command, Stdio};

const WIDTH: NonZeroU16 = NonZeroU16::new(80).unwrap();
const HEIGHT: NonZeroU16 = NonZeroU16::new(24).unwrap();
/// The time without output after which a wait for a text fails.
const TIMEOUT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// 80 columns, 24 lines.
pub struct Terminal {
    /// The side of the person in front of it.
    front: File,
    /// The side of programs.
    back: File,
    before: Termios,
    screen: vt100::Parser,
}

impl Terminal {
    /// A new one.
    #[allow(clippy::new_without_default, reason = "it opens files")]
    pub fn new() -> Self {
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

    /// Starts a program whose standard streams are all in it.
    pub fn start(&self, command: &mut Command) -> Child {
        let side = || Stdio::from(self.back.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(side()).stdout(side()).stderr(side()).spawn().unwrap()
    }

    /// Reads until the screen has the text.
    pub fn until(&mut self, text: &str) {
        while !self.screen.screen().contents().contains(text) {
            let mut ready = [PollFd::new(&self.front, PollFlags::IN)];
            let came = poll(&mut ready, Some(&TIMEOUT)).unwrap();
            assert!(came > 0, "no '{text}' on\n{}", self.screen.screen().contents());
            self.read();
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.front.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether a program fills the whole screen, which will be as before when it ends.
    pub fn is_full_screen(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    /// Reads the rest of the output of a program that has ended; returns whether the terminal is as before.
    pub fn is_as_before(&mut self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&self.front, PollFlags::IN)], Some(&at_once)).unwrap() > 0 {
            self.read();
        }
        let now = tcgetattr(&self.back).unwrap();
        let screen = self.screen.screen();
        let modes = |it: &Termios| (it.local_modes, it.input_modes, it.output_modes, it.control_modes);
        modes(&now) == modes(&self.before) && !screen.alternate_screen() && !screen.hide_cursor()
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        let count = self.front.read(&mut bytes).unwrap();
        self.screen.process(&bytes[..count]);
    }
}
