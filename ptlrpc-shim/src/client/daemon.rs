//! The thread `ptlrpcd`: connects imports that are not, and pings those that have nothing to do.

use crate::errno::Errno;
use crate::import::Import;
use crate::request::{Board, Done, Wake};
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

/// News of imports, not of a request.
const IMPORTS: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct Daemon {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    wake: Arc<Wake>,
    imports: Mutex<Vec<Weak<Import>>>,
    stopped: AtomicBool,
}

impl Daemon {
    pub(super) fn start() -> Result<Self, Errno> {
        let board = Board::default();
        let wake = Arc::clone(&board.wake);
        let shared = Arc::new(Shared { wake, imports: Mutex::default(), stopped: AtomicBool::new(false) });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("ptlrpcd".to_owned())
            .spawn(move || its.run(board))
            .map_err(|error| {
                error.raw_os_error().and_then(|number| Errno::from_c(-number)).unwrap_or(Errno::AGAIN)
            })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Has it look at an import now, and from now on.
    pub(super) fn attend(&self, import: &Arc<Import>) {
        let mut imports = lock(&self.shared.imports);
        if !imports.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(import))) {
            imports.push(Arc::downgrade(import));
        }
        drop(imports);
        self.shared.wake.waker(IMPORTS).wake();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.wake.waker(IMPORTS).wake();
        let Some(thread) = self.thread.take() else { return };
        // The last import may have been dropped by that thread itself.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, mut board: Board<Done>) {
        while !self.stopped.load(Ordering::SeqCst) {
            let next = self.look(&mut board);
            while let Some(which) = board.first_over() {
                let Some((result, done)) = board.take(which) else { break };
                done(result);
            }
            if self.stopped.load(Ordering::SeqCst) {
                break;
            }
            board.turn(next, None);
        }
    }

    /// Looks at all imports; when to look again.
    fn look(&self, board: &mut Board<Done>) -> Option<Instant> {
        let imports: Vec<_> = {
            let mut imports = lock(&self.imports);
            imports.retain(|import| import.strong_count() > 0);
            imports.clone()
        };
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for import in imports.iter().filter_map(Weak::upgrade) {
            let (driven, at) = import.attend(now);
            next = next.into_iter().chain(at).min();
            if let Some(driven) = driven {
                let conn_cnt = import.conn_cnt();
                let done: Done = if driven.is_connecting() {
                    Box::new(move |result| import.connect_ended(conn_cnt, result, Instant::now()))
                } else {
                    Box::new(|_| ())
                };
                let which = board.add(driven, done);
                board.drive(which, now);
            }
        }
        next
    }
}
