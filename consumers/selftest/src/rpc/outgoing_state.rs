//! An outgoing RPC as a state machine (selftest 4.2): its events are the inputs, its next steps the outputs. Pure.

use lnet_api::Errno;

/// The parts of an RPC that have their own descriptor (MD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The request that is sent.
    Request,
    /// The buffer that the reply arrives in.
    Reply,
    /// Bulk data, in either direction.
    Bulk,
}

/// The next step of an RPC, which the caller carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RpcStep {
    /// Unlink all descriptors.
    UnlinkAll,
    /// Unlink the descriptor of bulk data.
    UnlinkBulk,
    /// The RPC has ended: all descriptors have had their last event, except that of the request if the RPC is aborted.
    Complete(Result<(), Errno>),
}

/// The state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingState {
    phase: RpcPhase,
    /// Whether the last event of the request's descriptor is missing; likewise below.
    waits_for_request: bool,
    waits_for_reply: bool,
    waits_for_bulk: bool,
    /// The first failure.
    failure: Option<Errno>,
    /// Whether the reply says that the server has refused, or failed.
    is_refused: bool,
    has_unlinked_bulk: bool,
    unlinks_all: bool,
    /// Whether all descriptors have been unlinked.
    has_unlinked_all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RpcPhase {
    /// Descriptors are being made; there may be events already.
    Posting,
    /// All descriptors have been made.
    Posted,
    /// The RPC has ended.
    Complete,
}

impl OutgoingState {
    /// An RPC whose descriptors are being made.
    pub(crate) const fn new(has_bulk: bool) -> Self {
        Self {
            phase: RpcPhase::Posting,
            waits_for_request: true,
            waits_for_reply: true,
            waits_for_bulk: has_bulk,
            failure: None,
            is_refused: false,
            has_unlinked_bulk: false,
            unlinks_all: false,
            has_unlinked_all: false,
        }
    }

    /// Notes that all descriptors have been made; returns the step that follows.
    pub(crate) fn posted(&mut self) -> Option<RpcStep> {
        self.phase = RpcPhase::Posted;
        self.next()
    }

    /// Records that a descriptor has had its last event, or could not be created.
    pub(crate) fn ended(&mut self, piece: Piece, result: Result<(), Errno>) -> Option<RpcStep> {
        *self.waiting(piece) = false;
        match result {
            // No peer starts the transfer of a request that was refused.
            Err(_) if piece == Piece::Bulk && self.is_refused => {}
            Err(errno) => {
                self.failure.get_or_insert(errno);
            }
            Ok(()) => {}
        }
        self.next()
    }

    /// Notes the reply, and whether its status is an error.
    pub(crate) fn replied(&mut self, is_refused: bool) -> Option<RpcStep> {
        self.is_refused = is_refused;
        self.ended(Piece::Reply, Ok(()))
    }

    /// Ends the RPC with `reason`, for its owner or by its timeout.
    pub(crate) fn abort(&mut self, reason: Errno) -> Option<RpcStep> {
        self.failure.get_or_insert(reason);
        self.next()
    }

    /// Notes that [`RpcStep::UnlinkAll`] has been carried out.
    pub(crate) fn unlinked(&mut self) -> Option<RpcStep> {
        self.has_unlinked_all = true;
        self.next()
    }

    const fn waiting(&mut self, piece: Piece) -> &mut bool {
        match piece {
            Piece::Request => &mut self.waits_for_request,
            Piece::Reply => &mut self.waits_for_reply,
            Piece::Bulk => &mut self.waits_for_bulk,
        }
    }

    fn next(&mut self) -> Option<RpcStep> {
        if self.phase != RpcPhase::Posted {
            return None;
        }
        // A request to this node itself that waits in a lazy portal ends only when it leaves the portal. Its memory is not
        // used again.
        let waits_for_request = self.waits_for_request && !self.has_unlinked_all;
        if !(waits_for_request || self.waits_for_reply || self.waits_for_bulk) {
            self.phase = RpcPhase::Complete;
            return Some(RpcStep::Complete(self.failure.map_or(Ok(()), Err)));
        }
        if self.failure.is_some() {
            let is_new = !std::mem::replace(&mut self.unlinks_all, true);
            return is_new.then_some(RpcStep::UnlinkAll);
        }
        let unlinks_bulk = self.is_refused && self.waits_for_bulk && !self.has_unlinked_bulk;
        self.has_unlinked_bulk |= unlinks_bulk;
        unlinks_bulk.then_some(RpcStep::UnlinkBulk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Input {
        Posted,
        Sent,
        Replied,
        Refused,
        Bulk,
        Fails(Piece, Errno),
        Abort(Errno),
        Unlinked,
    }

    /// A case: its name, whether there is bulk data, and the inputs with the expected step after each.
    type Row<'a> = (&'a str, bool, &'a [(Input, Option<RpcStep>)]);

    impl OutgoingState {
        fn is_complete(&self) -> bool {
            self.phase == RpcPhase::Complete
        }
    }

    fn feed(state: &mut OutgoingState, input: Input) -> Option<RpcStep> {
        match input {
            Input::Posted => state.posted(),
            Input::Sent => state.ended(Piece::Request, Ok(())),
            Input::Replied => state.replied(false),
            Input::Refused => state.replied(true),
            Input::Bulk => state.ended(Piece::Bulk, Ok(())),
            Input::Fails(piece, errno) => state.ended(piece, Err(errno)),
            Input::Abort(errno) => state.abort(errno),
            Input::Unlinked => state.unlinked(),
        }
    }

    #[test]
    fn the_table_of_orders_of_events() {
        use Input as I;
        use Piece as P;
        const ENDED: Option<RpcStep> = Some(RpcStep::Complete(Ok(())));
        const IO: Errno = Errno::Io;
        const TIME: Errno = Errno::TimedOut;
        const UNLINKED: Errno = Errno::Interrupted;
        let failed = |errno| Some(RpcStep::Complete(Err(errno)));
        let all = Some(RpcStep::UnlinkAll);
        let rows: &[Row] = &[
            ("no bulk", false, &[(I::Posted, None), (I::Sent, None), (I::Replied, ENDED)]),
            (
                "the reply before the request was sent",
                false,
                &[(I::Posted, None), (I::Replied, None), (I::Sent, ENDED)],
            ),
            (
                "all before the descriptors are made",
                false,
                &[(I::Sent, None), (I::Replied, None), (I::Posted, ENDED)],
            ),
            (
                "the reply before bulk data",
                true,
                &[(I::Posted, None), (I::Sent, None), (I::Replied, None), (I::Bulk, ENDED)],
            ),
            (
                "bulk data before the reply",
                true,
                &[(I::Posted, None), (I::Sent, None), (I::Bulk, None), (I::Replied, ENDED)],
            ),
            (
                "bulk data first of all",
                true,
                &[(I::Posted, None), (I::Bulk, None), (I::Replied, None), (I::Sent, ENDED)],
            ),
            (
                "refused: bulk data is unlinked, which is no failure",
                true,
                &[
                    (I::Posted, None),
                    (I::Sent, None),
                    (I::Refused, Some(RpcStep::UnlinkBulk)),
                    (I::Fails(P::Bulk, UNLINKED), ENDED),
                ],
            ),
            (
                "refused after bulk data",
                true,
                &[(I::Posted, None), (I::Bulk, None), (I::Sent, None), (I::Refused, ENDED)],
            ),
            (
                "the request cannot be sent",
                true,
                &[
                    (I::Posted, None),
                    (I::Fails(P::Request, IO), all),
                    (I::Fails(P::Reply, UNLINKED), None),
                    (I::Fails(P::Bulk, UNLINKED), failed(IO)),
                ],
            ),
            (
                "a descriptor cannot be made",
                false,
                &[
                    (I::Fails(P::Request, IO), None),
                    (I::Posted, all),
                    (I::Fails(P::Reply, UNLINKED), failed(IO)),
                ],
            ),
            (
                "time is up while it waits for the reply",
                false,
                &[
                    (I::Posted, None),
                    (I::Sent, None),
                    (I::Abort(TIME), all),
                    (I::Abort(IO), None),
                    (I::Fails(P::Reply, UNLINKED), failed(TIME)),
                ],
            ),
            (
                "time is up, and the reply comes in the last moment",
                false,
                &[(I::Posted, None), (I::Sent, None), (I::Abort(TIME), all), (I::Replied, failed(TIME))],
            ),
            (
                "aborted while the request waits in a lazy portal of the same node",
                false,
                &[
                    (I::Posted, None),
                    (I::Abort(TIME), all),
                    (I::Fails(P::Reply, UNLINKED), None),
                    (I::Unlinked, failed(TIME)),
                    (I::Sent, None),
                ],
            ),
            (
                "aborted after the end",
                false,
                &[(I::Posted, None), (I::Sent, None), (I::Replied, ENDED), (I::Abort(TIME), None)],
            ),
            (
                "aborted while it waits for bulk data of a refused request",
                true,
                &[
                    (I::Posted, None),
                    (I::Sent, None),
                    (I::Refused, Some(RpcStep::UnlinkBulk)),
                    (I::Abort(TIME), all),
                    (I::Fails(P::Bulk, UNLINKED), failed(TIME)),
                ],
            ),
        ];
        for (what, has_bulk, steps) in rows {
            let mut state = OutgoingState::new(*has_bulk);
            for (input, wanted) in *steps {
                assert_eq!(feed(&mut state, *input), *wanted, "{what}: {input:?}");
            }
            assert!(state.is_complete(), "{what}");
        }
    }

    proptest! {
        /// Fails if, in some order of events, the RPC does not end exactly once, with the last event of its last descriptor, or
        /// is aborted more than once before.
        #[test]
        fn an_rpc_ends_exactly_once_in_any_order(
            has_bulk: bool,
            order in Just(vec![Piece::Request, Piece::Reply, Piece::Bulk]).prop_shuffle(),
            posted_at in 0usize..4,
            abort_at in prop::option::of(0usize..5),
            fails in prop::collection::vec(any::<bool>(), 3),
            refused: bool,
        ) {
            let mut inputs: Vec<Input> = order
                .iter()
                .zip(&fails)
                .filter(|(piece, _)| has_bulk || **piece != Piece::Bulk)
                .map(|(piece, fails)| match (piece, fails) {
                    (piece, true) => Input::Fails(*piece, Errno::Io),
                    (Piece::Request, _) => Input::Sent,
                    (Piece::Reply, _) if refused => Input::Refused,
                    (Piece::Reply, _) => Input::Replied,
                    (Piece::Bulk, _) => Input::Bulk,
                })
                .collect();
            inputs.insert(posted_at.min(inputs.len()), Input::Posted);
            if let Some(at) = abort_at {
                inputs.insert(at.min(inputs.len()), Input::Abort(Errno::TimedOut));
            }
            let mut state = OutgoingState::new(has_bulk);
            let steps: Vec<RpcStep> = inputs.iter().filter_map(|input| feed(&mut state, *input)).collect();
            let ends = steps.iter().filter(|step| matches!(step, RpcStep::Complete(_))).count();
            prop_assert_eq!(ends, 1);
            prop_assert!(steps.iter().filter(|step| **step == RpcStep::UnlinkAll).count() <= 1);
            prop_assert!(matches!(steps.last(), Some(RpcStep::Complete(_))));
        }
    }
}
