//! Work that passes from the owner of a scheduler to the next one.

use super::*;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Records which call served it: an event of the kernel, a prediction, or the relief of a blocked thread.
struct Socket {
    stream: UnixStream,
    token: AtomicU64,
    looks: Mutex<Sender<Look>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Look {
    Event,
    Prediction,
    Relief,
}

struct NoTask;

impl Task for NoTask {
    fn run(self) {}
    fn abandon(self) {}
}

impl Socket {
    fn note(&self, look: Look) {
        lock(&self.looks).send(look).unwrap();
    }
}

impl Pollable for Socket {
    type Task = NoTask;

    fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn registered_as(&self, token: u64) {
        self.token.store(token, Ordering::SeqCst);
    }

    fn token(&self) -> Option<u64> {
        Some(self.token.load(Ordering::SeqCst))
    }

    fn on_event(self: &Arc<Self>, _: EventFlags) -> bool {
        self.note(Look::Event);
        true
    }

    fn on_schedule(self: &Arc<Self>) {}

    fn poll(self: &Arc<Self>) -> bool {
        self.note(Look::Prediction);
        false
    }

    fn relieve(self: &Arc<Self>) {
        self.note(Look::Relief);
    }

    fn sending_together(work: impl FnOnce()) {
        work();
    }
}

fn socket() -> (Arc<Socket>, UnixStream, Receiver<Look>) {
    let (stream, other_end) = UnixStream::pair().unwrap();
    let (looks, seen) = channel();
    (Arc::new(Socket { stream, token: AtomicU64::new(0), looks: Mutex::new(looks) }), other_end, seen)
}

/// The kernel reports each change once. The thread that gets the report may have been replaced while it slept.
#[test]
fn what_the_kernel_tells_an_owner_that_has_been_replaced_is_done_by_the_next() {
    let scheduler = Scheduler::<Socket>::new(&Arc::new(WatchSignal::default())).unwrap();
    let (socket, mut other_end, seen) = socket();
    thread::scope(|scope| {
        let replaced = scope.spawn(|| scheduler.run(&scheduler));
        scheduler.add(&socket).unwrap();
        assert_eq!(seen.recv().unwrap(), Look::Event);
        while !scheduler.wakeups.owner_sleeps() {
            thread::yield_now();
        }
        scheduler.become_owner();
        other_end.write_all(&[1]).unwrap();
        replaced.join().unwrap();

        scope.spawn(|| scheduler.run(&scheduler));
        assert_eq!(seen.recv().unwrap(), Look::Relief);
        scheduler.stop();
    });
}

#[test]
fn an_application_thread_reads_a_predicted_socket_unless_several_were_ready_at_once() {
    for (sockets, expected) in [(1, true), (2, true), (3, false), (40, false)] {
        let scheduler = Scheduler::<Socket>::new(&Arc::new(WatchSignal::default())).unwrap();
        let mut rigs: Vec<_> = (0..sockets).map(|_| socket()).collect();
        for (socket, other_end, _) in &mut rigs {
            other_end.write_all(&[1]).unwrap();
            scheduler.add(socket).unwrap();
        }
        let mut seen = 0;
        (0..2 * POLLS).for_each(|_| _ = scheduler.turn_for_application(Duration::ZERO, &mut seen));
        let looks: Vec<Look> = rigs.iter().flat_map(|(.., looks)| looks.try_iter()).collect();
        assert_eq!(looks.iter().filter(|look| **look == Look::Event).count(), sockets);
        assert_eq!(looks.contains(&Look::Prediction), expected, "{sockets}");
    }
}
