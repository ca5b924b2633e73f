//! The nets of this node, each with its interfaces, in the order of configuration.
//!
//! A [`Nets`] never changes: adding or removing an interface makes a new one, so that senders read without
//! a lock.

use super::families::{AddressFamilies, AddressFamily};
use super::lnd::{StartError, start_error};
use super::net_usage::NetUsage;
use super::ni::Ni;
use super::peer::{Peer, ReadyPeer};
use super::peer_ni::{PeerNi, can_reach};
use crate::credit::Credits;
use lnet_wire::Errno;
use lnet_wire::nid::cpt_of_nid;
use lnet_wire::{NetId, Nid};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A net that this node is on.
#[derive(Clone, Debug)]
pub struct Net {
    id: NetId,
    nis: Vec<Arc<Ni>>,
    /// The families of the interfaces' NIDs.
    families: AddressFamilies,
    /// The most credits that any of the interfaces has when none is in use.
    most_credits: Credits,
    usage: Arc<NetUsage>,
}

impl Net {
    /// The state of the net that changes while messages flow.
    pub const fn usage(&self) -> &Arc<NetUsage> {
        &self.usage
    }

    /// The id of the net.
    pub const fn id(&self) -> NetId {
        self.id
    }

    /// The interfaces on the net; at least one.
    pub fn nis(&self) -> &[Arc<Ni>] {
        &self.nis
    }

    /// The families of the interfaces' NIDs.
    pub(crate) const fn families(&self) -> AddressFamilies {
        self.families
    }

    /// The most credits that any of the interfaces has when none is in use.
    pub(crate) const fn most_credits(&self) -> Credits {
        self.most_credits
    }

    /// The interfaces on the net and a peer, all of whose NIDs are on it.
    pub(crate) fn with_ready(&self, peer: &Arc<Peer>) -> ReadyPeer {
        let (nis, usage) = (self.nis.clone(), Arc::clone(&self.usage));
        ReadyPeer { nis, usage, most_credits: self.most_credits, peer: Arc::clone(peer) }
    }

    /// Computes what follows from the interfaces.
    fn complete(&mut self) {
        self.families = AddressFamilies::of(self.nis.iter().map(|ni| ni.nid()));
        self.most_credits = self.nis.iter().map(|ni| ni.max_credits()).max().unwrap_or(Credits(0));
    }

    /// Whether any interface on the net reaches NIDs of this family.
    pub(crate) fn reaches(&self, family: AddressFamily) -> bool {
        self.families.contains(family) || self.nis.iter().any(|ni| ni.reaches(family))
    }

    /// Whether a path leads from an interface on the net to this peer NI, on the same net.
    pub(crate) fn can_reach(&self, peer_ni: &PeerNi) -> bool {
        self.reaches(AddressFamily::of(peer_ni.nid())) || self.nis.iter().any(|ni| can_reach(ni, peer_ni))
    }

    /// The most recent use of any interface on the net.
    pub(crate) fn last_use(&self) -> u64 {
        self.nis.iter().map(|ni| ni.last_use().get()).max().unwrap_or(0)
    }

    /// The union of the interfaces' CPU partitions, ascending; `None`, for all partitions, if one interface is bound
    /// to none (OM-12).
    pub fn cpts(&self) -> Option<Vec<u32>> {
        if self.nis.iter().any(|ni| ni.config().cpts.is_empty()) {
            return None;
        }
        let mut cpts: Vec<u32> = self.nis.iter().flat_map(|ni| ni.config().cpts.iter().copied()).collect();
        cpts.sort_unstable();
        cpts.dedup();
        Some(cpts)
    }
}

/// All nets of this node.
#[derive(Clone, Debug, Default)]
pub struct Nets(Vec<Net>);

/// The distance of a NID (`LNetDist`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// 0: a local NI. 1: on a local net.
    pub hops: u32,
    /// The local NID to use: the NID itself at distance 0.
    pub source: Nid,
    /// Smaller is preferred: 0 loopback, 1 local NI, then by position in the configuration.
    pub order: u32,
}

impl Nets {
    /// The nets in the order of configuration.
    pub fn iter(&self) -> std::slice::Iter<'_, Net> {
        self.0.iter()
    }

    /// Every interface, net by net (the numbering of `LNetGetId`).
    pub fn nis(&self) -> impl Iterator<Item = &Arc<Ni>> {
        self.0.iter().flat_map(|net| &net.nis)
    }

    /// The net with this id.
    pub fn net(&self, id: NetId) -> Option<&Net> {
        self.0.iter().find(|net| net.id == id)
    }

    /// The interface with this NID.
    pub fn ni(&self, nid: Nid) -> Option<&Arc<Ni>> {
        self.net(nid.net())?.nis.iter().find(|ni| ni.nid() == nid)
    }

    /// The CPU partition, of `cpts`, that handles `nid` where no interface is given: if the net of `nid` is local and bound to
    /// partitions, one of these (OM-11).
    pub fn cpt_of(&self, nid: Nid, cpts: NonZeroUsize) -> u32 {
        let bound_to = self.net(nid.net()).and_then(Net::cpts).unwrap_or_default();
        let of_net =
            NonZeroUsize::new(bound_to.len()).and_then(|count| bound_to.get(cpt_of_nid(nid, count)).copied());
        of_net.unwrap_or_else(|| cpt_of_nid(nid, cpts) as u32)
    }

    /// The distance of `nid`; local NIDs are checked first, then interfaces with NIDs of its family, then others that reach it.
    /// [`Errno::HostUnreachable`] without a path.
    pub fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        if self.ni(nid).is_some() {
            return Ok(Distance { hops: 0, source: nid, order: u32::from(!nid.is_loopback()) });
        }
        let family = AddressFamily::of(nid);
        self.nis()
            .zip(2..)
            .filter(|(ni, _)| ni.nid().net() == nid.net() && ni.reaches(family))
            .min_by_key(|(ni, _)| AddressFamily::of(ni.nid()) != family)
            .map(|(ni, order)| Distance { hops: 1, source: ni.nid(), order })
            .ok_or(Errno::HostUnreachable)
    }

    /// The nets with `ni` added at the end of its net. [`Errno::Exists`] if the NID exists, or the interface is on
    /// that net with a NID of the same family (cfg-040, OM-13).
    pub(crate) fn with(&self, ni: Arc<Ni>) -> Result<Self, StartError> {
        let same = |its: &Arc<Ni>| {
            // An interface may have one NID of each family.
            let is_same_family = AddressFamily::of(its.nid()) == AddressFamily::of(ni.nid());
            let (its, new) = (&its.config().interface, &ni.config().interface);
            new.is_some() && its == new && is_same_family
        };
        if self.ni(ni.nid()).is_some() || self.net(ni.nid().net()).is_some_and(|net| net.nis.iter().any(same))
        {
            return Err(start_error!(
                Errno::Exists,
                "NI {}: not started ({}; the net has this interface already)",
                ni.nid(),
                Errno::Exists.text()
            ));
        }
        let mut nets = self.0.clone();
        let net = match nets.iter_mut().find(|net| net.id == ni.nid().net()) {
            Some(net) => net,
            None => nets.push_mut(Net {
                id: ni.nid().net(),
                nis: Vec::new(),
                families: AddressFamilies::NONE,
                most_credits: Credits(0),
                usage: Arc::default(),
            }),
        };
        ni.set_net_usage(&net.usage);
        net.nis.push(ni);
        net.complete();
        Ok(Self(nets))
    }

    /// The nets without the interface `nid`, and without its net if no other interface is on it.
    pub(crate) fn without(&self, nid: Nid) -> Self {
        let mut nets = self.0.clone();
        for net in &mut nets {
            let before = net.nis.len();
            net.nis.retain(|ni| ni.nid() != nid);
            if net.nis.len() < before {
                net.complete();
                net.usage.latest_ni_use().retain(net.nis.iter().map(|ni| ni.last_use()));
            }
        }
        nets.retain(|net| !net.nis.is_empty());
        Self(nets)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::NiTunables;
    use super::*;
    use lnet_wire::NetType;

    fn nid(net: u16, address: u32) -> Nid {
        Nid::new(NetId::new(NetType::TCP, net), address)
    }

    fn nets(nids: &[Nid]) -> Nets {
        nids.iter().fold(Nets::default(), |nets, nid| {
            nets.with(Arc::new(
                Ni::new(*nid, NiTunables::default().into(), std::num::NonZeroUsize::MIN).unwrap(),
            ))
            .unwrap()
        })
    }

    #[test]
    fn interfaces_are_numbered_net_by_net() {
        let nets = nets(&[Nid::LOOPBACK, nid(0, 1), nid(1, 2), nid(0, 3)]);
        let order: Vec<_> = nets.nis().map(|ni| ni.nid()).collect();
        assert_eq!(order, [Nid::LOOPBACK, nid(0, 1), nid(0, 3), nid(1, 2)]);
    }

    #[test]
    fn distance_checks_local_nids_first() {
        let nets = nets(&[Nid::LOOPBACK, nid(0, 1), nid(0, 3), nid(1, 2)]);
        let far = |hops, source, order| Ok(Distance { hops, source, order });
        assert_eq!(nets.distance(Nid::LOOPBACK), far(0, Nid::LOOPBACK, 0));
        assert_eq!(nets.distance(nid(0, 3)), far(0, nid(0, 3), 1));
        assert_eq!(nets.distance(nid(0, 9)), far(1, nid(0, 1), 3));
        assert_eq!(nets.distance(nid(1, 9)), far(1, nid(1, 2), 5));
        assert_eq!(nets.distance(nid(7, 9)), Err(Errno::HostUnreachable));
    }

    #[test]
    fn a_nid_can_be_added_to_a_node_once() {
        let twice = nets(&[nid(0, 1)]).with(Arc::new(
            Ni::new(nid(0, 1), NiTunables::default().into(), std::num::NonZeroUsize::MIN).unwrap(),
        ));
        assert_eq!(twice.err().map(Errno::from), Some(Errno::Exists));
    }

    /// Fails if an interface cannot have a NID of each family on one net, or can have two of one.
    #[test]
    fn an_interface_has_one_nid_of_each_family_on_a_net() {
        let named = |nid: &str| {
            let config =
                crate::model::NiConfig { interface: Some("eth0".to_owned()), ..NiTunables::default().into() };
            Arc::new(Ni::new(nid.parse().unwrap(), config, std::num::NonZeroUsize::MIN).unwrap())
        };
        let both = Nets::default().with(named("10.0.0.1@tcp")).unwrap().with(named("fd99::1@tcp")).unwrap();
        for (nid, is_taken) in [("10.0.0.2@tcp", false), ("fd99::2@tcp", false), ("fd99::2@tcp1", true)] {
            assert_eq!(both.with(named(nid)).is_ok(), is_taken, "{nid}");
        }
    }

    /// OM-11, OM-12: fails if a net is bound to other partitions than its interfaces, or a NID is mapped to another partition.
    #[test]
    fn a_net_has_the_partitions_of_its_interfaces_and_a_nid_one_of_them() {
        let eight = NonZeroUsize::new(8).unwrap();
        let on = |address, cpts: &[u32]| {
            let config = super::super::NiConfig { cpts: cpts.to_vec(), ..NiTunables::default().into() };
            Arc::new(Ni::new(nid(0, address), config, eight).unwrap())
        };
        let first = Nets::default().with(on(1, &[5])).unwrap();
        let both = first.with(on(2, &[7, 5, 2])).unwrap();
        let free = both.with(on(3, &[])).unwrap();
        let cpts = |nets: &Nets| nets.net(nid(0, 1).net()).unwrap().cpts();
        assert_eq!(cpts(&first), Some(vec![5]));
        assert_eq!(cpts(&both), Some(vec![2, 5, 7]));
        assert_eq!(cpts(&free), None);
        assert_eq!(cpts(&free.without(nid(0, 3))), Some(vec![2, 5, 7]));
        assert_eq!(cpts(&free.without(nid(0, 3)).without(nid(0, 1))), Some(vec![2, 5, 7]));
        assert_eq!(cpts(&both.without(nid(0, 2))), Some(vec![5]));

        // The bytes of 10.0.0.1@tcp add up to 13.
        let peer = Nid::new(nid(0, 0).net(), 0x0a00_0001);
        assert_eq!(both.cpt_of(peer, eight), [2, 5, 7][13 % 3]);
        assert_eq!(free.cpt_of(peer, eight), 13 % 8);
        assert_eq!(both.cpt_of(Nid::new(nid(1, 0).net(), 0x0a00_0001), eight), 14 % 8);
        let of_ni = |address| both.ni(nid(0, address)).map(|ni| ni.cpt_of(peer));
        assert_eq!((of_ni(1), of_ni(2)), (Some(5), Some([7, 5, 2][13 % 3])));
        assert_eq!(free.ni(nid(0, 3)).map(|ni| ni.cpt_of(peer)), Some(13 % 8));
    }

    #[test]
    fn a_net_is_removed_with_its_last_interface() {
        let nets = nets(&[nid(0, 1), nid(0, 2), nid(1, 1)]).without(nid(0, 2));
        assert_eq!(nets.iter().map(Net::id).collect::<Vec<_>>(), [nid(0, 1).net(), nid(1, 1).net()]);
        assert_eq!(nets.without(nid(1, 1)).iter().count(), 1);
    }
}
