//! The parts of an output that are compared.
//!
//! [`reduce`] is applied to both sides; it does not change its own result.
//!
//! | output | becomes |
//! |---|---|
//! | help | `(help)`, then per command a line with its words and its options in alphabetical order, without `--help` |
//! | words to choose from | `(words)`, then a word per line |
//! | error block | itself, without `descr` and `msg`, whose words are free |
//! | other lines on standard error | `(message)`, once; those of `time` not at all |
//! | whether a peer can be reached | nothing: the kernel's tool does not tell |
//! | delays of requests | nothing: the kernel's tool does not tell, and none may have been measured |
//! | a counter or a moment | `#` in place of the number |
//! | blanks at the end of a line | nothing |

use super::console::Outcome;
use std::collections::BTreeSet;

/// Asks for the help of a command, given by its words.
pub type AskHelp<'a> = &'a dyn Fn(&[&str]) -> String;

/// Keys of numbers that depend on how much went over the network before, and how fast.
const COUNTERS: &[&str] = &[
    "msgs_alloc",
    "msgs_max",
    "rst_alloc",
    "errors",
    "send_count",
    "resend_count",
    "response_timeout_count",
    "local_interrupt_count",
    "local_dropped_count",
    "local_aborted_count",
    "local_no_route_count",
    "local_timeout_count",
    "local_error_count",
    "remote_dropped_count",
    "remote_error_count",
    "remote_timeout_count",
    "network_timeout_count",
    "recv_count",
    "route_count",
    "drop_count",
    "send_length",
    "recv_length",
    "route_length",
    "drop_length",
    "partial_count",
    "partial_dropped_count",
    "origin_refused_count",
    "cut_through_count",
    "cut_through_length",
    "cut_through_abandoned_count",
    "resend_succeeded_count",
    "resend_failed_count",
    "put",
    "get",
    "reply",
    "ack",
    "hello",
    "interrupts",
    "dropped",
    "aborted",
    "no route",
    "timeouts",
    "timeout",
    "error",
    "network timeout",
    "ping_count",
    "next_ping",
    "min_tx_credits",
    "min_rtr_credits",
    "refcount",
    "peer state",
];

/// Keys that only lnetctl of this project has, at levels of detail that the kernel's tool has, too.
const OURS: &[&str] = &["reachability", "reachability seconds"];
/// The line before the delays of requests, which are indented.
const DELAYS: &str = "latency:";

/// `ask_help` is for our help of a group, which names the commands in it without their options.
pub fn reduce(outcome: &Outcome, ask_help: AskHelp<'_>) -> Outcome {
    Outcome { out: out(&outcome.out, ask_help), err: err(&outcome.err), exit: outcome.exit }
}

fn out(text: &str, ask_help: AskHelp<'_>) -> String {
    let text = our_help(text, ask_help).or_else(|| kernel_help(text)).or_else(|| words(text));
    match text {
        Some(lines) => lines.concat(),
        None => String::new(),
    }
}

/// Clap's help: `Usage: lnetctl WORDS`, `Commands:` and `Options:`.
fn our_help(text: &str, ask_help: AskHelp<'_>) -> Option<Vec<String>> {
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: lnetctl "))?;
    let own: Vec<&str> = usage.split(' ').take_while(|word| !word.starts_with(['[', '<'])).collect();
    let below = |heading: &'static str| {
        text.lines().skip_while(move |line| *line != heading).skip(1).take_while(|line| !line.is_empty())
    };
    let commands: Vec<&str> = below("Commands:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    if own.is_empty() {
        return Some(help(&[(&own, BTreeSet::new())]));
    }
    if commands.is_empty() {
        return Some(help(&[(&own, options_at_starts(text))]));
    }
    let mut lines = vec![HELP.to_owned()];
    for command in commands {
        let own = [&own[..], &[command]].concat();
        lines.extend(help(&[(&own, options_at_starts(&ask_help(&own)))]).split_off(1));
    }
    Some(lines)
}

const HELP: &str = "(help)\n";

fn help(commands: &[(&[&str], BTreeSet<&str>)]) -> Vec<String> {
    let line = |(words, options): &(&[&str], BTreeSet<&str>)| {
        let options = options.iter().filter(|option| **option != "--help").copied();
        format!("{}\n", words.iter().copied().chain(options).collect::<Vec<_>>().join(" "))
    };
    [HELP.to_owned()].into_iter().chain(commands.iter().map(line)).collect()
}

/// The options that lines begin with, some behind a short one.
fn options_at_starts(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| line.starts_with([' ', '\t'])).filter_map(option_at_start).collect()
}

fn option_at_start(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = if line.starts_with('-') && !line.starts_with("--") { line.split_once(", ")?.1 } else { line };
    let name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    line.starts_with("--").then(|| line.split(|c| !name(c)).next()).flatten()
}

/// The help of the kernel's tool: `WORDS: DESCRIPTION` at the start of a line, followed by lines of options.
fn kernel_help(text: &str) -> Option<Vec<String>> {
    let first = text.lines().next()?;
    if first.starts_with("usage: ") {
        return Some(vec![HELP.to_owned(), "\n".to_owned()]);
    }
    let about_options = text.lines().any(|line| line.starts_with('\t'));
    if !about_options {
        return None;
    }
    let mut commands: Vec<(Vec<&str>, BTreeSet<&str>)> = Vec::new();
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with([' ', '\t']) {
            let words = line.split(':').next()?.split_whitespace();
            commands.push((words.take_while(|word| !word.contains('[')).collect(), BTreeSet::new()));
        } else if let Some((option, (_, options))) = option_at_start(line).zip(commands.last_mut()) {
            options.insert(option);
        }
    }
    let commands: Vec<(&[&str], BTreeSet<&str>)> =
        commands.iter().map(|(words, options)| (&words[..], options.clone())).collect();
    Some(help(&commands))
}

/// Reduces words in double quotes to choose from, if the text is that.
fn words(text: &str) -> Option<Vec<String>> {
    let quoted = |line: &&str| line.len() > 2 && line.starts_with('"') && line.ends_with('"');
    let choice: Vec<&str> = text.lines().filter(quoted).collect();
    if !choice.is_empty() {
        let word = |line: &&str| format!("{}\n", line.trim_matches('"'));
        return Some(["(words)\n".to_owned()].into_iter().chain(choice.iter().map(word)).collect());
    }
    let is_ours = |line: &&str| line.split_once(": ").is_some_and(|(key, _)| OURS.contains(&key.trim()));
    let lines = without_delays(text).filter(|line| !is_ours(line));
    Some(lines.map(|line| format!("{}\n", without_count(line.trim_end()))).collect())
}

fn without_delays(text: &str) -> impl Iterator<Item = &str> {
    let mut delays_at = None;
    text.lines().filter(move |line| {
        let indentation = line.len() - line.trim_start().len();
        if delays_at.is_some_and(|outer| indentation > outer) {
            return false;
        }
        delays_at = (line.trim() == DELAYS).then_some(indentation);
        delays_at.is_none()
    })
}

fn without_count(line: &str) -> String {
    match line.rsplit_once(": ") {
        Some((key, value)) if COUNTERS.contains(&key.trim()) && value.parse::<i64>().is_ok() => {
            format!("{key}: #")
        }
        _ => line.to_owned(),
    }
}

fn err(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    // The indentation of a `descr` whose text continues.
    let mut free_text: Option<usize> = None;
    for line in text.lines() {
        let indentation = line.len() - line.trim_start().len();
        if free_text.is_some_and(|at| line.trim().is_empty() || indentation > at) {
            continue;
        }
        free_text = None;
        if ["descr:", "msg:"].iter().any(|key| line.trim_start().starts_with(key)) {
            free_text = Some(indentation);
        } else if is_of_a_block(line) {
            lines.push(line);
        } else if !is_of_time(line) && !lines.contains(&MESSAGE) {
            lines.push(MESSAGE);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const MESSAGE: &str = "(message)";

/// `key:` at any depth, in a sequence or not; `errno: N` and `seq_no: N`.
fn is_of_a_block(line: &str) -> bool {
    let inner = line.trim_start().trim_start_matches("- ");
    match inner.split_once(": ") {
        Some(("errno" | "seq_no", number)) => number.parse::<i64>().is_ok(),
        Some(_) => false,
        None => inner.strip_suffix(':').is_some_and(|key| !key.is_empty()),
    }
}

fn is_of_time(line: &str) -> bool {
    ["real ", "user ", "sys ", "Command exited with "].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of(text: &str) -> String {
        out(text, &|words| {
            format!("x\n\nUsage: lnetctl {}\n\nOptions:\n  -n, --net <NET>  a net\n", words.join(" "))
        })
    }

    #[test]
    fn help_becomes_commands_with_their_options() {
        let kernel =
            "net add: words\n\t--net: net (e.g. tcp)\n\t--if: words\n\nnet del: words\n\t --net: words\n";
        assert_eq!(out_of(kernel), "(help)\nnet add --if --net\nnet del --net\n");
        let ours = "Words\n\nUsage: lnetctl peer add [OPTIONS]\n\nOptions:\n  -k, --prim_nid <NID>  Words\n      \
                    --nid <X>  words\n          --not words --either\n  -h, --help  Help\n";
        assert_eq!(out_of(ours), "(help)\npeer add --nid --not --prim_nid\n");
        let group = "Words\n\nUsage: lnetctl net <COMMAND>\n\nCommands:\n  add   Words\n        more\n  del   Words\n\nOptions:\n";
        assert_eq!(out_of(group), "(help)\nnet add --net\nnet del --net\n");
    }

    #[test]
    fn a_choice_becomes_its_words() {
        assert_eq!(out_of("Try one of:\n\"add\"\n\"del\"\nas argument.\n"), "(words)\nadd\ndel\n");
    }

    #[test]
    fn counters_lose_their_numbers() {
        let text = "net:\n    - nid: 0@lo\n          send_count: 12\n          credits: 256  \n";
        assert_eq!(out_of(text), "net:\n    - nid: 0@lo\n          send_count: #\n          credits: 256\n");
    }

    #[test]
    fn delays_of_requests_are_left_out() {
        let text = "ni:\n    - nid: a\n      latency:\n          get_reply:\n              measured: 1\n      CPT: \"[0]\"\n    - nid: b\n";
        assert_eq!(out_of(text), "ni:\n    - nid: a\n      CPT: \"[0]\"\n    - nid: b\n");
    }

    #[test]
    fn errors_lose_their_words() {
        let text = "manage:\n    - ping:\n          errno: -1\n          descr: failed: Input\n                 \n\
                    show:\n    - net:\n          errno: -100\n          descr: \"down\"\nreal 1.08\nwords: any\nwords\n";
        let reduced = "manage:\n    - ping:\n          errno: -1\nshow:\n    - net:\n          errno: -100\n(message)\n";
        assert_eq!(err(text), reduced);
    }

    #[test]
    fn reducing_twice_changes_nothing() {
        for text in [
            "(help)\nnet add --if --net\n",
            "(help)\n\n",
            "(words)\nadd\n",
            "global:\n    discovery: 1\n",
            "",
        ] {
            assert_eq!(out_of(text), text);
        }
        assert_eq!(err("(message)\n"), "(message)\n");
    }
}
