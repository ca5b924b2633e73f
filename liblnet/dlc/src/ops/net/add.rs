//! Adding interfaces: by net and interface, or by `ip2nets` rules.

use super::existing::{self, Adjustment, adjustment};
use super::{NET, NetConfig};
use crate::ip2nets::{self, Rule};
use crate::ops::error_text::{OpError, cause, error_text, parse_net};
use crate::present::has_large_nids;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddLocalNi, Backend, Request, RequestError};
use crate::{InterfaceSpec, ReturnCode};
use lnet_log::{LogClass, write_line};
use lnet_os::interfaces::{HostInterface, host_interfaces};
use lnet_wire::{Errno, NetId, NetType};

/// Adds interfaces in their order. The first one that is refused ends the operation; those before it stay (cfg-020 to cfg-040,
/// cfg-060). `lustre_lnet_config_ni`.
///
/// [`ReturnCode::MISSING_PARAM`] without net or interface, [`ReturnCode::BAD_PARAM`] for a text that is not a net and an
/// interface that the machine does not have. `lo` always exists: naming it is success. With `ip2net`, the
/// rules are matched with this machine's addresses; -2 if none matches.
pub fn add(backend: &dyn Backend, config: &NetConfig<'_>, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let added = match config.ip2net {
        Some(text) => match rules_of(text) {
            Ok((rules, host)) => return add_rules(backend, &rules, &host, config, seq_no, report),
            Err(error) => Err(error),
        },
        None => requests(config).and_then(|requests| {
            if requests.is_empty() {
                return is_there_a_node(backend);
            }
            requests.into_iter().try_for_each(|request| {
                let added = backend.call(Request::AddLocalNi(request.clone()));
                added.map(drop).map_err(|error| refused(&request, &error))
            })
        }),
    };
    match added {
        Ok(()) => report.success(Operation::Add, NET, seq_no),
        Err((rc, text)) => report.end(Operation::Add, NET, seq_no, rc, text),
    }
}

/// Ensures that the node has these interfaces: one that exists as requested is success, and one that exists otherwise is changed
/// as far as possible. All are tried; the last failure is the result. For files, which describe the final state of a node
/// (cfg-170).
pub(crate) fn ensure(
    backend: &dyn Backend,
    config: &NetConfig<'_>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let requests = match requests(config) {
        Ok(requests) => requests,
        Err((rc, text)) => return report.end(Operation::Add, NET, seq_no, rc, text),
    };
    let mut rc = ReturnCode::OK;
    for request in requests {
        if let Err((code, text)) = add_or_adjust(backend, &request) {
            rc = report.end(Operation::Add, NET, seq_no, code, text);
        }
    }
    if rc.is_ok() { report.success(Operation::Add, NET, seq_no) } else { rc }
}

/// Returns the change that [`ensure`] would make to an existing interface, or `None` if it would add one. The node is not
/// changed.
pub(crate) fn rehearse(backend: &dyn Backend, request: &AddLocalNi) -> Result<Option<Adjustment>, OpError> {
    match backend.call(Request::CheckLocalNi(request.clone())) {
        Ok(_) => Ok(None),
        Err(error) if error.errno == Errno::Exists => to_adjust(backend, request, &error).map(Some),
        Err(error) => Err(refused(request, &error)),
    }
}

fn add_or_adjust(backend: &dyn Backend, request: &AddLocalNi) -> Result<(), OpError> {
    match backend.call(Request::AddLocalNi(request.clone())) {
        Ok(_) => Ok(()),
        Err(error) if error.errno == Errno::Exists => adjust(backend, request, &error),
        Err(error) => Err(refused(request, &error)),
    }
}

/// Returns the change to the interface that is there, for which the node refused the request with `error`.
fn to_adjust(
    backend: &dyn Backend,
    request: &AddLocalNi,
    error: &RequestError,
) -> Result<Adjustment, OpError> {
    match existing::find(backend, request) {
        Some(now) => adjustment(request, &now),
        None => Err(refused(request, error)),
    }
}

fn adjust(backend: &dyn Backend, request: &AddLocalNi, error: &RequestError) -> Result<(), OpError> {
    match to_adjust(backend, request, error)? {
        Adjustment::Nothing => Ok(()),
        Adjustment::ConnsPerPeer(set) => backend
            .tell(Request::SetConnsPerPeer(set))
            .map_err(|errno| (errno.into(), format!("cannot set conns_per_peer: {}", error_text(errno)))),
    }
}

/// Checks that there is a node, for an operation that succeeds without a request.
fn is_there_a_node(backend: &dyn Backend) -> Result<(), OpError> {
    backend.tell(Request::GetNode).map_err(|errno| (errno.into(), error_text(errno)))
}

/// Adds the interfaces that `rule` selects on a machine with the interfaces `host`, with the tunables and CPTs of `config`
/// (dlc 4.1; cfg-065).
///
/// Interfaces that the rule names and the machine lacks are reported under `ip2nets`; the rule fails if an
/// address contradicts it, or if it selects nothing else. A rule without interfaces that
/// matches nothing is success: one file serves many nodes. An NI that exists as requested is success too.
pub fn add_rule(
    backend: &dyn Backend,
    rule: &Rule,
    host: &[HostInterface],
    config: &NetConfig<'_>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    add_matched(backend, rule, host, config, seq_no, report).1
}

/// The most bytes of an `ip2net` text; C adds a terminating zero.
const MAX_IP2NET: usize = 127;

fn requests(config: &NetConfig<'_>) -> Result<Vec<AddLocalNi>, OpError> {
    let missing = |what| {
        (ReturnCode::MISSING_PARAM, format!("the {what} is missing; give --net and --if, or --ip2net"))
    };
    let net = parse_net(config.net.ok_or_else(|| missing("net"))?)?;
    match &config.interfaces[..] {
        [] if net.kind() == NetType::GNI => Ok(vec![request(net, None, config)]),
        [] => Err(missing("interface")),
        _ if net == NetId::LOOPBACK => Ok(Vec::new()),
        some => Ok(some.iter().map(|spec| request(net, Some(spec), config)).collect()),
    }
}

/// The request for one interface.
pub(crate) fn request(net: NetId, spec: Option<&InterfaceSpec>, config: &NetConfig<'_>) -> AddLocalNi {
    AddLocalNi {
        net,
        interface: spec.map(|spec| spec.name.clone()),
        tunables: config.tunables,
        lnd: config.lnd,
        cpts: spec.and_then(|spec| spec.cpts.clone()).or_else(|| config.cpts.clone()),
    }
}

/// The code and the text for what the node refused, in the words of the node.
fn refused(request: &AddLocalNi, error: &RequestError) -> OpError {
    let rc = match error.errno {
        Errno::NoDevice | Errno::AddressNotAvailable => ReturnCode::BAD_PARAM,
        // Without a text it comes from no node: LNet that is down has no net to add to.
        Errno::NetworkDown if error.text.is_none() => Errno::Invalid.into(),
        Errno::ProtocolNotSupported | Errno::NotSupported => Errno::Invalid.into(),
        errno => errno.into(),
    };
    let interface = request.interface.as_deref().unwrap_or("the first interface");
    (rc, format!("cannot add {interface} to {}: {}", request.net, cause(error)))
}

/// The rules of an `ip2net` text, and the interfaces of this machine.
pub(crate) fn rules_of(text: &str) -> Result<(Vec<Rule>, Vec<HostInterface>), OpError> {
    if text.len() > MAX_IP2NET {
        let text = format!("--ip2net takes {MAX_IP2NET} characters; a file with an ip2nets block takes more");
        return Err((ReturnCode::BAD_PARAM, text));
    }
    let rules = ip2nets::parse_string(text)
        .map_err(|error| (Errno::Invalid.into(), format!("ip2net '{text}': {error}")))?;
    let host = host_interfaces()
        .map_err(|error| (Errno::from(&error).into(), format!("cannot read the interfaces: {error}")))?;
    Ok((rules, host))
}

/// Adds the interfaces that the rules select; -2 if there are none.
pub(super) fn add_rules(
    backend: &dyn Backend,
    rules: &[Rule],
    host: &[HostInterface],
    config: &NetConfig<'_>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let mut rc = ReturnCode::OK;
    let mut taken = 0;
    for rule in rules {
        let (interfaces, end) = add_matched(backend, rule, host, config, seq_no, report);
        taken += interfaces;
        rc = rc.or(end);
    }
    match taken {
        0 => {
            let text = "cannot add a net: no rule matches this machine's interfaces and their addresses";
            report.end(Operation::Add, NET, seq_no, Errno::NotFound.into(), text)
        }
        _ => rc,
    }
}

/// Adds the interfaces that a rule selects. Returns their number, and the first failure.
fn add_matched(
    backend: &dyn Backend,
    rule: &Rule,
    host: &[HostInterface],
    config: &NetConfig<'_>,
    seq_no: SeqNo,
    report: &mut Report,
) -> (usize, ReturnCode) {
    let matched = ip2nets::matched(rule, host, has_large_nids(backend));
    let mut rc = matched.failure().map_or(ReturnCode::OK, |mismatch| mismatch.errno().into());
    for mismatch in &matched.mismatches {
        write_line!(LogClass::ConfigIgnored, "ip2nets: net {}: {mismatch}; skipped", rule.net);
        let text = format!("{}: {mismatch}", rule.net);
        let _ = report.end(Operation::Add, "ip2nets", seq_no, mismatch.errno().into(), text);
    }
    for spec in &matched.interfaces {
        let request = request(rule.net, Some(spec), config);
        if let Err((code, text)) = add_or_adjust(backend, &request) {
            rc = rc.or(report.end(Operation::Add, NET, seq_no, code, text));
            break;
        }
    }
    let end = if rc.is_ok() { report.success(Operation::Add, NET, seq_no) } else { rc };
    (matched.interfaces.len(), end)
}
