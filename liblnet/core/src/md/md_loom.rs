//! Tests of the end of an MD under every interleaving, which `make test` runs with loom.

use super::*;
use crate::event::{Event, EventHandler, EventKind, EventQueue};
use crate::memory::tests::{any_md_handle, plain_spec};
use lnet_wire::Errno;
use loom::thread;
use std::sync::Arc;
use std::sync::Mutex;

fn md(threshold: i32, auto_unlink: bool, heard: &Arc<Mutex<Vec<bool>>>) -> (Arc<Md>, Arc<EventQueue>) {
    let tell = Arc::clone(heard);
    let handler: EventHandler = Box::new(move |event| tell.lock().unwrap().push(event.unlinked));
    let queue = Arc::new(EventQueue::new(0, Some(handler)).unwrap());
    let spec = MdSpec { threshold, ..plain_spec(8) };
    let new = NewMd {
        spec,
        memory: MdMemory::contiguous(0, 8),
        max_size: None,
        auto_unlink,
        attached: None,
        queue: Some(Arc::clone(&queue)),
        keeper: Keeper::Program,
    };
    (Arc::new(Md::new(any_md_handle(), new)), queue)
}

fn send(md: &Md) -> Event {
    Event { kind: EventKind::Send, unlinked: false, ..Event::unlink(md.handle(), plain_spec(8)) }
}

#[test]
fn loom_two_completions_give_one_last_event() {
    loom::model(|| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (md, queue) = md(2, true, &heard);
        md.commit_request(Some(ResponseKind::Reply), None).unwrap();
        md.commit_response(ResponseKind::Reply, 0).unwrap();
        let theirs = Arc::clone(&md);
        let other = thread::spawn(move || theirs.complete(|| send(&theirs)));
        let mine = md.complete(|| send(&md));
        let both = [mine, other.join().unwrap()];
        assert_eq!(both.iter().filter(|s| **s == Completion::Ended).count(), 1);
        assert_eq!(queue.wait_unused(), Ok(()));
        assert_eq!(*heard.lock().unwrap(), [false, true]);
    });
}

#[test]
fn loom_an_unlink_that_meets_a_completion_gives_one_last_event() {
    loom::model(|| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (md, queue) = md(-1, false, &heard);
        md.commit_request(Some(ResponseKind::Reply), None).unwrap();
        let theirs = Arc::clone(&md);
        let other = thread::spawn(move || theirs.complete(|| send(&theirs)));
        md.unlink().unwrap();
        other.join().unwrap();
        assert_eq!(queue.wait_unused(), Ok(()));
        let heard = heard.lock().unwrap();
        assert_eq!(heard.iter().filter(|unlinked| **unlinked).count(), 1);
        assert_eq!(heard.last(), Some(&true));
    });
}

#[test]
fn loom_a_queue_that_is_freed_waits_for_the_last_event() {
    loom::model(|| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (md, queue) = md(-1, false, &heard);
        let theirs = Arc::clone(&md);
        let other = thread::spawn(move || theirs.unlink());
        if queue.wait_unused().is_ok() {
            assert_eq!(*heard.lock().unwrap(), [true]);
        }
        other.join().unwrap().unwrap();
    });
}

#[test]
fn loom_a_reader_that_parks_is_woken() {
    loom::model(|| {
        let queue = Arc::new(EventQueue::new(1, None).unwrap());
        let theirs = Arc::clone(&queue);
        let event = Event::unlink(any_md_handle(), plain_spec(8));
        let other = thread::spawn(move || theirs.deliver(&event));
        queue.join_reader();
        while queue.get().unwrap().is_none() {
            thread::park();
        }
        queue.leave_reader();
        other.join().unwrap();
    });
}

#[test]
fn loom_a_parked_reader_is_woken_when_its_queue_is_closed() {
    loom::model(|| {
        let queue = Arc::new(EventQueue::new(1, None).unwrap());
        let theirs = Arc::clone(&queue);
        let other = thread::spawn(move || theirs.end(Errno::NotFound));
        queue.join_reader();
        while queue.get() == Ok(None) {
            thread::park();
        }
        assert_eq!(queue.get(), Err(Errno::NotFound));
        queue.leave_reader();
        other.join().unwrap();
    });
}
