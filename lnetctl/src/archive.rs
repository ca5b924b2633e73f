//! All that is known about a node and its host, in one archive: `lnetctl report`.

use crate::doctor;
use crate::doctor::host::Host;
use flate2::Compression;
use flate2::write::GzEncoder;
use lnet_dlc::export::export;
use lnet_dlc::ops::{net, peer, program, recovery, stats, tunables};
use lnet_dlc::request::{NodeInfo, Request};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_dlc::{Backend, Report, ReturnCode, SeqNo, Value};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The most detail that is shown.
const DETAIL: u32 = 5;
/// The most bytes of the node's log, the last ones.
const MAX_LOG: u64 = 1 << 20;

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path in the archive.
    pub name: String,
    /// The content.
    pub text: String,
}

/// A part that the node is asked for.
struct Part {
    name: &'static str,
    ask: fn(&dyn Backend, &mut Report) -> ReturnCode,
}

/// What the node is asked for.
const OF_NODE: [Part; 7] = [
    Part { name: "configuration.yaml", ask: |node, report| export(node, true, report) },
    Part { name: "nets.yaml", ask: |node, report| net::show(node, None, DETAIL, SeqNo::NONE, report, false) },
    Part {
        name: "peers.yaml",
        ask: |node, report| peer::show(node, None, DETAIL, SeqNo::NONE, report, false),
    },
    Part { name: "counters.yaml", ask: |node, report| stats::show(node, SeqNo::NONE, report) },
    Part { name: "settings.yaml", ask: tunables::show },
    Part {
        name: "recovery.yaml",
        ask: |node, report| {
            let local = recovery::show_local(node, SeqNo::NONE, report);
            recovery::show_peer(node, SeqNo::NONE, report).or(local)
        },
    },
    Part { name: "programs.yaml", ask: |node, report| program::show(node, None, DETAIL, report) },
];

/// The files of the system about this host.
const OF_HOST: [(&str, &str); 6] = [
    ("host/kernel.txt", "/proc/version"),
    ("host/system.txt", "/etc/os-release"),
    ("host/limits.txt", "/proc/self/limits"),
    ("host/routes.txt", "/proc/net/route"),
    ("host/interfaces.txt", "/proc/net/dev"),
    ("host/tcp.txt", "/proc/net/snmp"),
];

/// All entries. What cannot be read is in an entry of its own, with `.errors` behind the name.
pub fn entries(node: &dyn Backend) -> Vec<Entry> {
    let mut all =
        vec![entry("versions.txt", versions(node)), entry("environment.txt", environment(env::vars()))];
    all.extend(OF_NODE.iter().flat_map(|part| of_node(node, part)));
    all.extend(events(node));
    let file = |(name, path): &(&str, &str)| Some(entry(name, fs::read_to_string(path).ok()?));
    all.extend(OF_HOST.iter().filter_map(file));
    let findings = doctor::findings(&Host::here(), node);
    let shown: Vec<Value> = findings.iter().map(|(name, finding)| finding.to_value("check", name)).collect();
    all.push(entry("host/doctor.yaml", Value::map().with("doctor", shown).to_yaml()));
    all
}

fn entry(name: &str, text: String) -> Entry {
    Entry { name: name.to_owned(), text }
}

fn of_node(node: &dyn Backend, part: &Part) -> Vec<Entry> {
    let mut report = Report::new();
    let rc = (part.ask)(node, &mut report);
    let mut entries = Vec::new();
    if !report.shown.is_empty() {
        entries.push(entry(part.name, report.shown.to_yaml()));
    }
    if !rc.is_ok() {
        entries.push(Entry { name: format!("{}.errors", part.name), text: report.errors_to_yaml() });
    }
    entries
}

fn versions(node: &dyn Backend) -> String {
    let own = env!("CARGO_PKG_VERSION");
    match node.ask::<NodeInfo>(Request::GetNode) {
        Ok(NodeInfo { version, name, process, .. }) => {
            format!("lnetctl {own}\nnode {name} {version}, process {process}\n")
        }
        Err(errno) => format!("lnetctl {own}\nno node: {}\n", errno.text()),
    }
}

/// The variables of this library, one a line, and no others.
fn environment(variables: impl Iterator<Item = (String, String)>) -> String {
    let prefixes = lnet_node::variable_prefixes();
    let is_ours = |(name, _): &(String, String)| prefixes.iter().any(|start| name.starts_with(start));
    let mut lines: Vec<String> =
        variables.filter(is_ours).map(|(name, value)| format!("{name}={value}\n")).collect();
    lines.sort_unstable();
    lines.concat()
}

/// The end of the log of a daemon that `lnetctl lnet configure` has started.
fn events(node: &dyn Backend) -> Option<Entry> {
    let info: NodeInfo = node.ask(Request::GetNode).ok()?;
    let path = RuntimeDir::from_env().log(&info.name.parse().ok()?);
    Some(entry("events.log", end_of(&path).ok()?))
}

fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_LOG)))?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the archive to a new file that its owner alone may read; a file that is there is not replaced.
pub fn write(file: &Path, entries: &[Entry], seconds: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    archive(entries, seconds, file)?.sync_all()
}

fn archive<W: Write>(entries: &[Entry], seconds: u64, out: W) -> io::Result<W> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    for Entry { name, text } in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(text.len()).unwrap_or_default());
        header.set_mode(0o600);
        header.set_mtime(seconds);
        archive.append_data(&mut header, Path::new("lnet-report").join(name), text.as_bytes())?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_dlc::{Reply, RequestError};
    use lnet_wire::Errno;

    fn no_node(_: Request) -> Result<Reply, RequestError> {
        Err(Errno::NetworkDown.into())
    }

    #[test]
    fn only_variables_of_this_library_are_reported() {
        let variables =
            [("LNET_NETWORKS", "tcp"), ("PASSWORD", "secret"), ("SOCKLND_CREDITS", "9"), ("XLNET_A", "b")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(environment(variables.into_iter()), "LNET_NETWORKS=tcp\nSOCKLND_CREDITS=9\n");
    }

    #[test]
    fn without_a_node_the_report_has_the_host_and_the_errors() {
        let entries = entries(&no_node);
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for name in [
            "versions.txt",
            "configuration.yaml.errors",
            "peers.yaml.errors",
            "host/doctor.yaml",
            "host/limits.txt",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!names.contains(&"configuration.yaml") && !names.contains(&"events.log"), "{names:?}");
    }

    #[test]
    fn the_archive_has_every_entry_and_is_not_written_over_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("report.tar.gz");
        let entries = [entry("a.yaml", "a: 1\n".to_owned()), entry("host/b.txt", "b\n".repeat(9999))];
        write(&file, &entries, 1).unwrap();
        assert_eq!(write(&file, &entries, 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let mut read = tar::Archive::new(flate2::read::GzDecoder::new(File::open(&file).unwrap()));
        let found: Vec<Entry> = read
            .entries()
            .unwrap()
            .map(|it| {
                let mut it = it.unwrap();
                let mut text = String::new();
                it.read_to_string(&mut text).unwrap();
                Entry {
                    name: it.path().unwrap().strip_prefix("lnet-report").unwrap().display().to_string(),
                    text,
                }
            })
            .collect();
        assert_eq!(found, entries);
    }

    #[test]
    fn the_end_of_a_long_log_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lnetd.log");
        fs::write(&file, "first\n".to_owned() + &"x".repeat(MAX_LOG as usize) + "last\n").unwrap();
        let text = end_of(&file).unwrap();
        assert!(text.len() as u64 == MAX_LOG && text.ends_with("last\n"));
    }
}
