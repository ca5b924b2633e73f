//! The changes of state that the node keeps, for `lnetctl events`.

use lnet_dlc::request::StateChange;
use lnet_log::History;
use std::time::UNIX_EPOCH;

/// The number of changes in one reply.
const MAX_IN_REPLY: usize = 512;

/// The changes with numbers greater than `after`, as many as one reply has.
pub fn changes_after(history: &History, after: u64) -> Vec<StateChange> {
    history.after(after, MAX_IN_REPLY).into_iter().map(to_reply).collect()
}

fn to_reply(change: lnet_log::StateChange) -> StateChange {
    let lnet_log::StateChange { number, at, class, subject, text } = change;
    let millis = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    StateChange {
        number,
        at_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        kind: class.name().to_owned(),
        level: class.level().as_str().to_ascii_lowercase(),
        subject,
        text,
    }
}
