//! RPCs of a console from the moment that it decides on them: threads send them without the console's lock.

use crate::console::{Action, RpcId};
use std::collections::HashMap;

/// The RPCs that have not ended. `H` is the handle by which an RPC is aborted after it was sent.
pub(super) struct InFlight<H>(HashMap<RpcId, RequestProgress<H>>);

/// The state of an RPC.
enum RequestProgress<H> {
    /// The RPC is about to be sent.
    Posting,
    /// The RPC has been sent; `H` aborts it.
    Sent(H),
    /// The RPC was given up.
    GivenUp,
}

impl<H> Default for InFlight<H> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<H> InFlight<H> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Registers the RPCs that the console has decided on. Must be called before the console's lock is released: a thread
    /// that ends the session meanwhile then gives up the RPCs that are not sent yet, so that none reaches a node that has
    /// been told of the end.
    pub(super) fn expect(&mut self, actions: &[Action]) {
        for action in actions {
            if let Action::Post(id, _) = action {
                self.0.insert(*id, RequestProgress::Posting);
            }
        }
    }

    /// Whether an RPC is still to be sent. If not, it has ended.
    pub(super) fn wants(&mut self, id: RpcId) -> bool {
        let wants = matches!(self.0.get(&id), Some(RequestProgress::Posting));
        if !wants {
            self.ended(id);
        }
        wants
    }

    /// Notes that an RPC was sent. Returns the handle if the RPC was given up meanwhile: the caller aborts it.
    pub(super) fn sent(&mut self, id: RpcId, handle: H) -> Option<H> {
        match self.0.get_mut(&id) {
            Some(progress @ RequestProgress::Posting) => {
                *progress = RequestProgress::Sent(handle);
                None
            }
            Some(RequestProgress::GivenUp) => Some(handle),
            // The RPC has ended, or the host has.
            Some(RequestProgress::Sent(_)) | None => None,
        }
    }

    /// Gives an RPC up. Returns its handle if it was sent: the caller aborts it.
    pub(super) fn give_up(&mut self, id: RpcId) -> Option<H> {
        match std::mem::replace(self.0.get_mut(&id)?, RequestProgress::GivenUp) {
            RequestProgress::Sent(handle) => Some(handle),
            RequestProgress::Posting | RequestProgress::GivenUp => None,
        }
    }

    /// Forgets all RPCs. Returns the handles of those in flight: the caller aborts them.
    pub(super) fn give_up_all(&mut self) -> Vec<H> {
        let sent = |(_, progress)| match progress {
            RequestProgress::Sent(handle) => Some(handle),
            RequestProgress::Posting | RequestProgress::GivenUp => None,
        };
        self.0.drain().filter_map(sent).collect()
    }

    pub(super) fn ended(&mut self, id: RpcId) {
        self.0.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::call::{Call, NewSession, ReplyContent, SessionNumber, Target};
    use crate::console::rpc::{RpcBody, RpcReply, RpcRequest};
    use crate::console::{Command, CommandId, Console, Name, Response};
    use std::time::Duration;

    const ONE: &str = "10.0.0.1@tcp";
    const KEY: u32 = 7;

    /// A console on no engine.
    #[derive(Default)]
    struct Host {
        console: Console,
        rpcs: InFlight<()>,
    }

    impl Host {
        /// Carries out a command as a thread does until it releases the lock.
        fn command(&mut self, id: u64, command: Command) -> Vec<Action> {
            let call = Call { key: KEY, command };
            let actions = self.console.handle_command(Duration::ZERO, CommandId(id), call);
            self.rpcs.expect(&actions);
            actions
        }

        /// Carries out the actions of a command; returns the RPCs that are sent.
        fn carry_out(&mut self, actions: &[Action]) -> Vec<(RpcId, RpcBody)> {
            let mut sent = Vec::new();
            for action in actions {
                match action {
                    Action::Post(id, request) if self.rpcs.wants(*id) => {
                        sent.push((*id, request.body.clone()));
                        assert_eq!(self.rpcs.sent(*id, ()), None);
                    }
                    Action::Abort(id) => drop(self.rpcs.give_up(*id)),
                    _ => {}
                }
            }
            sent
        }

        fn reply(&mut self, id: RpcId, session: SessionNumber) -> Vec<Action> {
            self.rpcs.ended(id);
            let reply = RpcReply { features: 1, status: 0, session, said: ReplyContent::Nothing };
            self.console.handle_reply(Duration::ZERO, id, Ok(reply))
        }
    }

    #[test]
    fn what_was_not_sent_before_the_session_ended_is_not_sent_afterwards() {
        let mut host = Host::default();
        host.console.set_own_nid(Some(ONE.parse().unwrap()));
        let new = NewSession { name: "sess".parse().unwrap(), idle_timeout: 300, force: false, features: 1 };
        let begun = host.command(1, Command::NewSession(new));
        let [Action::Response(_, response)] = &begun[..] else { panic!("{begun:?}") };
        let Ok(Response::Session(info)) = &**response else { panic!("{response:?}") };
        let (group, nids) = ("all".parse::<Name>().unwrap(), vec![ONE.parse().unwrap()]);
        host.command(2, Command::AddGroup { group: group.clone() });
        let added = host.command(3, Command::AddNodes { group, nids });
        let [(made, _)] = host.carry_out(&added)[..] else { panic!("{added:?}") };
        host.reply(made, info.id);

        // Another thread ends the session before this one has sent its RPC to the node.
        let late = host.command(4, Command::Ping { target: Target::Session, timeout: 30 });
        assert!(matches!(late[..], [Action::Post(..)]), "{late:?}");
        let ends = host.command(5, Command::EndSession);
        let [(removal, RpcBody::RemoveSession)] = host.carry_out(&ends)[..] else { panic!("{ends:?}") };
        let ended = host.reply(removal, SessionNumber::NONE);
        assert!(host.carry_out(&ended).is_empty());
        assert!(host.carry_out(&late).is_empty());
        assert!(host.rpcs.is_empty(), "nor is it waited for");
    }

    #[test]
    fn what_is_given_up_while_it_is_being_sent_is_aborted_as_soon_as_that_is_possible() {
        let mut rpcs = InFlight::default();
        let request = RpcRequest {
            to: "12345-10.0.0.1@tcp".parse().unwrap(),
            session: SessionNumber::NONE,
            features: 1,
            body: RpcBody::Debug,
        };
        let ids = [1, 2, 3].map(RpcId);
        rpcs.expect(&ids.map(|id| Action::Post(id, request.clone())));
        assert!(ids.into_iter().all(|id| rpcs.wants(id)));
        assert_eq!(rpcs.give_up(RpcId(1)), None, "there is nothing to abort yet");
        assert_eq!(rpcs.sent(RpcId(1), "one"), Some("one"));
        assert_eq!(rpcs.sent(RpcId(2), "two"), None);
        assert_eq!(rpcs.give_up(RpcId(2)), Some("two"));
        rpcs.ended(RpcId(3));
        assert_eq!(rpcs.sent(RpcId(3), "three"), None, "it has ended before");
        rpcs.ended(RpcId(1));
        rpcs.ended(RpcId(2));
        assert!(rpcs.is_empty());
    }
}
