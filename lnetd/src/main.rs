//! `lnetd`: an LNet node with no program in it, configured by `lnetctl`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod events_file;
mod options;
mod run;
mod selftest;
mod source;

use clap::Parser;
use log::LevelFilter;
use options::Options;
use sd_notify::NotifyState;
use source::Nets;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.detach && std::env::var_os("LISTEN_FDS").is_none() {
        close_inherited();
    }
    lnet_log::install("LNet", LevelFilter::Info);
    if let Some(level) = options.log_level {
        log::set_max_level(level);
    }
    if options.check {
        return match Nets::of(&options).read() {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match run::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            log::error!("{failure}");
            let text = failure.to_string();
            run::notify(&[
                NotifyState::Status(&text),
                NotifyState::Errno(failure.errno().number().unsigned_abs()),
            ]);
            ExitCode::FAILURE
        }
    }
}

/// Closes the file descriptors that this process has inherited unintentionally: a daemon would hold a lock or the end
/// of a pipe for ever. Called before this process has opened any.
fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // The descriptor of the directory itself is among them, and already closed.
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        let _ = nix::unistd::close(number);
    }
}
