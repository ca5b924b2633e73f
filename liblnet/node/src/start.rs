//! The application of a node's start configuration: nets, then routes, then the file.

use crate::start_config::{Forwarding, StartConfig};
use lnet_core::Errno;
use lnet_core::lnd::NidSize;
use lnet_dlc::import::{Source, import};
use lnet_dlc::ip2nets::{Matched, Mismatch, matched};
use lnet_dlc::networks::Network;
use lnet_dlc::request::{
    AddLocalNi, AddRoute, BufferCounts, Discover, Discovered, LndTunables, LocalNi, NiTunables,
};
use lnet_dlc::yaml::{Purpose, text_of};
use lnet_dlc::{Backend, InterfaceSpec, Reply, Report, Request, ReturnCode};
use lnet_log::{LogClass, write_line};
use lnet_os::interfaces::{HostInterface, host_interfaces};
use lnet_wire::{NetId, Nid, Pid, ProcessId};
use std::fs;
use std::path::Path;

/// Applies `config`, except for the loopback. Ends with the first failure; the log names the part of the configuration
/// and what to do. Nothing is undone.
///
/// [`Errno::ProtocolNotSupported`] for a kind of net without a driver, [`Errno::NotFound`] if no `ip2nets` rule
/// matches, [`Errno::Invalid`] and [`Errno::NoDevice`] for rules that do not fit the machine's interfaces,
/// [`Errno::Invalid`] for a file that cannot be imported; otherwise the error of the node.
pub(crate) fn apply(node: &dyn Backend, config: &StartConfig) -> Result<(), Errno> {
    let host = if config.ip2nets.is_empty() { Vec::new() } else { listed_interfaces()? };
    carry_out(node, config, &host)
}

/// The host's interfaces. If they cannot be listed the cause is logged.
fn listed_interfaces() -> Result<Vec<HostInterface>, Errno> {
    host_interfaces().map_err(|error| {
        write_line!(LogClass::NiNotStarted, "interfaces of this machine: cannot be listed ({error})");
        Errno::from(error)
    })
}

fn carry_out(node: &dyn Backend, config: &StartConfig, host: &[HostInterface]) -> Result<(), Errno> {
    let mut nis: Vec<AddLocalNi> = config.networks.iter().flat_map(nis_of_network).collect();
    if !config.ip2nets.is_empty() {
        nis.extend(nis_of_rules(config, host)?);
    }
    if config.forwarding == Forwarding::Enabled {
        // Forwarding starts before the nets, so that no peer is told that this node does not forward.
        start_forwarding(node, config.router_buffers)?;
    }
    // The node logs why it refuses one.
    nis.into_iter().try_for_each(|ni| node.tell(Request::AddLocalNi(ni)))?;
    add_routes(node, config)?;
    config.config_file.as_deref().map_or(Ok(()), |file| import_file(node, file))
}

fn nis_of_network(network: &Network) -> Vec<AddLocalNi> {
    let Network { net, interfaces, cpts } = network;
    match &interfaces[..] {
        [] => vec![AddLocalNi { interface: None, cpts: cpts.clone(), ..ni_on(*net) }],
        all => all
            .iter()
            .map(|InterfaceSpec { name, cpts: own }| AddLocalNi {
                interface: Some(name.clone()),
                cpts: own.as_ref().or(cpts.as_ref()).cloned(),
                ..ni_on(*net)
            })
            .collect(),
    }
}

/// The interfaces that the rules select on this machine, each interface of a net once.
fn nis_of_rules(config: &StartConfig, host: &[HostInterface]) -> Result<Vec<AddLocalNi>, Errno> {
    let mut nis: Vec<AddLocalNi> = Vec::new();
    for rule in &config.ip2nets {
        let matched = matched(rule, host, config.nid_size == NidSize::Large);
        if let Some(mismatch) = fatal(&matched).filter(|_| config.ip2nets_strict) {
            write_line!(
                LogClass::ConfigInvalid,
                "LNET_IP2NETS: rule `{rule}`: {mismatch}; correct the rule, or let LNET_IP2NETS_STRICT=0 skip it"
            );
            return Err(mismatch.errno());
        }
        for mismatch in &matched.mismatches {
            write_line!(LogClass::ConfigIgnored, "LNET_IP2NETS: rule `{rule}`: {mismatch}; skipped");
        }
        for InterfaceSpec { name, cpts } in matched.interfaces {
            let ni = AddLocalNi { interface: Some(name), cpts, ..ni_on(rule.net) };
            if !nis.iter().any(|known| (known.net, &known.interface) == (ni.net, &ni.interface)) {
                nis.push(ni);
            }
        }
    }
    if nis.is_empty() {
        write_line!(
            LogClass::ConfigInvalid,
            "LNET_IP2NETS: no rule matches an address of this machine; see `ip address`"
        );
        return Err(Errno::NotFound);
    }
    Ok(nis)
}

/// The mismatch that ends a strict start. A rule that names a missing interface is one even if it selects others.
fn fatal(matched: &Matched) -> Option<&Mismatch> {
    let is_missing = |it: &&Mismatch| matches!(it, Mismatch::Missing(_));
    matched.failure().or_else(|| matched.mismatches.iter().find(is_missing))
}

fn ni_on(net: NetId) -> AddLocalNi {
    let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
    AddLocalNi { net, interface: None, tunables, lnd, cpts: None }
}

fn start_forwarding(node: &dyn Backend, buffers: [u32; 3]) -> Result<(), Errno> {
    node.tell(Request::ConfigRouter(true))?;
    if buffers == [0; 3] {
        return Ok(());
    }
    let [tiny, small, large] = buffers.map(Some);
    node.tell(Request::AddBuffers(BufferCounts { tiny, small, large }))
}

/// Adds the routes. Enables forwarding on a node that is a gateway of one of them, unless the configuration decides (RT-42).
fn add_routes(node: &dyn Backend, config: &StartConfig) -> Result<(), Errno> {
    if config.routes.is_empty() {
        return Ok(());
    }
    let own = own_nids(node);
    let (through_this, through_others): (Vec<&AddRoute>, Vec<&AddRoute>) =
        config.routes.iter().partition(|route| own.contains(&route.gateway));
    if config.forwarding == Forwarding::ByRoutes && !through_this.is_empty() {
        start_forwarding(node, config.router_buffers)?;
    }
    through_others.iter().try_for_each(|route| add_route(node, **route))?;
    if config.check_routers_before_use {
        through_others.iter().for_each(|route| check_gateway(node, route.gateway));
    }
    Ok(())
}

fn own_nids(node: &dyn Backend) -> Vec<Nid> {
    let nis: Vec<Box<LocalNi>> = node.list(Request::GetLocalNi).unwrap_or_default();
    nis.iter().map(|ni| ni.nid).collect()
}

/// Waits until the gateway has responded or failed. A failure is logged, and the routes are down (RT-25, RT-31).
fn check_gateway(node: &dyn Backend, gateway: Nid) {
    let target = ProcessId { nid: gateway, pid: Pid::LUSTRE };
    let failed = match node.call(Request::Discover(Discover { target, force: false, max_nids: 1 })) {
        Ok(Reply::Discovered(Discovered::Failed(failure))) => failure.errno,
        Ok(_) => return,
        Err(error) => error.errno,
    };
    write_line!(
        LogClass::ConfigIgnored,
        "LNET_CHECK_ROUTERS_BEFORE_USE: gateway {gateway} does not answer ({failed})"
    );
}

/// Adds a route of the string. One string serves many nodes: a route that exists is skipped, and so is one to a net that this
/// node is on, or whose gateway is on none of its nets.
fn add_route(node: &dyn Backend, route: AddRoute) -> Result<(), Errno> {
    let AddRoute { net, gateway, .. } = route;
    match node.tell(Request::AddRoute(route)) {
        Err(Errno::Exists) if own_nids(node).iter().any(|nid| nid.net() == net) => {
            write_line!(
                LogClass::ConfigIgnored,
                "LNET_ROUTES: route to {net} via {gateway} skipped (this node is on {net} itself)"
            );
            Ok(())
        }
        Ok(()) | Err(Errno::Exists) => Ok(()),
        Err(Errno::HostUnreachable) => {
            write_line!(
                LogClass::ConfigIgnored,
                "LNET_ROUTES: route to {net} via {gateway} skipped (this node is not on {})",
                gateway.net()
            );
            Ok(())
        }
        Err(errno) => {
            write_line!(
                LogClass::ConfigInvalid,
                "LNET_ROUTES: route to {net} via {gateway} cannot be added ({errno})"
            );
            Err(errno)
        }
    }
}

fn import_file(node: &dyn Backend, file: &Path) -> Result<(), Errno> {
    let name = file.to_string_lossy();
    let text = fs::File::open(file).and_then(text_of).map_err(|error| {
        write_line!(LogClass::ConfigInvalid, "LNET_CONFIG={name}: cannot be read ({error})");
        Errno::from(error)
    })?;
    let mut report = Report::new();
    let rc = import(node, Source { name: &name, text: &text }, Purpose::Add, &mut report);
    if rc.is_ok() {
        return Ok(());
    }
    write_line!(
        LogClass::ConfigInvalid,
        "LNET_CONFIG={name}: cannot be imported ({rc})\n{}",
        report.errors_to_yaml()
    );
    Err(errno_of(rc))
}

/// The errno for a return code. The library's own codes and errnos overlap; codes in the common range become
/// [`Errno::Invalid`].
fn errno_of(rc: ReturnCode) -> Errno {
    if rc.0 < ReturnCode::NO_MATCH.0 { Errno::from_c(rc.0) } else { Errno::Invalid }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Node;
    use lnet_dlc::RequestError;
    use std::cell::RefCell;

    /// A backend that records its requests in `requests`, and refuses those whose text contains `refuse`.
    fn recording(
        requests: &RefCell<Vec<String>>,
        refuse: Option<(&'static str, Errno)>,
    ) -> impl Fn(Request) -> Result<Reply, RequestError> {
        move |request| {
            let text = match request {
                Request::AddLocalNi(ni) => {
                    let interface = ni.interface.unwrap_or_default();
                    format!("{}({interface}){}", ni.net, ni.cpts.map(|it| it.to_string()).unwrap_or_default())
                }
                Request::AddRoute(route) => format!("{} by {}", route.net, route.gateway),
                Request::GetLocalNi(_) => return Err(Errno::NotFound.into()),
                Request::Discover(discover) => format!("discover {}", discover.target.nid),
                other => format!("{other:?}"),
            };
            match refuse {
                Some((part, errno)) if text.contains(part) => Err(errno.into()),
                _ if text.starts_with("o2ib") => Err(Errno::ProtocolNotSupported.into()),
                _ => {
                    requests.borrow_mut().push(text);
                    Ok(Reply::Done)
                }
            }
        }
    }

    fn host() -> Vec<HostInterface> {
        [
            ("lo", true, "127.0.0.1"),
            ("eth0", true, "10.0.0.1"),
            ("eth1", true, "10.0.1.1"),
            ("eth2", false, "10.0.2.1"),
        ]
        .map(|(name, up, address)| HostInterface {
            name: name.into(),
            up,
            loopback: name == "lo",
            address: address.parse().ok(),
        })
        .to_vec()
    }

    fn started(
        variables: &[(&str, &str)],
        refuse: Option<(&'static str, Errno)>,
    ) -> (Result<(), Errno>, Vec<String>) {
        let config = StartConfig::from_lookup(|name| {
            variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
        })
        .unwrap();
        let requests = RefCell::default();
        let result = carry_out(&recording(&requests, refuse), &config, &host());
        (result, requests.into_inner())
    }

    fn wanted<'a>(requests: &[&'a str]) -> (Result<(), Errno>, Vec<&'a str>) {
        (Ok(()), requests.to_vec())
    }

    #[test]
    fn nets_come_before_routes() {
        let variables = [
            ("LNET_ROUTES", "tcp5 10.0.0.[8-9]@tcp"),
            ("LNET_NETWORKS", "tcp(eth0[1],127.0.1.1)[0],tcp1[2],tcp2"),
        ];
        let (result, requests) = started(&variables, None);
        let requests: Vec<_> = requests.iter().map(String::as_str).collect();
        let want = [
            "tcp(eth0)[1]",
            "tcp(127.0.1.1)[0]",
            "tcp1()[2]",
            "tcp2()",
            "tcp5 by 10.0.0.8@tcp",
            "tcp5 by 10.0.0.9@tcp",
        ];
        assert_eq!((result, requests), wanted(&want));
    }

    #[test]
    fn buffers_are_set_with_forwarding_and_gateways_asked_after_the_routes() {
        let variables = [
            ("LNET_NETWORKS", "tcp(eth0)"),
            ("LNET_FORWARDING", "enabled"),
            ("LNET_SMALL_ROUTER_BUFFERS", "64"),
            ("LNET_ROUTES", "tcp5 10.0.0.[8-9]@tcp"),
            ("LNET_CHECK_ROUTERS_BEFORE_USE", "1"),
        ];
        let (result, requests) = started(&variables, None);
        let requests: Vec<_> = requests.iter().map(String::as_str).collect();
        let want = [
            "ConfigRouter(true)",
            "AddBuffers(BufferCounts { tiny: Some(0), small: Some(64), large: Some(0) })",
            "tcp(eth0)",
            "tcp5 by 10.0.0.8@tcp",
            "tcp5 by 10.0.0.9@tcp",
            "discover 10.0.0.8@tcp",
            "discover 10.0.0.9@tcp",
        ];
        assert_eq!((result, requests), wanted(&want));
    }

    type Row = (&'static str, &'static str, Result<(), Errno>, &'static [&'static str]);

    #[test]
    fn ip2nets_rules_select_nets_by_the_nodes_addresses() {
        let table: [Row; 16] = [
            ("tcp 10.0.0.*; tcp1 10.0.1.*; tcp2 10.9.*.*", "", Ok(()), &["tcp(eth0)", "tcp1(eth1)"]),
            ("tcp 10.0.*.*; tcp(eth1) 10.0.1.1", "", Ok(()), &["tcp(eth0)", "tcp(eth1)"]),
            ("tcp(eth1[3]) *.*.*.*", "", Ok(()), &["tcp(eth1)[3]"]),
            ("tcp(eth0,eth2) *.*.*.*", "", Ok(()), &["tcp(eth0)"]),
            ("tcp 10.9.*.*", "", Err(Errno::NotFound), &[]),
            ("tcp 10.0.0.*; tcp1(eth9) *.*.*.*", "1", Err(Errno::NoDevice), &[]),
            ("tcp(eth0,eth9) *.*.*.*", "", Err(Errno::NoDevice), &[]),
            ("tcp(eth0,eth1) 10.0.0.*", "", Err(Errno::Invalid), &[]),
            ("tcp(eth2) *.*.*.*", "", Err(Errno::NetworkDown), &[]),
            ("tcp(eth0,eth1,eth9) 10.0.0.*", "0", Ok(()), &["tcp(eth0)"]),
            ("tcp(eth9) 10.0.0.*", "0", Err(Errno::NotFound), &[]),
            ("o2ib 10.9.*.*; tcp 10.0.0.*", "", Ok(()), &["tcp(eth0)"]),
            ("o2ib 10.0.0.*", "", Err(Errno::ProtocolNotSupported), &[]),
            // Without ranges a rule is for every node.
            ("tcp 10.9.*.*; tcp1", "", Ok(()), &["tcp1(eth0)"]),
            ("tcp(eth1); tcp1 10.0.0.*", "", Ok(()), &["tcp(eth1)", "tcp1(eth0)"]),
            ("tcp 10.0.0.*; tcp1(eth9)", "", Err(Errno::NoDevice), &[]),
        ];
        for (rules, strict, result, requests) in table {
            let started = started(&[("LNET_IP2NETS", rules), ("LNET_IP2NETS_STRICT", strict)], None);
            assert_eq!(started, (result, requests.iter().map(|it| (*it).to_owned()).collect()), "{rules}");
        }
    }

    #[test]
    fn the_first_net_that_is_refused_ends_the_start() {
        let networks = [("LNET_NETWORKS", "tcp(eth0),tcp1(eth1),tcp2(eth0)")];
        let (result, requests) = started(&networks, Some(("tcp1", Errno::AddressInUse)));
        assert_eq!((result, requests.len()), (Err(Errno::AddressInUse), 1));
        let (result, requests) = started(&[("LNET_NETWORKS", "o2ib(ib0)")], None);
        assert_eq!((result, requests.len()), (Err(Errno::ProtocolNotSupported), 0));
    }

    #[test]
    fn routes_for_other_nodes_are_ignored() {
        for (errno, result, count) in [
            (Errno::Exists, Ok(()), 1),
            (Errno::HostUnreachable, Ok(()), 1),
            (Errno::Invalid, Err(Errno::Invalid), 0),
        ] {
            let routes = [("LNET_ROUTES", "tcp1 10.0.0.8@tcp3; tcp2 10.0.0.8@tcp")];
            let (ended, requests) = started(&routes, Some(("tcp3", errno)));
            assert_eq!((ended, requests.len()), (result, count), "{errno}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_ends_the_start() {
        let (result, requests) = started(&[("LNET_CONFIG", "/no/such/file")], None);
        assert_eq!((result, requests.len()), (Err(Errno::NotFound), 0));
    }

    #[test]
    fn return_codes_of_the_library_are_not_errnos() {
        for (rc, errno) in
            [(-1, Errno::Invalid), (-6, Errno::Invalid), (-17, Errno::Exists), (-98, Errno::AddressInUse)]
        {
            assert_eq!(errno_of(ReturnCode(rc)), errno, "{rc}");
        }
    }

    /// RT-42: fails if one string of routes does not also serve the gateway that it names.
    #[test]
    fn a_node_forwards_from_its_start_if_it_is_told_to_or_is_a_gateway_of_its_routes() {
        let table = [
            ("", "tcp5 127.0.1.1@tcp", true),
            ("", "tcp5 127.0.1.2@tcp", false),
            ("disabled", "tcp5 127.0.1.1@tcp", false),
            ("enabled", "tcp5 127.0.1.2@tcp", true),
        ];
        for (forwarding, routes, expected) in table {
            let variables = [
                ("LNET_NETWORKS", "tcp(127.0.1.1)"),
                ("LNET_ACCEPT", "none"),
                ("LNET_ALIVE_ROUTER_CHECK_INTERVAL", "0"),
                ("LNET_LARGE_ROUTER_BUFFERS", "16"),
                ("LNET_FORWARDING", forwarding),
                ("LNET_ROUTES", routes),
            ];
            let config = StartConfig::from_lookup(|name| {
                variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
            });
            let node = Node::start(lnet_wire::Pid::LUSTRE, config.unwrap()).unwrap();
            assert_eq!(node.core().admin().router().is_on(), expected, "{forwarding:?}, {routes}");
            let large: Option<u32> = (0..node.core().cpts())
                .map(|cpt| node.core().admin().router_buffers(cpt).map(|pools| pools[2].buffers))
                .sum();
            assert_eq!(large, Some(if expected { 16 } else { 0 }));
            let is_gateway = routes.contains("127.0.1.1@");
            assert_eq!(
                node.core().admin().routes().is_empty(),
                is_gateway,
                "a node is no gateway of its own"
            );
        }
    }

    #[test]
    fn a_node_starts_on_the_nets_of_its_rules_or_leaves_nothing_running() {
        let start = |rules: &'static str| {
            let variables = [("LNET_IP2NETS", rules), ("LNET_ACCEPT", "none")];
            let config = StartConfig::from_lookup(|name| {
                variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
            });
            let node = Node::start(lnet_wire::Pid::LUSTRE, config?)?;
            let nids: Vec<_> = node.core().nets().nis().map(|ni| ni.nid().to_string()).collect();
            Ok(nids)
        };
        let nids = ["0@lo", "127.0.1.1@tcp3", "127.0.0.1@tcp4"].map(str::to_owned).to_vec();
        assert_eq!(start("tcp3(127.0.1.1) 127.0.[1-2].*; tcp4 127.*.*.*; tcp5 192.0.2.77"), Ok(nids));
        let nids = ["0@lo", "127.0.1.1@tcp3"].map(str::to_owned).to_vec();
        assert_eq!(start("tcp 192.0.2.77; tcp3(127.0.1.1)"), Ok(nids));
        assert_eq!(start("tcp(no-such-if) *.*.*.*"), Err(Errno::NoDevice));
        assert_eq!(start("tcp(lo) 192.0.2.77"), Err(Errno::Invalid));
        assert_eq!(start("tcp 192.0.2.77"), Err(Errno::NotFound));
    }
}
