//! The changes of state that the node keeps.

use super::{CommandOutcome, Context};
use crate::cli::{Events, Format};
use lnet_dlc::ops::events::{self, EventFilter};
use lnet_dlc::request::StateChange;
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_wire::Errno;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The interval at which the node is asked for what is new.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn run(command: &Events, cx: &mut Context<'_>) -> CommandOutcome {
    let filter = EventFilter {
        since_ms: command.since.map_or(0, millis),
        about: command.peer.map(|nid| EventFilter::about(cx.node, nid)),
    };
    let result = match command.follow {
        true => follow(&filter, cx),
        false => show(&filter, cx),
    };
    match result {
        Ok(()) => CommandOutcome::show(ReturnCode::OK),
        Err(errno) => {
            let text = format!("cannot read the events: {}", errno.text());
            CommandOutcome::show(cx.report.end(Operation::Show, "events", SeqNo::NONE, errno.into(), text))
        }
    }
}

fn show(filter: &EventFilter, cx: &mut Context<'_>) -> Result<(), Errno> {
    let (changes, _) = events::changes_after(cx.node, 0, filter)?;
    match cx.format {
        Format::Yaml => cx.text = changes.iter().map(line).collect(),
        Format::Json => cx.report.show("events", changes.iter().map(events::to_value).collect::<Vec<_>>()),
    }
    Ok(())
}

/// Writes the changes, and those that come, until standard output takes no more or the node has gone.
fn follow(filter: &EventFilter, cx: &Context<'_>) -> Result<(), Errno> {
    let mut last = 0;
    loop {
        let (changes, now) = events::changes_after(cx.node, last, filter)?;
        last = now;
        let mut out = io::stdout().lock();
        let written = changes.iter().try_for_each(|change| match cx.format {
            Format::Yaml => out.write_all(line(change).as_bytes()),
            Format::Json => writeln!(out, "{}", events::to_value(change).to_json()),
        });
        if written.and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        drop(out);
        thread::sleep(FOLLOW_INTERVAL);
    }
}

fn line(change: &StateChange) -> String {
    format!("{} {:<5} {}\n", events::time_text(change), change.level, change.text)
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
