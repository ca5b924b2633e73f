//! The daemon as an operator and a client see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use lnet_dlc::request::{
    AddLocalNi, AttachedPrograms, Configure, LndTunables, LocalNi, NiTunables, NodeInfo, StateChange,
    WaitingNi,
};
use lnet_dlc::{Backend, Client, Reply, Request};
use lnet_wire::Errno;
use place::{LNETD, Place, ends, signal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

fn node(client: &Client) -> NodeInfo {
    let backend: &dyn Backend = client;
    backend.ask(Request::GetNode).unwrap()
}

fn nids(client: &Client) -> Vec<String> {
    let backend: &dyn Backend = client;
    let all = backend.list::<Box<LocalNi>>(Request::GetLocalNi).unwrap();
    all.iter().map(|ni| ni.nid.to_string()).collect()
}

#[test]
fn configuring_starts_a_daemon_and_unconfiguring_ends_it() {
    let place = Place::new();
    let client = place.client(None);
    assert_eq!(client.call(Request::GetNode), Err(Errno::NetworkDown.into()));
    // Twice over: name and socket are free as soon as the first one has been taken down.
    for _ in 0..2 {
        assert_eq!(
            client.call(Request::Configure(Configure::default())),
            Ok(Reply::Done),
            "{:?}",
            client.explain()
        );
        let found = node(&client);
        assert_eq!((found.name.as_str(), found.process == std::process::id()), ("lnetd", false));
        assert_eq!(nids(&client), ["0@lo"]);
        // It is success if nothing is to be done.
        assert_eq!(client.call(Request::Configure(Configure::default())), Ok(Reply::Done));
        assert_eq!(node(&client).process, found.process);
        let process = Pid::from_raw(found.process.cast_signed()).unwrap();
        let process = pidfd_open(process, PidfdFlags::empty()).unwrap();
        assert_eq!(client.call(Request::Unconfigure), Ok(Reply::Done));
        assert_eq!(place.sockets(), 0);
        // Readable when the process has ended.
        poll(&mut [PollFd::new(&process, PollFlags::IN)], None).unwrap();
        assert_eq!(client.call(Request::GetNode), Err(Errno::NetworkDown.into()));
        assert_eq!(client.call(Request::Unconfigure), Ok(Reply::Done));
    }
}

#[test]
fn a_node_can_be_given_interfaces_while_it_runs() {
    let place = Place::new();
    let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
    let (child, _) = place.start(&["--loopback-only", "--node", "router"], |command| {
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port);
        // Passed over.
        command.env("LNET_NETWORKS", "tcp(127.0.91.9)");
    });
    let client = place.client(None);
    assert_eq!(node(&client).name, "router");
    let add = AddLocalNi {
        net: "tcp7".parse().unwrap(),
        interface: Some("127.0.91.1".into()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    };
    assert!(client.call(Request::AddLocalNi(add.clone())).is_ok());
    assert_eq!(nids(&client), ["0@lo", "127.0.91.1@tcp7"]);
    // With the end of the node, its ports become free: the next one takes the same.
    assert_eq!(client.call(Request::Unconfigure), Ok(Reply::Done));
    let (second, _) = place.start(&["--node", "router"], |command| {
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port);
        command.env("LNET_NETWORKS", "tcp7(127.0.91.1)");
    });
    assert!(ends(child).status.success());
    assert_eq!(nids(&client), ["0@lo", "127.0.91.1@tcp7"]);
    signal(&second, Signal::INT);
    assert!(ends(second).status.success());
}

#[test]
fn a_daemon_comes_up_without_an_interface_that_is_not_there_unless_it_may_not_wait() {
    let place = Place::new();
    let with = |wait: &'static str| {
        place.start(&["--from-environment"], move |command| {
            command.env("LNET_NETWORKS", "tcp7(127.0.91.3),tcp8(no-such-if)");
            command.env("LNET_ACCEPT", "none").env("LNET_WAIT_FOR_INTERFACES", wait);
        })
    };
    let (child, notify) = with("");
    assert!(notify.contains("READY=1"), "{notify}");
    let client = place.client(None);
    let backend: &dyn Backend = &client;
    let waiting: Vec<WaitingNi> = backend.ask(Request::GetWaitingNis).unwrap();
    assert_eq!(nids(&client), ["0@lo", "127.0.91.3@tcp7"]);
    assert_eq!(waiting[0].reason, "interface no-such-if: not usable (there is no such interface)");
    signal(&child, Signal::TERM);
    let log = String::from_utf8(ends(child).stderr).unwrap();
    let about_it: Vec<&str> = log.lines().filter(|line| line.contains("no-such-if")).collect();
    assert!(about_it.len() == 1 && about_it[0].contains("NI on tcp8: not started yet"), "{log}");

    let (child, notify) = with("disabled");
    assert!(notify.contains("ERRNO=19"), "{notify}");
    assert!(!ends(child).status.success());
}

#[test]
fn a_signal_ends_the_daemon_and_leaves_nothing_behind() {
    let place = Place::new();
    let pid_file = place.path().join("pid");
    let arguments = ["--loopback-only", "--pid-file", pid_file.to_str().unwrap()];
    let (child, notify) = place.start(&arguments, |command| {
        command.env("LNET_STATUS_MODE", "0666");
    });
    assert!(notify.contains("READY=1"), "{notify}");
    assert_eq!(fs::read_to_string(&pid_file).unwrap(), format!("{}\n", child.id()));
    assert!(place.path().join("lnetd.sock").exists());
    assert!(place.path().join("lnetd.status.sock").exists());
    // A client stays connected and sends nothing.
    let idle = UnixStream::connect(place.path().join("lnetd.sock")).unwrap();
    signal(&child, Signal::HUP);
    signal(&child, Signal::TERM);
    let output = ends(child);
    assert!(output.status.success());
    drop(idle);
    assert!(!pid_file.exists());
    assert_eq!(place.sockets(), 0);
}

#[test]
fn a_second_daemon_of_the_same_name_does_not_start() {
    let place = Place::new();
    let (child, _) = place.start(&["--loopback-only"], |_| {});
    let (second, notify) = place.start(&["--loopback-only"], |_| {});
    assert!(notify.contains("ERRNO=17") && notify.contains("runs already"), "{notify}");
    assert!(!ends(second).status.success());
    assert_eq!(node(&place.client(None)).process, child.id());
    let (third, _) = place.start(&["--loopback-only", "--node", "third"], |_| {});
    assert_eq!(node(&place.client(Some("third"))).process, third.id());
    assert_eq!(node(&place.client(None)).process, child.id(), "lnetd is meant where none is named");
    for child in [child, third] {
        signal(&child, Signal::TERM);
        ends(child);
    }
}

#[test]
fn a_failed_start_reports_the_cause() {
    let place = Place::new();
    let mut command = place.command(&[]);
    command.env("LNET_NETWORKS", "tcp(no_such_if0)").env("LNET_WAIT_FOR_INTERFACES", "disabled");
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("no_such_if0"), "{text}");
    assert_eq!(place.sockets(), 0);

    let output = place.command(&["--config", "/nowhere/lnet.conf"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/lnet.conf"));

    let output = place.command(&["--loopback-only"]).env("LNET_STATUS_MODE", "rw").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("LNET_STATUS_MODE"));
}

/// Fails if a setting without effect is not logged, or is logged more than once.
#[test]
fn settings_without_effect_are_warned_of_once() {
    let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
    // The environment, the daemon's arguments, and the one line that must be logged.
    type Row = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static str);
    let table: [Row; 3] = [
        (&[("LNET_NETWORK", "tcp(127.0.91.2)")], &[], "did you mean 'LNET_NETWORKS'?"),
        (&[], &[], "no network but the loopback"),
        (&[("LNET_NODE", "alone"), ("LNET_STATUS_MODE", "0600")], &["--loopback-only"], ""),
    ];
    for (variables, arguments, line) in table {
        let place = Place::new();
        let (child, _) = place.start(arguments, |command| {
            command.envs(variables.iter().copied()).env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port);
        });
        signal(&child, Signal::TERM);
        let log = String::from_utf8_lossy(&ends(child).stderr).into_owned();
        let warnings: Vec<_> = log.lines().filter(|line| line.contains(": warning: ")).collect();
        let said = warnings.iter().filter(|warning| warning.contains(line)).count();
        // A node without nets also says that it is one.
        let others = usize::from(variables.iter().any(|(name, _)| *name == "LNET_NETWORK"));
        assert_eq!(
            (said, warnings.len()),
            (usize::from(!line.is_empty()), said + others),
            "{variables:?}\n{log}"
        );
    }
}

/// Fails if a log line of the daemon lacks the time of its event, or has it twice because the journal adds it.
#[test]
fn a_log_line_has_the_time_unless_standard_error_is_the_journals() {
    // The daemon is started as by systemd: standard error is a stream, and the variable names it. In the second row it names
    // another.
    for (inode, is_journal) in [(0, true), (1, false)] {
        let place = Place::new();
        let (mut log, stderr) = std::io::pipe().unwrap();
        let stream = rustix::fs::fstat(&stderr).unwrap();
        let mut command = place.command(&["--config", "/nowhere/lnet.conf"]);
        command.env("LNET_LOG_FORMAT", "text");
        command.env("JOURNAL_STREAM", format!("{}:{}", stream.st_dev, stream.st_ino + inode));
        assert!(!command.stderr(stderr).status().unwrap().success());
        drop(command);
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        assert!(text.contains("/nowhere/lnet.conf"), "{text}");
        for line in text.lines() {
            // 2023-11-14T22:13:20.042Z LNetError: ...
            let stamp = line.split_once(" LNet").map_or("", |(stamp, _)| stamp);
            let has_time =
                stamp.len() == 24 && stamp.ends_with('Z') && humantime::parse_rfc3339(stamp).is_ok();
            assert_eq!((line.starts_with("<3>"), has_time), (is_journal, !is_journal), "{line}");
        }
    }
}

/// Fails if a log collector cannot read every line by itself, or a form that does not exist goes unnoticed.
#[test]
fn a_log_of_json_has_an_object_on_each_line() {
    let place = Place::new();
    let log_of = |format: &str| {
        let (child, _) = place.start(&["--loopback-only"], |command| {
            command.env("LNET_LOG_FORMAT", format).env("LNET_NETWORK", "tcp");
        });
        signal(&child, Signal::TERM);
        String::from_utf8(ends(child).stderr).unwrap()
    };
    let log = log_of("json");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let misspelt = lines.iter().find(|line| line["class"] == "config_ignored").unwrap();
    assert_eq!((&misspelt["level"], &misspelt["subsystem"]), (&"warn".into(), &"LNet".into()));
    assert!(misspelt["message"].as_str().unwrap().starts_with("LNET_NETWORK: "), "{log}");
    assert!(lines.iter().all(|line| humantime::parse_rfc3339(line["time"].as_str().unwrap()).is_ok()));
    assert!(log_of("xml").contains("LNET_LOG_FORMAT=xml: wanted is text, json or journald"));
}

/// Returns the installed sample with its entries active: one `#` of each line is removed.
fn sample_in_force() -> String {
    let sample = fs::read_to_string(SAMPLE).unwrap();
    let take_away = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with('#') => rest.to_owned(),
        _ => line.to_owned(),
    };
    sample.lines().map(|line| take_away(line) + "\n").collect()
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/lnet.conf");

#[test]
fn a_file_is_checked_without_starting_a_node() {
    let place = Place::new();
    let check = |file: &str| {
        let output = place.command(&["--check", "--config", file]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(check(SAMPLE), (true, String::new()));
    let file = place.path().join("lnet.conf");
    fs::write(&file, sample_in_force()).unwrap();
    assert_eq!(check(file.to_str().unwrap()), (true, String::new()));
    fs::write(&file, "net:\n    - net type: nonsense\n").unwrap();
    let (fine, text) = check(file.to_str().unwrap());
    assert!(!fine && text.contains("nonsense"), "{text}");
    let (child, notify) = place.start(&["--config", file.to_str().unwrap()], |_| {});
    assert!(notify.contains("ERRNO=22"), "{notify}");
    assert!(!ends(child).status.success());
}

#[test]
fn a_daemon_applies_its_file_and_continues_without_rejected_items() {
    let place = Place::new();
    let file = place.path().join("lnet.conf");
    let text = "\
net:
    - net type: tcp3
      local NI(s):
        - interfaces:
              0: 127.0.92.1
    - net type: tcp4
      local NI(s):
        - interfaces:
              0: no_such_if0
";
    fs::write(&file, text).unwrap();
    let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
    let (child, notify) = place.start(&["--config", file.to_str().unwrap()], |command| {
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &port);
        command.env("LNET_WAIT_FOR_INTERFACES", "disabled");
    });
    assert!(notify.contains("READY=1") && notify.contains("not all"), "{notify}");
    assert_eq!(nids(&place.client(None)), ["0@lo", "127.0.92.1@tcp3"]);
    signal(&child, Signal::TERM);
    let output = ends(child);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no_such_if0"));
}

#[test]
fn a_detached_daemon_keeps_nothing_open_that_its_starter_had_open() {
    let place = Place::new();
    let (mut child, _) = place.start(&[], |command| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 9>&1 >/dev/null; exec \"$0\" --detach --loopback-only", LNETD]);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.stdout(Stdio::piped());
        *command = shell;
    });
    // Would wait until the daemon ends if it still had the pipe.
    let mut nothing = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut nothing).unwrap();
    assert_eq!(place.client(None).call(Request::Unconfigure), Ok(Reply::Done));
    assert!(child.wait().unwrap().success());
}

#[test]
fn with_the_option_a_daemon_takes_part_in_tests_and_says_so() {
    let place = Place::new();
    let (child, notify) = place.start(&["--loopback-only", "--selftest"], |_| {});
    assert!(notify.contains("READY=1"), "{notify}");
    assert_eq!(node(&place.client(None)).selftest.as_deref(), Some("no session"));
    signal(&child, Signal::TERM);
    let output = ends(child);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("LNet selftest: this node takes part in tests"));

    let (child, _) = place.start(&["--loopback-only"], |_| {});
    assert_eq!(node(&place.client(None)).selftest, None);
    signal(&child, Signal::TERM);
    ends(child);

    let (child, notify) = place.start(&["--loopback-only", "--selftest"], |command| {
        command.env("LNET_SELFTEST_RPC_TIMEOUT", "soon");
    });
    assert!(notify.contains("ERRNO=22"), "{notify}");
    let output = ends(child);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("LNET_SELFTEST_RPC_TIMEOUT=soon"), "{text}");
}

/// Fails if clients are not told of the programs of the daemon, or if programs can attach that must not.
#[test]
fn a_daemon_says_what_became_of_programs_that_want_to_attach() {
    let programs = |place: &Place| -> AttachedPrograms {
        let client = place.client(None);
        let backend: &dyn Backend = &client;
        backend.ask(Request::GetPrograms).unwrap()
    };
    let place = Place::new();
    let (child, _) = place.start(&["--loopback-only"], |_| {});
    assert_eq!(programs(&place), AttachedPrograms::default());
    // A program that leaves without a word.
    drop(UnixStream::connect(place.path().join("lnetd.attach")).unwrap());
    while programs(&place).refused == 0 {
        std::thread::yield_now();
    }
    assert_eq!(programs(&place), AttachedPrograms { programs: Vec::new(), refused: 1 });
    signal(&child, Signal::TERM);
    assert!(ends(child).status.success());
    assert!(!place.path().join("lnetd.attach").exists());

    let (child, _) = place.start(&["--loopback-only"], |command| {
        command.env("LNET_ATTACH_MODE", "none");
    });
    assert!(!place.path().join("lnetd.attach").exists());
    assert_eq!(programs(&place), AttachedPrograms::default());
    signal(&child, Signal::TERM);
    ends(child);
}

/// Fails if what happened before a restart, or who has changed the configuration, is not shown.
#[test]
fn what_has_happened_is_told_after_a_restart() {
    let place = Place::new();
    let file = place.path().join("events");
    let arguments = ["--loopback-only", "--events-file", file.to_str().unwrap()];
    let client = place.client(None);
    let backend: &dyn Backend = &client;
    let events = || backend.ask::<Vec<StateChange>>(Request::GetHistory(0)).unwrap();
    let (child, _) = place.start(&arguments, |_| ());
    assert_eq!(events(), []);
    backend.tell(Request::ConfigRouter(true)).unwrap();
    backend.tell(Request::ResetLnetStats).unwrap();
    let before = events();
    let [change] = before.as_slice() else { panic!("{before:?}") };
    assert_eq!((change.number, change.kind.as_str(), change.level.as_str()), (1, "config_changed", "info"));
    let user = rustix::process::geteuid().as_raw();
    assert!(change.text.starts_with(r#"configuration: {"config_router":true} by "#), "{}", change.text);
    let process = std::process::id();
    assert!(change.text.contains(&format!(" by uid {user}, process {process} (")), "{}", change.text);
    assert_eq!(client.call(Request::Unconfigure), Ok(Reply::Done));
    assert!(ends(child).status.success());

    let (child, _) = place.start(&arguments, |_| ());
    let after = events();
    let [first, second] = after.as_slice() else { panic!("{after:?}") };
    assert_eq!((first, second.text.contains("unconfigure")), (change, true));
    signal(&child, Signal::TERM);
    assert!(ends(child).status.success());
}
