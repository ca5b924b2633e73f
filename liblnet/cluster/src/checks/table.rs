//! The table of findings: one row for each kind.

/// The weight of a finding. The order is that of reports: the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Messages are lost, or never sent.
    Error,
    /// The cluster works, but not as it is meant to, or not under all conditions.
    Warning,
    /// Something to know.
    Note,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// The word for it in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A kind of finding.
#[derive(Debug)]
pub struct Row {
    /// The stable name, in reports and documents.
    pub id: &'static str,
    /// The usual severity.
    pub severity: Severity,
    /// A sentence without its full stop: the finding in general.
    pub title: &'static str,
    /// The reason for which it matters.
    pub why: &'static str,
    /// The remedy.
    pub mend: &'static str,
    /// The growth of the cost of the check.
    pub cost: &'static str,
}

macro_rules! findings {
    ($($kind:ident = ($id:literal, $severity:ident, $title:literal, $why:literal, $mend:literal, $cost:literal);)*) => {
        /// The kinds of findings, in the order of reports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind { $(#[doc = $title] $kind,)* }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The row of the kind.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => &Row {
                        id: $id, severity: Severity::$severity, title: $title, why: $why, mend: $mend, cost: $cost,
                    },)*
                }
            }
        }
    };
}

findings! {
    Isolated = ("isolated", Error,
        "Nodes have no net in common with any other node, and no route leads to or from them",
        "They exchange no message with any other node.",
        "Put the nodes on a net that others are on, or give them and the others routes.",
        "classes²");
    NoPath = ("no-path", Error,
        "Nodes cannot send to others that can, or should, send to them",
        "Requests of these nodes fail; requests to them arrive, but responses have no path.",
        "Add a route to a net of the nodes that are not reached, by a gateway that is on both nets.",
        "classes² × routes of a class");
    GatewayNobody = ("gateway-nobody", Error,
        "A route names a gateway NID that no node has",
        "Messages by this route go nowhere.",
        "Correct the NID of the gateway, or add the file of the router.",
        "routes");
    GatewayNotOnOwnNet = ("gateway-not-on-own-net", Error,
        "A route names a gateway on a net that the node itself is not on",
        "The node cannot send to the gateway, and refuses the route.",
        "Name the NID that the gateway has on a net of the node.",
        "routes");
    GatewayNotOnTarget = ("gateway-not-on-target", Error,
        "A gateway is not on the net that a route leads to, and has no route to it over another net",
        "The gateway drops messages to that net; it never sends one back onto the net that it came by.",
        "Put the gateway on the net, give it a route to the net, or remove the route.",
        "routes");
    GatewayDoesNotForward = ("gateway-does-not-forward", Error,
        "A node that others have as gateway does not forward",
        "The gateway drops messages for other nodes.",
        "Switch forwarding on: 'lnetctl set routing 1' on the gateway, or 'routing: {enable: 1}' in its file.",
        "routes");
    DuplicateNid = ("duplicate-nid", Error,
        "Two interfaces have the same NID",
        "Messages to the NID reach either node, and peers take them for one node.",
        "Give one of the interfaces another address or net.",
        "runs of addresses, sorted");
    AcceptPortDiffers = ("accept-port-differs", Error,
        "Nodes of a TCP net accept connections on different ports",
        "A node connects to the port on which it accepts connections itself, and finds nobody there.",
        "Give all nodes of the net the same accept_port.",
        "interfaces of classes");
    PeerOfTwoNodes = ("peer-of-two-nodes", Error,
        "A configured peer has NIDs of different nodes",
        "Messages to one node are sent to the other.",
        "Make a peer of each node.",
        "peers of classes");
    FamilyDiffers = ("family-differs", Warning,
        "Nodes of one net have NIDs of different address families",
        "Nodes with IPv6 NIDs only send no requests to IPv4 NIDs, and those with IPv4 NIDs only need an IPv6 address for requests to IPv6 NIDs.",
        "Give all nodes of the net NIDs of the same family, or of both.",
        "interfaces of classes; with IPv6 NIDs classes² × routes of a class");
    HopsDisagree = ("hops-disagree", Warning,
        "A route says another number of hops than there are gateways on the path",
        "A node prefers the route with fewer hops, and with 1 hop it uses a gateway only if that is on the net itself.",
        "Say the number of gateways on the path, or leave the hops out.",
        "routes");
    RouteToOwnNet = ("route-to-own-net", Warning,
        "A route leads to a net that the node itself is on",
        "The node refuses the route, and sends to the net directly.",
        "Remove the route.",
        "routes");
    AsymmetricRoute = ("asymmetric-route", Warning,
        "Requests and responses between two nodes take different gateways",
        "A failure shows in one direction only, and a node with drop_asym_route drops the messages.",
        "Give both sides routes by the same gateways, with the same order of priorities.",
        "classes² × routes of a class");
    PeerNobody = ("peer-nobody", Warning,
        "A configured peer has a NID that no node has",
        "Messages to the peer are tried on this NID, and are late.",
        "Correct or remove the NID, or add the file of the node.",
        "peers of classes");
    PeerWrongPrimary = ("peer-wrong-primary", Warning,
        "A configured peer has a primary NID that is not the node's",
        "The node calls itself by another NID: the upper layers know it by two names.",
        "Name the node's first NID, that of its first interface, as the primary NID.",
        "peers of classes");
    DiscoveryOff = ("discovery-off", Warning,
        "Discovery is off, and the other NIDs of nodes with several interfaces are not configured",
        "Peers are used by one NID only: other interfaces carry nothing, and do not take over when one fails.",
        "Switch discovery on, or configure peers with all their NIDs.",
        "classes² × peers of a class");
    SettingDiffers = ("setting-differs", Warning,
        "Nodes have different values of a setting that should be equal",
        "One side gives a message up while the other still waits or resends.",
        "Give all nodes the same value.",
        "classes");
    PeerCreditsDiffer = ("peer-credits-differ", Warning,
        "Interfaces of one net have different peer credits",
        "The side with more credits sends more than the other one has buffers for; its messages wait.",
        "Give all interfaces of the net the same peer_credits.",
        "interfaces of classes");
    MtuDiffers = ("mtu-differs", Warning,
        "Interfaces of one net have links with different MTU",
        "Large packets are lost where the path does not tell: connections stand still under load.",
        "Give all links of the net the same MTU.",
        "interfaces of classes");
    PeerCreditsAboveCredits = ("peer-credits-above-credits", Warning,
        "An interface has more credits for one peer than for all",
        "One peer can take all credits of the interface.",
        "Raise credits, or lower peer_credits.",
        "interfaces of classes");
    CreditsTooFew = ("credits-too-few", Warning,
        "An interface has far fewer credits, or a router fewer buffers, than nodes that it serves",
        "Only as many messages as there are credits or buffers are in flight; all other nodes wait.",
        "Raise credits of the interface, or spread the nodes over more interfaces or servers.",
        "classes × nets and routes");
    RuleMatchesNothing = ("rule-matches-nothing", Warning,
        "A selection rule names interfaces, peers or gateways that do not exist",
        "The rule has no effect.",
        "Correct the selector, or remove the rule.",
        "rules × interfaces of classes; for rules about NIDs also addresses");
    RulesContradict = ("rules-contradict", Warning,
        "Two selection rules give the same interfaces different priorities",
        "Only one of them has an effect, by the order of the rules.",
        "Remove one of the rules.",
        "rules² of a class");
    SingleRouter = ("single-router", Warning,
        "The loss of one router cuts nodes off",
        "There is no other gateway on the path.",
        "Add a router on the same nets, with routes by it on both sides.",
        "gateways × classes²");
    SingleSwitch = ("single-switch", Warning,
        "The loss of one switch cuts nodes off",
        "All interfaces by which the nodes reach each other are on this switch.",
        "Connect the interfaces of each node to different switches.",
        "switches × classes²");
    Apart = ("apart", Note,
        "Nodes are on different nets, and no route leads from one to the other",
        "They cannot reach each other; often that is as it should be.",
        "Add routes on both sides, or name the classes under 'apart' in the topology file.",
        "classes²");
    SingleNet = ("single-net", Note,
        "The loss of one net cuts nodes off",
        "The nodes have no other net in common.",
        "Put the nodes on a second net.",
        "nets × classes²");
    SingleInterface = ("single-interface", Note,
        "The loss of one interface cuts a node off",
        "The node has no other interface on that net.",
        "Add a second interface, and connect it to another switch.",
        "interfaces of classes × classes²");
    NetsUnknown = ("nets-unknown", Note,
        "The file of a node has rules of ip2nets, and the addresses of the node are not known",
        "Each rule is taken for one that matches: the node may be on less nets, and its NIDs, gateways and peers there are not checked.",
        "Use the output of 'lnetctl export' of the node, or a topology file with the addresses of its interfaces by their names.",
        "interfaces of classes");
    AddressUnknown = ("address-unknown", Note,
        "The file of a node has interfaces without addresses",
        "NIDs of the node are not known: duplicate NIDs, and which node a gateway or a peer is, are not checked on these nets.",
        "Use the output of 'lnetctl export' without --backup, or a topology file with addresses.",
        "classes");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_its_own_id_and_full_texts() {
        let ids: BTreeSet<_> = FindingKind::ALL.iter().map(|kind| kind.row().id).collect();
        assert_eq!(ids.len(), FindingKind::ALL.len());
        for kind in FindingKind::ALL {
            let row = kind.row();
            assert!(
                !row.title.ends_with('.') && row.why.ends_with('.') && row.mend.ends_with('.'),
                "{}",
                row.id
            );
            assert!(row.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", row.id);
        }
    }
}
