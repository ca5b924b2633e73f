//! The commands that were recorded on a kernel node, run with lnetctl of this project: output and exit status are compared.
//!
//! `tests/data/lnetctl-outputs.txt` is the record, reduced to the parts that are compared (`transcripts/reduce.rs`).
//! LNETCTL_OUTPUTS=FILE makes it again from the full record. Permitted differences are in `transcripts/differences.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
mod transcripts;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::programs::programs;
use transcripts::compare::{Change, differences, is_meant};
use transcripts::console::{self, Block, Outcome};
use transcripts::differences::{DIFFERENCES, is_at};
use transcripts::reduce::reduce;
use transcripts::scene::Scene;
use transcripts::staging::{STAGING, When};

/// A command and the differences in its result.
type Found<'a> = (&'a Block, Vec<Change>);

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/lnetctl-outputs.txt");

/// The commands that were run before the second session's first recorded command.
const SECOND_SESSION: [&str; 3] =
    ["lnetctl lnet configure", "lnetctl net add --net tcp --if eth0", "lnetctl net add --net tcp --if eth1"];

/// cfg-010, cfg-045, cfg-050, cfg-055: fails if what is asked for is shown otherwise than by the kernel's
/// tool, in YAML.
/// cfg-005, cfg-015, cfg-020, cfg-060, cfg-070, cfg-160: fails if a command that changes nets, interfaces,
/// peers or rules ends otherwise, or changes something else.
/// cfg-065: fails if a file is imported otherwise.
/// cfg-080: fails if a NID that another peer has is not refused with the kernel's error.
/// dbg-005, dbg-045: fails if a counter is missing, or has another name.
#[test]
fn every_command_does_what_the_kernels_tool_does() {
    let blocks = record();
    let Some(mut scene) = Scene::or_skip() else { return };
    let mut differences_found = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let before = number.checked_sub(1).map(|number| &blocks[number]);
        if before.is_some_and(|before| begins_a_session(before, block)) {
            scene.reboot();
            SECOND_SESSION.iter().for_each(|command| prepare(&scene, command));
        }
        let begins_section = before.is_none_or(|before| before.section != block.section);
        stage(&scene, |when| match when {
            When::Section(section) => begins_section && section == block.section,
            When::Before(place) => is_at(place, block),
            When::After(_) | When::Around(_) => false,
        });
        let found = match runs_here(&block.command) {
            true => differences(&block.outcome, &reduced(&scene, &run_as_staged(&scene, block))),
            false => vec![Change { text: "not run".to_owned(), indentation: 0 }],
        };
        stage(&scene, |when| matches!(when, When::After(place) if is_at(place, block)));
        differences_found.push((block, found));
    }
    let text = unexplained(&differences_found) + &unused_rows(&differences_found);
    assert!(text.is_empty(), "\n{text}");
}

/// dbg-010, dbg-015: fails if a ping is not counted for the interface that it leaves and comes back by.
/// dbg-050, dbg-055: fails if it is not counted for the peer's NID.
/// dbg-025: fails if a message that could not be delivered is not counted as dropped.
/// dbg-045: fails if the node's sums do not have it.
/// dbg-120: fails if a counter is left after a reset.
#[test]
fn counters_have_sent_received_and_dropped_messages_until_they_are_reset() {
    let Some(scene) = Scene::or_skip() else { return };
    prepare(&scene, "lnetctl lnet configure");
    prepare(&scene, "lnetctl net add --net tcp --if eth0");
    assert_eq!(scene.run("lnetctl ping 10.99.0.12@tcp 10.99.0.12@tcp").exit, 0);
    assert_eq!(scene.run("lnetctl ping --timeout 60 10.99.0.77@tcp").exit, 255);
    let counters = [
        ("lnetctl stats show", "statistics"),
        ("lnetctl net show --net tcp -v", "local NI"),
        ("lnetctl peer show --nid 10.99.0.12@tcp -v", "peer NI"),
    ];
    for (command, what) in counters {
        let shown = scene.run(command).out;
        assert!(count(&shown, "send_count") >= 2 && count(&shown, "recv_count") >= 2, "{what}: {shown}");
    }
    for command in ["lnetctl stats show", "lnetctl net show --net tcp -v"] {
        assert!(count(&scene.run(command).out, "drop_count") >= 1, "{command}");
    }
    prepare(&scene, "lnetctl stats reset");
    for (command, what) in counters {
        let shown = scene.run(command).out;
        let of = |key| count(&shown, key);
        assert_eq!((of("send_count"), of("recv_count"), of("drop_count")), (0, 0, 0), "{what}");
    }
}

/// cfg-170: fails if a node that is given an export exports anything else.
#[test]
fn an_exported_configuration_can_be_applied_again() {
    let Some(mut scene) = Scene::or_skip() else { return };
    for command in [
        "lnetctl lnet configure",
        "lnetctl net add --net tcp --if eth0,eth1 --credits 128 --peer-credits 4",
        "lnetctl net add --net tcp1 --if eth1[0] --conns-per-peer 2 --tos 72",
        "lnetctl peer add --prim_nid 10.99.0.50@tcp --nid 10.99.1.50@tcp,10.99.1.50@tcp1",
        "lnetctl peer add --prim_nid 10.99.0.60@tcp --non_mr",
        "lnetctl route add --net tcp5 --gateway 10.99.0.[50,70]@tcp --hop 2 --priority 1",
        "lnetctl set routing 1",
        "lnetctl set small_buffers 8192",
        "lnetctl set discovery 0",
        "lnetctl set numa_range 5",
        "lnetctl udsp add --src tcp --priority 1",
        "lnetctl udsp add --src 10.99.1.11@tcp1 --dst 10.99.*.[1-20/2]@tcp1",
        "lnetctl udsp add --src 10.99.*.*@tcp --dst 10.99.0.50@tcp",
        "lnetctl udsp add --src 10.99.*.*@tcp --dst 10.99.[0-1].*@tcp",
        "lnetctl udsp add --dst tcp5 --rte 10.99.0.[50,70]@tcp",
        "lnetctl udsp add --src tcp1 --priority 2 --messages 3",
        "lnetctl udsp add --src *.*.*.*@tcp --priority 3",
        "lnetctl export /tmp/all.yaml",
        "lnetctl export --backup /tmp/backup.yaml",
    ] {
        prepare(&scene, command);
    }
    let backup = scene.run("cat /tmp/backup.yaml").out;
    let kinds = ["net:", "route:", "routing:", "buffers:", "peer:", "global:", "udsp:"];
    assert_eq!(backup.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>(), kinds);
    assert!(backup.contains("              conns_per_peer: 2\n              tos: 72\n"), "{backup}");
    for file in ["/tmp/backup.yaml", "/tmp/all.yaml"] {
        scene.reboot();
        prepare(&scene, "lnetctl lnet configure");
        prepare(&scene, &format!("lnetctl import {file}"));
        // Peers have no order.
        assert_eq!(by_item(&scene.run("lnetctl export --backup").out), by_item(&backup), "{file}");
    }
}

/// doc-005: fails if a guide tells of a command or an option that there is not.
#[test]
fn every_command_in_the_guides_exists() {
    let bin = programs();
    let guides = [
        "README.md",
        "docs/configuration.md",
        "docs/environment.md",
        "docs/faults.md",
        "docs/health.md",
        "docs/selection-policy.md",
        "docs/sharing.md",
    ];
    let texts =
        guides.map(|file| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap());
    let commands: BTreeSet<&str> =
        texts.iter().flat_map(|text| text.split("lnetctl ").skip(1)).map(command_at_start).collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let (options, words): (Vec<&str>, Vec<&str>) =
            command.split_whitespace().partition(|word| word.starts_with('-'));
        if words.is_empty() {
            continue;
        }
        let output = Command::new(bin.join("lnetctl")).args(&words).arg("--help").output().unwrap();
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(help.contains(&format!("Usage: lnetctl {}", words.join(" "))), "{command}");
        assert!(options.iter().all(|option| help.contains(option)), "{command}: {help}");
    }
}

/// The words of a command and its options, as far as they are certainly commands and options: `net add --net` for
/// `net add --net tcp`.
fn command_at_start(text: &str) -> &str {
    let is_of_command = |c: char| c.is_ascii_lowercase() || c == '-' || c == '_' || c == ' ';
    let line = text.split(|c| !is_of_command(c)).next().unwrap_or_default();
    let mut end = 0;
    let mut words = 0;
    for word in line.split_inclusive(' ') {
        let is_option = word.starts_with('-');
        words += usize::from(!is_option);
        if words > most_words(line) || (is_option && word.trim().len() < 2) {
            break;
        }
        end += word.len();
        if is_option {
            break;
        }
    }
    line[..end].trim_end()
}

/// The number of words of the command at the start of a line: three for `fault`, one for commands without subcommands, else two.
fn most_words(line: &str) -> usize {
    let first = line.split(' ').next().unwrap_or_default();
    match first {
        "import" | "export" | "ping" | "discover" | "help" | "service-id" | "setup-mrrouting"
        | "cpt-of-nid" | "apply" | "convert" | "doctor" | "report" | "events" | "exporter" => 1,
        "fault" => 3,
        _ => 2,
    }
}

#[test]
fn the_recorded_file_has_all_commands_in_reduced_form() {
    let blocks = record();
    assert!(blocks.len() >= 370, "{} commands", blocks.len());
    for block in blocks {
        assert_eq!(reduce(&block.outcome, &|_| String::new()), block.outcome, "{}", block.command);
    }
}

fn record() -> Vec<Block> {
    if let Some(full) = env::var_os("LNETCTL_OUTPUTS") {
        let mut blocks = console::parse(&fs::read_to_string(full).unwrap());
        for block in &mut blocks {
            block.outcome = reduce(&block.outcome, &|_| String::new());
        }
        fs::write(RECORD, console::write(&blocks)).unwrap();
    }
    console::parse(&fs::read_to_string(RECORD).unwrap())
}

/// Runs a command with the staging around it.
fn run_as_staged(scene: &Scene, block: &Block) -> Outcome {
    let is_due = |when| matches!(when, When::Around(place) if is_at(place, block));
    let Some((_, [staged @ .., condition], _)) = STAGING.iter().find(|(when, ..)| is_due(*when)) else {
        return scene.run(&block.command);
    };
    loop {
        staged.iter().for_each(|command| prepare(scene, command));
        let outcome = scene.run(&block.command);
        if scene.run(condition).exit == 0 {
            return outcome;
        }
    }
}

fn stage(scene: &Scene, is_due: impl Fn(When) -> bool) {
    for (_, commands, _) in STAGING.iter().filter(|(when, ..)| is_due(*when)) {
        commands.iter().for_each(|command| prepare(scene, command));
    }
}

fn prepare(scene: &Scene, command: &str) {
    let outcome = scene.run(command);
    assert_eq!((outcome.exit, outcome.out + &outcome.err), (0, String::new()), "{command}");
}

/// Whether a new session begins: the import section was recorded twice, the second time on a node that had just been started.
fn begins_a_session(before: &Block, block: &Block) -> bool {
    let imports = |block: &Block| block.section == "import";
    imports(before) && block.command == "lnetctl import"
}

/// `lctl` is the kernel's.
fn runs_here(command: &str) -> bool {
    !command.starts_with("lctl ")
}

fn reduced(scene: &Scene, outcome: &Outcome) -> Outcome {
    reduce(outcome, &|words| scene.run(&format!("lnetctl {} --help", words.join(" "))).out)
}

/// The first number under this key.
fn count(yaml: &str, key: &str) -> u64 {
    let line = yaml.lines().find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(": "));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {key} in {yaml}"))
}

/// Splits YAML into the items under each key; those of peers are sorted, as peers have no order.
fn by_item(yaml: &str) -> BTreeMap<&str, Vec<String>> {
    let mut blocks = BTreeMap::<&str, Vec<String>>::new();
    let mut key = "";
    for line in yaml.lines() {
        let items = blocks.entry(key).or_default();
        match items.last_mut() {
            _ if !line.starts_with(' ') => key = line,
            Some(item) if !line.starts_with("    - ") => item.push_str(line),
            _ => items.push(line.to_owned()),
        }
    }
    blocks.entry("peer:").or_default().sort_unstable();
    blocks
}

fn unexplained(found: &[Found<'_>]) -> String {
    let mut text = String::new();
    for (block, changes) in found {
        let rows = || DIFFERENCES.iter().filter(|row| row.commands.iter().any(|place| is_at(place, block)));
        let is_explained =
            |index: usize| rows().any(|row| row.lines.iter().any(|line| is_meant(line, changes, index)));
        let rest: Vec<usize> = (0..changes.len()).filter(|index| !is_explained(*index)).collect();
        if !rest.is_empty() {
            writeln!(text, "# {} ({})", block.command, block.section).unwrap();
            rest.iter().for_each(|index| writeln!(text, "    {}", changes[*index].text).unwrap());
        }
    }
    text
}

/// Describes the rows of the table that match no difference any more.
fn unused_rows(found: &[Found<'_>]) -> String {
    let mut text = String::new();
    for row in DIFFERENCES {
        let is_found = |place: &str, line: &str| {
            let changes = found.iter().filter(|(block, _)| is_at(place, block)).map(|(_, changes)| changes);
            changes.into_iter().any(|all| (0..all.len()).any(|index| is_meant(line, all, index)))
        };
        let unused_places =
            row.commands.iter().filter(|place| !row.lines.iter().any(|it| is_found(place, it)));
        let unused_lines = row.lines.iter().filter(|line| !row.commands.iter().any(|it| is_found(it, line)));
        for unused in unused_places.chain(unused_lines) {
            writeln!(text, "no longer so: {unused}: {}", row.words).unwrap();
        }
    }
    text
}
