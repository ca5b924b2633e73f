//! The states that a message may be in, and how a test brings one into each.

use crate::support::{BITS, COOKIE, PORTAL, put_body, tcp};
use crate::testbed::{HERE, INITIATOR_HANDLE, OTHER, PEER, SECOND, Testbed, delay_all};
use lnet_core::health::NiKind;
use lnet_core::{Delivery, EventKind, MdHandle};
use lnet_wire::{Body, WireHandle};
/// The state of an outbound or inbound message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Parked,
    QueuedForPeerCredit,
    QueuedForNiCredit,
    WithDriver(Delivery),
    ResendQueued,
    SendDelayed,
    AwaitsAck,
    AwaitsReply,
    ReceiveDelayed,
    DeferredAtLazyPortal,
    PayloadArriving,
    ReplyPayloadArriving,
    AckInFlight,
    ReplyBeingFetched,
    ReplyInFlight,
    RecoveryPing,
}

use State::*;

pub const STATES: [State; 18] = [
    Parked,
    QueuedForPeerCredit,
    QueuedForNiCredit,
    WithDriver(Delivery::NotSent),
    WithDriver(Delivery::Deduplicated),
    WithDriver(Delivery::Unknown),
    ResendQueued,
    SendDelayed,
    AwaitsAck,
    AwaitsReply,
    ReceiveDelayed,
    DeferredAtLazyPortal,
    PayloadArriving,
    ReplyPayloadArriving,
    AckInFlight,
    ReplyBeingFetched,
    ReplyInFlight,
    RecoveryPing,
];

/// The call that ends the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `LNetMDUnlink` of the message's MD, after which the node runs on.
    Unlinked,
    /// The interface is removed, and another one exists.
    NiRemoved,
    /// The only interface is removed.
    OnlyNiRemoved,
    /// `LNetNIFini`.
    Shutdown,
}

impl Testbed {
    /// Brings a message on the interface [`HERE`] into `state`. Returns the MD, if it is one of the user's.
    pub fn enter(&self, state: State) -> Option<MdHandle> {
        // While the other interface is unhealthy, no message uses it.
        self.core.admin().set_ni_health(Some(tcp(OTHER)), 0);
        let md = self.enter_through_first_ni(state);
        self.core.admin().set_ni_health(Some(tcp(OTHER)), 1000);
        md
    }

    fn enter_through_first_ni(&self, state: State) -> Option<MdHandle> {
        let put = |to| {
            let md = self.bind(-1);
            self.put(md, tcp(to));
            md
        };
        match state {
            Parked => {
                let md = put(PEER);
                assert!(
                    self.core.admin().discovery_of(tcp(PEER)).is_some_and(|discovery| discovery.parked == 1)
                );
                Some(md)
            }
            QueuedForPeerCredit | QueuedForNiCredit => {
                let filler = self.bind_without_eq(-1);
                self.put(filler, tcp(if state == QueuedForPeerCredit { PEER } else { PEER + 1 }));
                let md = put(PEER);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            WithDriver(_) => {
                let md = put(PEER);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            ResendQueued => {
                self.fail_next();
                let md = put(PEER);
                assert_eq!((self.here().kept(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            SendDelayed => {
                self.core.admin().add_delay_rule(delay_all());
                let md = put(PEER);
                assert_eq!((self.here().kept(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            AwaitsAck | AwaitsReply | ReplyPayloadArriving => {
                let md = self.bind(-1);
                if state == AwaitsAck {
                    self.put_with_ack(md, tcp(PEER))
                } else {
                    self.get(md, tcp(PEER))
                }
                self.finish_sends();
                assert_eq!(self.take_events(), [(EventKind::Send, Ok(()), false)]);
                if state == ReplyPayloadArriving {
                    let handle = WireHandle { interface_cookie: COOKIE, object_cookie: md.cookie() };
                    self.arrives(Body::Reply { handle }, 8);
                    assert_eq!(self.here().arriving(), 1);
                }
                Some(md)
            }
            ReceiveDelayed => {
                self.core.admin().add_delay_rule(delay_all());
                let md = self.attach();
                self.arrives(put_body(None), 8);
                assert_eq!((self.here().arriving(), self.core.message_counts().msgs_alloc), (0, 1));
                Some(md)
            }
            DeferredAtLazyPortal => {
                self.core.data_path().set_lazy_portal(PORTAL).unwrap();
                self.arrives(put_body(None), 8);
                assert_eq!((self.here().arriving(), self.core.message_counts().msgs_alloc), (0, 1));
                None
            }
            PayloadArriving => {
                let md = self.attach();
                self.arrives(put_body(None), 8);
                assert_eq!(self.here().arriving(), 1);
                Some(md)
            }
            AckInFlight => {
                let md = self.attach();
                self.arrives(put_body(Some(INITIATOR_HANDLE)), 8);
                self.here().finish_arriving(Ok(()));
                assert_eq!(self.take_events(), [(EventKind::Put, Ok(()), false)]);
                assert_eq!(self.here().kept(), 1);
                Some(md)
            }
            ReplyBeingFetched | ReplyInFlight => {
                let md = if state == ReplyInFlight { self.attach() } else { self.attach_fetched() };
                let reply = WireHandle { interface_cookie: 7, object_cookie: 7 };
                let get = Body::Get { reply, match_bits: BITS, portal: PORTAL, offset: 0, sink_length: 8 };
                self.arrives(get, 0);
                self.here().finish_arriving(Ok(()));
                assert_eq!(self.here().kept(), usize::from(state == ReplyInFlight));
                Some(md)
            }
            RecoveryPing => {
                self.core.admin().set_ni_health(Some(tcp(HERE)), 500);
                self.clock.advance(2 * SECOND);
                self.core.monitor().run();
                assert_eq!(self.here().kept(), 1);
                assert!(self.core.admin().recovery_queue(NiKind::Local).contains(&tcp(HERE)));
                None
            }
        }
    }
}
