//! The requests to a node and their replies: one request for each control call (IOCTL) of the kernel, under its name.
//!
//! The same values are used in three ways: for a node in this process ([`Backend`]), over the control socket as JSON,
//! and for the C structures of `LNetCtl`.

mod discovery;
mod explain;
mod fault;
mod global;
mod local_ni;
mod peer;
mod policy;
mod route;
mod stats;

pub use discovery::{Difference, Discover, Discovered, DiscoveryFailure, DiscoveryStep, PeerDiscovery};
pub use explain::{Explain, Explanation, Passed, PassedOver, RuleOfWay};
pub use fault::{DelFaults, Fault, FaultCounts, FaultEffect, FaultKind, FaultOdds, FaultRule};
pub use global::{SetBy, Setting, SettingState, Tunables};
pub use local_ni::{
    AddLocalNi, DelLocalNi, LndTunables, LocalHealth, LocalNi, NiState, NiStatus, NiTunables,
    SetConnsPerPeer, SetHealth, SetHealthKind,
};
pub use peer::{
    AddPeerNi, DelPeerNi, NetNotice, Peer, PeerHealth, PeerNi, PeerNiState, PeerReachability, Ping,
    PingAnswer, SetPeerState,
};
pub use policy::{AddUdsp, AppliedUdsp, DelSameUdsp, GivenByUdsp, Udsp, UdspAction, UdspPartner};
pub use route::{AddRoute, BufferCounts, BufferPool, CptBuffers, DelRoute, Route};
pub use stats::{CommCount, ElementStats, Heat, LnetStats, MessageStats};

use lnet_wire::{Errno, NetId, Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// Whoever carries out requests: a node in this process, or a connection to one elsewhere.
pub trait Backend {
    /// Carries out one request. Waits for its answer; a ping may take minutes.
    /// [`Errno::NetworkDown`] where there is no node.
    fn call(&self, request: Request) -> Result<Reply, Errno>;
}

/// Something to be done or told. The number in brackets is the IOCTL's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "requests are made, carried out and gone; none is kept")]
pub enum Request {
    /// Who is there? No IOCTL has this.
    GetNode,
    /// (50) The node's `index`th NID, from 0; [`Errno::NotFound`] past the end. [`Reply::Id`].
    GetNi(u32),
    /// (51) Make messages to or from a NID (or any) fail: this number of them, 0 to stop, `u32::MAX` for all.
    FailNid(Option<Nid>, u32),
    /// (55) An interface of a peer is alive or down, as an operator says. An unknown NID changes nothing.
    NotifyRouter(NetNotice),
    /// (59) Bring LNet up; `true`: with the nets that are configured for its start. Nothing if it is up.
    Configure(bool),
    /// (56) Take LNet down. [`Errno::Busy`] while a program uses it.
    Unconfigure,
    /// (58) How far is this NID? [`Reply::Distance`].
    LnetDist(Nid),
    /// (61, 62) [`Reply::Ping`].
    PingPeer(Ping),
    /// (64) Add a rule that loses or delays messages. [`Errno::Invalid`] for one that could not hit any.
    AddFault(FaultRule),
    /// (64) Delete matching rules. [`Reply::Number`]: their number.
    DelFaults(DelFaults),
    /// (64) Reset the statistics of these rules, and restart their intervals.
    ResetFaults(FaultKind),
    /// (64) The `index`th rule of a kind, the newest first; [`Errno::NotFound`] past the end. [`Reply::Fault`].
    GetFault(FaultKind, u32),
    /// (77) [`Reply::Discovered`].
    Discover(Discover),
    /// (81) Add a route.
    AddRoute(AddRoute),
    /// (82) Delete routes.
    DelRoute(DelRoute),
    /// (83) The `index`th route; [`Errno::NotFound`] past the end. [`Reply::Route`].
    GetRoute(u32),
    /// (87) Forward messages for others, or no longer.
    ConfigRouter(bool),
    /// (88) How many router buffers there shall be.
    AddBuffers(BufferCounts),
    /// (89) The router buffers of CPT `index`; [`Errno::NotFound`] past the last. [`Reply::Buffers`].
    GetBuffers(u32),
    /// (91) [`Reply::Stats`].
    GetLnetStats,
    /// (110) Set the counters to 0.
    ResetLnetStats,
    /// (92) Make a peer or give it a NID.
    AddPeerNi(AddPeerNi),
    /// (93) Remove a NID of a peer, or the peer.
    DelPeerNi(DelPeerNi),
    /// (94) The peer with this NID. [`Reply::Peer`].
    GetPeerNi(Nid),
    /// (100) The primary NIDs of all peers, in the order in which they came. [`Reply::Nids`].
    GetPeerList,
    /// (112) Overwrite a peer's state word: for debugging.
    SetPeer(SetPeerState),
    /// (95) Add an interface. [`Reply::Nid`].
    AddLocalNi(AddLocalNi),
    /// What [`Request::AddLocalNi`] would be answered: [`Reply::Done`] or its error. No IOCTL has this.
    CheckLocalNi(AddLocalNi),
    /// (96) Take away an interface or a net.
    DelLocalNi(DelLocalNi),
    /// (97, 101, 103) The `index`th interface, net by net, the loopback first; [`Errno::NotFound`] past the
    /// end. [`Reply::LocalNi`].
    GetLocalNi(u32),
    /// (98) Set the NUMA range.
    SetNumaRange(u32),
    /// (99) [`Reply::Number`].
    GetNumaRange,
    /// A global tunable; the kernel has them as module parameters. [`Errno::Invalid`] for a value out of
    /// range.
    SetTunable(Setting, i64),
    /// All global tunables. [`Reply::Tunables`].
    GetTunables,
    /// All settings and tunables, and who set them. No IOCTL has this. [`Reply::Settings`].
    GetSettings,
    /// (102) Set health values.
    SetHealth(SetHealth),
    /// (104) The NIDs being recovered: of interfaces (`true`) or of peers. [`Reply::Nids`].
    GetRecoveryQueue(bool),
    /// (105) Add a selection rule.
    AddUdsp(AddUdsp),
    /// (106) Delete the rule with this index; `None`: all.
    DelUdsp(Option<u32>),
    /// The rule about exactly the same.
    DelSameUdsp(Box<DelSameUdsp>),
    /// (107, 108) The rule at this index; [`Errno::NotFound`] past the end. [`Reply::Udsp`].
    GetUdsp(u32),
    /// (109) What the rules made of this NID: an interface (`true`) or a peer NI. [`Reply::AppliedUdsp`].
    GetAppliedUdsp(Nid, bool),
    /// Which way would a message go? No IOCTL has this. [`Reply::Explanation`].
    Explain(Explain),
    /// (111) Set how many connections a peer gets.
    SetConnsPerPeer(SetConnsPerPeer),
}

impl Request {
    /// Whether it only reads: such requests are permitted on a read-only control socket. A ping or a discovery is not
    /// among them, as it sends messages and may add peers.
    pub const fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::GetNode
                | Self::GetNi(_)
                | Self::LnetDist(_)
                | Self::GetRoute(_)
                | Self::GetBuffers(_)
                | Self::GetLnetStats
                | Self::GetPeerNi(_)
                | Self::GetPeerList
                | Self::GetLocalNi(_)
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

/// Which node answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// The library's version, such as `0.1.0`.
    pub version: String,
    /// The node's name (`LNET_NODE`).
    pub name: String,
    /// Its process.
    pub process: u32,
    /// What LNet selftest does on it, in words; `None`: it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selftest: Option<String>,
}

/// How far a NID is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistanceAnswer {
    /// 0: one's own. 1: on a net of one's own.
    pub hops: u32,
    /// The interface to use.
    pub source: Nid,
    /// Smaller is preferred.
    pub order: u32,
}

macro_rules! replies {
    ($($(#[$doc:meta])* $name:ident($type:ty),)*) => {
        /// What a request is answered with.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reply {
            /// Done, without a result.
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
    /// Who is there.
    Node(NodeInfo),
    /// One of the node's NIDs with its process id.
    Id(ProcessId),
    /// One NID.
    Nid(Nid),
    /// Several NIDs.
    Nids(Vec<Nid>),
    /// A number.
    Number(u32),
    /// How far a NID is.
    Distance(DistanceAnswer),
    /// What a ping found.
    Ping(PingAnswer),
    /// What a discovery found, or where it failed.
    Discovered(Discovered),
    /// An interface of the node.
    LocalNi(Box<LocalNi>),
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
    /// What the selection rules made of a NID.
    AppliedUdsp(AppliedUdsp),
    /// A rule that loses or delays messages, and what it has done.
    Fault(Box<Fault>),
    /// Which way a message would go, and why no other.
    Explanation(Explanation),
}

/// Requests with replies of one kind, as one call.
impl dyn Backend + '_ {
    /// Carries out a request that is answered with a `T`.
    pub fn ask<T: TryFrom<Reply, Error = Errno>>(&self, request: Request) -> Result<T, Errno> {
        self.call(request).and_then(T::try_from)
    }

    /// Carries out a request that has no answer.
    pub fn tell(&self, request: Request) -> Result<(), Errno> {
        self.call(request).map(drop)
    }

    /// Everything that `request` lists, from 0 until [`Errno::NotFound`].
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
    /// All of a net.
    Net(NetId),
    /// One NID.
    Nid(Nid),
}
