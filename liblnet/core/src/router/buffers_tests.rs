//! Tests of router buffers against their rules, over random sequences of messages, ends and changes.

use super::*;
use crate::model::lnd::RxAction;
use crate::model::message::MessagePool;
use lnet_wire::{Body, Header, NetId, NetType, Pid, WireHandle};
use proptest::prelude::*;

const SHARE: u32 = 3;
/// A payload length for each size of buffers.
const LENGTHS: [u32; 3] = [0, 100, 10_000];

struct NoDriver;

impl DeferredRx for NoDriver {
    fn resume(&self, _: RxAction) {}
}

fn begin_wait(_: &mut TransitMessage) -> Arc<dyn DeferredRx> {
    Arc::new(NoDriver)
}

fn served(served: Option<Served>) -> Vec<Waiting> {
    let Served { by_buffer, by_credit } = served.unwrap_or_default();
    by_buffer.into_iter().chain(by_credit).collect()
}

fn tcp(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

/// A message with `number` as its source.
fn message(number: u32, length: u32) -> Pooled<TransitMessage> {
    let handle = WireHandle { interface_cookie: 0, object_cookie: 0 };
    MessagePool::default().take(Header {
        dest_nid: tcp(1),
        src_nid: tcp(number),
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: length,
        body: Body::Reply { handle },
    })
}

/// A step of the test: a change of the buffers or their messages.
#[derive(Clone, Debug)]
enum Step {
    /// A message with this size of payload arrives from this peer NI.
    Arrives {
        from: u32,
        size: usize,
        onward: Onward,
    },
    /// A message that holds a buffer ends.
    Ends(prop::sample::Index),
    Resize([u32; 3]),
}

fn step() -> impl Strategy<Value = Step> {
    let onward = prop::sample::select(vec![Onward::ToDestination, Onward::ToRouter]);
    prop_oneof![
        6 => (1_u32..4, 0_usize..3, onward)
            .prop_map(|(from, size, onward)| Step::Arrives { from, size, onward }),
        6 => any::<prop::sample::Index>().prop_map(Step::Ends),
        1 => [1_u32..5, 1..5, 1..5].prop_map(Step::Resize),
    ]
}

/// A message in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    number: u32,
    from: u32,
    size: usize,
    onward: Onward,
}

/// The messages that hold a buffer, and the waiting ones, in the order of arrival.
#[derive(Debug, Default)]
struct Model {
    counts: [u32; 3],
    /// Whether messages to other routers have come.
    to_routers: [bool; 3],
    holding: Vec<Known>,
    waiting: Vec<Known>,
    next: u32,
}

impl Model {
    /// Fails if a peer has more than its share, or a message waits without need.
    fn check(&self, buffers: &RouterBuffers) {
        for from in 1..4 {
            let holds = self.holding.iter().filter(|its| its.from == from).count();
            assert!(holds <= SHARE as usize, "{self:?}");
        }
        for (size, pool) in buffers.state(0).unwrap().into_iter().enumerate() {
            let of_size = self.holding.iter().filter(|its| its.size == size);
            let used = of_size.clone().count() as i32;
            let to_routers = of_size.filter(|its| its.onward == Onward::ToRouter).count() as i32;
            let count = pool.buffers;
            let has_second = count == 2 && self.counts[size] == 1 && self.to_routers[size];
            let for_routers = (count - u32::from(count > 1)) as i32 - to_routers;
            let unused = (count as i32 - used).max(0);
            assert!(pool.credits <= unused && (count == self.counts[size] || has_second), "{self:?}");
            // Only the first waiting message of a peer may claim such a buffer: others wait for a credit of the peer.
            let is_first = |its: &&Known| {
                let mut of_its_peer = self.waiting.iter().filter(|other| other.from == its.from);
                of_its_peer.all(|other| other.number >= its.number)
            };
            let has_buffer = |its: &&Known| {
                its.size == size && unused > 0 && (its.onward == Onward::ToDestination || for_routers > 0)
            };
            for its in self.waiting.iter().filter(has_buffer).filter(is_first) {
                let holds = self.holding.iter().filter(|other| other.from == its.from).count();
                let taken = holds + self.waiting_in_pools(its.from);
                assert!(taken >= SHARE as usize, "{its:?} waits in vain: {self:?}");
            }
        }
    }

    /// The number of the peer's messages that wait for a buffer with a router credit: no more than the peer's share allows.
    fn waiting_in_pools(&self, from: u32) -> usize {
        let holds = self.holding.iter().filter(|its| its.from == from).count();
        let waits = self.waiting.iter().filter(|its| its.from == from).count();
        waits.min((SHARE as usize).saturating_sub(holds))
    }

    fn served(&mut self, message: &TransitMessage) -> Known {
        let number = message.header.src_nid.to_u64().unwrap() as u32;
        let at = self.waiting.iter().position(|its| its.number == number).expect("somebody who waited");
        let its = self.waiting.remove(at);
        // Messages of one peer and size are served in the order of arrival.
        assert!(!self.waiting.iter().any(|other| {
            (other.from, other.size, other.onward) == (its.from, its.size, its.onward)
                && other.number < its.number
        }));
        self.holding.push(its);
        its
    }
}

/// Fails if a message that arrives while routing is being switched off waits without end.
#[test]
fn without_routing_no_message_waits() {
    let buffers = RouterBuffers::new(NonZeroUsize::MIN);
    let onward = Onward::ToDestination;
    let request = || BufferRequest { message: message(1, 0), cpt: 0, from: tcp(1), share: 1, onward };
    let apply = || buffers.apply(request(), begin_wait);
    assert!(matches!(apply(), BufferGrant::Refused(_)));
    buffers.configure(Router::Never.switched(true));
    assert!(matches!((apply(), apply()), (BufferGrant::Granted(_), BufferGrant::Waits)));
    assert_eq!(buffers.configure(Router::Disabled).len(), 1);
    assert!(matches!(apply(), BufferGrant::Refused(_)));
}

/// Fails if routers that have given all their buffers to messages for each other wait without end.
#[test]
fn messages_to_other_routers_leave_a_buffer_to_those_that_go_to_their_destinations() {
    // A single buffer is no reason for two routers to wait for each other.
    for (count, expected) in [(1, 1), (2, 1), (8, 7), (100, 88)] {
        let buffers = RouterBuffers::new(NonZeroUsize::MIN);
        buffers.configure(Router::Never.switched(true).with_buffers([Some(count); 3]));
        let apply = |onward| {
            let request = BufferRequest { message: message(1, 0), cpt: 0, from: tcp(1), share: 1000, onward };
            match buffers.apply(request, begin_wait) {
                BufferGrant::Granted(message) => Some(message),
                _ => None,
            }
        };
        let held: Vec<_> = std::iter::from_fn(|| apply(Onward::ToRouter)).collect();
        assert_eq!(held.len(), expected, "of {count}");
        let arrived: Vec<_> = std::iter::from_fn(|| apply(Onward::ToDestination)).collect();
        assert_eq!(arrived.len(), count.max(2) as usize - expected, "of {count}");
        buffers.configure(Router::Disabled);
        buffers.configure(Router::Never.switched(true).with_buffers([Some(count); 3]));
        assert_eq!(buffers.state(0).unwrap()[0].buffers, count);
    }
}

proptest! {
    #[test]
    fn nobody_waits_in_vain_or_has_more_than_its_share(steps in prop::collection::vec(step(), 1..120)) {
        let buffers = RouterBuffers::new(NonZeroUsize::MIN);
        let on = |counts| Router::Never.switched(true).with_buffers(counts);
        let mut model = Model { counts: [2; 3], ..Model::default() };
        let mut held: Vec<(u32, Pooled<TransitMessage>)> = Vec::new();
        prop_assert!(buffers.configure(on([Some(2); 3])).is_empty());
        for step in steps {
            let served = match step {
                Step::Arrives { from, size, onward } => {
                    model.next += 1;
                    model.to_routers[size] |= onward == Onward::ToRouter;
                    let known = Known { number: model.next, from, size, onward };
                    let request = BufferRequest {
                        message: message(known.number, LENGTHS[size]), cpt: 0, from: tcp(from), share: SHARE,
                        onward,
                    };
                    match buffers.apply(request, begin_wait) {
                        BufferGrant::Granted(message) => {
                            model.holding.push(known);
                            held.push((known.number, message));
                        }
                        BufferGrant::Waits => model.waiting.push(known),
                        BufferGrant::Refused(_) => prop_assert!(false, "it forwards"),
                    }
                    Vec::new()
                }
                Step::Ends(_) if held.is_empty() => Vec::new(),
                Step::Ends(which) => {
                    let (number, mut message) = held.swap_remove(which.index(held.len()));
                    model.holding.retain(|its| its.number != number);
                    served(buffers.give_back(message.buffer.take().unwrap()))
                }
                Step::Resize(counts) => {
                    model.counts = counts;
                    buffers.configure(on(counts.map(Some)))
                }
            };
            for Waiting { message, .. } in served {
                let known = model.served(&message);
                held.push((known.number, message));
            }
            model.check(&buffers);
        }
        // When all messages have ended no message waits.
        while let Some((number, mut message)) = held.pop() {
            model.holding.retain(|its| its.number != number);
            for Waiting { message, .. } in served(buffers.give_back(message.buffer.take().unwrap())) {
                let known = model.served(&message);
                held.push((known.number, message));
            }
            model.check(&buffers);
        }
        prop_assert!(model.waiting.is_empty());
        let state = buffers.state(0).unwrap();
        prop_assert_eq!(state.map(|pool| pool.credits), state.map(|pool| pool.buffers as i32));
    }
}
