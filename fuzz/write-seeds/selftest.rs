//! The seeds of the fuzz target for messages of LNet selftest: one message of each kind.

use lnet_selftest::wire::*;

/// Gives all seeds to `add`, each with its name: the index of the service among all, and a message.
pub fn seeds(mut add: impl FnMut(String, Vec<u8>)) {
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
    requests.chain(replies).for_each(|(name, bytes)| add(name, bytes));
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
