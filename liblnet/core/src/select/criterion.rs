//! The criteria of path selection: their names, and the texts by which an explanation gives them as reasons.

/// Defines the enum of the criteria. `of_health`: whether the criterion says which of two is in better health, or works at
/// all; such a criterion comes before all rules (UD-41).
macro_rules! criterion_names {
    ($($(#[$doc:meta])* $name:ident { of_health: $of_health:literal, text: $text:literal })+) => {
        /// The criteria, under the names of the specification, and other reasons that may decide against a candidate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Criterion {
            $($(#[$doc])* $name,)+
        }

        impl Criterion {
            /// A short text, for `explain`.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Whether the criterion says which of two is in better health, or works at all.
            pub(super) const fn is_of_health(self) -> bool {
                match self {
                    $(Self::$name => $of_health,)+
                }
            }
        }
    };
}

criterion_names! {
    /// The interface has a fatal error: used only if all have one.
    Fatal { of_health: true, text: "the driver reports it as broken" }
    /// The path is unresponsive: used only if there is no other.
    Unresponsive { of_health: true, text: "nothing gets through over it" }
    /// The path is suspect or untested: used only if no other works.
    Unproven { of_health: true, text: "nothing heard on it since other paths failed" }
    /// The path is late: something is in flight on it, and nothing is heard.
    Late { of_health: true, text: "nothing heard on it since something was sent" }
    /// The local NI is no path to the peer NIs, for the family of its address: never used.
    Unreachable { of_health: true, text: "no path from its address family to the peer's" }
    /// The peer NIs that a local NI reaches are all down or without health: used only if there are no others.
    PeersDown { of_health: true, text: "the peer NIs that it reaches do not work" }
    /// The address of the local NI is of another family than the peer NI's: used only if no NI of that family works.
    Family { of_health: false, text: "its address family is not the peer's" }
    /// The best health of the peer NIs that a local NI reaches: higher is better.
    PeerHealth { of_health: true, text: "the peer NIs that it reaches have lower health" }
    /// The best priority by selection rules of the peer NIs that a local NI reaches: lower is better.
    PeerPriority { of_health: false, text: "the peer NIs that it reaches have lower priority" }
    /// Health value: higher is better.
    Health { of_health: true, text: "lower health" }
    /// The peer reports the peer NI as down: used only if all are.
    ReportedDown { of_health: true, text: "its node says that it is down" }
    /// Priority from selection rules: lower is better.
    Priority { of_health: false, text: "lower priority by selection rules" }
    /// NUMA distance from the memory to the device: lower is better.
    Distance { of_health: false, text: "farther from the memory" }
    /// Preference of selection rules for the path.
    Preferred { of_health: false, text: "less preferred by selection rules" }
    /// Turn of several messages, which selection rules give another candidate.
    MessageTurn { of_health: false, text: "not its turn by selection rules" }
    /// The state of a route: one that is not up is used only if none is.
    RouteState { of_health: true, text: "its route is down" }
    /// Priority of a route: lower is better.
    RoutePriority { of_health: false, text: "lower priority of its route" }
    /// Hops of a route: fewer are better.
    Hops { of_health: false, text: "more hops" }
    /// Bytes queued or in flight: fewer are better.
    QueuedBytes { of_health: false, text: "more bytes queued" }
    /// Send credits: more is better.
    Credits { of_health: false, text: "fewer credits" }
    /// Time of the last use: the least recently used is better.
    RoundRobin { of_health: false, text: "used more recently" }
    /// Position in the configuration, if nothing else differs.
    Order { of_health: false, text: "later in the configuration" }
    /// Health of the local net: that of its best interface.
    LocalNetHealth { of_health: true, text: "its local net has lower health" }
    /// Priority of the local net.
    LocalNetPriority { of_health: false, text: "its local net has lower priority" }
    /// Least recently used local net.
    LocalNetRoundRobin { of_health: false, text: "its local net was used more recently" }
    /// Health of the local NI for sending to a gateway.
    LocalNiHealth { of_health: true, text: "the interface to it has lower health" }
    /// Priority of the local NI for sending to a gateway.
    LocalNiPriority { of_health: false, text: "the interface to it has lower priority" }
    /// Preference of a selection rule about pairs for the local NI for sending to a gateway.
    LocalNiPreferred { of_health: false, text: "selection rules about pairs prefer the interface to it less" }
    /// The candidate is behind a gateway: used only if no common net works, or a rule prefers it.
    BehindGateway { of_health: false, text: "behind a gateway, and there is a common net" }
    /// The peer, which is not multi-rail, knows this node by another NID.
    Bound { of_health: false, text: "the peer knows this node by another interface" }
}
