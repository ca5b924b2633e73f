//! The seeds of the fuzz target for messages are one message of each kind.
//!
//! `LNET_WRITE_FUZZ_SEEDS=1 cargo test -p lnet-selftest --test fuzz_seeds` writes them.
#![allow(clippy::unwrap_used)]

// The linker arguments for LNet's symbols apply to all tests.
use lnet as _;
use lnet_selftest::wire::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_fuzz_seeds_are_messages_of_each_kind() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/selftest_message");
    let seeds = seeds();
    if std::env::var_os("LNET_WRITE_FUZZ_SEEDS").is_some() {
        // The directory does not exist the first time.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        for (name, bytes) in &seeds {
            fs::write(directory.join(name), bytes).unwrap();
        }
    }
    for (name, bytes) in &seeds {
        let there = fs::read(directory.join(name)).unwrap_or_default();
        assert!(there == *bytes, "fuzz/seeds/selftest_message/{name} is not what is written now");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), seeds.len(), "more seeds than these");
}

/// The seeds by name: the index of the service among all, and a message.
fn seeds() -> BTreeMap<String, Vec<u8>> {
    let services = [Service::FRAMEWORK.as_slice(), &Service::TESTS].concat();
    let seed = |kind: &str, service: Service, message: Message| {
        let number = services.iter().position(|it| *it == service).unwrap() as u8;
        (format!("{kind}-{service:?}").to_lowercase(), [&[number], message.as_slice()].concat())
    };
    let requests =
        requests().into_iter().map(|it| seed("request", it.service(), it.write(Features::KNOWN, 1, 2)));
    let replies = services.iter().map(|service| {
        seed("reply", *service, Reply::write_status_alone(*service, Features::KNOWN, Status::BUSY))
    });
    requests.chain(replies).collect()
}

fn requests() -> Vec<Request> {
    let session = SessionId::new("10.0.0.1@tcp".parse().unwrap(), 7).unwrap();
    let name = "name".parse().unwrap();
    let list = Destinations::new(&[("10.0.0.2@tcp".parse().unwrap(), lnet_wire::Pid(LST_PID))]).unwrap();
    let test = AddTest {
        session,
        batch: BatchId(2),
        parameters: TestParameters::Brw(BrwParameters::new(Rw::Read, Check::Full, 4096, 0).unwrap()),
        concurrency: Concurrency::new(4).unwrap(),
        stop_on_error: true,
        instance: Instance::Client { times: Loop::Endless, destinations: list.count() },
    };
    let command = BatchCommand::Query { test: 1 };
    let length = BulkLength::new(8192).unwrap();
    vec![
        Request::MakeSession(MakeSession { session: Some(session), force: true, name }),
        Request::RemoveSession(session),
        Request::Debug(session),
        Request::Batch(BatchRequest { session, batch: BatchId(2), command }),
        Request::AddTest(test),
        Request::QueryStat(session),
        Request::Join(JoinRequest { session: None, group: name }),
        Request::Brw(BrwRequest { rw: Rw::Write, check: Check::Simple, length }),
        Request::Ping(PingRequest { sequence: 3, seconds: 4, nanoseconds: 5 }),
    ]
}
