#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use crate::clock::Time;
use crate::lnet::{Nid, ProcessId};
use crate::wakeup::ReadyQueue;

static XIDS: XidSource = XidSource::new(Xid(64));

fn waker() -> Waker {
    Arc::<ReadyQueue>::default().waker(0)
}

/// A session with a ping interval of 25 s, and its time.
fn session() -> (Session, Time) {
    let config = ImportConfig::ost("target".parse().unwrap(), "client".parse().unwrap(), "server");
    let now = Time::START;
    (Session::new(config, Timeouts::default(), &XIDS, ExportCookie(1), waker(), now), now)
}

fn connect(session: &Session, handle: u64, slots: u16, now: Time) {
    let (Some(SessionAction::Connect(attempt)), _) = session.poll(now) else { panic!("no attempt") };
    let peer = ProcessId::lustre(Nid::LOOPBACK);
    session.set_connection(attempt.server, Arc::new(Connection { peer, local_nid: Nid::LOOPBACK }));
    let accepted = ConnectAccepted { handle: ExportCookie(handle), reconnect: false };
    let data = ConnectData { maxmodrpcs: slots, ..ConnectData::default() };
    session.on_connect_done(attempt.conn_cnt, Ok((accepted, data)), now);
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn nothing_is_sent_before_a_connection_is_wanted() {
    let (session, now) = session();
    assert_eq!(session.poll(now), (None, None));
    assert_eq!(session.send_permission(&waker()), SendPermission::Wait);
    session.request_connect();
    connect(&session, 7, 2, now);
    assert_eq!((session.state(), session.handle()), (ImportState::Full, (ExportCookie(7), 1)));
    assert!(matches!(session.send_permission(&waker()), SendPermission::Send(_)));
}

#[test]
fn an_idle_import_is_pinged_and_a_reply_postpones_the_ping() {
    let (session, now) = session();
    session.request_connect();
    connect(&session, 7, 2, now);
    assert_eq!(session.poll(now), (None, Some(now + seconds(25))));
    session.on_reply(&ReplyTimes { sent: now, service_time: 0, estimate: 0 }, None, now + seconds(10));
    assert_eq!(session.poll(now + seconds(25)), (None, Some(now + seconds(35))));
    let later = now + seconds(35);
    assert_eq!(session.poll(later), (Some(SessionAction::Ping), Some(later + seconds(25))));
    assert_eq!(session.poll(later), (None, Some(later + seconds(25))));
}

#[test]
fn a_request_without_a_reply_ends_its_connection_but_not_a_later_one() {
    let (session, now) = session();
    session.request_connect();
    connect(&session, 7, 2, now);
    assert!(!session.is_superseded(1));
    session.on_no_reply(1);
    assert_eq!(session.state(), ImportState::Disconnected);
    connect(&session, 8, 2, now);
    assert!(session.is_superseded(1) && !session.is_superseded(2));
    session.on_no_reply(1);
    assert_eq!((session.state(), session.handle()), (ImportState::Full, (ExportCookie(8), 2)));
}

/// Fails if a request could go over a connection that it has taken before another one replaced it: nothing would wake it.
#[test]
fn a_transmission_begins_only_over_the_present_connection_and_keeps_its_xid() {
    let (session, now) = session();
    session.request_connect();
    connect(&session, 7, 2, now);
    let SendPermission::Send(first) = session.send_permission(&waker()) else { panic!("no connection") };
    let begin = |xid, over| {
        session.begin_transmission(xid, over, &waker(), now).map(|facts| (facts.xid, facts.last_xid))
    };
    let (xid, last) = begin(None, &first).unwrap();
    assert_eq!(last.0, xid.0 - 1);
    session.on_no_reply(1);
    connect(&session, 8, 2, now);
    assert_eq!(begin(Some(xid), &first), Err(Errno::NotConnected));
    let SendPermission::Send(second) = session.send_permission(&waker()) else { panic!("no connection") };
    assert_eq!(begin(Some(xid), &second), Ok((xid, last)));
    session.end_xid(xid);
}

#[test]
fn a_first_transmission_begins_with_the_permission_and_its_xid_may_end_with_the_reply() {
    let (session, now) = session();
    let queue = Arc::<ReadyQueue>::default();
    let begin = || session.begin_first_transmission(&queue.waker(3), now);
    let (SendPermission::Wait, Err(Errno::NotConnected)) = begin() else { panic!("sent") };
    session.request_connect();
    connect(&session, 7, 2, now);
    assert_eq!(queue.take_ready(), [3], "it has waited for the connection");
    let (SendPermission::Send(over), Ok(first)) = begin() else { panic!("not sent") };
    assert_eq!((over.handle, first.last_xid.0), (ExportCookie(7), first.xid.0 - 1));
    session.on_reply(&ReplyTimes { sent: now, service_time: 0, estimate: 40 }, Some(first.xid), now);
    let (SendPermission::Send(_), Ok(second)) = begin() else { panic!("not sent") };
    assert_eq!((second.last_xid.0, second.timeout), (second.xid.0 - 1, seconds(55)));
    session.close();
    let (SendPermission::Closed, Err(Errno::Shutdown)) = begin() else { panic!("sent") };
}

#[test]
fn waiters_are_woken_when_a_slot_is_released() {
    let (session, now) = session();
    session.request_connect();
    connect(&session, 7, 1, now);
    let queue = Arc::<ReadyQueue>::default();
    let tag = session.acquire_slot(&queue.waker(3)).unwrap();
    assert!(session.acquire_slot(&queue.waker(3)).is_none());
    session.release_slot(tag);
    assert_eq!(queue.take_ready(), [3]);
    assert!(session.acquire_slot(&queue.waker(3)).is_some());
}

#[test]
fn the_error_of_a_failed_attempt_is_returned_to_waiting_threads() {
    let (session, now) = session();
    let clock = crate::clock::ManualClock::default();
    session.request_connect();
    let (Some(SessionAction::Connect(attempt)), None) = session.poll(now) else { panic!("no attempt") };
    assert_eq!(session.wait_connected(&clock, Some(clock.now())), Err(Errno::TimedOut));
    session.on_connect_done(attempt.conn_cnt, Err(Errno::NoDevice), now);
    assert_eq!(session.wait_connected(&clock, Some(clock.now())), Err(Errno::NoDevice));
    let (None, Some(retry)) = session.poll(now) else { panic!("no pause") };
    assert!(retry > now);
    session.close();
    assert_eq!(session.wait_connected(&clock, None), Err(Errno::Shutdown));
}
