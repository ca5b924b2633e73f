//! The live view of a batch: bandwidths, RPCs, errors of its nodes, as they change.
//!
//! [`model`]: collects the responses of nodes into rows. [`draw`]: draws the rows. This module: the terminal, the time and the
//! console.

pub mod draw;
pub mod model;

use crate::cli::Format;
use crate::context::{Context, Result};
use lnet_selftest::console::Name;
use model::{Watch, look};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::time::Duration;

/// The length of lines if there is no terminal.
const WIDTH: u16 = 100;

/// Shows a batch until it has ended, the time is over, or q is pressed. Without a terminal, writes a table each
/// time. Returns whether the user ended it.
pub fn watch(cx: &mut Context<'_>, batch: &Name, interval: Duration, time: Option<Duration>) -> Result<bool> {
    let began = cx.now();
    let mut watch = Watch::new(batch.clone());
    watch.add(look(cx, batch)?, Duration::ZERO);
    let is_terminal = cx.is_terminal;
    let mut terminal = if is_terminal { Some(ratatui::try_init()?) } else { None };
    let restored = terminal.is_some().then_some(Restored);
    loop {
        if let Some(terminal) = &mut terminal {
            terminal.draw(|frame| draw::screen(&watch, frame.area(), frame.buffer_mut()))?;
            if quits(interval)? {
                return Ok(true);
            }
        } else {
            cx.wait(interval);
        }
        let passed = cx.now().saturating_sub(began);
        watch.add(look(cx, batch)?, passed);
        // A table cannot be read among lines of JSON.
        if !is_terminal && cx.format == Format::Text {
            write!(cx.out, "{}", draw::as_text(&watch, WIDTH))?;
            cx.out.flush()?;
        }
        if !watch.is_running() || time.is_some_and(|time| passed >= time) {
            break;
        }
    }
    drop(restored);
    Ok(false)
}

/// Waits for `time`; returns whether the user has pressed a key that ends the view. In raw mode Ctrl-C is a key like others.
fn quits(time: Duration) -> Result<bool> {
    let until = std::time::Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(std::time::Instant::now());
        if !event::poll(left)? {
            return Ok(false);
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(true),
                KeyCode::Char('c' | 'd') if control => return Ok(true),
                _ => {}
            }
        }
    }
}

/// Restores the terminal when dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
