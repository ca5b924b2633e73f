//! `lst` with consoles and nodes that are processes, on the loopback interface, with nodes of their own and attached to daemons.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod machine;
#[path = "../../../../tests/support/placement.rs"]
#[allow(dead_code)]
mod placement;
#[path = "../../../../tests/support/programs.rs"]
mod programs;

use lnet_dlc::client::Client;
use lnet_dlc::request::{Backend, FaultEffect, FaultOdds, FaultRule, Request};
use lnet_dlc::runtime_dir::RuntimeDir;
use machine::Site;
use std::num::NonZeroU32;
use test_support::terminal::Terminal;

/// Fails if the commands of a usual script print anything else than the kernel's tool did in the capture c-lst-write-4k.
#[test]
fn a_script_of_the_kernels_tool_runs_and_prints_the_same() {
    for site in Site::both() {
        let _server = site.node(2);
        let (cli, srv) = (site.nid(1), site.nid(2));
        let test = "add_test --batch b --loop 5 --concurrency 1 --distribute 1:1 --from cli --to srv brw write \
                check=simple size=4K";
        let idle = format!("12345-{cli} [Active]: Idle\n");
        let table = [
            (
                "new_session --timeo 100 sess".to_owned(),
                "SESSION: sess FEATURES: 1 TIMEOUT: 100 FORCE: No\n".to_owned(),
            ),
            (format!("add_group cli {cli}"), format!("{cli} are added to session\n")),
            (format!("add_group srv {srv}"), format!("{srv} are added to session\n")),
            ("add_batch b".to_owned(), String::new()),
            (test.to_owned(), "Test was added successfully\n".to_owned()),
            ("run b".to_owned(), "b is running now\n".to_owned()),
        ];
        for (line, expected) in table {
            assert_eq!(site.must(1, &line), expected, "{line}");
        }
        // Five RPCs end by themselves.
        while site.must(1, "query b --all") != idle {}
        let errors = "cli:\nTotal 0 error nodes in cli\nsrv:\nTotal 0 error nodes in srv\n";
        for (line, expected) in [
            ("show_error cli srv", errors),
            ("stop b", "Batch is stopped\n"),
            ("end_session", "session is ended\n"),
        ] {
            assert_eq!(site.must(1, line), expected, "{line}");
        }
        // The console has ended with its session, and the next one begins without it.
        assert_eq!(site.lst(1, "show_session").code, 255);
        site.must(1, "new_session again");
        site.must(1, "end_session");
    }
}

/// Fails if the console's node still has its address and port when the command that ends the session has ended.
#[test]
fn the_port_of_a_console_is_free_when_its_session_has_ended() {
    let site = Site::new();
    let _server = site.node(2);
    for _ in 0..3 {
        site.must(1, "new_session sess");
        site.must(1, &format!("add_group srv {}", site.nid(2)));
        assert!(site.bind(1).is_err());
        site.must(1, "end_session");
        site.bind(1).unwrap();
        site.must(1, &format!("bench {} ping -t 0.2", site.nid(2)));
        site.bind(1).unwrap();
    }
    // A console that stays has its port, and does not delay the command.
    let stays = site.node(3);
    site.must(3, "new_session sess");
    site.must(3, "end_session");
    assert!(site.bind(3).is_err());
    drop(stays);
}

/// Fails if a byte is wrong in any kind of brw: both directions, from and to several nodes, the console's own among them.
#[test]
fn brw_of_all_kinds_finds_no_wrong_byte() {
    for site in Site::both() {
        let _nodes = [site.node(2), site.node(3)];
        site.must(1, "new_session all");
        site.must(1, &format!("add_group here {} {}", site.nid(1), site.nid(2)));
        site.must(1, &format!("add_group there {} {}", site.nid(2), site.nid(3)));
        for direction in ["read", "write"] {
            for check in ["", "check=simple", "check=full"] {
                for size in ["8", "4k", "12k", "1m"] {
                    let line = format!(
                        "add_test --loop 5 --concurrency 2 --distribute 1:2 --from here --to there brw {direction} {check} size={size}"
                    );
                    site.must(1, &line);
                }
            }
        }
        site.must(1, "add_test --loop 20 --from here --to there ping");
        site.must(1, "run");
        while site.must(1, "query") != "batch [0] is stopped\n" {}
        let errors = site.must(1, "show_error here there");
        assert_eq!(errors.matches("Total 0 error nodes").count(), 2, "{errors}");
        site.must(1, "end_session");
    }
}

#[test]
fn of_two_consoles_the_second_gets_a_node_only_by_force() {
    for site in Site::both() {
        let _server = site.node(3);
        site.must(1, "new_session one");
        site.must(1, &format!("add_group srv {}", site.nid(3)));
        site.must(2, "new_session two");
        let refused = site.lst(2, &format!("add_group srv {}", site.nid(3)));
        assert_eq!(refused.code, 253, "{refused:?}");
        assert!(refused.err.contains("Device or resource busy"), "{refused:?}");
        site.must(2, "new_session --force two");
        site.must(2, &format!("add_group srv {}", site.nid(3)));
        let pinged = site.must(1, "ping --session");
        assert_eq!(pinged, format!("\t12345-{}: Busy [session: two id: {}]\n", site.nid(3), site.nid(2)));
        site.must(2, "end_session");
        site.must(1, "end_session");
    }
}

/// Fails if nodes of a dead console's session can be added to another session without force, before their session timeout.
#[test]
fn after_a_console_that_died_another_one_takes_its_nodes_by_force() {
    for site in Site::both() {
        let _server = site.node(2);
        site.must(1, "new_session one");
        let add = format!("add_group srv {}", site.nid(2));
        site.must(1, &add);
        site.kill_console(1);
        let dead = site.lst(1, "list_group");
        assert_eq!((dead.code, dead.out.as_str()), (255, ""), "{dead:?}");
        site.must(1, "new_session two");
        assert_eq!(site.lst(1, &add).code, 253);
        site.must(1, "new_session --force three");
        site.must(1, &add);
        site.must(1, "end_session");
    }
}

#[test]
fn a_node_that_dies_in_a_test_is_told_of_and_the_session_ends_all_the_same() {
    let site = Site::new();
    let client = site.node(2);
    let _server = site.node(3);
    site.must(1, "new_session one");
    site.must(1, &format!("add_group cli {}", site.nid(2)));
    site.must(1, &format!("add_group srv {}", site.nid(3)));
    site.must(1, "add_test --concurrency 4 --from cli --to srv brw write check=full size=64k");
    site.must(1, "run");
    drop(client);
    let stat = site.lst(1, "show_error cli");
    assert_eq!(stat.code, 254, "{stat:?}");
    assert!(stat.out.ends_with("Total 1 error nodes in cli\n"), "{stat:?}");
    assert_eq!(site.lst(1, "stop").code, 254);
    site.must(1, "end_session");
    // A new process is another node, without a session.
    let _client = site.node(2);
    site.must(1, "new_session two");
    // The console may be the same, which tries to connect again only after a while.
    while site.lst(1, &format!("add_group all {} {}", site.nid(2), site.nid(3))).code != 0 {}
    site.must(1, "end_session");
}

#[test]
fn bench_measures_in_one_line_and_leaves_nothing_behind() {
    for site in Site::both() {
        let _server = site.node(2);
        let said =
            site.must(1, &format!("bench {} brw read check=full size=64k -t 0.5 --format json", site.nid(2)));
        let measured: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(measured["errors"], 0, "{said}");
        assert!(measured["bytes_per_second"].as_f64().unwrap() > 0.0, "{said}");
        let said = site.must(1, &format!("bench {} ping -t 0.5 --live", site.nid(2)));
        assert!(said.contains("errors     0"), "{said}");
        assert_eq!(site.lst(1, "show_session").code, 255);
        site.must(1, "new_session free");
        site.must(1, &format!("add_group srv {}", site.nid(2)));
        site.must(1, "end_session");
    }
}

/// Fails if the pair between whose nodes messages are delayed or dropped is not the one that is named.
#[test]
fn a_survey_names_the_slow_link_and_the_pair_that_fails() {
    let site = Site::new();
    let _nodes = [site.node(2), site.node(3)];
    let [first, second, server] = [1, 2, 3].map(|host| site.nid(host));
    let rule = |effect| {
        let odds = FaultOdds::OneIn(NonZeroU32::MIN);
        let (source, dest, local) = (second.parse().unwrap(), server.parse().unwrap(), "*".parse().unwrap());
        let rule = FaultRule { source, dest, local, messages: 0, portals: 0, odds, effect };
        let directory = RuntimeDir::at(site.directory());
        let client = Client::at(directory, Some("node3".to_owned()));
        client.call(Request::AddFault(rule)).unwrap();
    };
    let survey = || {
        let line = format!(
            "survey --from {first} --from {second} --to {server} -c 1 --slow-below 25 --format json brw write size=64k"
        );
        let said = site.lst(1, &line);
        let survey: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(survey["pairs"].as_array().unwrap().len(), 2, "{said:?}");
        (said, survey)
    };
    rule(FaultEffect::Delay { latency_ms: 100 });
    let (said, slow) = survey();
    assert_eq!(said.code, 0, "{said:?}");
    let named: Vec<[&serde_json::Value; 3]> = slow["slow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slow| ["measure", "from", "to"].map(|key| &slow[key]))
        .collect();
    assert_eq!(named, [["bandwidth", &second, &server], ["round_trip", &second, &server]], "{said:?}");
    rule(FaultEffect::Drop { errors: 0, all: false });
    let (said, failed) = survey();
    assert_eq!(said.code, 254, "{said:?}");
    let failures = failed["pairs"].as_array().unwrap().iter().map(|pair| &pair["failure"]);
    let expected = [serde_json::Value::Null, "no RPC of the test was answered".into()];
    assert_eq!(failures.collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>(), "{said:?}");
    assert_eq!(site.lst(1, "show_session").code, 255);
    site.must(1, "new_session free");
    site.must(1, &format!("add_group all {first} {second} {server}"));
    site.must(1, "end_session");
}

/// Fails if the console's own node ignores LNET_SELFTEST variables, which every other test node reads.
#[test]
fn tunables_in_the_environment_hold_for_the_consoles_own_node() {
    let site = Site::new();
    let with_timeout = |value: &str| {
        site.command(1)
            .args(["new_session", "tuned"])
            .env("LNET_SELFTEST_SESSION_TIMEOUT", value)
            .output()
            .unwrap()
    };
    let refused = with_timeout("x");
    assert_eq!(refused.status.code(), Some(255));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("LNET_SELFTEST_SESSION_TIMEOUT=x: wanted is a number of seconds"), "{text}");
    assert!(with_timeout("7").status.success());
    site.must(1, &format!("add_group own {}", site.nid(1)));
    let pinged = site.must(1, "ping --session --format json");
    assert!(pinged.contains("\"timeout\":7,"), "{pinged}");
    site.must(1, "end_session");
}

/// Fails if the table of a batch does not fill the screen or change, if the terminal is not restored, or if the batch ends.
#[test]
fn a_running_batch_is_watched_in_a_terminal() {
    let site = Site::new();
    let _server = site.node(2);
    site.must(1, "new_session seen");
    site.must(1, &format!("add_group cli {}", site.nid(1)));
    site.must(1, &format!("add_group srv {}", site.nid(2)));
    site.must(1, "add_batch b");
    site.must(1, "add_test --batch b --loop -1 --concurrency 2 --from cli --to srv brw write size=64k");
    for keys in ["q", "\x1b", "\x03"] {
        let mut terminal = Terminal::new();
        let mut watching = site.command(1);
        let mut lst = terminal.start(watching.args(["run", "--live", "--interval", "0.1", "b"]));
        terminal.until("lst  batch b");
        terminal.until("1 clients run");
        terminal.until(&site.nid(2));
        // The rate since the previous look.
        terminal.until("MiB/s written");
        terminal.until("#");
        assert!(terminal.is_full_screen());
        terminal.press(keys);
        assert_eq!(lst.wait().unwrap().code(), Some(0), "{keys:?}");
        assert!(terminal.is_as_before(), "{keys:?}");
        let running = format!("12345-{} [Active]: ", site.nid(1));
        assert!(site.must(1, "query b --all").starts_with(&running));
        site.must(1, "stop b");
    }
    site.must(1, "end_session");
}
