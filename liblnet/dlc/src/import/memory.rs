//! A backend that holds a configuration in memory, for tests.

use crate::CptList;
use crate::request::{
    AddLocalNi, AddPeerNi, AddUdsp, AppliedUdsp, Backend, CptBuffers, DelLocalNi, GivenByUdsp, LARGE_NIDS,
    LndNumbers, LocalNi, Peer, PeerNi, Reply, Request, RequestError, Route, SetBy, SettingState, Tunables,
    Udsp, UdspAction, UdspPartner,
};
use lnet_wire::nid::Address;
use lnet_wire::{Errno, NetType, Nid};
use std::cell::RefCell;
use std::net::Ipv6Addr;

/// The configuration of the node that is kept in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredConfig {
    pub(crate) nis: Vec<LocalNi>,
    pub(crate) routes: Vec<Route>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) rules: Vec<Udsp>,
    pub(crate) buffers: Option<CptBuffers>,
    pub(crate) numa_range: u32,
    pub(crate) tunables: Tunables,
    pub(crate) large_nids: bool,
}

/// The interface that has IPv6 addresses too, of which this is the first.
const LINK_OF_BOTH: &str = "eth6";
const V6_OF_BOTH: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 0x11);

fn is_long(nid: Nid) -> bool {
    matches!(nid.address(), Address::Long(_))
}

/// The backend: its configuration, and every request that was to change it.
pub(crate) struct Memory {
    pub(crate) state: RefCell<StoredConfig>,
    pub(crate) told: RefCell<Vec<Request>>,
}

impl Memory {
    /// A node with the loopback and the defaults.
    pub(crate) fn new() -> Self {
        let state = StoredConfig {
            nis: vec![LocalNi { cpts: CptList::new(vec![0, 1]), ..LocalNi::unused(Nid::LOOPBACK, None) }],
            routes: Vec::new(),
            peers: Vec::new(),
            rules: Vec::new(),
            buffers: None,
            numa_range: 0,
            tunables: Tunables::default(),
            large_nids: false,
        };
        Self { state: RefCell::new(state), told: RefCell::new(Vec::new()) }
    }
}

impl StoredConfig {
    fn at<T: Clone>(all: &[T], index: u32) -> Result<T, Errno> {
        all.get(index as usize).cloned().ok_or(Errno::NotFound)
    }

    fn add_ni(&mut self, request: AddLocalNi) -> Result<Reply, RequestError> {
        let AddLocalNi { net, interface, tunables, lnd, cpts } = request;
        let refused = |errno, text: &str| Err(RequestError { errno, text: Some(text.to_owned()) });
        if net.kind() != NetType::TCP {
            return refused(Errno::ProtocolNotSupported, "net o2ib: not started (there is no driver)");
        }
        if interface.as_deref() == Some("nosuch0") {
            return refused(Errno::NoDevice, "interface nosuch0: not usable (missing)");
        }
        if cpts.as_ref().is_some_and(|cpts| cpts.as_slice().iter().any(|cpt| *cpt > 1)) {
            return refused(Errno::Invalid, "CPT 9 is not within 0 to 1");
        }
        // As on a node, an IPv6 address stands for the link that has it.
        let named = (self.large_nids && interface.as_deref() == Some(LINK_OF_BOTH)).then_some(V6_OF_BOTH);
        let v6 = named.or_else(|| interface.as_ref().and_then(|name| name.parse::<Ipv6Addr>().ok()));
        let interface = if v6.is_some() { Some(LINK_OF_BOTH.to_owned()) } else { interface };
        let nid = match v6 {
            Some(address) => Nid::new_long(net, address.octets()),
            None => Nid::new(net, 0x0a00_0000 + self.nis.len() as u32),
        };
        let is_same = |ni: &LocalNi| {
            ni.nid.net() == net && ni.interface == interface && is_long(ni.nid) == is_long(nid)
        };
        if self.nis.iter().any(|ni| ni.nid == nid || is_same(ni)) {
            return Err(Errno::Exists.into());
        }
        let mut ni = LocalNi::unused(nid, interface.as_deref());
        ni.tunables.peer_timeout = tunables.peer_timeout.or(Some(180));
        ni.tunables.peer_credits = tunables.peer_credits.or(Some(8));
        ni.tunables.peer_buffer_credits = tunables.peer_buffer_credits.or(Some(0));
        ni.tunables.credits = tunables.credits.or(Some(256));
        ni.lnd.conns_per_peer = lnd.conns_per_peer.or(Some(1));
        // As the TCP driver does, it shows no type of service while it is the system's.
        ni.lnd.numbers = LndNumbers::new(lnd.numbers.iter().filter(|it| *it != ("tos", u32::MAX)));
        ni.cpts = cpts.unwrap_or_else(|| CptList::new(vec![0]));
        self.nis.push(ni);
        Ok(Reply::Nid(nid))
    }

    fn del_ni(&mut self, request: DelLocalNi) -> Result<Reply, Errno> {
        let before = self.nis.len();
        match &request.interface {
            None => self.nis.retain(|ni| ni.nid.net() != request.net),
            Some(name) => {
                let at = |is_it: &dyn Fn(&LocalNi) -> bool| {
                    self.nis.iter().position(|ni| ni.nid.net() == request.net && is_it(ni))
                };
                let has_name = |ni: &LocalNi| ni.interface.as_ref() == Some(name);
                // As on a node, of both families of one name that which would be added under it.
                let found = at(&|ni| ni.nid.to_string().split('@').next() == Some(name))
                    .or_else(|| at(&|ni| has_name(ni) && is_long(ni.nid) == self.large_nids))
                    .or_else(|| at(&has_name));
                found.map(|at| self.nis.remove(at));
            }
        }
        if self.nis.len() == before {
            return Err(Errno::NotFound);
        }
        if !self.nis.iter().any(|ni| ni.nid.net() == request.net) {
            self.routes.retain(|route| route.gateway.net() != request.net);
            self.peers.retain(|peer| peer.nis.iter().any(|ni| ni.nid.net() != request.net));
        }
        Ok(Reply::Done)
    }

    fn owner(&mut self, nid: Nid) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.nis.iter().any(|ni| ni.nid == nid))
    }

    fn add_peer(&mut self, request: AddPeerNi) -> Result<Reply, Errno> {
        let AddPeerNi { primary, nid, multi_rail, .. } = request;
        if self.owner(primary).is_some_and(|peer| peer.nis.iter().any(|ni| ni.alive.is_some())) {
            return Err(Errno::Busy);
        }
        let Some(nid) = nid else {
            match self.owner(primary) {
                Some(peer) if peer.primary != primary => return Err(Errno::Exists),
                Some(peer) if peer.multi_rail != multi_rail => return Err(Errno::NotPermitted),
                Some(_) => {}
                None => {
                    let nis = vec![PeerNi::unused(primary)];
                    self.peers.push(Peer {
                        primary,
                        multi_rail,
                        state: 8,
                        nis,
                        discovery: None,
                        reachability: None,
                    });
                }
            }
            return Ok(Reply::Done);
        };
        match self.owner(nid) {
            Some(peer) if peer.primary == primary => return Ok(Reply::Done),
            Some(_) => return Err(Errno::Exists),
            None => {}
        }
        let peer = self.peers.iter_mut().find(|peer| peer.primary == primary).ok_or(Errno::NotFound)?;
        peer.nis.push(PeerNi::unused(nid));
        Ok(Reply::Done)
    }

    fn del_peer(&mut self, primary: Nid, nid: Option<Nid>) -> Result<Reply, Errno> {
        let index = self.peers.iter().position(|peer| peer.primary == primary).ok_or(Errno::NotFound)?;
        match nid.filter(|nid| *nid != primary) {
            None => drop(self.peers.remove(index)),
            Some(nid) => self.peers[index].nis.retain(|ni| ni.nid != nid),
        }
        Ok(Reply::Done)
    }
}

impl Backend for Memory {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        if !request.only_reads() {
            self.told.borrow_mut().push(request.clone());
        }
        match request {
            Request::AddLocalNi(request) => self.state.borrow_mut().add_ni(request),
            Request::CheckLocalNi(request) => {
                self.state.borrow().clone().add_ni(request).map(|_| Reply::Done)
            }
            other => Ok(self.carry_out(other)?),
        }
    }
}

impl Memory {
    fn carry_out(&self, request: Request) -> Result<Reply, Errno> {
        let mut state = self.state.borrow_mut();
        match request {
            Request::GetLocalNi(index) => {
                StoredConfig::at(&state.nis, index).map(|ni| Reply::LocalNi(Box::new(ni)))
            }
            Request::GetRoute(index) => StoredConfig::at(&state.routes, index).map(|mut route| {
                let names =
                    |rule: &&Udsp| rule.rte.as_ref().is_some_and(|rte| rte.matches_nid(route.gateway));
                route.rules = state.rules.iter().filter(names).map(|rule| rule.index).collect();
                Reply::Route(route)
            }),
            Request::GetUdsp(index) => {
                StoredConfig::at(&state.rules, index).map(|rule| Reply::Udsp(Box::new(rule)))
            }
            Request::GetBuffers(index) => {
                StoredConfig::at(&state.buffers.iter().copied().collect::<Vec<_>>(), index)
                    .map(Reply::Buffers)
            }
            Request::GetPeerList => Ok(Reply::Nids(state.peers.iter().map(|peer| peer.primary).collect())),
            Request::GetPeerNi(nid) => {
                state.owner(nid).map(|peer| Reply::Peer(Box::new(peer.clone()))).ok_or(Errno::NotFound)
            }
            Request::GetAppliedUdsp(nid, _) => {
                let given = GivenByUdsp { priority: 1, messages: None, rule: 0 };
                let partner = UdspPartner { nid, given };
                Ok(Reply::AppliedUdsp(AppliedUdsp {
                    nid: Some(given),
                    net: None,
                    preferred_nids: vec![partner],
                    preferred_routers: vec![partner],
                }))
            }
            Request::GetLnetStats => Ok(Reply::Stats(Box::default())),
            Request::GetSettings => {
                let number = lnet_settings::Value::Number;
                Ok(Reply::Settings(vec![SettingState {
                    module: "lnet".to_owned(),
                    name: LARGE_NIDS.to_owned(),
                    value: number(state.large_nids.into()),
                    default: number(0),
                    set_by: SetBy::Default,
                    can_change: false,
                }]))
            }
            Request::GetNumaRange => Ok(Reply::Number(state.numa_range)),
            Request::GetTunables => Ok(Reply::Tunables(state.tunables)),
            Request::SetConnsPerPeer(set) => {
                let ni = state.nis.iter_mut().find(|ni| Some(ni.nid) == set.nid).ok_or(Errno::NotFound)?;
                ni.lnd.conns_per_peer = Some(set.value);
                Ok(Reply::Done)
            }
            Request::DelLocalNi(request) => state.del_ni(request),
            Request::AddPeerNi(request) => state.add_peer(request),
            Request::DelPeerNi(request) => state.del_peer(request.primary, request.nid),
            Request::SetNumaRange(range) => {
                state.numa_range = range;
                Ok(Reply::Done)
            }
            Request::SetTunable(setting, value) => state.tunables.set(setting, value).map(|()| Reply::Done),
            Request::AddRoute(it) => {
                let is_local = |net| state.nis.iter().any(|ni| ni.nid.net() == net);
                let is_there = state.routes.iter().any(|its| (its.net, its.gateway) == (it.net, it.gateway));
                if it.gateway.net() == it.net {
                    return Err(Errno::Invalid);
                }
                if is_local(it.net) || is_there {
                    return Err(Errno::Exists);
                }
                if !is_local(it.gateway.net()) {
                    return Err(Errno::HostUnreachable);
                }
                if state.owner(it.gateway).is_none() {
                    // As on a node, nothing is known but whether the gateway is alive.
                    let nis = vec![PeerNi { alive: Some(true), ..PeerNi::unused(it.gateway) }];
                    state.peers.push(Peer {
                        primary: it.gateway,
                        multi_rail: false,
                        state: 0,
                        nis,
                        discovery: None,
                        reachability: None,
                    });
                }
                state.routes.push(Route {
                    net: it.net,
                    gateway: it.gateway,
                    hops: it.hops,
                    priority: it.priority,
                    health_sensitivity: it.health_sensitivity,
                    alive: true,
                    rules: Vec::new(),
                    single_hop: true,
                });
                Ok(Reply::Done)
            }
            Request::DelRoute(it) => {
                state.routes.retain(|route| Some(route.net) != it.net || Some(route.gateway) != it.gateway);
                Ok(Reply::Done)
            }
            Request::ConfigRouter(enabled) => {
                let mut cpt = state.buffers.unwrap_or_default();
                cpt.enabled = enabled;
                state.buffers = Some(cpt);
                Ok(Reply::Done)
            }
            Request::AddBuffers(counts) => {
                if let Some(cpt) = &mut state.buffers {
                    cpt.tiny.buffers = counts.tiny.unwrap_or(cpt.tiny.buffers);
                    cpt.small.buffers = counts.small.unwrap_or(cpt.small.buffers);
                    cpt.large.buffers = counts.large.unwrap_or(cpt.large.buffers);
                }
                Ok(Reply::Done)
            }
            Request::AddUdsp(it) => {
                let end = state.rules.len();
                let at = it.index.map_or(end, |index| (index as usize).min(end));
                let AddUdsp { src, dst, rte, action, messages, .. } = it;
                let rule = Udsp { index: 0, src, dst, rte, action, messages };
                let same =
                    |known: &Udsp| (&known.src, &known.dst, &known.rte) == (&rule.src, &rule.dst, &rule.rte);
                if let Some(known) = state.rules.iter_mut().find(|known| same(known)) {
                    let both = matches!(
                        (known.action, rule.action),
                        (UdspAction::Priority(_), UdspAction::Priority(_))
                    );
                    if !both || known.action == rule.action {
                        return Err(Errno::Already);
                    }
                    known.action = rule.action;
                    return Ok(Reply::Done);
                }
                state.rules.insert(at, rule);
                (0..).zip(&mut state.rules).for_each(|(index, rule)| rule.index = index);
                Ok(Reply::Done)
            }
            Request::DelUdsp(index) => {
                state.rules.retain(|rule| index.is_some_and(|index| rule.index != index));
                (0..).zip(&mut state.rules).for_each(|(index, rule)| rule.index = index);
                Ok(Reply::Done)
            }
            _ => Err(Errno::NotSupported),
        }
    }
}
