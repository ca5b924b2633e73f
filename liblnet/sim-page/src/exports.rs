//! The functions that the page's script calls. All are for one thread, the only one there is.
#![allow(unsafe_code, reason = "a name that is exported is an unsafe attribute; nothing else here is")]

use crate::show::Show;
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static SHOW: RefCell<Option<Show>> = const { RefCell::new(None) };
    /// The text that the script reads.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn with_show(act: impl FnOnce(&mut Show)) {
    SHOW.with_borrow_mut(|show| show.as_mut().map(act));
}

/// Starts the world. `unix_ms` is the time in milliseconds since 1970-01-01 UTC.
#[unsafe(no_mangle)]
pub extern "C" fn start(unix_ms: f64) {
    // A cast from a float stays within the range of the integer.
    let show = Show::new(Duration::from_millis(unix_ms as u64));
    SHOW.set(Some(show));
}

/// Runs the world for this time, with its load.
#[unsafe(no_mangle)]
pub extern "C" fn advance(ms: u32) {
    with_show(|show| show.advance(Duration::from_millis(ms.into())));
}

/// Cuts the rail with this index.
#[unsafe(no_mangle)]
pub extern "C" fn cut(rail: u32) {
    with_show(|show| show.set_rail(rail as usize, false));
}

/// Joins the rail with this index.
#[unsafe(no_mangle)]
pub extern "C" fn join(rail: u32) {
    with_show(|show| show.set_rail(rail as usize, true));
}

/// Writes the events since the last call; returns the length of their text in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn update() -> usize {
    with_show(|show| TEXT.set(show.update()));
    TEXT.with_borrow(String::len)
}

/// The address of the text that [`update`] has written. It stays valid until the next call of that.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
