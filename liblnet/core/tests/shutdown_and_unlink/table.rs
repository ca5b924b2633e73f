//! Each state of a message with each of the calls that end it.

use crate::states::End::{self, *};
use crate::states::STATES;
use crate::states::State::{self, *};
use crate::support::{EventSummary, PORTAL, tcp};
use crate::testbed::{HERE, Testbed, Watchdog};
use lnet_core::{Delivery, Errno, EventKind};

/// The events of the user's MD in each case: those before the call returns, then those after.
fn expected(state: State, end: End) -> (Vec<EventSummary>, Vec<EventSummary>) {
    use EventKind::{Get, Put, Reply, Send, Unlink};
    let ok = |kind| vec![(kind, Ok(()), false)];
    let last = |kind| vec![(kind, Ok(()), true)];
    let failed = |kind, errno| vec![(kind, Err(errno), false)];
    let cancelled = vec![(Send, Err(Errno::Cancelled), true)];
    let gone = || failed(Send, Errno::Shutdown);
    let nothing = Vec::new;
    match (state, end) {
        (Parked, Unlinked) => (cancelled, nothing()),
        // The message waits until the discovery through the other interface has timed out.
        (Parked, NiRemoved) => (nothing(), failed(Send, Errno::TimedOut)),
        (Parked, OnlyNiRemoved) => (nothing(), failed(Send, Errno::HostUnreachable)),
        (Parked, Shutdown) => (gone(), nothing()),

        (QueuedForPeerCredit | QueuedForNiCredit | ResendQueued | SendDelayed, Unlinked) => {
            (nothing(), cancelled)
        }
        (QueuedForPeerCredit | QueuedForNiCredit, NiRemoved) => (nothing(), ok(Send)),
        (ResendQueued, NiRemoved) => (nothing(), ok(Send)),
        (SendDelayed, NiRemoved) => (nothing(), ok(Send)),
        (ResendQueued, OnlyNiRemoved) => (nothing(), failed(Send, Errno::HostUnreachable)),
        (
            QueuedForPeerCredit | QueuedForNiCredit | ResendQueued | SendDelayed | WithDriver(_),
            OnlyNiRemoved | Shutdown,
        ) => (gone(), nothing()),

        (WithDriver(_), Unlinked) => (nothing(), last(Send)),
        (WithDriver(Delivery::Unknown), NiRemoved) => (gone(), nothing()),
        (WithDriver(_), NiRemoved) => (nothing(), ok(Send)),

        (AwaitsAck | AwaitsReply | ReceiveDelayed | AckInFlight, Unlinked) => (last(Unlink), nothing()),
        (AwaitsAck | AwaitsReply | ReceiveDelayed | AckInFlight, _) => (nothing(), nothing()),

        // The program has no MD in these states.
        (DeferredAtLazyPortal | RecoveryPing, _) => (nothing(), nothing()),

        (PayloadArriving, Unlinked) => (nothing(), last(Put)),
        (PayloadArriving, _) => (failed(Put, Errno::Shutdown), nothing()),
        (ReplyPayloadArriving, Unlinked) => (nothing(), last(Reply)),
        (ReplyPayloadArriving, _) => (failed(Reply, Errno::Shutdown), nothing()),
        (ReplyBeingFetched | ReplyInFlight, Unlinked) => (nothing(), last(Get)),
        (ReplyBeingFetched, NiRemoved) => (nothing(), ok(Get)),
        // The REPLY has no path, which shows when its bytes have come.
        (ReplyBeingFetched, OnlyNiRemoved) => (nothing(), failed(Get, Errno::Shutdown)),
        (ReplyBeingFetched, Shutdown) => (failed(Get, Errno::Shutdown), nothing()),
        (ReplyInFlight, NiRemoved) => (nothing(), ok(Get)),
        (ReplyInFlight, _) => (failed(Get, Errno::Shutdown), nothing()),
    }
}

#[test]
fn an_operation_in_any_state_ends_once_and_leaves_nothing_behind() {
    for state in STATES {
        for end in [Unlinked, NiRemoved, OnlyNiRemoved, Shutdown] {
            let _watchdog = Watchdog::new(format!("{state:?}, {end:?}"));
            check(state, end);
        }
    }
}

fn check(state: State, end: End) {
    let case = format!("{state:?}, {end:?}");
    let testbed = Testbed::new(state, end);
    let md = testbed.enter(state);
    assert_eq!(testbed.take_events(), [], "{case}: before the call");
    let peer_nis = testbed.core.peer_nis();
    match end {
        Unlinked => {
            if let Some(md) = md {
                testbed.core.data_path().md_unlink(md).unwrap();
            }
        }
        NiRemoved | OnlyNiRemoved => testbed.core.admin().remove_ni(tcp(HERE)).unwrap(),
        Shutdown => testbed.core.admin().shutdown(),
    }
    let (at_once, afterwards) = expected(state, end);
    assert_eq!(testbed.take_events(), at_once, "{case}: before the call returns");
    if end != Shutdown {
        testbed.run();
        assert_eq!(testbed.take_events(), afterwards, "{case}: after the call has returned");
        if let (Some(md), false) = (md, end == Unlinked) {
            testbed.core.data_path().md_unlink(md).unwrap();
            assert_eq!(testbed.take_events(), [(EventKind::Unlink, Ok(()), true)], "{case}");
        }
        testbed.core.data_path().clear_lazy_portal(PORTAL).unwrap();
        assert_eq!(testbed.core.data_path().eq_free(testbed.eq), Ok(()), "{case}: no MD refers to the queue");
        assert_eq!(testbed.core.message_counts().msgs_alloc, 0, "{case}");
    }
    testbed.core.admin().shutdown();
    testbed.expect_nothing_left(&peer_nis, &case);
}
