//! `lnetd`: an LNet node with no program in it, configured by `lnetctl`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod options;
mod run;
mod source;

use clap::Parser;
use log::LevelFilter;
use options::Options;
use sd_notify::NotifyState;
use source::Nets;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    lnet_node::stderr_log::install(LevelFilter::Info);
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
            run::notify(&[NotifyState::Status(&text), NotifyState::Errno(failure.errno as u32)]);
            ExitCode::FAILURE
        }
    }
}
