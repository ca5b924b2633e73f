//! Tests of LNet selftest that run on a node that is client and server (selftest 6, 7, 8).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet as _;
mod support;

use lnet_api::{Errno, Region};
use lnet_selftest::rpc::Bulk;
use lnet_selftest::wire::*;
use std::sync::Arc;
use support::*;

#[test]
fn brw_of_any_kind_moves_its_bytes_without_an_error() {
    let scene = Scene::in_session();
    let mut id = 0;
    let (mut got, mut put) = (0, 0);
    for rw in [Rw::Read, Rw::Write] {
        for check in [Check::None, Check::Simple, Check::Full] {
            for (size, concurrency) in [(8, 1), (4096, 8), (4104, 2), (65536, 4), (1 << 20, 2)] {
                id += 1;
                let (client, list) = Scene::client(id, brw(rw, check, size), concurrency, 5, &[itself()]);
                assert_eq!(scene.add_server(id, client.parameters), Status::OK);
                assert_eq!(scene.add_client(client, &list), Status::OK);
                assert_eq!(scene.status(batch(id, RUN)), Status::OK);
                scene.wait_until_idle(id);
                let bytes = u64::from(size) * u64::from(concurrency) * 5;
                *(if rw == Rw::Read { &mut put } else { &mut got }) += bytes;
                let stats = scene.stats();
                let wrong = (stats.framework.brw_errors, stats.rpc.errors, stats.rpc.rpcs_dropped);
                assert_eq!(wrong, (0, 0, 0), "{rw:?} {check:?} {size} {concurrency}");
                assert_eq!((stats.rpc.bulk_get, stats.rpc.bulk_put), (got, put), "{rw:?} {check:?} {size}");
            }
        }
    }
}

#[test]
fn a_batch_runs_again_after_it_has_ended() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, TestParameters::Ping, 4, 10, &[itself(), itself()]);
    assert_eq!(scene.add_server(1, TestParameters::Ping), Status::OK);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    for _ in 0..3 {
        let before = scene.stats().rpc.rpcs_sent;
        assert_eq!(scene.status(batch(1, RUN)), Status::OK);
        scene.wait_until_idle(1);
        assert!(scene.stats().rpc.rpcs_sent - before >= 80);
    }
    assert_eq!(scene.stats().framework.ping_errors, 0);
}

#[test]
fn a_batch_that_runs_takes_no_tests_until_it_was_stopped() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, TestParameters::Ping, 2, -1, &[itself()]);
    assert_eq!(scene.add_server(1, TestParameters::Ping), Status::OK);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    for stop in [STOP, ABORT] {
        assert_eq!(scene.status(batch(1, RUN)), Status::OK);
        assert_eq!(scene.status(batch(1, RUN)), Status::OK, "again, without effect");
        assert_eq!(scene.stats().framework.active_batches, 1);
        assert_eq!((scene.active(1, 0), scene.active(1, 2)), (1, 2));
        assert_eq!(scene.add_client(client, &list), Status::BUSY);
        assert_eq!(scene.add_server(1, TestParameters::Ping), Status::BUSY);
        assert_eq!(scene.status(batch(1, stop)), Status::OK);
        scene.wait_until_idle(1);
    }
    assert_eq!(scene.add_server(1, TestParameters::Ping), Status::OK);
    assert_eq!(scene.stats().framework.ping_errors, 0, "what ends while it is stopped is no error");
}

/// Requests wait in the lazy portal until there is a server, however many.
#[test]
fn requests_before_the_server_are_answered_when_it_is_there() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, TestParameters::Ping, 1024, 2, &[itself()]);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    // The test goes into another batch, as this one runs.
    assert_eq!(scene.add_server(2, TestParameters::Ping), Status::OK);
    scene.wait_until_idle(1);
    let stats = scene.stats();
    assert_eq!((stats.framework.ping_errors, stats.rpc.rpcs_dropped, stats.rpc.rpcs_expired), (0, 0, 0));
}

#[test]
fn what_does_not_get_a_reply_is_aborted_by_force_and_the_session_ends() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, brw(Rw::Read, Check::Full, 4096), 16, -1, &[itself()]);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    assert_eq!(scene.status(batch(1, STOP)), Status::OK);
    assert_eq!(scene.active(1, 1), 16, "there is no server: they wait");
    assert_eq!(scene.status(batch(1, ABORT)), Status::OK);
    scene.wait_until_idle(1);
    assert_eq!(scene.stats().framework.brw_errors, 0);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    assert_eq!(scene.status(Request::RemoveSession(session(1))), Status::OK);
    assert_eq!(scene.status(make(Some(session(2)), false, "next")), Status::OK);
}

#[test]
fn a_loop_ends_at_its_first_error() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, TestParameters::Ping, 3, -1, &[itself()]);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    while scene.active(1, 0) > 0 {
        // Their timeout expires before that of the session, which requests prolong.
        scene.let_pass(30);
        std::thread::yield_now();
    }
    let stats = scene.stats();
    assert_eq!((stats.framework.ping_errors, stats.rpc.rpcs_expired), (3, 3));
}

/// The error replies of servers of tests.
#[test]
fn servers_refuse_what_they_cannot_do() {
    let scene = Scene::in_session();
    assert_eq!(scene.add_server(1, TestParameters::Ping), Status::OK);
    assert_eq!(scene.add_server(1, brw(Rw::Read, Check::None, 4096)), Status::OK);
    let length = BulkLength::new(4096).unwrap();
    let good = Request::Brw(BrwRequest { rw: Rw::Read, check: Check::None, length });
    for (what, features, at, value, wanted, of) in [
        ("rw 3", 1, 40, 3, Status::INVALID, 1),
        ("flags 0", 1, 48, 0, Status::INVALID, 1),
        ("a length of 12", 1, 44, 12, Status::INVALID, 1),
        ("a length of 0", 1, 44, 0, Status::INVALID, 1),
        ("a length beyond 1 MiB", 1, 44, (1 << 20) + 8, Status::INVALID, 1),
        ("a part of a page without the feature", 0, 44, 8, Status::INVALID, 0),
        ("unknown features", 6, 40, 1, Status::PROTOCOL, 1),
    ] {
        let mut bytes = good.write(Features(features), 0x99, 0x9a);
        bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(value));
        let reply = scene.send_raw(Service::Brw, &bytes, 0x99).reply(Service::Brw);
        assert_eq!((reply.reply, reply.features), (Reply::Brw(wanted), Features(of)), "{what}");
    }
    let ping = Request::Ping(PingRequest { sequence: 5, seconds: 0, nanoseconds: 0 });
    let reply = scene.send_raw(Service::Ping, &ping.write(Features(4), 0x99, 0), 0x99).reply(Service::Ping);
    let refused = Reply::Ping(PingReply { status: Status::PROTOCOL, sequence: Some(5) });
    assert_eq!((reply.reply, reply.features), (refused, Features::KNOWN));
}

#[test]
fn corrupt_data_is_found_by_the_server_and_told() {
    let scene = Scene::in_session();
    assert_eq!(scene.add_server(1, brw(Rw::Write, Check::Full, 8192)), Status::OK);
    for (check, at, wanted) in [
        (Check::None, 0, Status::OK),
        (Check::Simple, 0, Status::BAD_MESSAGE),
        (Check::Simple, 8, Status::OK),
        (Check::Simple, 8191, Status::BAD_MESSAGE),
        (Check::Full, 5000, Status::BAD_MESSAGE),
    ] {
        let mut data = BRW_PATTERN.to_le_bytes().repeat(1024);
        data[at] ^= 0x10;
        let region = Arc::new(Region::copy_of(&data));
        let length = BulkLength::new(8192).unwrap();
        let request = Request::Brw(BrwRequest { rw: Rw::Write, check, length });
        let outcome = scene.try_ask(request, Some(Bulk::Source(region, 0..8192)));
        assert_eq!(outcome.unwrap().reply, Reply::Brw(wanted), "{check:?} {at}");
    }
}

/// Fails if a transfer whose peer never answers delays other transfers, or outlives its session.
#[test]
fn a_transfer_that_is_never_answered_holds_nobody_up() {
    let scene = Scene::start();
    let data = Arc::new(Region::copy_of(&BRW_PATTERN.to_le_bytes().repeat(512)));
    let length = BulkLength::new(4096).unwrap();
    for (number, check) in [(1, Check::Full), (2, Check::None)] {
        assert_eq!(scene.status(make(Some(session(1)), false, "x")), Status::OK);
        assert_eq!(scene.add_server(number, brw(Rw::Write, check, 4096)), Status::OK);
        let request = Request::Brw(BrwRequest { rw: Rw::Write, check, length });
        let ask = || scene.try_ask(request, Some(Bulk::Source(Arc::clone(&data), 0..4096))).unwrap().reply;
        assert_eq!(ask(), Reply::Brw(Status::OK), "{check:?}");
        let waiting = scene.send_raw(Service::Brw, &request.write(Features::KNOWN, 0x99, 0x9a), 0x99);
        assert_eq!([ask(), ask()], [Reply::Brw(Status::OK); 2], "{check:?}");
        assert!(waiting.is_quiet(), "{check:?}");
        // The end of the session ends the test.
        assert_eq!(scene.status(Request::RemoveSession(session(1))), Status::OK);
        while scene.node.status().counters.rpcs_dropped < number as u32 {
            std::thread::yield_now();
        }
        assert!(waiting.is_quiet(), "{check:?}");
        assert_eq!(ask(), Reply::Brw(Status::OK), "{check:?}");
    }
}

/// Fails if the transfer of the request that was given up is taken for that of the next one.
#[test]
fn a_loop_goes_on_with_another_descriptor_after_an_rpc_without_an_answer() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, brw(Rw::Write, Check::Full, 4096), 1, 2, &[itself()]);
    assert_eq!(scene.add_client(AddTest { stop_on_error: false, ..client }, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    // There is no server yet: the request waits in the lazy portal.
    while scene.stats().rpc.rpcs_expired == 0 {
        scene.let_pass(30);
        std::thread::yield_now();
    }
    assert_eq!(scene.add_server(2, client.parameters), Status::OK);
    scene.wait_until_idle(1);
    let stats = scene.stats();
    assert_eq!((stats.framework.brw_errors, stats.rpc.bulk_get), (1, 4096));
}

#[test]
fn a_client_of_a_node_that_is_not_there_counts_errors() {
    let scene = Scene::in_session();
    let nowhere = lnet_api::ProcessId::lustre("10.1.2.3@tcp9".parse().unwrap());
    let (client, list) = Scene::client(1, TestParameters::Ping, 2, -1, &[nowhere]);
    assert_eq!(scene.add_client(client, &list), Status::OK);
    assert_eq!(scene.status(batch(1, RUN)), Status::OK);
    scene.wait_until_idle(1);
    let stats = scene.stats();
    assert_eq!((stats.framework.ping_errors, stats.rpc.errors), (2, 2));
    let ping = Request::Ping(PingRequest { sequence: 0, seconds: 0, nanoseconds: 0 });
    assert_eq!(scene.send(nowhere, ping, None).recv().unwrap(), Err(Errno::HostUnreachable));
}

/// Sends fields that our types cannot express (selftest 5.6). Fails if the node accepts them, or fetches the list of
/// destinations.
#[test]
fn a_test_that_makes_no_sense_is_refused_before_its_destinations_are_fetched() {
    let scene = Scene::in_session();
    let (client, _) = Scene::client(1, TestParameters::Ping, 1, 1, &[itself()]);
    let server = AddTest { instance: Instance::Server { load: ServerLoad::new(1) }, ..client };
    for (what, test, at, value) in [
        ("loop 0", client, 68, 0),
        ("concurrency 0", client, 72, 0),
        ("concurrency 1025", client, 72, 1025),
        ("no destination", client, 78, 0),
        ("too many destinations", client, 78, 256 * 341 + 1),
        ("an unknown service", client, 64, 13),
        ("a service of the framework", client, 64, 1),
        ("loop 0 of a server", server, 68, 0),
        ("concurrency 1025 of a server", server, 72, 1025),
        ("an unknown service of a server", server, 64, 13),
    ] {
        let mut bytes = Request::AddTest(test).write(Features::KNOWN, 0x99, 0x9a);
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let list = Waiting::attach(&scene.lnet, 0x9a, false, 12);
        let reply = scene.send_raw(Service::AddTest, &bytes, 0x99).reply(Service::AddTest).reply;
        assert_eq!((reply.status(), reply.session()), (Status::INVALID, Some(session(1))), "{what}");
        assert!(list.is_quiet(), "{what}");
    }
    let mut bytes = Request::AddTest(client).write(Features::KNOWN, 0x99, 0x9a);
    bytes[40..56].fill(0xff);
    let reply = scene.send_raw(Service::AddTest, &bytes, 0x99).reply(Service::AddTest).reply;
    assert_eq!(reply.status(), Status::INVALID, "no session");
    assert_eq!(scene.status(batch(1, RUN)), Status::NOT_FOUND, "none of it has made the batch");
}

#[test]
fn parameters_of_brw_that_a_client_cannot_use_are_refused_when_its_destinations_are_there() {
    let scene = Scene::in_session();
    let (client, _) = Scene::client(1, brw(Rw::Read, Check::None, 4096), 1, 1, &[itself()]);
    let good = Request::AddTest(client).write(Features::KNOWN, 0x99, 0x9a);
    for (what, at, value) in [
        ("direction 0", 82, 0u16),
        ("direction 3", 82, 3),
        ("flags 0", 84, 0),
        ("flags 4", 84, 4),
        ("a length of 0", 86, 0),
        ("a length of 4100", 86, 4100),
        ("an offset of 4", 90, 4),
    ] {
        let mut bytes = good;
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        if at == 86 {
            bytes[88..90].fill(0);
        }
        let list = Waiting::attach(&scene.lnet, 0x9a, false, 12);
        let reply = scene.send_raw(Service::AddTest, &bytes, 0x99).reply(Service::AddTest).reply;
        assert_eq!(list.event().status, Ok(()), "{what}: the list is fetched");
        assert_eq!((reply.status(), reply.session()), (Status::INVALID, Some(session(1))), "{what}");
    }
    assert_eq!(scene.status(batch(1, RUN)), Status::NOT_FOUND);
}

#[test]
fn a_test_that_asks_for_too_much_is_refused() {
    let scene = Scene::in_session();
    let (client, list) = Scene::client(1, brw(Rw::Read, Check::None, 1 << 20), 1024, 1, &[itself(); 5]);
    assert_eq!(scene.add_client(client, &list), Status::NO_MEMORY);
    let (client, list) = Scene::client(1, TestParameters::Ping, 1024, 1, &[itself(); 65]);
    assert_eq!(scene.add_client(client, &list), Status::NO_MEMORY);
}
