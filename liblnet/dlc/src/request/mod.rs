//! The requests to a node and their replies: one request for each control call (IOCTL) of the kernel, under its name.
//!
//! The same values are used in three ways: for a node in this process ([`Backend`]), over the control socket as JSON,
//! and for the C structures of `LNetCtl`.

mod discovery;
mod explain;
mod fault;
mod global;
mod history;
mod lnd_numbers;
mod local_ni;
mod peer;
mod ping;
mod policy;
mod program;
mod route;
mod stats;

pub use discovery::{Difference, Discover, Discovered, DiscoveryFailure, DiscoveryStep, PeerDiscovery};
pub use explain::{Explain, Explanation, Passed, PassedOver, RuleOfWay};
pub use fault::{DelFaults, Fault, FaultCounts, FaultEffect, FaultKind, FaultOdds, FaultRule};
pub use global::{LARGE_NIDS, SetBy, Setting, SettingState, Tunables};
pub use history::StateChange;
pub(crate) use lnd_numbers::{LND_NUMBERS, LndNumber};
pub use local_ni::{
    AddLocalNi, Configure, DelLocalNi, LndNumbers, LndTunables, LocalHealth, LocalNi, NiState, NiStatus,
    NiTunables, SetConnsPerPeer, SetHealth, SetHealthKind, WaitingNi,
};
pub use peer::{
    AddPeerNi, DelPeerNi, NetNotice, Peer, PeerHealth, PeerNi, PeerNiState, PeerReachability, SetPeerState,
};
pub use ping::{Ping, PingResponse};
pub use policy::{AddUdsp, AppliedUdsp, DelSameUdsp, GivenByUdsp, Udsp, UdspAction, UdspPartner};
pub use program::{AttachedProgram, AttachedPrograms, PayloadWays, ProgramCounts, RingFill};
pub use route::{AddRoute, BufferCounts, BufferPool, CptBuffers, DelRoute, Route};
pub use stats::{CommCount, ElementStats, Heat, LnetStats, MessageStats};

use lnet_wire::{Errno, NetId, Nid, ProcessId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The receiver of requests: a node in this process, or a connection to one in another process.
pub trait Backend {
    /// Carries out one request and waits for its reply; a ping may take minutes.
    /// [`Errno::NetworkDown`] where there is no node.
    fn call(&self, request: Request) -> Result<Reply, RequestError>;

    /// Does the same as [`Backend::call`], and adds to `warnings` what the receiver warns about although the request succeeds: one
    /// text each, which an operator should read. Receivers that warn about nothing have no version of their own.
    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        let _ = warnings;
        self.call(request)
    }
}

/// A function from requests to replies is a backend.
impl<F: Fn(Request) -> Result<Reply, RequestError>> Backend for F {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self(request)
    }
}

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct RequestError {
    /// The number that the kernel would give.
    pub errno: Errno,
    /// The cause, in the words of whoever found it; `None` if nothing but the number is known.
    pub text: Option<String>,
}

impl RequestError {
    /// The cause, or the text of the number.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_else(|| self.errno.text())
    }
}

impl From<Errno> for RequestError {
    fn from(errno: Errno) -> Self {
        Self { errno, text: None }
    }
}

impl From<RequestError> for Errno {
    fn from(error: RequestError) -> Self {
        error.errno
    }
}

/// A request to a node. The number in brackets is that of the kernel's IOCTL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "requests are made, carried out and gone; none is kept")]
pub enum Request {
    /// The identity of the node: version, name, process. No IOCTL has this. [`Reply::Node`].
    GetNode,
    /// The programs that are attached to the node. No IOCTL has this. [`Reply::Programs`].
    GetPrograms,
    /// The changes of state that the node keeps with numbers greater than this one: some, in their order; none if there are no more. No
    /// IOCTL has this. [`Reply::History`].
    GetHistory(u64),
    /// (50) The node's `index`th NID, from 0; [`Errno::NotFound`] past the end. [`Reply::Id`].
    GetNi(u32),
    /// (51) Make messages to or from a NID (`None`: any) fail: this number of them, 0 to stop, `u32::MAX` for all.
    FailNid(Option<Nid>, u32),
    /// (55) Mark an interface of a peer as alive or down, as an operator says. An unknown NID changes nothing.
    NotifyRouter(NetNotice),
    /// (59) Start LNet. If it has started, interfaces that are added by their names have large NIDs from now on if that is asked for.
    Configure(Configure),
    /// (56) Stop LNet. [`Errno::Busy`] while a program uses it.
    Unconfigure,
    /// (58) The distance of a NID. [`Reply::Distance`].
    LnetDist(Nid),
    /// (61, 62) Ping a node. [`Reply::Ping`].
    PingPeer(Ping),
    /// (64) Add a fault rule. [`Errno::Invalid`] for a rule that no message could match.
    AddFault(FaultRule),
    /// (64) Delete matching fault rules. [`Reply::Number`]: the number of rules deleted.
    DelFaults(DelFaults),
    /// (64) Reset the counters of the fault rules of this kind, and restart their intervals.
    ResetFaults(FaultKind),
    /// (64) The `index`th fault rule of a kind, the newest first; [`Errno::NotFound`] past the end. [`Reply::Fault`].
    GetFault(FaultKind, u32),
    /// (77) Discover a node. [`Reply::Discovered`].
    Discover(Discover),
    /// (81) Add a route.
    AddRoute(AddRoute),
    /// (82) Delete routes.
    DelRoute(DelRoute),
    /// (83) The `index`th route; [`Errno::NotFound`] past the end. [`Reply::Route`].
    GetRoute(u32),
    /// (87) Switch forwarding of messages for other nodes on or off.
    ConfigRouter(bool),
    /// (88) Set the numbers of router buffers.
    AddBuffers(BufferCounts),
    /// (89) The router buffers of CPT `index`; [`Errno::NotFound`] past the last. [`Reply::Buffers`].
    GetBuffers(u32),
    /// (91) The counters of the node. [`Reply::Stats`].
    GetLnetStats,
    /// (110) Set the counters to 0.
    ResetLnetStats,
    /// (92) Create a peer, or add a NID to one.
    AddPeerNi(AddPeerNi),
    /// (93) Remove a NID of a peer, or the peer.
    DelPeerNi(DelPeerNi),
    /// (94) The peer with this NID. [`Reply::Peer`].
    GetPeerNi(Nid),
    /// (100) The primary NIDs of all peers, in the order in which they were created. [`Reply::Nids`].
    GetPeerList,
    /// (112) Overwrite a peer's state word: for debugging.
    SetPeer(SetPeerState),
    /// (95) Add an interface. [`Reply::Nid`]; [`Reply::Done`] for one that waits: see [`Request::GetWaitingNis`].
    AddLocalNi(AddLocalNi),
    /// Check whether [`Request::AddLocalNi`] would succeed: [`Reply::Done`] or its error. No IOCTL has this.
    CheckLocalNi(AddLocalNi),
    /// (96) Delete an interface or a net.
    DelLocalNi(DelLocalNi),
    /// (97, 101, 103) The `index`th interface, net by net, the loopback first; [`Errno::NotFound`] past the
    /// end. [`Reply::LocalNi`].
    GetLocalNi(u32),
    /// The interfaces that are started when the host has them. No IOCTL has this. [`Reply::WaitingNis`].
    GetWaitingNis,
    /// (98) Set the NUMA range.
    SetNumaRange(u32),
    /// (99) The NUMA range. [`Reply::Number`].
    GetNumaRange,
    /// Set a global tunable; the kernel has them as module parameters. [`Errno::Invalid`] for a value out of range.
    SetTunable(Setting, i64),
    /// All global tunables. [`Reply::Tunables`].
    GetTunables,
    /// All settings and tunables, and the origins of their values. No IOCTL has this. [`Reply::Settings`].
    GetSettings,
    /// (102) Set health values.
    SetHealth(SetHealth),
    /// (104) The NIDs that are being recovered: of interfaces of this node (`true`) or of peers. [`Reply::Nids`].
    GetRecoveryQueue(bool),
    /// (105) Add a selection rule.
    AddUdsp(AddUdsp),
    /// (106) Delete the selection rule with this index; `None`: all.
    DelUdsp(Option<u32>),
    /// Delete the selection rule with exactly these criteria.
    DelSameUdsp(Box<DelSameUdsp>),
    /// (107, 108) The selection rule at this index; [`Errno::NotFound`] past the end. [`Reply::Udsp`].
    GetUdsp(u32),
    /// (109) The effect of the selection rules on the NID of an interface (`true`) or a peer NI. [`Reply::AppliedUdsp`].
    GetAppliedUdsp(Nid, bool),
    /// The path that a message would take. No IOCTL has this. [`Reply::Explanation`].
    Explain(Explain),
    /// (111) Set the number of connections to each peer NI.
    SetConnsPerPeer(SetConnsPerPeer),
}

impl Request {
    /// Whether the request only reads: such requests are permitted on a read-only control socket. A ping or a discovery
    /// is not among them, as it sends messages and may add peers.
    pub const fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::GetNode
                | Self::GetPrograms
                | Self::GetHistory(_)
                | Self::GetNi(_)
                | Self::LnetDist(_)
                | Self::GetRoute(_)
                | Self::GetBuffers(_)
                | Self::GetLnetStats
                | Self::GetPeerNi(_)
                | Self::GetPeerList
                | Self::GetLocalNi(_)
                | Self::GetWaitingNis
                | Self::CheckLocalNi(_)
                | Self::GetNumaRange
                | Self::GetTunables
                | Self::GetSettings
                | Self::GetRecoveryQueue(_)
                | Self::GetUdsp(_)
                | Self::GetFault(..)
                | Self::GetAppliedUdsp(..)
                | Self::Explain(_)
        )
    }
}

impl Request {
    /// Whether the request changes what is configured: not a question, a message to a peer, or a reset of counters.
    pub const fn changes_configuration(&self) -> bool {
        let is_message = matches!(self, Self::PingPeer(_) | Self::Discover(_));
        let is_reset = matches!(self, Self::ResetLnetStats | Self::ResetFaults(_));
        !self.only_reads() && !is_message && !is_reset
    }

    /// The request with its values, for a line of the log.
    pub fn in_words(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The identity of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// The library's version, such as `0.1.0`.
    pub version: String,
    /// The node's name (`LNET_NODE`).
    pub name: String,
    /// The id of the node's process.
    pub process: u32,
    /// The time at which the node started, in milliseconds since 1970-01-01 UTC, if the node reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
    /// The state of LNet selftest on the node, as text; `None`: it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selftest: Option<String>,
}

/// The distance of a NID from this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistanceResponse {
    /// 0: a NID of this node. 1: on a net of this node. More: the hops of the shortest route, plus 1.
    pub hops: u32,
    /// The NID of this node from which messages to it are sent.
    pub source: Nid,
    /// The rank among NIDs of equal `hops`: the smaller one is preferred.
    pub order: u32,
}

macro_rules! replies {
    ($($(#[$doc:meta])* $name:ident($type:ty),)*) => {
        /// The reply to a request.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reply {
            /// Success, without a result.
            Done,
            $($(#[$doc])* $name($type),)*
        }

        $(
            impl TryFrom<Reply> for $type {
                type Error = Errno;

                fn try_from(reply: Reply) -> Result<Self, Errno> {
                    match reply {
                        Reply::$name(it) => Ok(it),
                        _ => Err(Errno::Protocol),
                    }
                }
            }
        )*
    };
}

replies! {
    /// The identity of the node.
    Node(NodeInfo),
    /// The programs that are attached to the node.
    Programs(AttachedPrograms),
    /// Changes of state.
    History(Vec<StateChange>),
    /// One of the node's NIDs with its process id.
    Id(ProcessId),
    /// One NID.
    Nid(Nid),
    /// Several NIDs.
    Nids(Vec<Nid>),
    /// A number.
    Number(u32),
    /// The distance of a NID.
    Distance(DistanceResponse),
    /// The ping information of a node.
    Ping(PingResponse),
    /// The result of a discovery.
    Discovered(Discovered),
    /// An interface of the node.
    LocalNi(Box<LocalNi>),
    /// The interfaces that wait.
    WaitingNis(Vec<WaitingNi>),
    /// A peer.
    Peer(Box<Peer>),
    /// A route.
    Route(Route),
    /// Router buffers of one CPT.
    Buffers(CptBuffers),
    /// The global tunables.
    Tunables(Tunables),
    /// All settings and tunables.
    Settings(Vec<SettingState>),
    /// The node's counters.
    Stats(Box<LnetStats>),
    /// A selection rule.
    Udsp(Box<Udsp>),
    /// The effect of the selection rules on a NID.
    AppliedUdsp(AppliedUdsp),
    /// A fault rule and its counters.
    Fault(Box<Fault>),
    /// The path that a message would take, and why it would take no other.
    Explanation(Explanation),
}

/// Calls that convert the reply to the type that the request has. The error is the number alone; that of [`Backend::call`] has the text
/// as well.
impl dyn Backend + '_ {
    /// Carries out a request whose reply is a `T`. [`Errno::Protocol`] for any other reply.
    pub fn ask<T: TryFrom<Reply, Error = Errno>>(&self, request: Request) -> Result<T, Errno> {
        self.call(request)?.try_into()
    }

    /// Carries out a request without a result.
    pub fn tell(&self, request: Request) -> Result<(), Errno> {
        self.call(request)?;
        Ok(())
    }

    /// All items that `request` lists, by index from 0 until [`Errno::NotFound`].
    pub fn list<T: TryFrom<Reply, Error = Errno>>(
        &self,
        request: impl Fn(u32) -> Request,
    ) -> Result<Vec<T>, Errno> {
        let mut all = Vec::new();
        for index in 0.. {
            match self.ask(request(index)) {
                Ok(one) => all.push(one),
                Err(Errno::NotFound) => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(all)
    }
}

/// A net or one NID of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetOrNid {
    /// All NIDs of a net.
    Net(NetId),
    /// One NID.
    Nid(Nid),
}
