//! The text that refuses a line which cannot be read.

/// Clap's text, without its advice to pass an unknown option as a value: no command takes a value that begins with `--`.
pub fn text(error: &clap::Error) -> String {
    let is_advice = |line: &str| line.trim_start().starts_with("tip: to pass '");
    let rendered = error.to_string();
    let mut text = String::with_capacity(rendered.len());
    for paragraph in rendered.split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().filter(|line| !is_advice(line)).collect();
        if !lines.is_empty() {
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str(&lines.join("\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;
    use clap::{Arg, Command};

    /// Fails if a refusal suggests options that the command does not have, or drops its suggestion because of another wrong word.
    #[test]
    fn an_unknown_option_is_answered_with_options_that_there_are_and_no_others() {
        let command = || {
            let ping = Command::new("ping").arg(Arg::new("NIDS").num_args(0..));
            let lose = Command::new("lose")
                .arg(Arg::new("message").long("message"))
                .arg(Arg::new("NIDS").num_args(0..));
            Command::new("it").subcommands([ping, lose])
        };
        let table: [(&[&str], &str); 2] = [
            (
                &["it", "ping", "192.0.2.1@tcp", "--messages", "3"],
                "error: unexpected argument '--messages' found\n\nUsage: it ping [NIDS]...",
            ),
            (
                &["it", "lose", "--messages", "3"],
                "error: unexpected argument '--messages' found\n\n  tip: a similar argument exists: '--message'\n\nUsage: it lose",
            ),
        ];
        for (words, expected) in table {
            let error = command().try_get_matches_from(words).unwrap_err();
            let text = text(&error);
            assert!(text.starts_with(expected), "{words:?}: {text}");
            assert!(!text.contains("as a value") && !text.contains("\n\n\n"), "{words:?}: {text}");
        }
    }
}
