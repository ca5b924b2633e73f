//! `lnetctl top`: rails and peers, their rates, credits and health, as they change.
//!
//! [`model`] turns samples and keys into a [`view`], [`draw`] turns the view into cells on a screen. This file handles the
//! terminal, the clock and the node.

pub mod draw;
pub mod model;
mod numbers;
pub mod view;

use crate::cli::Top;
use lnet_dlc::Backend;
use lnet_dlc::ops::sample::Sample;
use lnet_wire::Errno;
use model::{Flow, Key, Watch};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io;
use std::time::Instant;

/// The reason why the live view ended early.
#[derive(Debug)]
pub enum TopError {
    /// The node failed at the first sample; errors of later samples are shown.
    Node(Errno),
    /// The terminal failed.
    Terminal(io::Error),
}

impl From<Errno> for TopError {
    fn from(errno: Errno) -> Self {
        Self::Node(errno)
    }
}

impl From<io::Error> for TopError {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

/// Takes two samples, one interval apart. Returns the view as text in `width` columns, or as many as the longest row needs.
pub fn once(node: &dyn Backend, top: &Top, width: u16) -> Result<String, Errno> {
    let clock = Instant::now();
    let mut watch = Watch::new(top.interval, top.sort);
    watch.sampled(clock.elapsed(), Ok(look(node, top)?));
    std::thread::sleep(top.interval);
    watch.sampled(clock.elapsed(), Ok(look(node, top)?));
    Ok(draw::as_text(&watch.view(clock.elapsed()), width))
}

/// Runs until the user ends it. Standard output must be a terminal, which is restored at the end.
pub fn live(node: &dyn Backend, top: &Top) -> Result<(), TopError> {
    let clock = Instant::now();
    let mut watch = Watch::new(top.interval, top.sort);
    watch.sampled(clock.elapsed(), Ok(look(node, top)?));
    let terminal = ratatui::try_init()?;
    let _restored = Restored;
    run(node, top, clock, watch, terminal).map_err(TopError::Terminal)
}

fn run(
    node: &dyn Backend,
    top: &Top,
    clock: Instant,
    mut watch: Watch,
    mut terminal: DefaultTerminal,
) -> io::Result<()> {
    let mut next = clock.elapsed() + top.interval;
    loop {
        let mut page = 1;
        terminal.draw(|frame| {
            let view = watch.view(clock.elapsed());
            page = draw::peers_that_fit(&view, frame.area().height);
            draw::screen(&view, frame.area(), frame.buffer_mut());
        })?;
        let wait = next.saturating_sub(clock.elapsed());
        if event::poll(wait)? {
            let key = match event::read()? {
                Event::Key(key) => key_of(key),
                _ => None,
            };
            if let Some(key) = key
                && watch.press(key, page) == Flow::End
            {
                return Ok(());
            }
        }
        if clock.elapsed() >= next {
            let found = look(node, top).map_err(|errno| errno.text().to_owned());
            watch.sampled(clock.elapsed(), found);
            // A look that took long delays the next one: there is no burst afterwards.
            next = clock.elapsed().max(next + top.interval);
        }
    }
}

fn look(node: &dyn Backend, top: &Top) -> Result<Sample, Errno> {
    Sample::read(node, top.max_peers as usize)
}

/// Translates a terminal event. In raw mode Ctrl-C arrives as a key like others.
fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c' | 'd') if control => Key::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Key::Quit,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Char('s') => Key::Sort,
        KeyCode::Char('j') | KeyCode::Down => Key::Down,
        KeyCode::Char('k') | KeyCode::Up => Key::Up,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::Home | KeyCode::Char('g') => Key::Home,
        KeyCode::End | KeyCode::Char('G') => Key::End,
        _ => return None,
    })
}

/// Restores the terminal when dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
