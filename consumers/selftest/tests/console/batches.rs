//! Tests of batches, and of the tests in them.

use super::console_rig::{ConsoleRig, NodeBehaviour};
use super::support::*;
use lnet_selftest::console::call::{AddTest, BatchInfo, ReplyContent, RpcResult};
use lnet_selftest::console::{Command, Refusal, Response, RpcBody};

fn with_groups() -> ConsoleRig {
    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    add_group(&mut console_rig, "cli", &[ONE]);
    add_group(&mut console_rig, "srv", &[TWO, THREE]);
    console_rig.sent.clear();
    console_rig
}

fn add(console_rig: &mut ConsoleRig, test: AddTest) -> Result<Response, Refusal> {
    console_rig.call(KEY, Command::AddTest(test))
}

fn run(console_rig: &mut ConsoleRig) -> Result<Response, Refusal> {
    console_rig.call(KEY, Command::RunBatch { batch: name("batch"), timeout: 0 })
}

fn stop(console_rig: &mut ConsoleRig) -> Result<Response, Refusal> {
    console_rig.call(KEY, Command::StopBatch { batch: name("batch"), force: false })
}

fn query(console_rig: &mut ConsoleRig, test: u32) -> Vec<u32> {
    let command = Command::QueryBatch { batch: name("batch"), test, timeout: 5 };
    let outcome = outcome(console_rig.call(KEY, command));
    let running = |reply: &RpcResult| match reply {
        RpcResult::Responded { said: ReplyContent::Running(active), .. } => *active,
        other => panic!("{other:?}"),
    };
    outcome.nodes.iter().map(|node| running(&node.reply)).collect()
}

fn shown(console_rig: &mut ConsoleRig) -> BatchInfo {
    match console_rig.call(KEY, Command::ShowBatch { batch: name("batch") }) {
        Ok(Response::Batch(info)) => info,
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_get_a_test_before_its_clients_which_get_the_servers_of_their_own() {
    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    add_group(&mut console_rig, "cli", &[ONE, TWO]);
    add_group(&mut console_rig, "srv", &[TWO, THREE]);
    console_rig.sent.clear();
    add(&mut console_rig, AddTest { concurrency: 4, ..test("cli", "srv") }).unwrap();
    let sent: Vec<_> = console_rig
        .sent
        .iter()
        .map(|request| {
            let to = request.to.nid.to_string();
            match &request.body {
                RpcBody::AddServer { load, concurrency: 4, .. } => (to, format!("server of {load}")),
                RpcBody::AddClient { destinations, repeat: -1, concurrency: 4, .. } => {
                    let nids: Vec<_> = destinations.iter().map(ToString::to_string).collect();
                    (to, nids.join(" "))
                }
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let row = |to: &str, text: &str| (to.to_owned(), text.to_owned());
    let expected = [
        row(TWO, "server of 4"),
        row(THREE, "server of 4"),
        row(ONE, "12345-10.99.0.12@tcp"),
        row(TWO, "12345-10.99.0.13@tcp"),
    ];
    assert_eq!(sent, expected);
}

/// Fails if an invalid test is sent to a node: servers that have accepted their part already would keep it.
#[test]
fn what_is_wrong_with_a_test_is_found_before_anything_is_sent() {
    let table: [(&str, AddTest); 9] = [
        ("no batch", AddTest { batch: name("x"), ..test("cli", "srv") }),
        ("no group", test("x", "srv")),
        ("no group", test("cli", "x")),
        ("no concurrency", AddTest { concurrency: 0, ..test("cli", "srv") }),
        ("concurrency", AddTest { concurrency: 1025, ..test("cli", "srv") }),
        ("no loop", AddTest { repeat: 0, ..test("cli", "srv") }),
        ("span", AddTest { distribution: "1:3".parse().unwrap(), ..test("cli", "srv") }),
        ("no active node", test("cli", "busy")),
        ("a node that is not active", test("cli", "mixed")),
    ];
    let mut console_rig = with_groups();
    console_rig.nodes.insert("10.99.0.14@tcp".parse().unwrap(), Default::default());
    console_rig.node("10.99.0.14@tcp").occupy("other");
    add_group(&mut console_rig, "busy", &["10.99.0.14@tcp"]);
    add_group(&mut console_rig, "mixed", &[TWO, "10.99.0.14@tcp"]);
    console_rig.sent.clear();
    for (what, test) in table {
        let refused = add(&mut console_rig, test);
        assert!(refused.is_err(), "{what}: {refused:?}");
        assert!(console_rig.sent.is_empty(), "{what}");
    }
}

#[test]
fn more_destinations_than_fit_into_a_page_are_refused() {
    let nids: Vec<String> = (0..342).map(|i| format!("10.1.{}.{}@tcp", i / 256, i % 256)).collect();
    let nids: Vec<&str> = nids.iter().map(String::as_str).collect();
    let mut console_rig = with_session(&nids);
    add_group(&mut console_rig, "all", &nids);
    let span = |span: &str| AddTest { distribution: span.parse().unwrap(), ..test("all", "all") };
    assert!(matches!(add(&mut console_rig, span("1:342")), Err(Refusal::Invalid(_))));
    assert!(outcome(add(&mut console_rig, span("1:341"))).is_well());
}

#[test]
fn a_server_that_refuses_ends_the_adding_and_there_is_no_test() {
    let mut console_rig = with_groups();
    console_rig.node(THREE).is = NodeBehaviour::Refusing(22);
    assert_eq!(results(&outcome(add(&mut console_rig, test("cli", "srv")))), [0, 22]);
    assert_eq!(console_rig.sent.len(), 2);
    assert!(shown(&mut console_rig).tests.is_empty());
}

#[test]
fn a_client_that_refuses_is_told_of_and_the_test_stays() {
    let mut console_rig = with_groups();
    console_rig.node(ONE).is = NodeBehaviour::Refusing(22);
    assert_eq!(results(&outcome(add(&mut console_rig, test("cli", "srv")))), [22]);
    assert_eq!(shown(&mut console_rig).tests.len(), 1);
}

#[test]
fn groups_of_a_test_stay_as_they_are() {
    let mut console_rig = with_groups();
    add(&mut console_rig, test("cli", "srv")).unwrap();
    let nids = vec![TWO.parse().unwrap()];
    for command in [
        Command::AddNodes { group: name("cli"), nids: nids.clone() },
        Command::RemoveNodes { group: name("srv"), nids },
        Command::DeleteGroup { group: name("srv") },
    ] {
        assert!(matches!(console_rig.call(KEY, command), Err(Refusal::InUse(_))));
    }
}

/// Fails if a group stays in use by what is forgotten, or becomes free of what is not.
#[test]
fn groups_are_free_again_once_the_batches_of_their_tests_are_forgotten() {
    let mut console_rig = with_groups();
    let forget = |console_rig: &mut ConsoleRig, batch: &str| {
        console_rig.call(KEY, Command::DeleteBatch { batch: name(batch) })
    };
    let clean = |console_rig: &mut ConsoleRig| {
        console_rig.call(KEY, Command::CleanGroup { group: name("cli"), states: Vec::new() })
    };
    for batch in ["one", "other"] {
        console_rig.call(KEY, Command::AddBatch { batch: name(batch) }).unwrap();
        add(&mut console_rig, AddTest { batch: name(batch), ..test("cli", "srv") }).unwrap();
    }
    assert_eq!(forget(&mut console_rig, "one"), Ok(Response::Done));
    assert!(matches!(clean(&mut console_rig), Err(Refusal::InUse(_))));
    assert_eq!(forget(&mut console_rig, "other"), Ok(Response::Done));
    assert_eq!(clean(&mut console_rig), Ok(Response::Done));
    assert!(matches!(forget(&mut console_rig, "other"), Err(Refusal::NotFound(..))));
    assert!(matches!(forget(&mut console_rig, "batch"), Err(Refusal::Invalid(_))));
}

#[test]
fn a_batch_runs_until_it_is_stopped_and_takes_no_test_meanwhile() {
    let mut console_rig = with_groups();
    assert!(matches!(run(&mut console_rig), Err(Refusal::Invalid(_))));
    add(&mut console_rig, test("cli", "srv")).unwrap();
    assert!(!shown(&mut console_rig).running);
    assert!(outcome(run(&mut console_rig)).is_well());
    assert!(shown(&mut console_rig).running);
    assert_eq!(query(&mut console_rig, 0), [1]);
    assert!(matches!(add(&mut console_rig, test("cli", "srv")), Err(Refusal::Invalid(_))));
    assert!(outcome(stop(&mut console_rig)).is_well());
    assert!(!shown(&mut console_rig).running);
    assert_eq!(query(&mut console_rig, 0), [0]);
    add(&mut console_rig, test("cli", "srv")).unwrap();
}

/// Fails if the console counts EPERM as a failed stop; the kernel's consoles do not, though no known node sends it
/// (lnet-selftest 11).
#[test]
fn a_client_that_is_not_permitted_to_stop_counts_as_one_that_did() {
    let mut console_rig = with_groups();
    add(&mut console_rig, test("cli", "srv")).unwrap();
    for (status, is_well) in [(libc::EPERM, true), (libc::EINVAL, false), (libc::ESRCH, false)] {
        assert!(outcome(run(&mut console_rig)).is_well());
        console_rig.node(ONE).is = NodeBehaviour::Refusing(status.unsigned_abs());
        let stopped = outcome(stop(&mut console_rig));
        assert_eq!(results(&stopped), [status]);
        assert_eq!((stopped.is_well(), shown(&mut console_rig).running), (is_well, !is_well), "{status}");
        console_rig.node(ONE).is = NodeBehaviour::Fine;
        stop(&mut console_rig).unwrap();
    }
}

#[test]
fn a_batch_that_came_to_its_end_is_noticed_when_all_of_it_is_asked_for() {
    let mut console_rig = with_groups();
    add(&mut console_rig, AddTest { repeat: 5, ..test("cli", "srv") }).unwrap();
    run(&mut console_rig).unwrap();
    assert_eq!(query(&mut console_rig, 1), [0]);
    assert!(shown(&mut console_rig).running);
    assert_eq!(query(&mut console_rig, 0), [0]);
    assert!(!shown(&mut console_rig).running);
}

#[test]
fn a_batch_does_not_start_where_a_client_is_not_active() {
    let mut console_rig = with_groups();
    add(&mut console_rig, test("cli", "srv")).unwrap();
    console_rig.node(ONE).session = None;
    console_rig.call(KEY, ping_session(5)).unwrap();
    assert!(matches!(run(&mut console_rig), Err(Refusal::NotActive(_))));
}

/// Fails if a node is asked for a test by another number than its own. ONE is a server of the first test and a client of both,
/// so they are its second and third.
#[test]
fn a_test_is_asked_for_by_the_number_that_each_node_has_for_it() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "one", &[ONE]);
    add_group(&mut console_rig, "both", &[ONE, TWO]);
    add(&mut console_rig, test("one", "one")).unwrap();
    add(&mut console_rig, test("both", "one")).unwrap();
    run(&mut console_rig).unwrap();
    console_rig.sent.clear();
    assert_eq!(query(&mut console_rig, 2), [1, 1]);
    let asked: Vec<_> = console_rig.sent.iter().map(|request| &request.body).collect();
    assert!(
        matches!(asked[..], [RpcBody::QueryBatch { test: 4, .. }, RpcBody::QueryBatch { test: 1, .. }]),
        "{asked:?}"
    );
    let unknown = Command::QueryBatch { batch: name("batch"), test: 3, timeout: 5 };
    assert!(matches!(console_rig.call(KEY, unknown), Err(Refusal::NotFound(..))));
}

#[test]
fn a_client_that_dies_leaves_the_batch_running_until_all_have_answered() {
    let mut console_rig = with_groups();
    add(&mut console_rig, test("cli", "srv")).unwrap();
    run(&mut console_rig).unwrap();
    console_rig.node(ONE).is = NodeBehaviour::Unresponsive;
    assert_eq!(results(&outcome(stop(&mut console_rig))), [-libc::ETIMEDOUT]);
    assert!(shown(&mut console_rig).running);
}
