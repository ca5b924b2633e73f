//! The effects of the selection rules on the nets, NIs and peer NIs (cfg-095 to cfg-165), stored where path selection reads them
//! (UD-10). They are renewed with every change of the rules, and of the objects that rules apply to (UD-12).

use super::{Nets, PathTables, Peer, PeerNi, PeerTable, Topology};
use crate::environment::ConfigGuard;
use crate::model::{LOWEST_PRIORITY, Ni, Partner, PeerNet, ReadyPaths};
use crate::policy::{Applied, GatewayNids, PartnerByRule, Rule, RuleEffect, RuleIndex, Rules, Subject};
use crate::select::{self, ChosenPath, PathInTurn, PathRequest, Paths};
use lnet_wire::{Errno, Nid, Selector};
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The rules that were applied last, with the local NIDs and gateways that they may name as partners. Each peer NI has its
/// effects, or is about to get them.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    rules: Arc<Rules>,
    index: RuleIndex,
    /// The local NIDs.
    own: Vec<Nid>,
    /// The gateways, if any rule applies to gateways.
    gateways: Vec<GatewayNids>,
}

impl RuleSet {
    fn new(rules: Arc<Rules>, own: Vec<Nid>, gateways: Vec<GatewayNids>) -> Arc<Self> {
        Arc::new(Self { index: RuleIndex::new(&rules, &own, &gateways), rules, own, gateways })
    }
}

/// A change of the list of rules.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RuleChange<'a> {
    /// The rule with this index was added, or changed.
    Put(usize),
    /// The rule that had this index was deleted.
    Deleted(usize, &'a Rule),
    /// All rules were deleted.
    Cleared,
}

impl Topology {
    /// The current rules.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.basis.current().rules)
    }

    /// Replaces the rules.
    pub(crate) fn set_rules(&self, _: &ConfigGuard<'_>, rules: Rules, change: RuleChange<'_>) {
        self.counts_messages.store(rules.iter().any(|rule| rule.messages.is_some()), Ordering::Relaxed);
        let before = self.basis.current();
        let (own, gateways) = self.candidates(&rules);
        let now = RuleSet::new(Arc::new(rules), own, gateways);
        self.basis.replace(&now);
        let (at, rule, decider) = match change {
            RuleChange::Put(at) => (at, now.rules.get(at), &now),
            RuleChange::Deleted(at, rule) => (at, Some(rule), &before),
            RuleChange::Cleared => {
                self.apply_to_local_nis(&now.index);
                return self.peers().peers().iter().for_each(|peer| apply_to_peer(&now.index, peer, None));
            }
        };
        let Some((rule, subject)) = rule.and_then(|rule| Some((rule, rule.subject()?))) else { return };
        if matches!(subject, Subject::LocalNet | Subject::LocalNi) {
            return self.apply_to_local_nis(&now.index);
        }
        let is_new_and_last = now.rules.len() > before.rules.len() && at + 1 == now.rules.len();
        let may_change = |nid: Nid, peer_ni: &PeerNi| match rule.is_list() && !is_new_and_last {
            true => true,
            false => decider.index.decides((at, subject), nid, |its| has_partner(peer_ni, subject, its)),
        };
        self.apply_to_peers(&now.index, Some(subject), |nid, peer_ni| {
            rule.dst.as_ref().is_some_and(|dst| dst.matches_nid(nid)) && may_change(nid, peer_ni)
        });
    }

    /// Applies the rules to new objects, and to those that had a removed object as a partner, since nets, routes or peers may
    /// have changed. Must be called at the end of every such change.
    pub(crate) fn renew_rules(&self, _: &ConfigGuard<'_>) {
        let reshaped = self.peers().take_reshaped();
        let before = self.basis.current();
        let (own, gateways) = self.candidates(&before.rules);
        let (new_own, new_gateways) = (own != before.own, gateways != before.gateways);
        if !new_own && !new_gateways && (reshaped.is_empty() || before.rules.is_empty()) {
            return;
        }
        let now = match new_own || new_gateways {
            true => RuleSet::new(Arc::clone(&before.rules), own, gateways),
            false => Arc::clone(&before),
        };
        // The set is replaced even if it is equal: effects that are being applied to the former shape of a peer are finished
        // before.
        self.basis.replace(&now);
        if now.rules.is_empty() {
            return;
        }
        if new_own {
            self.apply_to_local_nis(&now.index);
            let changed = difference(&before.own, &now.own);
            let names = |rule: &Rule| names_any(rule.src.as_ref(), changed.iter().map(|nid| **nid));
            self.apply_to_partners(&now, Subject::Pair, names);
        }
        if new_gateways {
            let changed = difference(&before.gateways, &now.gateways);
            let names = |rule: &Rule| {
                names_any(rule.rte.as_ref(), changed.iter().flat_map(|its| its.nids.iter().copied()))
            };
            self.apply_to_partners(&now, Subject::Router, names);
        }
        let reshaped: HashSet<Nid> = reshaped.into_iter().collect();
        for peer_ni in reshaped.into_iter().filter_map(|nid| self.peer_ni(nid)) {
            apply_to_peer(&now.index, &peer_ni.peer_now(), None);
        }
    }

    /// Applies the rules to a peer NI that was added for a message.
    pub(crate) fn apply_rules_to_new(&self, peer_ni: &PeerNi) {
        // A thread that replaces the rules, or changes the peer, applies them to it afterwards.
        self.basis.apply(|basis| {
            if !basis.rules.is_empty() {
                apply_to_peer(&basis.index, &peer_ni.peer_now(), None);
            }
        });
    }

    /// The effect of the rules on a local NI.
    pub(crate) fn applied_to_ni(&self, nid: Nid) -> Applied {
        self.basis.current().index.applied_to_ni(nid)
    }

    /// The effect of the rules on a peer NI.
    pub(crate) fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        self.basis.current().index.applied_to_peer_ni(nid)
    }

    /// Selects the path of a message ([`select::select_path`]), which takes it: its candidates come last among equals, and where rules
    /// count messages, the message is counted (cfg-145).
    #[inline(always)]
    pub(crate) fn take_path(
        &self,
        paths: Paths<'_>,
        destination: Option<(&Arc<PeerNi>, &Peer)>,
        path_request: &PathRequest<'_>,
    ) -> Result<ChosenPath, Errno> {
        let chosen = select::take_path(paths, destination, path_request);
        if let Ok(chosen) = &chosen {
            self.note_turns(paths, chosen);
        }
        chosen
    }

    /// Takes the path of a request without a source, as [`Topology::take_path`] does, if nothing has to be compared to find it.
    #[inline(always)]
    pub(crate) fn take_path_in_turn(
        &self,
        nets: &Nets,
        (named, peer): (&Arc<PeerNi>, &Peer),
        any_suspect: bool,
        compare_queued_bytes: bool,
    ) -> Option<PathInTurn> {
        let path_request = self.request_in_turn(named.nid(), any_suspect, compare_queued_bytes)?;
        select::take_path_in_turn(nets, named, peer, &path_request)
    }

    /// A request without a source to this NID; `None` if a selection rule counts messages, and candidates have to be compared.
    #[inline(always)]
    fn request_in_turn(
        &self,
        nid: Nid,
        any_suspect: bool,
        compare_queued_bytes: bool,
    ) -> Option<PathRequest<'static>> {
        let counts_messages = self.counts_messages.load(Ordering::Relaxed);
        (!counts_messages)
            .then(|| PathRequest { compare_queued_bytes, ..PathRequest::unbound(nid, any_suspect) })
    }

    /// Does the same for a request to a peer NI that was ready at this revision, which is the present one. `look` says whether any interface is
    /// suspect, and whether queued bytes are compared; `None` if interfaces are told apart by something else.
    #[inline(always)]
    pub(crate) fn take_path_to_ready(
        &self,
        peer_ni: &Arc<PeerNi>,
        revision: u64,
        look: impl FnOnce() -> Option<(bool, bool)>,
    ) -> Option<PathInTurn> {
        peer_ni.with_ready_paths(revision, |paths| match paths {
            ReadyPaths::Only(_) if self.counts_messages.load(Ordering::Relaxed) => None,
            ReadyPaths::Only(ni) => select::take_only_path_to_ready(ni, peer_ni),
            ReadyPaths::InTurn(ready) => {
                let (any_suspect, compare_queued_bytes) = look()?;
                let path_request = self.request_in_turn(peer_ni.nid(), any_suspect, compare_queued_bytes)?;
                select::take_path_to_ready(ready, peer_ni, &path_request)
            }
        })
    }

    /// Records that requests to a peer NI of `peer` did not have to wait at this revision, and that their path was taken in turn. The nets
    /// and the peer were read after the revision.
    pub(crate) fn note_ready(&self, peer_ni: &PeerNi, peer: &Arc<Peer>, tables: &PathTables, revision: u64) {
        if peer_ni.was_ready_at(revision) {
            return;
        }
        let Some(net) = tables.nets.net(peer_ni.nid().net()) else { return };
        let paths = match net.nis() {
            [only] if peer_ni.is_alone() => ReadyPaths::Only(Arc::clone(only)),
            _ if peer.is_multi_rail() && peer.nets.len() == 1 => ReadyPaths::InTurn(net.with_ready(peer)),
            _ => return,
        };
        peer_ni.note_ready(revision, paths, peer);
    }

    /// Does the same for a request to a peer NI behind gateways whose path was the only one at this revision: returns the local NI and the
    /// gateway.
    #[inline(always)]
    pub(crate) fn take_only_hop(&self, peer_ni: &PeerNi, revision: u64) -> Option<(Arc<Ni>, Arc<PeerNi>)> {
        if !peer_ni.routing().had_only_hop_at(revision) || self.counts_messages.load(Ordering::Relaxed) {
            return None;
        }
        self.with_paths(|paths| select::take_only_hop(paths, peer_ni))
    }

    /// The local NI of a message from another node to this peer NI, if that is the only path and not avoided, and nothing has to be
    /// compared to find it. The message takes the path, as in [`Topology::take_path`].
    pub(crate) fn take_only_path(&self, peer_ni: &PeerNi) -> Option<Arc<Ni>> {
        if self.counts_messages.load(Ordering::Relaxed) {
            return None;
        }
        self.with_nets(|nets| select::take_only_path(nets, peer_ni))
    }

    /// Records that a message takes a path that has been selected, as [`Topology::take_path`] does.
    pub(crate) fn use_path(&self, chosen: &ChosenPath) {
        chosen.commit();
        if self.counts_messages.load(Ordering::Relaxed) {
            self.with_paths(|paths| self.note_turns(paths, chosen));
        }
    }

    #[inline(always)]
    fn note_turns(&self, paths: Paths<'_>, chosen: &ChosenPath) {
        if self.counts_messages.load(Ordering::Relaxed) {
            chosen.note_turns(paths, &self.turn_clock);
        }
    }

    /// The possible partners in rules: the local NIDs, and the gateways if any rule applies to them.
    fn candidates(&self, rules: &Rules) -> (Vec<Nid>, Vec<GatewayNids>) {
        let own = self.with_nets(|nets| nets.nis().map(|ni| ni.nid()).collect());
        let gateways = match rules.iter().any(|rule| rule.subject() == Some(Subject::Router)) {
            true => gateways(self.routes().iter().map(|route| route.gateway), self.peers()),
            false => Vec::new(),
        };
        (own, gateways)
    }

    fn apply_to_local_nis(&self, index: &RuleIndex) {
        self.with_nets(|nets| {
            let of_net = |nid| index.given(Subject::LocalNet, nid);
            let given = nets.iter().map(|net| net.nis().first().and_then(|ni| of_net(ni.nid()))).collect();
            for (net, effect) in nets.iter().zip(effects(given)) {
                net.usage().set_priority(effect.priority);
                net.usage().turn().set(effect.messages);
                let given = net.nis().iter().map(|ni| index.given(Subject::LocalNi, ni.nid())).collect();
                let effects = effects(given);
                let (first, usage) = (effects.first().map(|its| its.priority), net.usage());
                if effects.iter().any(|its| Some(its.priority) != first) {
                    usage.set_nis_differ(true);
                }
                usage.set_count_messages_of_nis(effects.iter().any(|its| its.messages.is_some()));
                for (ni, effect) in net.nis().iter().zip(effects) {
                    ni.set_priority(effect.priority);
                    ni.turn().set(effect.messages);
                }
                usage.set_nis_differ(select::do_rules_distinguish_local(net));
            }
        });
    }

    /// Renews the partners of the peer NIs to which a rule applies that names the changed partners.
    fn apply_to_partners(&self, now: &RuleSet, subject: Subject, names: impl Fn(&Rule) -> bool) {
        let concerned = now.rules.iter().filter(|rule| rule.subject() == Some(subject) && names(rule));
        let about: Vec<_> = concerned.filter_map(|rule| rule.dst.as_ref()).collect();
        if !about.is_empty() {
            self.apply_to_peers(&now.index, Some(subject), |nid, _| {
                about.iter().any(|dst| dst.matches_nid(nid))
            });
        }
    }

    /// Renews the peers of certain peer NIs.
    fn apply_to_peers(
        &self,
        index: &RuleIndex,
        only: Option<Subject>,
        is_meant: impl Fn(Nid, &PeerNi) -> bool,
    ) {
        let mut done = HashSet::new();
        for peer_ni in self.peers().select(is_meant) {
            let peer = peer_ni.peer_now();
            if peer.nids.len() == 1 || done.insert(peer.discovery.id()) {
                apply_to_peer(index, &peer, only);
            }
        }
    }
}

/// Stores the effects of the rules on a peer: of all rules, or of those about one subject.
fn apply_to_peer(index: &RuleIndex, peer: &Peer, only: Option<Subject>) {
    let concerns = |subject| only.is_none_or(|only| only == subject);
    if concerns(Subject::PeerNet) {
        let of_net = |net: &PeerNet| index.given(Subject::PeerNet, peer.nids_on(net.id).next()?);
        for (net, effect) in peer.nets.iter().zip(effects(peer.nets.iter().map(of_net).collect())) {
            net.usage.set_priority(effect.priority);
            net.usage.turn().set(effect.messages);
        }
    }
    if only == Some(Subject::PeerNet) {
        return;
    }
    for net in &peer.nets {
        let nis: Vec<Arc<PeerNi>> = net.nis().collect();
        if concerns(Subject::PeerNi) {
            let given = nis.iter().map(|peer_ni| index.given(Subject::PeerNi, peer_ni.nid())).collect();
            for (peer_ni, effect) in nis.iter().zip(effects(given)) {
                peer_ni.set_priority(effect.priority);
                peer_ni.criteria().turn().set(effect.messages);
            }
        }
        for peer_ni in &nis {
            if concerns(Subject::Pair) {
                peer_ni.set_preferred_nids(partners(&index.partners(Subject::Pair, peer_ni.nid())));
            }
            if concerns(Subject::Router) {
                peer_ni.set_preferred_gateways(partners(&index.partners(Subject::Router, peer_ni.nid())));
            }
        }
        net.usage.set_nis_differ(select::do_rules_distinguish(&nis));
        net.usage.set_has_same_partners(have_same_partners(&nis));
        net.usage.set_has_partners(nis.iter().any(|peer_ni| peer_ni.criteria().has_partners()));
    }
}

/// Whether all peer NIs of a net have the same partners, none of which has a rule that counts messages.
fn have_same_partners(nis: &[Arc<PeerNi>]) -> bool {
    let first = nis.first().and_then(|peer_ni| peer_ni.partners());
    let counts = first.as_ref().is_some_and(|partners| partners.counts_messages());
    !counts && nis.iter().all(|peer_ni| peer_ni.partners() == first)
}

/// The effect that is stored with one of several candidates.
struct Effect {
    priority: u32,
    messages: Option<NonZeroU32>,
}

/// The effects to be stored: where a rule counts messages for one, those of the same priority have turns of one message
/// (cfg-145).
fn effects(given: Vec<Option<RuleEffect>>) -> Vec<Effect> {
    let priority = |its: &Option<RuleEffect>| its.map_or(LOWEST_PRIORITY, |given| given.priority);
    let messages = |its: &Option<RuleEffect>| its.and_then(|given| given.messages);
    let counted: Vec<u32> = given.iter().filter(|its| messages(its).is_some()).map(priority).collect();
    let effect = |its: &Option<RuleEffect>| {
        let priority = priority(its);
        let is_counted = counted.contains(&priority);
        Effect { priority, messages: messages(its).or_else(|| is_counted.then_some(NonZeroU32::MIN)) }
    };
    given.iter().map(effect).collect()
}

fn partners(named: &[PartnerByRule]) -> Vec<Partner> {
    if named.is_empty() {
        return Vec::new();
    }
    let effects = effects(named.iter().map(|its| Some(its.given)).collect());
    named
        .iter()
        .zip(effects)
        .map(|(its, effect)| Partner::new(its.nid, effect.priority, effect.messages))
        .collect()
}

fn has_partner(peer_ni: &PeerNi, subject: Subject, nid: Nid) -> bool {
    match subject {
        Subject::Pair => peer_ni.prefers_local(nid),
        Subject::Router => peer_ni.prefers_gateway(nid),
        _ => false,
    }
}

/// The elements that are in only one of two lists.
fn difference<'a, T: PartialEq>(some: &'a [T], others: &'a [T]) -> Vec<&'a T> {
    let gone = some.iter().filter(|it| !others.contains(it));
    gone.chain(others.iter().filter(|it| !some.contains(it))).collect()
}

fn names_any(selector: Option<&Selector>, mut nids: impl Iterator<Item = Nid>) -> bool {
    selector.is_some_and(|selector| nids.any(|nid| selector.matches_nid(nid)))
}

fn gateways(named: impl Iterator<Item = Nid>, peers: &PeerTable) -> Vec<GatewayNids> {
    let mut named: Vec<Nid> = named.collect();
    named.sort_unstable();
    named.dedup();
    let nids = |nid| peers.get(nid).map_or_else(|| vec![nid], |peer_ni| peer_ni.peer().nids.clone());
    named.into_iter().map(|nid| GatewayNids { nid, nids: nids(nid) }).collect()
}
