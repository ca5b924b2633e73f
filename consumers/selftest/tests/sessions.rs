//! Sessions and batches of a node, as consoles see them (selftest 5).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet as _;
mod support;

use lnet_selftest::framework::NodeConfig;
use lnet_selftest::wire::*;
use support::*;

fn made(reply: Reply) -> (Status, Option<SessionId>, u32, String) {
    match reply {
        Reply::MakeSession(reply) => {
            (reply.status, reply.session, reply.timeout, reply.name.text().into_owned())
        }
        other => panic!("{other:?}"),
    }
}

fn removed(reply: Reply) -> (Status, Option<SessionId>) {
    (reply.status(), reply.session())
}

#[test]
fn a_session_is_made_refused_replaced_and_removed() {
    let scene = Scene::start();
    let (one, two) = (Some(session(1)), Some(session(2)));
    let text = str::to_owned;
    assert_eq!(made(scene.ask(make(None, false, "x"))), (Status::INVALID, None, 0, text("")));
    assert_eq!(made(scene.ask(make(one, false, "first"))), (Status::OK, one, 100, text("")));
    assert_eq!(made(scene.ask(make(two, false, "second"))), (Status::BUSY, one, 100, text("first")));
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(2)))), (Status::BUSY, one));
    assert_eq!(made(scene.ask(make(two, true, "second"))), (Status::OK, two, 100, text("")));
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(1)))), (Status::BUSY, two));
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(2)))), (Status::OK, None));
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(2)))), (Status::NO_SESSION, None));
}

#[test]
fn a_session_made_twice_is_removed_twice() {
    let scene = Scene::in_session();
    assert_eq!(scene.status(make(Some(session(1)), false, "sess")), Status::OK);
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(1)))), (Status::OK, Some(session(1))));
    assert_eq!(removed(scene.ask(Request::RemoveSession(session(1)))), (Status::OK, None));
}

#[test]
fn whoever_asks_for_the_session_is_told() {
    let scene = Scene::start();
    let ask = |id| match scene.ask(Request::Debug(session(id))) {
        Reply::Debug(reply) => (reply.status, reply.session, reply.timeout, reply.name.text().into_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(ask(1), (Status::NO_SESSION, None, 0, String::new()));
    scene.ask(make(Some(session(1)), false, "sess"));
    for asks in [1, 2] {
        assert_eq!(ask(asks), (Status::OK, Some(session(1)), 100, "sess".to_owned()), "{asks}");
    }
}

/// Fails if one of the framework's error replies is not given for its cause.
#[test]
fn the_table_of_error_replies() {
    let mut scene = Scene::in_session();
    let other = |request: fn(SessionId) -> Request| request(session(2));
    let (client, list) = Scene::client(7, TestParameters::Ping, 1, 1, &[itself()]);
    assert_eq!(scene.add_client(AddTest { session: session(2), ..client }, &list), Status::NOT_FOUND, "TEST");
    assert_eq!(scene.status(other(Request::QueryStat)), Status::NO_SESSION, "STAT");
    let foreign = BatchRequest { session: session(2), batch: BatchId(7), command: RUN };
    assert_eq!(scene.status(Request::Batch(foreign)), Status::NO_SESSION, "BATCH");
    assert_eq!(scene.status(batch(7, RUN)), Status::NOT_FOUND, "an unknown batch");
    assert_eq!(scene.add_client(client, &list), Status::OK);
    for (test, wanted) in [(-1, Status::INVALID), (0, Status::OK), (1, Status::OK), (2, Status::NOT_FOUND)] {
        assert_eq!(scene.status(batch(7, query(test))), wanted, "test {test}");
    }
    assert_eq!(scene.status(batch(7, STOP)), Status::OK, "an idle batch is stopped");
    for (service, request) in [
        (Service::RemoveSession, Request::RemoveSession(session(1))),
        (Service::QueryStat, Request::QueryStat(session(1))),
    ] {
        let mut bytes = request.write(Features::KNOWN, 0x99, 0);
        bytes[32..48].fill(0xff);
        let reply = scene.send_raw(service, &bytes, 0x99).reply(service).reply;
        assert_eq!(
            (reply.status(), reply.session()),
            (Status::INVALID, Some(session(1))),
            "{service:?} of none"
        );
    }
    let join = JoinRequest { session: None, group: "cli".parse().unwrap() };
    assert_eq!(scene.status(Request::Join(join)), Status::NO_SESSION, "JOIN without a console");

    for features in [Features::NONE, Features(3)] {
        scene.features = features;
        for request in [Request::QueryStat(session(1)), batch(7, RUN), Request::RemoveSession(session(1))] {
            let reply = scene.try_ask(request, None).unwrap();
            let got = (reply.reply.status(), reply.reply.session(), reply.features);
            assert_eq!(
                got,
                (Status::PROTOCOL, Some(session(1)), Features::KNOWN),
                "{request:?} {features:?}"
            );
        }
    }
    scene.features = Features(2);
    assert_eq!(scene.status(Request::Debug(session(1))), Status::PROTOCOL, "DEBUG with unknown features");
    assert_eq!(
        scene.status(make(Some(session(3)), true, "x")),
        Status::PROTOCOL,
        "MKSN with unknown features"
    );
    scene.features = Features::KNOWN;
    assert_eq!(scene.ask(Request::Debug(session(1))).session(), Some(session(1)), "it goes on");
}

#[test]
fn a_session_without_features_is_one_of_old_nodes() {
    let mut scene = Scene::start();
    scene.features = Features::NONE;
    let reply = scene.try_ask(make(Some(session(1)), false, "old"), None).unwrap();
    assert_eq!((reply.reply.status(), reply.features), (Status::OK, Features::NONE));
    let (client, list) = Scene::client(1, brw(Rw::Write, Check::Full, 8192), 2, 3, &[itself()]);
    assert_eq!(scene.add_server(1, client.parameters), Status::OK);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    scene.wait_until_idle(1);
    let stats = scene.stats();
    assert_eq!((stats.framework.brw_errors, stats.rpc.bulk_get), (0, 6 * 8192));
}

/// A row is a message of another version, or one that no service accepts.
#[test]
fn messages_of_another_version_are_refused_and_what_is_none_gets_no_reply() {
    let scene = Scene::start();
    let good = make(Some(session(1)), false, "x").write(Features::KNOWN, 0x77, 0);
    let mut version = good;
    version[4] = 9;
    let reply = scene.send_raw(Service::MakeSession, &version, 0x77).reply(Service::MakeSession);
    assert_eq!((reply.reply.status(), reply.features), (Status::PROTOCOL, Features::KNOWN));
    let dropped = scene.node.status().counters.rpcs_dropped;
    let mut bad = Vec::new();
    for (at, value) in [(0, 0), (8, 2)] {
        let mut bytes = good.to_vec();
        bytes[at] = value;
        bad.push(scene.send_raw(Service::MakeSession, &bytes, 0x78));
    }
    bad.push(scene.send_raw(Service::MakeSession, &good[..100], 0x78));
    bad.push(scene.send_raw(Service::MakeSession, &[], 0x78));
    let mut opcode = batch(1, RUN).write(Features::KNOWN, 0x78, 0);
    opcode[56] = 9;
    // The framework handles one request at a time: after the last reply all of them were handled.
    assert_eq!(scene.status(make(Some(session(1)), false, "sess")), Status::OK);
    scene.add_server(1, TestParameters::Ping);
    bad.push(scene.send_raw(Service::Batch, &opcode, 0x78));
    scene.ask(Request::Debug(session(1)));
    assert!(bad.iter().all(Waiting::is_quiet));
    assert_eq!(scene.node.status().counters.rpcs_dropped - dropped, 5);
}

#[test]
fn requests_prolong_a_session_and_it_ends_without_them() {
    let scene = Scene::in_session();
    for _ in 0..3 {
        scene.let_pass(99);
        // The request is refused from any sender, whatever it asks for.
        assert_eq!(scene.status(Request::RemoveSession(session(2))), Status::BUSY);
    }
    let (client, list) = Scene::client(1, TestParameters::Ping, 2, -1, &[itself()]);
    assert_eq!(scene.add_server(1, TestParameters::Ping), Status::OK);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    scene.let_pass(101);
    while scene.node.status().session.is_some() {
        std::thread::yield_now();
    }
    assert_eq!(scene.status(batch(1, query(0))), Status::NO_SESSION);
}

#[test]
fn a_session_may_be_for_ever() {
    let scene = Scene::with(&NodeConfig { session_timeout: None, ..NodeConfig::default() });
    assert_eq!(made(scene.ask(make(Some(session(1)), false, "x"))).2, 0);
    scene.let_pass(1 << 30);
    scene.ask(Request::Debug(session(1)));
    assert!(scene.node.status().session.is_some());
}

#[test]
fn a_node_is_started_and_stopped_many_times() {
    for _ in 0..5 {
        let scene = Scene::in_session();
        scene.add_server(1, TestParameters::Ping);
        let (client, list) = Scene::client(1, TestParameters::Ping, 3, -1, &[itself()]);
        assert_eq!(scene.add_client(client, &list), Status::OK);
        assert_eq!(scene.status(batch(1, RUN)), Status::OK);
        assert_eq!(scene.active(1, 0), 1);
        assert_eq!((scene.active(1, 1), scene.active(1, 2)), (0, 3), "servers are counted among the tests");
    }
}

#[test]
fn a_request_that_nobody_answers_ends_after_its_time() {
    let config = NodeConfig::default();
    let scene = Scene::with(&config);
    // There is no server instance, so the ping waits in the lazy portal.
    let ping = Request::Ping(PingRequest { sequence: 0, seconds: 0, nanoseconds: 0 });
    let outcome = scene.send(itself(), ping, None);
    scene.let_pass(config.rpc.timeout.unwrap().as_secs() + 1);
    assert_eq!(outcome.recv().unwrap(), TIMED_OUT);
    assert_eq!(scene.node.status().counters.rpcs_expired, 1);
}
