//! Tasks that schedulers run for connections, and the scheduler that runs one.

use super::cork;
use super::deferred_rx::{ResumeQueue, Resumed};
use crate::conn::Scheduler;
use crate::driver_thread::as_scheduler;
use crate::ni::SockNi;
use crate::scheduler;
use lnet_core::{OutgoingMessage, Pooled};
use std::cell::RefCell;
use std::sync::Arc;

/// A one-time task that a scheduler runs for a connection.
pub(crate) enum Task {
    /// Carries out the core's decision about a deferred message.
    Execute(Resumed),
    /// Reports a sent message to the core.
    Finish(Pooled<OutgoingMessage>, Arc<SockNi>),
}

thread_local! {
    /// The scheduler whose own thread this is.
    static OWN_SCHEDULER: RefCell<Option<Arc<Scheduler>>> = const { RefCell::new(None) };
}

/// Makes the calling thread the owner of `scheduler` until its end, or until another becomes it.
pub(crate) fn own(scheduler: Arc<Scheduler>, app_scheduler: &Scheduler) {
    OWN_SCHEDULER.set(Some(Arc::clone(&scheduler)));
    as_scheduler(|| scheduler.run(app_scheduler));
    OWN_SCHEDULER.set(None);
}

impl ResumeQueue for Scheduler {
    /// A thread of another scheduler, which has received what the message waited for, queues it for itself: it need wake nobody, and
    /// what it resumes leaves together.
    fn resume(&self, resumed: Resumed) {
        with_nearest(self, |scheduler| scheduler.schedule_task(Task::Execute(resumed)));
    }
}

/// Calls `act` with the scheduler whose own thread calls this, if it is of the same driver as `scheduler`, and otherwise with
/// `scheduler`.
pub(crate) fn with_nearest<R>(scheduler: &Scheduler, act: impl FnOnce(&Scheduler) -> R) -> R {
    // A handler of the program's exit sends when the variables of its thread, which is no scheduler's, are gone.
    if OWN_SCHEDULER.try_with(|_| ()).is_err() {
        return act(scheduler);
    }
    OWN_SCHEDULER.with_borrow(|own| {
        let own = own.as_deref().filter(|own| own.is_beside(scheduler));
        act(own.unwrap_or(scheduler))
    })
}

impl scheduler::Task for Task {
    fn run(self) {
        match self {
            Self::Execute(resumed) => resumed.execute(),
            Self::Finish(message, ni) => {
                ni.finalize(message, Ok(()));
                ni.end_upcall();
            }
        }
        cork::on_report();
    }

    fn abandon(self) {
        if let Self::Execute(resumed) = self {
            resumed.execute();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnd_common::handler_watch::WatchSignal;

    #[test]
    fn the_thread_of_a_scheduler_does_itself_what_it_resumes_for_another_of_the_same_driver() {
        let (driver, other_driver) = (Arc::new(WatchSignal::default()), Arc::new(WatchSignal::default()));
        let [own, beside, of_other] =
            [&driver, &driver, &other_driver].map(|watch| Arc::new(Scheduler::new(watch).unwrap()));
        let nearest_is = |to: &Scheduler, expected: &Scheduler| {
            with_nearest(to, |scheduler| std::ptr::eq(scheduler, expected))
        };
        assert!(nearest_is(&beside, &beside), "a thread of the application");
        OWN_SCHEDULER.set(Some(Arc::clone(&own)));
        assert!(nearest_is(&beside, &own));
        assert!(nearest_is(&own, &own));
        assert!(nearest_is(&of_other, &of_other));
    }
}
