//! Tests of waits: what the wait does with what the driver has done, and with what other threads report.

use super::*;
use lnet_core::{Core, CoreConfig, EqHandle, MdMemory, MdOptions, MdSpec};
use lnet_wire::Pid;
use std::cell::{Cell, RefCell};

const NO_SPIN: Duration = Duration::ZERO;
const FOR_EVER: Duration = Duration::from_secs(300);

/// A core with two queues.
struct Rig {
    core: Arc<Core>,
    eqs: [EqHandle; 2],
    queues: [Arc<EventQueue>; 2],
}

impl Rig {
    fn new() -> Self {
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1));
        let eqs = [(); 2].map(|()| core.data_path().eq_alloc(8, None).unwrap());
        let queues = eqs.map(|eq| core.data_path().eq(eq).unwrap());
        Self { core, eqs, queues }
    }

    /// Reports an event to the queue with this index: the end of an MD with this `user_ptr`.
    fn report(&self, queue: usize, user_ptr: usize) {
        let spec = MdSpec {
            start: 0,
            length: 0,
            threshold: 1,
            max_size: 0,
            options: MdOptions(0),
            user_ptr,
            eq: Some(self.eqs[queue]),
        };
        let md = self.core.data_path().md_bind(spec, MdMemory::contiguous(0, 0), false).unwrap();
        self.core.data_path().md_unlink(md).unwrap();
    }

    /// Waits, spinning for `spin` at most. Returns the index of the queue and the `user_ptr` of the event.
    fn wait(
        &self,
        timeout: Option<Duration>,
        spin: Duration,
        progress: impl Fn(Duration) -> Progress,
    ) -> Option<Result<(usize, usize), Errno>> {
        let read = |queue: usize, polled: &Polled| (queue, polled.event.md.user_ptr);
        look(&self.queues, read).or_else(|| wait(&self.queues, timeout, &Spin::new(spin), progress, read))
    }
}

fn no_progress(_: Duration) -> Progress {
    panic!("the driver is not needed");
}

#[test]
fn an_event_that_is_there_is_returned_with_its_queue_the_first_that_has_one() {
    let rig = Rig::new();
    for (reported, expected) in [
        (&[(0, 7)][..], &[(0, 7)][..]),
        (&[(1, 8)], &[(1, 8)]),
        (&[(1, 9), (1, 10), (0, 11)], &[(0, 11), (1, 9), (1, 10)]),
    ] {
        for timeout in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            reported.iter().for_each(|(queue, user_ptr)| rig.report(*queue, *user_ptr));
            for event in expected {
                let found = rig.wait(timeout, NO_SPIN, no_progress);
                assert_eq!(found, Some(Ok(*event)), "{reported:?}, {timeout:?}");
            }
        }
    }
    assert_eq!(rig.wait(Some(Duration::ZERO), NO_SPIN, no_progress), None);
}

#[test]
fn the_driver_has_the_thread_until_an_event_comes() {
    use Progress::{Idle, Worked};
    for results in [&[Worked][..], &[Idle, Idle, Idle], &[Idle, Idle, Worked, Idle, Idle, Worked]] {
        let (rig, calls) = (Rig::new(), Cell::new(0));
        let progress = |limit| {
            assert_eq!(limit, DRIVER_POLL, "{results:?}");
            let call = calls.replace(calls.get() + 1);
            if call + 1 == results.len() {
                rig.report(1, call);
            }
            results[call]
        };
        let found = rig.wait(None, NO_SPIN, progress);
        assert_eq!(found, Some(Ok((1, results.len() - 1))), "{results:?}");
    }
}

#[test]
fn a_thread_for_which_the_driver_has_nothing_sleeps_until_another_thread_reports() {
    use Progress::{Idle, NotOffered, Worked};
    let idle = [Idle; MAX_IDLE_POLLS as usize];
    for results in
        [&[NotOffered][..], &idle, &[Idle, NotOffered], &[&[Idle, Idle, Worked], &idle[..]].concat()]
    {
        for timeout in [None, Some(FOR_EVER)] {
            let (rig, left) = (Rig::new(), RefCell::new(results.iter()));
            let found = thread::scope(|scope| {
                let progress = |_| {
                    let mut left = left.borrow_mut();
                    let result = left.next().expect("the thread sleeps");
                    if left.len() == 0 {
                        scope.spawn(|| rig.report(0, 3));
                    }
                    *result
                };
                rig.wait(timeout, NO_SPIN, progress)
            });
            assert_eq!(found, Some(Ok((0, 3))), "{results:?}, {timeout:?}");
            assert_eq!(left.borrow().len(), 0, "{results:?}, {timeout:?}");
        }
    }
}

#[test]
fn a_thread_that_spins_lets_the_driver_return_at_once() {
    let (rig, calls) = (Rig::new(), Cell::new(0));
    let progress = |limit| {
        assert_eq!(limit, Duration::ZERO);
        calls.set(calls.get() + 1);
        if calls.get() == 100 {
            rig.report(0, 5);
        }
        Progress::Worked
    };
    assert_eq!(rig.wait(None, FOR_EVER, progress), Some(Ok((0, 5))));
    assert_eq!(calls.get(), 100);
}

#[test]
fn a_wait_without_an_event_ends_after_its_timeout() {
    let (rig, timeout) = (Rig::new(), Duration::from_micros(300));
    for result in [Progress::Worked, Progress::Idle, Progress::NotOffered] {
        for spin in [NO_SPIN, FOR_EVER] {
            let begin = Instant::now();
            let progress = |limit| {
                assert!(limit <= timeout, "{result:?}");
                result
            };
            assert_eq!(rig.wait(Some(timeout), spin, progress), None, "{result:?}");
            assert!(begin.elapsed() >= timeout, "{result:?}");
        }
    }
}

#[test]
fn a_wait_ends_with_a_queue_or_with_the_node() {
    let rig = Rig::new();
    let frees = |_| {
        rig.core.data_path().eq_free(rig.eqs[1]).unwrap();
        Progress::NotOffered
    };
    assert_eq!(rig.wait(None, NO_SPIN, frees), Some(Err(Errno::NotFound)));
    let rig = Rig::new();
    let ends = |_| {
        rig.core.admin().shutdown();
        Progress::NotOffered
    };
    assert_eq!(rig.wait(None, NO_SPIN, ends), Some(Err(Errno::NetworkDown)));
}
