//! The difference between two outcomes, as lines.

use super::console::Outcome;

/// Every line that one side has and the other has not, in their order, such as `exit 0 -> 255`,
/// `out - status: up` (the kernel's) and `err + errno: -1` (ours). Indentation and the dash of a sequence are
/// left out.
pub fn differences(kernel: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    if kernel.exit != ours.exit {
        found.push(format!("exit {} -> {}", kernel.exit, ours.exit));
    }
    for (stream, kernel, ours) in [("out", &kernel.out, &ours.out), ("err", &kernel.err, &ours.err)] {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let changes = changed_lines(&lines(kernel), &lines(ours));
        found.extend(changes.into_iter().map(|(sign, line)| format!("{stream} {sign} {}", line.trim())));
    }
    found
}

/// What is left of both beside a longest common subsequence.
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

#[test]
fn only_changed_lines_are_differences() {
    let kernel = Outcome { out: "a\n  b\nc\n".to_owned(), err: String::new(), exit: 0 };
    let ours = Outcome { out: "a\n  x\nc\nd\n".to_owned(), err: "e:\n".to_owned(), exit: 255 };
    assert_eq!(differences(&kernel, &ours), ["exit 0 -> 255", "out - b", "out + x", "out + d", "err + e:"]);
    assert_eq!(differences(&kernel, &kernel), [""; 0]);
}
