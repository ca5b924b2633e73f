//! The progress of drills: a bar on standard error, if that is a terminal.

use lnet_cluster::drill::Progress;
use std::io::{self, IsTerminal, Write};

/// The number of cells of the bar.
const CELLS: u64 = 40;
/// Clears the line, and goes to its beginning.
const CLEAR: &str = "\r\x1b[K";

/// The bar, and the last percentage that it has shown.
pub(super) struct ProgressBar {
    out: Option<Box<dyn Write>>,
    shown: Option<u64>,
}

impl ProgressBar {
    /// A bar on standard error; it shows nothing if that is no terminal.
    pub(super) fn of_terminal() -> Self {
        let stderr = io::stderr();
        let out = stderr.is_terminal().then(|| Box::new(stderr) as Box<dyn Write>);
        Self { out, shown: None }
    }

    /// Shows the progress, if its percentage has changed. Errors of the terminal do not matter.
    pub(super) fn show(&mut self, progress: Progress) {
        let percent = percent(progress);
        let Some(out) = self.out.as_mut().filter(|_| self.shown != Some(percent)) else { return };
        let _shown = write!(out, "{CLEAR}{}", line(progress)).and_then(|()| out.flush());
        self.shown = Some(percent);
    }
}

impl Drop for ProgressBar {
    /// Removes the bar, also if the drill fails.
    fn drop(&mut self) {
        if let Some(out) = self.out.as_mut().filter(|_| self.shown.is_some()) {
            let _cleared = write!(out, "{CLEAR}").and_then(|()| out.flush());
        }
    }
}

fn percent(progress: Progress) -> u64 {
    let Progress { drill, drills, over, whole } = progress;
    let of_this = over.as_millis() * 100 / whole.as_millis().max(1);
    let of_this = u64::try_from(of_this).unwrap_or(100);
    (drill as u64 * 100 + of_this) / (drills as u64).max(1)
}

fn line(progress: Progress) -> String {
    let percent = percent(progress).min(100);
    let full = usize::try_from(percent * CELLS / 100).unwrap_or(0);
    let cells = usize::try_from(CELLS).unwrap_or(0);
    let bar = format!("[{}{}] {percent:>3} %", "#".repeat(full), ".".repeat(cells - full));
    match progress.drills {
        1 => format!("{bar}, {} s of {} s", progress.over.as_secs(), progress.whole.as_secs()),
        drills => format!("{bar}, drill {} of {drills}", progress.drill + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_bar_says_how_much_is_over_of_one_drill_or_of_all() {
        let (over, whole) = (Duration::from_secs(15), Duration::from_secs(30));
        for (drill, drills, expected) in [
            (0, 1, "[####################....................]  50 %, 15 s of 30 s"),
            (1, 2, "[##############################..........]  75 %, drill 2 of 2"),
        ] {
            assert_eq!(line(Progress { drill, drills, over, whole }), expected);
        }
    }
}
