//! `lst new_session`, `end_session`, `show_session`

use super::name;
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result, unexpected};
use lnet_selftest::console::call::{Call, NewSession, SessionInfo};
use lnet_selftest::console::rpc::KNOWN_FEATURES;
use lnet_selftest::console::{Command, Name, Response};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seconds without a command after which a session that a command has for itself ends, beyond those that it needs.
const IDLE_TIMEOUT: u32 = 300;

pub(super) fn new(it: &cli::NewSession, cx: &mut Context<'_>) -> Result {
    let key = cx.session_key()?;
    let name = match &it.name {
        Some(text) => name(text)?,
        None => default_name(),
    };
    let new = NewSession { name, idle_timeout: it.timeout, force: it.force, features: features(cx)? };
    let info = begin(cx, key, new)?;
    if !cx.json(&info)? {
        let SessionInfo { name, features, idle_timeout, force, .. } = info;
        let force = if force { "Yes" } else { "No" };
        cx.say(&format!("SESSION: {name} FEATURES: {features:x} TIMEOUT: {idle_timeout} FORCE: {force}"))?;
    }
    Ok(Exit::Success)
}

/// Makes the session in the console that there is, or in a new one.
pub(super) fn begin(cx: &mut Context<'_>, key: u32, new: NewSession) -> Result<SessionInfo> {
    match cx.consoles.call(&Call { key, command: Command::NewSession(new) })? {
        Response::Session(info) => Ok(info),
        other => Err(unexpected(&other)),
    }
}

/// Runs a command in a session of its own, which ends with it, whatever has happened. The command gets the session, and whether the user
/// has interrupted it. `seconds`: the longest time in which it gives the console nothing to do.
pub(super) fn of_its_own(
    name: &str,
    seconds: u32,
    force: bool,
    cx: &mut Context<'_>,
    command: impl FnOnce(&mut Context<'_>, &SessionInfo, &AtomicBool) -> Result,
) -> Result {
    // A second one on this machine has another.
    let key = std::process::id().max(1).to_string();
    let mut cx = Context {
        consoles: &mut *cx.consoles,
        key: Some(&key),
        features: cx.features,
        format: cx.format,
        out: &mut *cx.out,
        err: &mut *cx.err,
        is_terminal: cx.is_terminal,
    };
    let idle_timeout = IDLE_TIMEOUT.saturating_add(seconds);
    let new = NewSession { name: super::name(name)?, idle_timeout, force, features: features(&cx)? };
    let number = cx.session_key()?;
    let info = begin(&mut cx, number, new)?;
    let interrupted = interruption()?;
    let done = command(&mut cx, &info, &interrupted);
    let ended = cx.consoles.call(&Call { key: number, command: Command::EndSession });
    let exit = done?;
    ended?;
    Ok(exit)
}

/// Becomes true when the user interrupts the program, which goes on.
pub(super) fn interruption() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

pub(super) fn end(cx: &mut Context<'_>) -> Result {
    cx.call(Command::EndSession)?;
    cx.json_of_nothing()?;
    cx.say("session is ended")?;
    Ok(Exit::Success)
}

pub(super) fn show(cx: &mut Context<'_>) -> Result {
    // This command shows the key, so it works without one.
    let key = cx.session_key().unwrap_or(0);
    let info = match cx.consoles.call(&Call { key, command: Command::ShowSession })? {
        Response::Session(info) => info,
        other => return Err(unexpected(&other)),
    };
    if !cx.json(&info)? {
        let SessionInfo { name, id, key, features, nodes, .. } = info;
        let nid = id.nid.map_or_else(|| "LNET_NID_ANY".to_owned(), |nid| nid.to_string());
        cx.say(&format!("{name} ID: {}@{nid}, KEY: {key} FEATURES: {features:x} NODES: {nodes}", id.stamp))?;
    }
    Ok(Exit::Success)
}

/// Returns the features that LST_FEATURES proposes (hexadecimal), or all known ones if it is not set. Unknown features are an
/// error.
pub(super) fn features(cx: &Context<'_>) -> Result<u32> {
    let Some(text) = cx.features else { return Ok(KNOWN_FEATURES) };
    let digits = text.trim().trim_start_matches("0x").trim_start_matches("0X");
    let features = u32::from_str_radix(digits, 16).ok().filter(|it| it & !KNOWN_FEATURES == 0);
    features.ok_or_else(|| {
        CommandFailure::Usage(format!("LST_FEATURES={text}: it takes 0 or {KNOWN_FEATURES:x}"))
    })
}

/// `USER@HOST`, as much of it as fits.
pub(super) fn default_name() -> Name {
    let user =
        std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "user".to_owned());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut text = format!("{user}@{host}");
    while text.len() > Name::MAX {
        text.pop();
    }
    text.parse().unwrap_or_else(|_| Name::default_batch())
}
