//! `lnetctl cluster collect`

use super::outcome::refuse;
use super::remote::Via;
use crate::cli::ClusterCollect;
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::input::{LINKS_FILE, TUNABLES_FILE};
use lnet_dlc::host_names::Names;
use lnet_dlc::yaml::{self, Purpose};
use lnet_dlc::{ReturnCode, Value};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The exit status if a host could not be read.
const UNREACHED: ReturnCode = ReturnCode(1);

/// The command whose output is the configuration of a node. With --backup it would have no NIDs.
const CONFIGURATION: &[&str] = &["lnetctl", "export"];

/// The states and counters: the name of the file, and the commands, of which the first one that succeeds is taken. A node that knows none of
/// them is read without the file. No command needs privileges.
const STATES: &[(&str, &[&[&str]])] = &[
    ("stats.yaml", &[&["lnetctl", "stats", "show"]]),
    ("nets.yaml", &[&["lnetctl", "net", "show", "-v", "4"]]),
    ("peers.yaml", &[&["lnetctl", "peer", "show", "-v", "4"]]),
    ("routes.yaml", &[&["lnetctl", "route", "show", "-v", "4"]]),
    ("global.yaml", &[&["lnetctl", "global", "show"]]),
    // The kernel's lnetctl does not know tunables, and says so by its exit status.
    (
        TUNABLES_FILE,
        &[&["lnetctl", "tunables"], &["grep", "-H", ".", "/sys/module/lnet/parameters/accept_port"]],
    ),
    (LINKS_FILE, &[&["ip", "-o", "link"]]),
];

/// A node that is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Host {
    /// The name of the node and of its files.
    name: String,
    /// The host in the command.
    address: String,
}

/// A node that was read, with the names of the states that it did not show; or the reason why it could not be read.
type Collected = Result<Vec<&'static str>, String>;

pub(super) fn run(command: &ClusterCollect, cx: &mut Context<'_>) -> CommandOutcome {
    let (via, hosts) = match prepare(command) {
        Ok(prepared) => prepared,
        Err(text) => return refuse(cx, text),
    };
    let limit = Duration::from_secs(command.timeout);
    let results =
        in_parallel(&hosts, usize::from(command.jobs), |host| collect(&via, host, &command.output, limit));
    let all = hosts.iter().zip(&results);
    let unreached: Vec<Value> = all
        .clone()
        .filter_map(|(host, result)| {
            let why = result.as_ref().err()?;
            Some(Value::map().with("host", host.name.clone()).with("reason", Value::Quoted(why.clone())))
        })
        .collect();
    let without_state = all.filter_map(|(host, result)| {
        let missing = result.as_ref().ok().filter(|missing| !missing.is_empty())?;
        Some(Value::map().with("host", host.name.clone()).with("files", missing.join(", ")))
    });
    let without_state: Vec<Value> = without_state.collect();
    let collected = hosts.len() - unreached.len();
    let mut shown = Value::map()
        .with("directory", command.output.display().to_string())
        .with("collected", Value::Int(i64::try_from(collected).unwrap_or(i64::MAX)));
    let fails = !unreached.is_empty();
    for (key, items) in [("unreached", unreached), ("without", without_state)] {
        if !items.is_empty() {
            shown = shown.with(key, Value::Seq(items));
        }
    }
    cx.report.show("collect", shown);
    CommandOutcome::show(if fails { UNREACHED } else { ReturnCode::OK })
}

/// Checks the arguments, and makes the directory.
fn prepare(command: &ClusterCollect) -> Result<(Via, Vec<Host>), String> {
    let via = Via::parse(&command.via)?;
    let mut hosts = BTreeSet::new();
    for host in &command.hosts {
        hosts.insert(Host::new(host, host)?);
    }
    if let Some(file) = &command.nids {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        for (number, line) in text.lines().enumerate() {
            let word = line.split('#').next().unwrap_or_default().trim();
            if !word.is_empty() {
                let host =
                    host_of_nid(word).map_err(|text| format!("{}:{}: {text}", file.display(), number + 1))?;
                hosts.insert(host);
            }
        }
    }
    if hosts.is_empty() {
        return Err("there is no host to be read".to_owned());
    }
    fs::create_dir_all(&command.output).map_err(|error| format!("{}: {error}", command.output.display()))?;
    Ok((via, hosts.into_iter().collect()))
}

fn host_of_nid(text: &str) -> Result<Host, String> {
    let nid: Nid = text.parse().map_err(|_| format!("'{text}' is not a NID"))?;
    let nid = nid.to_string();
    let (address, _) = nid.split_once('@').ok_or_else(|| format!("'{text}' is not a NID"))?;
    Host::new(&nid, address)
}

impl Host {
    /// Refuses names that would be options of the command, files elsewhere, or words of a shell, which `ssh` may start.
    fn new(name: &str, address: &str) -> Result<Self, String> {
        let is_safe = |text: &str| {
            let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "._-:@%[]".contains(letter);
            !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_usual)
        };
        let is_a_file_of_another = name.ends_with(".yaml") || name.ends_with(".old");
        if !is_safe(name) || !is_safe(address) || is_a_file_of_another {
            return Err(format!("'{name}' is not the name of a host"));
        }
        Ok(Self { name: name.to_owned(), address: address.to_owned() })
    }
}

/// Reads one node.
fn collect(via: &Via, host: &Host, directory: &Path, limit: Duration) -> Collected {
    let states = directory.join(&host.name);
    let configuration = directory.join(format!("{}.yaml", host.name));
    let read = via.run(&host.address, CONFIGURATION, &configuration, limit, check_configuration);
    if let Err(why) = read {
        // What an earlier call has read would be taken for what the host has now.
        set_aside(&configuration);
        STATES.iter().for_each(|(file, _)| set_aside(&states.join(file)));
        return Err(why);
    }
    fs::create_dir_all(&states).map_err(|error| format!("{}: {error}", states.display()))?;
    let mut missing = Vec::new();
    for (file, programs) in STATES {
        let file_of_state = states.join(file);
        let is_read =
            |program: &&[&str]| via.run(&host.address, program, &file_of_state, limit, |_| Ok(())).is_ok();
        if !programs.iter().any(is_read) {
            set_aside(&file_of_state);
            missing.push(*file);
        }
    }
    Ok(missing)
}

/// Checks that a file has the configuration of a node.
fn check_configuration(file: &Path) -> Result<(), String> {
    let wrong = |why: String| format!("'lnetctl export' gave no configuration: {why}");
    let text = File::open(file).and_then(yaml::text_of).map_err(|error| wrong(error.to_string()))?;
    match yaml::read_with(&text, Purpose::Add, Names::without_resolver()) {
        Ok(document) if document.blocks.is_empty() => Err(wrong("the output is empty".to_owned())),
        Ok(_) => Ok(()),
        Err(problems) => Err(wrong(problems.first().map_or_else(String::new, ToString::to_string))),
    }
}

/// Gives a file the extension `old`, in place of an earlier one with that.
fn set_aside(file: &Path) {
    let mut old = file.as_os_str().to_owned();
    old.push(".old");
    let _missing = fs::rename(file, old);
}

/// Calls `work` for each item, at most `jobs` at the same time; returns the results in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(
            in_parallel(&items, 7, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert_eq!(in_parallel(&[0; 0], 7, |_| ()), []);
    }

    #[test]
    fn hosts_are_names_that_are_no_options_and_no_paths() {
        for (text, is_host) in [
            ("mds1", true),
            ("mds1.example.com", true),
            ("root@mds1", true),
            ("-oProxyCommand=x", false),
            ("../a", false),
            ("a/b", false),
            ("a b", false),
            ("a;reboot", false),
            ("a$(id)", false),
            ("a.yaml", false),
            ("[fd99::1]", true),
            ("", false),
        ] {
            assert_eq!(Host::new(text, text).is_ok(), is_host, "{text}");
        }
    }

    #[test]
    fn a_nid_is_read_at_its_address() {
        let host =
            |name: &str, address: &str| Some(Host { name: name.to_owned(), address: address.to_owned() });
        assert_eq!(host_of_nid("10.0.0.1@tcp").ok(), host("10.0.0.1@tcp", "10.0.0.1"));
        assert_eq!(host_of_nid("10.0.0.1").ok(), host("10.0.0.1@tcp", "10.0.0.1"));
        assert_eq!(host_of_nid("fd99::1@tcp").ok(), host("fd99::1@tcp", "fd99::1"));
        assert_eq!(host_of_nid("mds1").ok(), None);
    }
}
