//! A console with commands, and nodes that respond to it as lnet-selftest 5 says: all in memory, with a clock that only advances
//! while a command waits.
#![allow(dead_code, reason = "not all of it in every test")]

use lnet_selftest::console::call::{ReplyContent, SessionNumber};
use lnet_selftest::console::rpc::{BatchNumber, KNOWN_FEATURES};
use lnet_selftest::console::{
    Action, Call, Command, CommandId, Console, Counters, Refusal, Response, RpcBody, RpcId, RpcReply,
    RpcRequest,
};
use lnet_wire::Nid;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The console and all nodes.
pub struct ConsoleRig {
    pub console: Console,
    pub nodes: BTreeMap<Nid, FakeNode>,
    pub now: Duration,
    /// All requests that were sent.
    pub sent: Vec<RpcRequest>,
    /// RPCs that were given up.
    pub aborted: Vec<RpcId>,
    pub has_ended: bool,
    last: u64,
    responses: HashMap<CommandId, Result<Response, Refusal>>,
}

/// A node.
pub struct FakeNode {
    pub session: Option<Member>,
    /// Seconds after which the node's session ends.
    pub timeout: u32,
    pub features: u32,
    pub is: NodeBehaviour,
    /// The errors in the node's counters.
    pub errors: Counters,
    /// RPCs with 1 MiB of bulk that the node serves in a second.
    pub serves: u32,
}

/// The way in which a node answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeBehaviour {
    Fine,
    /// The node never answers.
    Unresponsive,
    /// RPCs to the node fail with this error.
    Failing(i32),
    /// The node refuses every request except questions about the session, with this status.
    Refusing(u32),
}

pub struct Member {
    pub number: SessionNumber,
    pub name: String,
    pub since: Duration,
    batches: HashMap<BatchNumber, Vec<Instance>>,
}

struct Instance {
    /// Whether the instance runs, if it is a client.
    runs: Option<bool>,
    repeat: i32,
}

impl ConsoleRig {
    /// A console with nodes that respond to every request.
    pub fn new(nids: &[&str]) -> Self {
        let mut console = Console::default();
        console.set_own_nid(Some("10.99.0.11@tcp".parse().unwrap()));
        let node = |nid: &&str| (nid.parse().unwrap(), FakeNode::default());
        Self {
            console,
            nodes: nids.iter().map(node).collect(),
            now: Duration::from_millis(212_198),
            sent: Vec::new(),
            aborted: Vec::new(),
            has_ended: false,
            last: 0,
            responses: HashMap::new(),
        }
    }

    pub fn node(&mut self, nid: &str) -> &mut FakeNode {
        self.nodes.get_mut(&nid.parse().unwrap()).unwrap()
    }

    /// Gives a command and waits for the response.
    pub fn call(&mut self, key: u32, command: Command) -> Result<Response, Refusal> {
        let id = self.begin(key, command);
        loop {
            if let Some(response) = self.response_of(id) {
                return response;
            }
            let next = self.console.next_time().expect("an answer");
            self.pass(next.saturating_sub(self.now));
        }
    }

    /// Passes a command to the console.
    pub fn begin(&mut self, key: u32, command: Command) -> CommandId {
        self.last += 1;
        let id = CommandId(self.last);
        let actions = self.console.handle_command(self.now, id, Call { key, command });
        self.carry_out(actions);
        id
    }

    pub fn response_of(&mut self, id: CommandId) -> Option<Result<Response, Refusal>> {
        self.responses.remove(&id)
    }

    pub fn interrupt(&mut self, id: CommandId) {
        let actions = self.console.handle_interruption(self.now, id);
        self.carry_out(actions);
    }

    /// Lets time pass, with everything that is due in it.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.console.next_time().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            let actions = self.console.handle_time(self.now);
            self.carry_out(actions);
        }
        self.now = end;
    }

    pub fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Post(id, request) => {
                    self.sent.push(request.clone());
                    if let Some(result) = self.deliver(&request) {
                        let actions = self.console.handle_reply(self.now, id, result);
                        self.carry_out(actions);
                    }
                }
                Action::Abort(id) => self.aborted.push(id),
                Action::Response(id, response) => drop(self.responses.insert(id, *response)),
                Action::Ended => self.has_ended = true,
            }
        }
    }

    fn deliver(&mut self, request: &RpcRequest) -> Option<Result<RpcReply, i32>> {
        let Some(node) = self.nodes.get_mut(&request.to.nid) else { return Some(Err(libc::EHOSTUNREACH)) };
        match node.is {
            NodeBehaviour::Unresponsive => None,
            NodeBehaviour::Failing(errno) => Some(Err(errno)),
            NodeBehaviour::Fine | NodeBehaviour::Refusing(_) => Some(Ok(node.respond(self.now, request))),
        }
    }
}

impl Default for FakeNode {
    fn default() -> Self {
        let errors = Counters::default();
        let (is, serves) = (NodeBehaviour::Fine, 0);
        Self { session: None, timeout: 100, features: KNOWN_FEATURES, is, errors, serves }
    }
}

impl FakeNode {
    /// Puts the node into a session of another console.
    pub fn occupy(&mut self, name: &str) {
        let number = SessionNumber { nid: Some("10.99.0.99@tcp".parse().unwrap()), stamp: 99 };
        let (name, since) = (name.to_owned(), Duration::ZERO);
        self.session = Some(Member { number, name, since, batches: HashMap::new() });
    }

    /// Puts the node into the session that a console offered when the node joined.
    pub fn join(&mut self, now: Duration, number: SessionNumber) {
        let (name, since) = ("joined".to_owned(), now);
        self.session = Some(Member { number, name, since, batches: HashMap::new() });
    }

    fn respond(&mut self, now: Duration, request: &RpcRequest) -> RpcReply {
        let (status, said) = match (self.is, &request.body) {
            (NodeBehaviour::Refusing(status), body)
                if !matches!(body, RpcBody::MakeSession { .. } | RpcBody::Debug) =>
            {
                (status, ReplyContent::Nothing)
            }
            _ => {
                self.serve(now, request).unwrap_or_else(|errno| (errno.unsigned_abs(), ReplyContent::Nothing))
            }
        };
        let session = self.session.as_ref().map_or(SessionNumber::NONE, |member| member.number);
        RpcReply { features: self.features & request.features, status, session, said }
    }

    fn serve(&mut self, now: Duration, request: &RpcRequest) -> Result<(u32, ReplyContent), i32> {
        let timeout = self.timeout;
        let named = |name: &str| ReplyContent::Session { timeout, name: name.to_owned() };
        match &request.body {
            RpcBody::MakeSession { force, name } => match &self.session {
                Some(member) if member.number == request.session => return Ok((0, named(""))),
                Some(member) if !force => {
                    return Ok((libc::EBUSY.unsigned_abs(), named(&member.name)));
                }
                _ => {
                    let (number, name) = (request.session, name.to_string());
                    self.session = Some(Member { number, name, since: now, batches: HashMap::new() });
                    return Ok((0, named("")));
                }
            },
            RpcBody::Debug => {
                return self.session.as_ref().map(|it| (0, named(&it.name))).ok_or(libc::ESRCH);
            }
            RpcBody::RemoveSession => {
                return match self.session.take_if(|member| member.number == request.session) {
                    Some(_) => Ok((0, ReplyContent::Nothing)),
                    None => Err(if self.session.is_some() { libc::EBUSY } else { libc::ESRCH }),
                };
            }
            _ => {}
        }
        let wanted = match request.body {
            RpcBody::AddServer { .. } | RpcBody::AddClient { .. } => libc::ENOENT,
            _ => libc::ESRCH,
        };
        let member = self.session.as_mut().filter(|it| it.number == request.session).ok_or(wanted)?;
        let said = match &request.body {
            RpcBody::AddServer { batch, .. } => {
                member.batches.entry(*batch).or_default().push(Instance { runs: None, repeat: 0 });
                ReplyContent::Nothing
            }
            RpcBody::AddClient { batch, repeat, .. } => {
                let instance = Instance { runs: Some(false), repeat: *repeat };
                member.batches.entry(*batch).or_default().push(instance);
                ReplyContent::Nothing
            }
            RpcBody::RunBatch { batch, .. } => {
                // A loop that is not endless ends at once.
                for it in member.batches.get_mut(batch).ok_or(libc::ENOENT)? {
                    it.runs = it.runs.map(|_| it.repeat < 0);
                }
                ReplyContent::Nothing
            }
            RpcBody::StopBatch { batch, .. } => {
                for it in member.batches.get_mut(batch).ok_or(libc::ENOENT)? {
                    it.runs = it.runs.map(|_| false);
                }
                ReplyContent::Nothing
            }
            RpcBody::QueryBatch { batch, test } => {
                let instances = member.batches.get(batch).ok_or(libc::ENOENT)?;
                let running = |it: &&Instance| it.runs == Some(true);
                ReplyContent::Running(match (*test as usize).checked_sub(1) {
                    None => instances.iter().filter(running).count() as u32,
                    Some(at) => instances.get(at).filter(running).map_or(0, |_| 1),
                })
            }
            RpcBody::Stat => ReplyContent::Counters(member.counters(now, &self.errors, self.serves)),
            RpcBody::MakeSession { .. } | RpcBody::Debug | RpcBody::RemoveSession => ReplyContent::Nothing,
        };
        Ok((0, said))
    }
}

impl Member {
    pub fn is_running(&self) -> bool {
        self.batches.values().flatten().any(|it| it.runs == Some(true))
    }

    /// The counters of a node: a client sends 47 messages with 23.5 MiB in a second, and gets as many empty ones.
    fn counters(&self, now: Duration, errors: &Counters, serves: u32) -> Counters {
        let passed = now.saturating_sub(self.since).as_millis() as u32;
        let done = if self.is_running() { passed } else { 0 };
        Counters {
            running_ms: passed,
            active_batches: self.is_running().into(),
            sent: done * 47 / 1000,
            received: done * 47 / 1000,
            sent_bytes: u64::from(done) * 24_641_536 / 1000,
            rpcs_received: passed * serves / 1000,
            bulk_get: (u64::from(passed * serves) << 20) / 1000,
            bulk_put: (u64::from(passed * serves) << 20) / 1000,
            ..*errors
        }
    }
}
