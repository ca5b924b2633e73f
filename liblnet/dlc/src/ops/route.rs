//! Operations on routes.

use super::error_text::{OpError, error_text, one_nid, parse_net};
use super::peer;
use crate::host_names::Names;
use crate::ranges::{HOPS, OutOfRange, ROUTE_PRIORITY, ROUTE_SENSITIVITY, Range};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddRoute, Backend, DelRoute, LocalNi, Peer, Request, Route};
use crate::{ReturnCode, Value};
use lnet_wire::{Errno, NetId, Nid};

/// The arguments of [`add`]; -1 stands for a number that is not given, as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteConfig<'a> {
    /// The net that the routes lead to.
    pub net: Option<&'a str>,
    /// The gateways: a list of NID ranges.
    pub gateways: Option<&'a str>,
    /// The number of hops to the net: 1 to 255, or -1.
    pub hops: i32,
    /// The priority, of which smaller is preferred: from 0, or -1.
    pub priority: i32,
    /// The gateways' health sensitivity: from 1, or -1.
    pub sensitivity: i32,
}

/// The filter of [`show`]; -1 stands for any, as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteFilter<'a> {
    /// The net that the routes lead to.
    pub net: Option<&'a str>,
    /// The NID of the gateway.
    pub gateway: Option<&'a str>,
    /// The number of hops.
    pub hops: i32,
    /// The priority.
    pub priority: i32,
}

/// Adds routes. A route that exists as requested is no failure; the first gateway that is refused ends the operation.
/// [`ReturnCode::MISSING_PARAM`] without net or gateways, [`ReturnCode::OUT_OF_RANGE`] for numbers; -17 for a net that the
/// node is on itself, and for a route that exists with other numbers. `lustre_lnet_config_route`.
pub fn add(backend: &dyn Backend, config: RouteConfig<'_>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let asked = match asked(&config) {
        Ok(asked) => asked,
        Err((rc, text)) => return report.end(Operation::Add, ROUTE, seq_no, rc, text),
    };
    for asked in asked {
        let added = match backend.tell(Request::AddRoute(asked.request())) {
            Ok(()) => Ok(()),
            Err(Errno::Exists) => is_there(backend, &asked),
            Err(errno) => Err(asked.refused(errno)),
        };
        if let Err((rc, text)) = added {
            return report.end(Operation::Add, ROUTE, seq_no, rc, text);
        }
    }
    report.success(Operation::Add, ROUTE, seq_no)
}

/// Deletes routes; the first gateway that is refused ends the operation. `lustre_lnet_del_route`.
pub fn del(
    backend: &dyn Backend,
    net: Option<&str>,
    gateways: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let (net, gateways) = match ends(net, gateways) {
        Ok(ends) => ends,
        Err((rc, text)) => return report.end(Operation::Del, ROUTE, seq_no, rc, text),
    };
    for gateway in gateways {
        if let Err(errno) =
            backend.tell(Request::DelRoute(DelRoute { net: Some(net), gateway: Some(gateway) }))
        {
            let remedy = match errno {
                Errno::NotFound => "; there is no such route, see 'lnetctl route show'",
                _ => "",
            };
            let text =
                format!("cannot delete the route to {net} by {gateway}: {}{remedy}", error_text(errno));
            return report.end(Operation::Del, ROUTE, seq_no, errno.into(), text);
        }
    }
    report.success(Operation::Del, ROUTE, seq_no)
}

/// Shows routes (dlc 2.4): with a `detail`, all values of each. `lustre_lnet_show_route`.
pub fn show(
    backend: &dyn Backend,
    filter: RouteFilter<'_>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> ReturnCode {
    let filter = match Filter::parse(&filter) {
        Ok(filter) => filter,
        Err((rc, text)) => return report.end(Operation::Show, ROUTE, seq_no, rc, text),
    };
    match backend.list::<Route>(Request::GetRoute) {
        Ok(routes) => {
            let items: Vec<Value> = routes
                .iter()
                .filter(|route| filter.admits(route))
                .map(|route| to_value(route, detail > 0, backup))
                .collect();
            if !items.is_empty() {
                report.show(ROUTE, items);
            }
            report.success(Operation::Show, ROUTE, seq_no)
        }
        Err(errno) => {
            let text = format!("cannot read the routes: {}", error_text(errno));
            report.end(Operation::Show, ROUTE, seq_no, errno.into(), text)
        }
    }
}

const ROUTE: &str = "route";

/// The number that means, in the C API, that no number is given.
pub const UNSAID: i32 = -1;

fn asked(config: &RouteConfig<'_>) -> Result<Vec<AskedRoute>, OpError> {
    let (net, gateways) = ends(config.net, config.gateways)?;
    let hops = number(HOPS, config.hops)?;
    let priority = number(ROUTE_PRIORITY, config.priority)?;
    let sensitivity = number(ROUTE_SENSITIVITY, config.sensitivity)?;
    let asked = |gateway| AskedRoute { net, gateway, hops, priority, sensitivity };
    Ok(gateways.into_iter().map(asked).collect())
}

/// A requested route, with the numbers that are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedRoute {
    pub(crate) net: NetId,
    pub(crate) gateway: Nid,
    pub(crate) hops: Option<u32>,
    pub(crate) priority: Option<u32>,
    pub(crate) sensitivity: Option<u32>,
}

impl AskedRoute {
    /// The request, with the defaults for numbers that are not given.
    pub(crate) fn request(&self) -> AddRoute {
        let (priority, health_sensitivity) = (self.priority.unwrap_or(0), self.sensitivity.unwrap_or(1));
        AddRoute { net: self.net, gateway: self.gateway, hops: self.hops, priority, health_sensitivity }
    }

    /// Returns whether the route would be added; `false` if it exists as requested. Otherwise returns the error with which
    /// adding it ends (RT-1). `its_nids` are those of the gateway.
    pub(crate) fn rehearse(
        &self,
        is_local: impl Fn(NetId) -> bool,
        routes: &[Route],
        its_nids: &[Nid],
    ) -> Result<bool, OpError> {
        let Self { net, gateway, .. } = *self;
        if net == NetId::LOOPBACK || gateway.is_loopback() || gateway.net() == net {
            return Err(self.refused(Errno::Invalid));
        }
        if is_local(net) {
            let text = format!(
                "cannot add a route to {net} by {gateway}: this node is on {net} itself, and sends there without a gateway"
            );
            return Err((Errno::Exists.into(), text));
        }
        let is_it = |route: &&Route| {
            route.net == net && (route.gateway == gateway || its_nids.contains(&route.gateway))
        };
        match routes.iter().find(is_it) {
            Some(now) => self.differs(now).map(|()| false),
            None if !is_local(gateway.net()) => Err(self.refused(Errno::HostUnreachable)),
            None => Ok(true),
        }
    }

    /// Checks whether the given values are those of the route `now`; the error names the values that differ.
    pub(crate) fn differs(&self, now: &Route) -> Result<(), OpError> {
        let hops = |hops: Option<u32>| hops.map_or_else(|| UNSAID.into(), i64::from);
        let numbers = [
            (HOPS, self.hops.map(i64::from), hops(now.hops)),
            (ROUTE_PRIORITY, self.priority.map(i64::from), now.priority.into()),
            (ROUTE_SENSITIVITY, self.sensitivity.map(i64::from), now.health_sensitivity.into()),
        ];
        let differing = numbers.iter().filter_map(|(range, said, now)| {
            let said = (*said)?;
            (said != *now).then(|| format!("{} from {now} to {said}", range.name))
        });
        let differing: Vec<String> = differing.collect();
        if differing.is_empty() {
            return Ok(());
        }
        let (net, gateway, which) = (self.net, now.gateway, differing.join(", "));
        let text = format!(
            "cannot change {which} of the route to {net} by {gateway}; delete it first, and add it again"
        );
        Err((Errno::Exists.into(), text))
    }

    /// The code and the text for a route that the node refused.
    fn refused(&self, errno: Errno) -> OpError {
        let remedy = match errno {
            Errno::HostUnreachable => "; the gateway must be on a net of this node, see 'lnetctl net show'",
            Errno::Invalid => "; the net must be another than the gateway's, and neither 'lo'",
            _ => "",
        };
        let text =
            format!("cannot add a route to {} by {}: {}{remedy}", self.net, self.gateway, error_text(errno));
        (errno.into(), text)
    }
}

/// Checks a route that is refused because it exists: success if it exists as requested.
fn is_there(backend: &dyn Backend, asked: &AskedRoute) -> Result<(), OpError> {
    let ask = || -> Result<_, Errno> {
        let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi)?;
        Ok((nis, backend.list::<Route>(Request::GetRoute)?))
    };
    let (nis, routes) = ask().map_err(|errno| asked.refused(errno))?;
    let is_local = |net: NetId| nis.iter().any(|ni| ni.nid.net() == net);
    asked.rehearse(is_local, &routes, &nids_of(backend, asked.gateway)).map(drop)
}

/// The NIDs of the peer with this NID, as far as the node knows it.
pub(crate) fn nids_of(backend: &dyn Backend, nid: Nid) -> Vec<Nid> {
    let peer = backend.ask::<Box<Peer>>(Request::GetPeerNi(nid));
    peer.map_or_else(|_| vec![nid], |peer| peer.nis.iter().map(|ni| ni.nid).collect())
}

/// Reads the net at one end and the gateways at the other.
fn ends(net: Option<&str>, gateways: Option<&str>) -> Result<(NetId, Vec<Nid>), OpError> {
    let missing =
        |what| Err((ReturnCode::MISSING_PARAM, format!("{what} missing; give --net and --gateway")));
    let (net, gateways) = match (net, gateways) {
        (Some(net), Some(gateways)) => (net, gateways),
        (None, None) => return missing("net and gateway are"),
        (None, _) => return missing("the net is"),
        (_, None) => return missing("the gateway is"),
    };
    let net = parse_net(net)?;
    let gateways = peer::parse_named_nids(gateways, peer::MAX_NIDS, &Names::new())
        .map_err(|error| (ReturnCode::BAD_PARAM, peer::not_nids("gateways", gateways, &error)))?;
    Ok((net, gateways))
}

fn number(range: Range, value: i32) -> Result<Option<u32>, OpError> {
    let out_of_range = |error: OutOfRange| (ReturnCode::OUT_OF_RANGE, error.to_string());
    match value {
        UNSAID => Ok(None),
        value => range.count(value.into()).map(Some).map_err(out_of_range),
    }
}

/// A [`RouteFilter`] whose texts have been read.
struct Filter {
    net: Option<NetId>,
    gateway: Option<Nid>,
    hops: Option<u32>,
    priority: Option<u32>,
}

impl Filter {
    fn parse(filter: &RouteFilter<'_>) -> Result<Self, OpError> {
        let gateway = |text: &str| {
            let nid = one_nid(text, &Names::new());
            nid.map_err(|text| (ReturnCode::BAD_PARAM, format!("gateway {text}")))
        };
        Ok(Self {
            net: filter.net.map(parse_net).transpose()?,
            gateway: filter.gateway.map(gateway).transpose()?,
            hops: u32::try_from(filter.hops).ok(),
            priority: u32::try_from(filter.priority).ok(),
        })
    }

    fn admits(&self, route: &Route) -> bool {
        self.net.is_none_or(|net| net == route.net)
            && self.gateway.is_none_or(|gateway| gateway == route.gateway)
            && self.hops.is_none_or(|hops| route.hops == Some(hops))
            && self.priority.is_none_or(|priority| priority == route.priority)
    }
}

/// The value of a route, as [`show`] shows it with `detail`.
pub fn route_value(route: &Route) -> Value {
    to_value(route, true, false)
}

fn to_value(route: &Route, verbose: bool, backup: bool) -> Value {
    let mut shown =
        Value::map().with("net", route.net.to_string()).with("gateway", route.gateway.to_string());
    if verbose {
        shown.push("hop", route.hops.map_or_else(|| UNSAID.into(), Value::from));
        shown.push("priority", route.priority);
        shown.push("health_sensitivity", route.health_sensitivity);
        if !backup {
            shown.push("state", if route.alive { "up" } else { "down" });
            shown.push("type", if route.single_hop { "single-hop" } else { "multi-hop" });
            if !route.rules.is_empty() {
                let rules: Vec<String> = route.rules.iter().map(u32::to_string).collect();
                shown.push("preferred by rules", Value::Quoted(rules.join(",")));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    fn config<'a>(net: &'a str, gateways: &'a str) -> RouteConfig<'a> {
        RouteConfig { net: Some(net), gateways: Some(gateways), hops: -1, priority: -1, sensitivity: -1 }
    }

    fn request(net: &str, gateway: &str) -> AddRoute {
        let (net, gateway) = (net.parse().unwrap(), gateway.parse().unwrap());
        AddRoute { net, gateway, hops: None, priority: 0, health_sensitivity: 1 }
    }

    fn there(net: &str, gateway: &str, priority: u32) -> Route {
        Route {
            net: net.parse().unwrap(),
            gateway: gateway.parse().unwrap(),
            hops: None,
            priority,
            health_sensitivity: 1,
            alive: true,
            rules: Vec::new(),
            single_hop: true,
        }
    }

    #[test]
    fn an_existing_route_is_success_and_another_error_ends_it() {
        let scene = |gateway: &str, reply| (Request::AddRoute(request("tcp5", gateway)), reply);
        let fake = Fake::new([
            scene("10.99.0.40@tcp", Err(Errno::Exists)),
            (Request::GetLocalNi(0), Err(Errno::NotFound)),
            (Request::GetRoute(0), Ok(Reply::Route(there("tcp5", "10.99.0.40@tcp", 0)))),
            (Request::GetRoute(1), Err(Errno::NotFound)),
            (Request::GetPeerNi("10.99.0.40@tcp".parse().unwrap()), Err(Errno::NotFound)),
            scene("10.99.0.41@tcp", Ok(Reply::Done)),
            scene("10.99.0.42@tcp", Err(Errno::HostUnreachable)),
        ]);
        let mut report = Report::new();
        let rc = add(&fake, config("tcp5", "10.99.0.[40-43]@tcp"), SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode(-113));
        assert!(report.errors_to_yaml().contains("by 10.99.0.42@tcp: No route to host"));
    }

    /// RT-1: fails if a route that the node does not take is success, or its error names something else.
    #[test]
    fn a_route_that_is_not_taken_is_refused_with_what_is_wrong() {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let is_local = |net: NetId| ["lo", "tcp", "tcp1"].contains(&net.to_string().as_str());
        let routes = [there("tcp5", "10.0.0.9@tcp", 3)];
        let asked = |net: &str, gateway: &str| AskedRoute {
            net: net.parse().unwrap(),
            gateway: nid(gateway),
            hops: None,
            priority: None,
            sensitivity: None,
        };
        let table = [
            (asked("tcp6", "10.0.0.9@tcp"), Ok(true)),
            (asked("tcp5", "10.0.0.9@tcp"), Ok(false)),
            // The gateway is named by another of its NIDs.
            (asked("tcp5", "10.0.1.9@tcp1"), Ok(false)),
            (AskedRoute { priority: Some(3), ..asked("tcp5", "10.0.0.9@tcp") }, Ok(false)),
            (
                AskedRoute { priority: Some(4), ..asked("tcp5", "10.0.0.9@tcp") },
                Err((-17, "priority from 3 to 4")),
            ),
            (AskedRoute { hops: Some(2), ..asked("tcp5", "10.0.0.9@tcp") }, Err((-17, "hop from -1 to 2"))),
            (asked("tcp", "1@gni"), Err((-17, "this node is on tcp itself"))),
            (asked("tcp", "10.0.0.9@tcp1"), Err((-17, "this node is on tcp itself"))),
            (asked("tcp6", "10.0.0.9@tcp7"), Err((-113, "the gateway must be on a net of this node"))),
            (asked("tcp6", "10.0.0.9@tcp6"), Err((-22, "another than the gateway's"))),
            (asked("tcp6", "0@lo"), Err((-22, "neither 'lo'"))),
        ];
        let its = [nid("10.0.0.9@tcp"), nid("10.0.1.9@tcp1")];
        for (asked, expected) in table {
            match (asked.rehearse(is_local, &routes, &its), expected) {
                (Ok(found), expected) => assert_eq!(Ok(found), expected.map_err(drop), "{asked:?}"),
                (Err((rc, text)), Err((code, part))) => {
                    assert!(rc.0 == code && text.contains(part), "{asked:?}: {rc} {text}");
                }
                (Err((_, text)), Ok(_)) => panic!("{asked:?}: {text}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_a_route_is_refused_without_asking() {
        let gateway = "10.99.0.12@tcp";
        let good = config("tcp3", gateway);
        let table = [
            (RouteConfig { net: None, gateways: None, ..good }, -2),
            (RouteConfig { net: None, ..good }, -2),
            (RouteConfig { gateways: None, ..good }, -2),
            (config("bogus", gateway), -1),
            (config("tcp4", "1.2.3"), -1),
            (config("tcp4", "*@tcp"), -1),
            (config("tcp4", "10.0.0.[1-200]@tcp"), -1),
            (RouteConfig { hops: 256, ..good }, -3),
            (RouteConfig { hops: 0, ..good }, -3),
            (RouteConfig { priority: -2, ..good }, -3),
            (RouteConfig { sensitivity: 0, ..good }, -3),
        ];
        for (config, rc) in table {
            let mut report = Report::new();
            assert_eq!(add(&Fake::unasked(), config, SeqNo::NONE, &mut report), ReturnCode(rc), "{config:?}");
        }
        let said = RouteConfig { hops: 2, priority: 3, sensitivity: 4, ..good };
        let expected =
            AddRoute { hops: Some(2), priority: 3, health_sensitivity: 4, ..request("tcp3", gateway) };
        let fake = Fake::new([(Request::AddRoute(expected), Ok(Reply::Done))]);
        assert_eq!(add(&fake, said, SeqNo::NONE, &mut Report::new()), ReturnCode::OK);
    }

    #[test]
    fn deleting_needs_net_and_gateway() {
        let (net, gateway) = (Some("tcp1"), Some("10.99.0.12@tcp"));
        let refused = DelRoute { net: "tcp1".parse().ok(), gateway: "10.99.0.12@tcp".parse().ok() };
        let mut report = Report::new();
        for (net, gateway, rc) in [(None, gateway, -2), (net, None, -2), (net, Some("1.2.3"), -1)] {
            assert_eq!(del(&Fake::unasked(), net, gateway, SeqNo::NONE, &mut report), ReturnCode(rc));
        }
        let fake = Fake::new([(Request::DelRoute(refused), Err(Errno::NotFound))]);
        assert_eq!(del(&fake, net, gateway, SeqNo::NONE, &mut report), ReturnCode(-2));
    }

    fn routes() -> Fake {
        let route = |net: &str, hops, priority, alive| Route {
            net: net.parse().unwrap(),
            gateway: "10.99.0.12@tcp".parse().unwrap(),
            hops,
            priority,
            health_sensitivity: 1,
            alive,
            rules: if alive { vec![0, 2] } else { Vec::new() },
            single_hop: alive,
        };
        Fake::new([
            (Request::GetRoute(0), Ok(Reply::Route(route("tcp1", None, 0, true)))),
            (Request::GetRoute(1), Ok(Reply::Route(route("tcp2", Some(2), 3, false)))),
            (Request::GetRoute(2), Err(Errno::NotFound)),
        ])
    }

    #[test]
    fn routes_are_shown_as_far_as_asked() {
        let all = RouteFilter { net: None, gateway: None, hops: -1, priority: -1 };
        let first = "route:\n    - net: tcp1\n      gateway: 10.99.0.12@tcp\n";
        let second = "    - net: tcp2\n      gateway: 10.99.0.12@tcp\n";
        let kept = |hop, priority| {
            format!("      hop: {hop}\n      priority: {priority}\n      health_sensitivity: 1\n")
        };
        let (up, down) = (
            "      state: up\n      type: single-hop\n      preferred by rules: \"0,2\"\n",
            "      state: down\n      type: multi-hop\n",
        );
        let (one, two) = (kept(-1, 0), kept(2, 3));
        let table = [
            (all, 0, false, format!("{first}{second}")),
            (all, 1, false, format!("{first}{one}{up}{second}{two}{down}")),
            (all, 1, true, format!("{first}{one}{second}{two}")),
            (RouteFilter { net: Some("tcp1"), ..all }, 0, false, first.to_owned()),
            (RouteFilter { hops: 2, ..all }, 0, false, format!("route:\n{second}")),
            (RouteFilter { priority: 0, ..all }, 0, false, first.to_owned()),
            (RouteFilter { gateway: Some("10.99.0.12"), ..all }, 0, false, format!("{first}{second}")),
            (RouteFilter { net: Some("tcp99"), ..all }, 0, false, String::new()),
        ];
        for (filter, detail, backup, expected) in table {
            let mut report = Report::new();
            assert_eq!(show(&routes(), filter, detail, SeqNo::NONE, &mut report, backup), ReturnCode::OK);
            assert_eq!(report.shown.to_yaml(), expected, "{filter:?}");
        }
        let bogus = RouteFilter { gateway: Some("1.2.3"), ..all };
        assert_eq!(show(&Fake::unasked(), bogus, 0, SeqNo::NONE, &mut Report::new(), false), ReturnCode(-1));
        let down = Fake::down(Request::GetRoute(0));
        assert_eq!(show(&down, all, 0, SeqNo::NONE, &mut Report::new(), false), ReturnCode(-100));
    }
}
