//! Routes.

use super::error_text::{OpError, error_text, parse_net};
use super::peer;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddRoute, Backend, DelRoute, Request, Route};
use crate::{ReturnCode, Value};
use lnet_wire::{Errno, NetId, Nid};
use std::ops::RangeInclusive;

/// What [`add`] is told; -1 is "not said", as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteConfig<'a> {
    /// To which net.
    pub net: Option<&'a str>,
    /// By which nodes: a list of NID ranges.
    pub gateways: Option<&'a str>,
    /// Over how many nodes: 1 to 255, or -1.
    pub hops: i32,
    /// Smaller is preferred: from 0, or -1.
    pub priority: i32,
    /// The gateways' health sensitivity: from 1, or -1.
    pub sensitivity: i32,
}

/// Which routes [`show`] shows; -1 is "any", as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteFilter<'a> {
    /// To this net.
    pub net: Option<&'a str>,
    /// By this node.
    pub gateway: Option<&'a str>,
    /// Over so many nodes.
    pub hops: i32,
    /// With this priority.
    pub priority: i32,
}

/// Adds routes. One that is there already is no failure; the first gateway that is refused ends it.
/// [`ReturnCode::MISSING_PARAM`] without net or gateways, [`ReturnCode::OUT_OF_RANGE`] for numbers. `lustre_lnet_config_route`.
pub fn add(backend: &dyn Backend, config: RouteConfig<'_>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let requests = match requests(&config) {
        Ok(requests) => requests,
        Err((rc, text)) => return report.end(Operation::Add, ROUTE, seq_no, rc, text),
    };
    for request in requests {
        match backend.tell(Request::AddRoute(request)) {
            Ok(()) | Err(Errno::Exists) => {}
            Err(errno) => {
                let remedy = match errno {
                    Errno::HostUnreachable => "; the gateway must be on a net of this node",
                    Errno::Invalid => "; the net must be another than the gateway's, and neither 'lo'",
                    _ => "",
                };
                let AddRoute { net, gateway, .. } = request;
                let text = format!("cannot add a route to {net} by {gateway}: {}{remedy}", error_text(errno));
                return report.end(Operation::Add, ROUTE, seq_no, errno.into(), text);
            }
        }
    }
    report.success(Operation::Add, ROUTE, seq_no)
}

/// Deletes routes; the first gateway that is refused ends it. `lustre_lnet_del_route`.
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
                Errno::NotFound => "; there is no route to this net, see 'lnetctl route show'",
                _ => "",
            };
            let text =
                format!("cannot delete the route to {net} by {gateway}: {}{remedy}", error_text(errno));
            return report.end(Operation::Del, ROUTE, seq_no, errno.into(), text);
        }
    }
    report.success(Operation::Del, ROUTE, seq_no)
}

/// Shows routes (dlc 2.4): with a `detail`, all of them that is to be known. `lustre_lnet_show_route`.
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

/// What the C API has for "not said".
const UNSAID: i32 = -1;

fn requests(config: &RouteConfig<'_>) -> Result<Vec<AddRoute>, OpError> {
    let (net, gateways) = ends(config.net, config.gateways)?;
    let hops = number("hop count", config.hops, 1..=255)?;
    let priority = number("priority", config.priority, 0..=i32::MAX)?.unwrap_or(0);
    let health_sensitivity = number("health sensitivity", config.sensitivity, 1..=i32::MAX)?.unwrap_or(1);
    let request = |gateway| AddRoute { net, gateway, hops, priority, health_sensitivity };
    Ok(gateways.into_iter().map(request).collect())
}

/// The net at one end and the gateways at the other.
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
    let gateways = peer::parse_nids(gateways, peer::MAX_NIDS)
        .map_err(|error| (ReturnCode::BAD_PARAM, peer::not_nids("gateways", gateways, &error)))?;
    Ok((net, gateways))
}

fn number(what: &str, value: i32, allowed: RangeInclusive<i32>) -> Result<Option<u32>, OpError> {
    let out_of_range = || {
        let (least, most) = (allowed.start(), allowed.end());
        (ReturnCode::OUT_OF_RANGE, format!("{what} {value} is not within {least} to {most}"))
    };
    match value {
        UNSAID => Ok(None),
        value if allowed.contains(&value) => u32::try_from(value).map(Some).map_err(|_| out_of_range()),
        _ => Err(out_of_range()),
    }
}

/// A [`RouteFilter`] that has been read.
struct Filter {
    net: Option<NetId>,
    gateway: Option<Nid>,
    hops: Option<u32>,
    priority: Option<u32>,
}

impl Filter {
    fn parse(filter: &RouteFilter<'_>) -> Result<Self, OpError> {
        let gateway = |text: &str| {
            text.parse()
                .map_err(|error| (ReturnCode::BAD_PARAM, format!("gateway '{text}' is not a NID: {error}")))
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

    #[test]
    fn an_existing_route_is_success_and_another_error_ends_it() {
        let scene = |gateway: &str, reply| (Request::AddRoute(request("tcp5", gateway)), reply);
        let fake = Fake::new([
            scene("10.99.0.40@tcp", Err(Errno::Exists)),
            scene("10.99.0.41@tcp", Ok(Reply::Done)),
            scene("10.99.0.42@tcp", Err(Errno::HostUnreachable)),
        ]);
        let mut report = Report::new();
        let rc = add(&fake, config("tcp5", "10.99.0.[40-43]@tcp"), SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode(-113));
        assert!(report.errors_to_yaml().contains("by 10.99.0.42@tcp: No route to host"));
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
            (config("tcp4", "bogus"), -1),
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
        for (net, gateway, rc) in [(None, gateway, -2), (net, None, -2), (net, Some("bogus"), -1)] {
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
        let bogus = RouteFilter { gateway: Some("bogus"), ..all };
        assert_eq!(show(&Fake::unasked(), bogus, 0, SeqNo::NONE, &mut Report::new(), false), ReturnCode(-1));
        let down = Fake::down(Request::GetRoute(0));
        assert_eq!(show(&down, all, 0, SeqNo::NONE, &mut Report::new(), false), ReturnCode(-100));
    }
}
