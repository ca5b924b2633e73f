//! The difference between two outcomes, as lines.

use super::console::Outcome;
use lnet_settings::Setting;
use std::sync::LazyLock;

/// A line that one side has and the other has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The text, such as `exit 0 -> 255`, `out - status: up` (kernel's tool) or `err + errno: -1` (this project's), without
    /// indentation.
    pub text: String,
    pub indentation: usize,
}

/// All changes from the result of the kernel's tool to that of this project's, in their order.
pub fn differences(kernel: &Outcome, ours: &Outcome) -> Vec<Change> {
    let mut found = Vec::new();
    if kernel.exit != ours.exit {
        found.push(Change { text: format!("exit {} -> {}", kernel.exit, ours.exit), indentation: 0 });
    }
    for (stream, kernel, ours) in [("out", &kernel.out, &ours.out), ("err", &kernel.err, &ours.err)] {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        found.extend(changed_lines(&lines(kernel), &lines(ours)).into_iter().map(|(sign, line)| {
            let inner = line.trim();
            Change {
                text: format!("{stream} {sign} {inner}"),
                indentation: line.len() - line.trim_start().len(),
            }
        }));
    }
    found
}

/// Whether `pattern` matches the change at `index`: by its text; with `*` at the end by the beginning of the text;
/// with `...` at the end also by a changed line above it that begins with the pattern.
pub fn is_meant(pattern: &str, changes: &[Change], index: usize) -> bool {
    let Some(head) = pattern.strip_suffix("...") else { return matches(pattern, &changes[index].text) };
    let kind = |change: &Change| change.text.get(..5).map(str::to_owned);
    let mut below = usize::MAX;
    for change in changes[..=index].iter().rev().take_while(|it| kind(it) == kind(&changes[index])) {
        if change.indentation < below {
            if matches(head, &change.text) {
                return true;
            }
            below = change.indentation;
        }
    }
    false
}

/// Whether `pattern` is the text, or ends with `*` after a beginning of the text. In a pattern `LATER_SETTING` stands for any of
/// [`later_settings`].
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once("LATER_SETTING") {
        Some((before, after)) => {
            later_settings().iter().any(|name| matches(&format!("{before}{name}{after}"), text))
        }
        None => matches_plain(pattern, text),
    }
}

/// The settings of the block `global` that the recorded release does not have.
fn later_settings() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        // Commands, behind `#`, also name settings that the release refused.
        let shown = include_str!("../data/lnetctl-outputs.txt").lines().filter(|line| !line.starts_with('#'));
        let shown: Vec<&str> = shown.collect();
        let names = Setting::all_global().map(|setting| setting.spec().name);
        names.filter(|name| !shown.iter().any(|line| line.contains(name))).collect()
    });
    &NAMES
}

fn matches_plain(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == pattern,
    }
}

/// Returns the lines of both that are not in a longest common subsequence.
fn changed_lines(old: &[String], new: &[String]) -> Vec<(char, String)> {
    // longest[i][j] is of old[i..] and new[j..].
    let mut longest = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut changes = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            changes.push(('-', old[i].clone()));
            i += 1;
        } else {
            changes.push(('+', new[j].clone()));
            j += 1;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(out: &str, err: &str, exit: i32) -> Outcome {
        Outcome { out: out.to_owned(), err: err.to_owned(), exit }
    }

    fn texts(changes: &[Change]) -> Vec<&str> {
        changes.iter().map(|change| change.text.as_str()).collect()
    }

    #[test]
    fn only_changed_lines_are_differences() {
        let kernel = outcome("a\n  b\nc\n", "", 0);
        let ours = outcome("a\n  x\nc\nd\n", "e:\n", 255);
        let found = differences(&kernel, &ours);
        assert_eq!(texts(&found), ["exit 0 -> 255", "out - b", "out + x", "out + d", "err + e:"]);
        assert_eq!(differences(&kernel, &kernel), []);
    }

    #[test]
    fn three_dots_mean_a_line_and_what_is_below_it() {
        let kernel = outcome(
            "a:\n  - n: 1\n    s: 1\n  - n: 2\n    s: 2\n      t: 2\n  - n: 3\n    s: 3\nb:\n",
            "",
            0,
        );
        let found = differences(&kernel, &outcome("a:\n", "", 0));
        let meant: Vec<bool> = (0..found.len()).map(|at| is_meant("out - - n: 2...", &found, at)).collect();
        assert_eq!(meant, [false, false, true, true, true, false, false, false]);
        assert!(is_meant("out - - n:*", &found, 0) && !is_meant("out - - n:*", &found, 1));
    }
}
