//! Tests of the errors in files: every kind of problem, with its place, its block and its code.

use super::{Purpose, read};
use crate::ReturnCode;

/// The line, column, block, code, and a part of the text.
type Expected = (u32, u32, Option<&'static str>, ReturnCode, &'static str);

fn problems_are(text: &str, purpose: Purpose, expected: &[Expected]) {
    let problems = read(text, purpose).expect_err(text);
    let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), expected.len(), "{text}\n{}", found.join("\n"));
    for (problem, (line, column, block, rc, part)) in problems.iter().zip(expected) {
        let place = (problem.at.line, problem.at.column);
        assert_eq!((place, problem.block, problem.rc), ((*line, *column), *block, *rc), "{text}\n{problem}");
        assert!(problem.text.contains(part), "{text}\n{problem}\nhas no '{part}'");
        assert!(!problem.text.contains('\n'));
    }
}

const BAD: ReturnCode = ReturnCode::BAD_PARAM;
const MISSING: ReturnCode = ReturnCode::MISSING_PARAM;

#[test]
fn every_kind_of_problem_has_its_place_and_remedy() {
    let net = Some("net");
    let peer = Some("peer");
    let table: &[(&str, &[Expected])] = &[
        ("bogus:\n  - x: 1\n", &[(1, 1, None, BAD, "no block 'bogus'")]),
        (
            "udsp:\n  - src: tcp\n    action:\n      priority: 256\n",
            &[(4, 17, Some("udsp"), BAD, "priority 256 is not within 0 to 255")],
        ),
        ("udsp:\n  - {src: tcp, messages: 0}\n", &[(2, 26, Some("udsp"), BAD, "messages")]),
        (
            "udsp:\n  - {src: tcp, priority: 1, action: {priority: 2}}\n",
            &[(2, 48, Some("udsp"), BAD, "two priorities in one rule")],
        ),
        (
            "udsp:\n  - {src: tcp, dst: tcp, priority: 1, action: preferred_list}\n",
            &[(2, 5, Some("udsp"), BAD, "contradict each other")],
        ),
        (
            "udsp:\n  - {src: tcp, dst: tcp, messages: 3, action: pref}\n",
            &[(2, 5, Some("udsp"), BAD, "counts no messages")],
        ),
        (
            "udsp:\n  - {src: \"tcp[3-2]\"}\n",
            &[(2, 11, Some("udsp"), BAD, "a range that ends before it begins")],
        ),
        ("udsp:\n  - {dst: \"fe80::1@tcp\"}\n", &[(2, 11, Some("udsp"), BAD, "a link-local address")]),
        (
            "peer:\n  - primary nid: fd99::1@tcp\n    peer ni:\n      - nid: fe80::1@tcp\n      - nid: ::ffff:1.2.3.4@tcp\n",
            &[(4, 14, peer, BAD, "a link-local address"), (5, 14, peer, BAD, "write it as IPv4")],
        ),
        (
            "route:\n  - {net: tcp1, gateway: \"fe80::1@tcp\"}\n",
            &[(2, 26, Some("route"), BAD, "a link-local address")],
        ),
        ("udsp:\n  - {src: tcp, action: pref}\n", &[(2, 5, Some("udsp"), BAD, "nothing to prefer it for")]),
        ("udsp:\n  - {rte: 10.0.0.1@tcp}\n", &[(2, 5, Some("udsp"), BAD, "'rte' alone is no rule")]),
        ("rout:\n  - x: 1\n", &[(1, 1, None, BAD, "did you mean 'route'?")]),
        ("net: tcp\n", &[(1, 6, net, BAD, "must be a mapping")]),
        ("net:\n    - net: tcp\n   x: 1\n", &[(3, 5, None, BAD, "indentation")]),
        ("net:\n  - net type: a: b\n", &[(2, 16, None, BAD, "needs quotes")]),
        (
            "net:\n  - net type: TCP\n    local NI(s): [{interfaces: {0: a}}]\n",
            &[(2, 15, net, BAD, "such as tcp1")],
        ),
        ("net:\n  - ip2net: tcp(eth0\n", &[(2, 13, net, BAD, "ip2net: a `(` without its `)`")]),
        (
            "route:\n  - {net: tcp1, gateway: 10.0.0.1, prio: 3}\n",
            &[
                (2, 26, Some("route"), BAD, "such as 192.0.2.1@tcp"),
                (2, 36, Some("route"), BAD, "did you mean 'priority'?"),
            ],
        ),
        (
            "net:\n  - net typ: tcp\n    local NI(s):\n      - interfaces: {0: eth0}\n",
            &[(2, 5, net, BAD, "did you mean 'net type'?")],
        ),
        ("net:\n  - net type: tcp\n", &[(2, 5, net, MISSING, "'local NI(s)'")]),
        ("net:\n  - local NI(s):\n      - interfaces: {0: eth0}\n", &[(2, 5, net, MISSING, "net type")]),
        (
            "net:\n  - net type: tcp\n    local NI(s):\n      - nid: 1.2.3.4@tcp\n",
            &[(4, 9, net, MISSING, "interface")],
        ),
        (
            "net:\n  - net type: tcp\n    local NI(s):\n      - nid: fd99::11@tcp\n        interfaces: {0: eth0, 1: eth1}\n",
            &[(4, 9, net, BAD, "nid fd99::11@tcp with several interfaces; write one item for each")],
        ),
        (
            "net:\n  - net type: bogus\n    local NI(s):\n      - interfaces: {0: eth0}\n",
            &[(2, 15, net, BAD, "unknown network name")],
        ),
        (
            "net:\n  - net type: tcp\n    net: tcp1\n    interfaces: {0: eth0}\n",
            &[(2, 15, net, BAD, "keep one")],
        ),
        (
            "net:\n  - net: tcp\n    interfaces: {0: eth0}\n    tunables:\n      peer_credit: 8\n      credits: many\n    lnd tunables:\n      conns_per_peer: 128\n      tos: 256\n      ntx: -1\n    CPT: a\n",
            &[
                (5, 7, net, BAD, "did you mean 'peer_credits'?"),
                (6, 16, net, BAD, "not a whole decimal number"),
                (8, 23, net, BAD, "not within 0 to 127"),
                (9, 12, net, BAD, "tos 256 is not within -1 to 255"),
                (10, 12, net, BAD, "ntx -1 is not within 0 to 2147483647"),
                (11, 10, net, BAD, "CPT 'a'"),
            ],
        ),
        (
            "net:\n  - net: tcp\n    net: tcp1\n    interfaces: {0: eth0}\n",
            &[(3, 5, net, BAD, "said twice in a net, first at 2:5")],
        ),
        (
            "net:\n  - net: tcp\n    interfaces: {0: eth0}\n  - net: tcp\n    interfaces: {0: eth1, 1: eth0}\n",
            &[(4, 5, net, BAD, "eth0 is twice on net tcp, first in the item at 2:5")],
        ),
        ("net:\n  - net: tcp\n    interfaces: {0: 'eth0 eth1'}\n", &[(3, 21, net, BAD, "no blanks")]),
        ("net:\n  - net: tcp\n    interfaces: {0: 'eth0[1'}\n", &[(3, 21, net, BAD, "']'")]),
        ("net:\n  - pattern: 10.0.0.0\n", &[(2, 5, net, MISSING, "'net: NAME'")]),
        ("net:\n  - net: tcp\n    pattern: 10.0.0.256\n", &[(3, 14, net, BAD, "'10.0.0.256'")]),
        ("ip2nets:\n  - ip-range: {0: 10.0.0.0}\n", &[(2, 5, Some("ip2nets"), MISSING, "net-spec")]),
        (
            "ip2nets:\n  - net-spec: tcp\n    interface: {0: eth0}\n",
            &[(3, 5, Some("ip2nets"), BAD, "did you mean 'interfaces'?")],
        ),
        ("route:\n  - net: tcp1\n", &[(2, 5, Some("route"), MISSING, "gateway")]),
        (
            "route:\n  - net: tcp1\n    gateway: 10.0.0.1@tcp\n    hop: 256\n    priority: -2\n    health_sensitivity: 0\n",
            &[
                (4, 10, Some("route"), ReturnCode::OUT_OF_RANGE, "255"),
                (5, 15, Some("route"), ReturnCode::OUT_OF_RANGE, "priority"),
                (6, 25, Some("route"), ReturnCode::OUT_OF_RANGE, "health_sensitivity"),
            ],
        ),
        (
            "route:\n  - net: tcp1\n    gateway: 10.0.0.300@tcp\n",
            &[(3, 14, Some("route"), BAD, "10.0.0.300")],
        ),
        ("peer:\n  - peer ni:\n      - nid: 10.0.0.1@tcp\n", &[(2, 5, peer, MISSING, "primary nid")]),
        (
            "peer:\n  - primary nid: 10.0.0.1@tcp\n    Multi-Rail: maybe\n",
            &[(3, 17, peer, BAD, "True or False")],
        ),
        ("peer:\n  - primary nid: 5\n", &[(2, 18, peer, BAD, "'5'")]),
        (
            "peer:\n  - primary nid: 10.0.0.1@tcp\n    peer ni:\n      - nid: 10.0.0.[9-1]@tcp\n      - id: 10.0.0.1@tcp\n",
            &[
                (4, 14, peer, BAD, "there is no NID in this"),
                (5, 9, peer, MISSING, "without its NID"),
                (5, 9, peer, BAD, "did you mean 'nid'?"),
            ],
        ),
        (
            "peer:\n  - primary nid: 10.0.0.1@tcp\n    peer ni:\n      - nid: 10.0.[0-1].[0-99]@tcp\n",
            &[(4, 14, peer, BAD, "128")],
        ),
        (
            "peer:\n  - primary nid: 10.0.0.1@tcp\n    peer ni:\n      - nid: 10.0.0.2@tcp\n  - primary nid: 10.0.0.2@tcp\n",
            &[(
                5,
                5,
                peer,
                BAD,
                "10.0.0.2@tcp is of peer 10.0.0.2@tcp here and of peer 10.0.0.1@tcp in the item at 2:5",
            )],
        ),
        (
            "routing:\n  - tiny: -2\n",
            &[(2, 11, Some("routing"), BAD, "tiny -2 is not within -1 to 2147483647")],
        ),
        ("routing:\n  enable: 2\n", &[(2, 11, Some("routing"), BAD, "not within 0 to 1")]),
        ("buffers:\n  tiny: -2\n", &[(2, 9, Some("buffers"), BAD, "tiny")]),
        (
            "global:\n    health_sensitivity: 9999\n    response_tracking: 4\n    discover: 1\n",
            &[
                (2, 25, Some("health_sensitivity"), ReturnCode::GENERIC, "0 to 1000"),
                (3, 24, Some("response_tracking"), BAD, "0 to 3"),
                (4, 5, Some("global"), BAD, "did you mean 'discovery'?"),
            ],
        ),
        (
            "global:\n    max_intf: 16\n    max_interfaces: 16\n",
            &[(3, 5, Some("max_interfaces"), BAD, "twice")],
        ),
        ("udsp:\n  - idx: 0\n", &[(2, 5, Some("udsp"), BAD, "about nothing")]),
        ("udsp:\n  - src: tcp\n    rte: tcp1\n", &[(2, 5, Some("udsp"), BAD, "do not go together")]),
        (
            "udsp:\n  - src: 10.0.0.1.2@tcp\n    priority: 4294967296\n",
            &[(2, 10, Some("udsp"), BAD, "src"), (3, 15, Some("udsp"), BAD, "priority")],
        ),
        ("selection:\n  - type: nid\n    net: tcp\n", &[(2, 5, Some("udsp"), BAD, "'type: net'")]),
        ("ping:\n  - timeout: 4\n", &[(2, 5, Some("ping"), MISSING, "primary nid")]),
        (
            "discover:\n  - primary nid: 7@tcp\n    force: 2\n",
            &[(2, 18, Some("discover"), BAD, "'7@tcp'"), (3, 12, Some("discover"), BAD, "force")],
        ),
    ];
    for (text, expected) in table {
        problems_are(text, Purpose::Add, expected);
    }
}

/// Fails if the value of a key that has none is guessed.
#[test]
fn a_key_without_a_value_is_refused_with_its_place() {
    let udsp = |key: &str| format!("udsp:\n  - src: tcp\n    {key}:\n");
    let route = |key: &str| format!("route:\n  - net: tcp9\n    gateway: 10.0.0.9@tcp\n    {key}:\n");
    let tunable = |key: &str| {
        format!("net:\n  - net: tcp1\n    interfaces: {{0: eth0}}\n    tunables:\n      {key}:\n")
    };
    let net = |key: &str| format!("net:\n  - net: tcp1\n    interfaces: {{0: eth0}}\n    {key}:\n");
    let rule = |key: &str| format!("ip2nets:\n  - net-spec: tcp1\n    {key}:\n");
    let peer = |key: &str| format!("peer:\n  - primary nid: 10.0.0.7@tcp\n    {key}:\n");
    let global = |key: &str| format!("global:\n    {key}:\n");
    let ping = |key: &str| format!("ping:\n  - primary nid: 10.0.0.7@tcp\n    {key}:\n");
    let mut files: Vec<String> = Vec::new();
    files.extend(["idx", "dst", "rte", "priority", "messages", "action", "seq_no"].map(udsp));
    files.push("udsp:\n  - src: tcp\n    action:\n      priority:\n".to_owned());
    files.extend(["hop", "priority", "health_sensitivity", "detail", "seq_no"].map(route));
    files.extend(
        ["peer_timeout", "peer_credits", "peer_buffer_credits", "credits", "CPT", "SMP"].map(tunable),
    );
    files.extend(["CPT", "SMP", "pattern", "intf", "ip2net", "seq_no", "detail"].map(net));
    files.push(net("lnd tunables:\n      conns_per_peer"));
    files.extend(["interfaces", "ip-range", "CPT"].map(rule));
    files.extend(["Multi-Rail", "peer ni", "ip2nets", "nid", "detail"].map(peer));
    files.push(peer("peer ni:\n      - nid"));
    files.extend(["numa_range", "max_interfaces", "discovery", "retry_count", "recovery_limit"].map(global));
    files.extend(["timeout", "source_nid", "seq_no"].map(ping));
    files.extend(["tiny", "small", "large", "enable"].map(|key| format!("routing:\n    {key}:\n")));
    files.extend(["tiny", "small", "large"].map(|key| format!("buffers:\n    {key}:\n")));
    files.push("numa:\n    range:\n".to_owned());
    files.push("discover:\n  - primary nid: 10.0.0.7@tcp\n    force:\n".to_owned());
    files.extend(
        ["route:\n  - net:\n    gateway: 10.0.0.1@tcp\n", "peer:\n  - primary nid:\n"].map(str::to_owned),
    );
    for text in files {
        let problems = read(&text, Purpose::Add).expect_err(&text);
        let last = text.trim_end().lines().count() as u32;
        let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let named = problems.iter().find(|problem| problem.text.contains("has no value"));
        let at = named.map(|problem| problem.at.line);
        assert!(at == Some(last) || at == Some(2), "{text}\n{}", found.join("\n"));
    }
}

#[test]
fn what_has_no_keys_of_its_own_and_what_says_nothing_on_purpose_are_taken() {
    for text in [
        "net:\n  - net: tcp1\n    interfaces: {0: eth0}\n    tunables:\n    lnd tunables:\n",
        "udsp:\n  - src: tcp\n    dst: null\n    rte: ~\n",
        "udsp:\n  - src: tcp\n    dst: NA\n    rte: NA\n",
        "peer:\n  - primary nid: 10.0.0.1@tcp\n    non_mr:\n",
        "net:\nroute:\nglobal:\n",
    ] {
        assert!(read(text, Purpose::Add).is_ok(), "{text}");
    }
}

/// Fails if a number out of range is taken for another one.
#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    let table = [
        ("udsp:\n  - {src: tcp, priority: -1}\n", "priority -1 is not within 0 to 255"),
        ("udsp:\n  - {src: tcp, idx: -1}\n", "idx -1 is not within 0 to 2147483647"),
        ("udsp:\n  - {src: tcp, messages: 0}\n", "messages 0 is not within 1 to 4294967295"),
        (
            "route:\n  - {net: tcp9, gateway: 10.0.0.1@tcp, priority: -1}\n",
            "priority -1 is not within 0 to 2147483647",
        ),
        ("route:\n  - {net: tcp9, gateway: 10.0.0.1@tcp, hop: -2}\n", "hop -2 is not within 1 to 255"),
        ("route:\n  - {net: tcp9, gateway: 10.0.0.1@tcp, health_sensitivity: -1}\n", "-1 is not within 1 to"),
        (
            "net:\n  - {net: tcp, interfaces: {0: a}, tunables: {credits: -1}}\n",
            "credits -1 is not within 0 to 2147483647",
        ),
        (
            "net:\n  - {net: tcp, interfaces: {0: a}, lnd tunables: {conns_per_peer: 65535}}\n",
            "not within 0 to 127",
        ),
        (
            "net:\n  - {net: tcp, interfaces: {0: a}, tunables: {credits: true}}\n",
            "not a whole decimal number",
        ),
        ("global:\n    max_interfaces: 15\n", "max_interfaces 15 is not within 16 to 2147483647"),
        ("global:\n    discovery: 3\n", "discovery 3 is not within 0 to 2"),
        ("global:\n    drop_asym_route: 2\n", "drop_asym_route 2 is not within 0 to 1"),
        ("global:\n    numa_range: -1\n", "numa_range -1 is not within 0 to 4294967295"),
        (
            "ping:\n  - {primary nid: 10.0.0.1@tcp, timeout: 180001}\n",
            "timeout 180001 is not within 1 to 180000",
        ),
        ("buffers:\n    tiny: -2\n", "tiny -2 is not within -1 to 2147483647"),
    ];
    for (text, said) in table {
        let problems = read(text, Purpose::Add).expect_err(text);
        assert!(problems.len() == 1 && problems[0].text.contains(said), "{text}\n{problems:?}");
    }
}

#[test]
fn missing_fields_of_a_deletion_are_reported() {
    problems_are("net:\n  - net type: tcp\n", Purpose::Del, &[(2, 5, Some("net"), MISSING, "whole net")]);
    problems_are("net:\n  - status: up\n", Purpose::Del, &[(2, 5, Some("net"), MISSING, "net type")]);
    problems_are("peer:\n  - Multi-Rail: True\n", Purpose::Del, &[(2, 5, Some("peer"), MISSING, "primary")]);
}

#[test]
fn a_problem_has_the_number_of_its_item() {
    let text = "route:\n  - net: tcp1\n    seq_no: 7\n  - net: tcp2\n";
    let numbers: Vec<_> =
        read(text, Purpose::Add).unwrap_err().into_iter().map(|problem| problem.seq_no.number()).collect();
    assert_eq!(numbers, [Some(7), None]);
}

#[test]
fn at_most_a_thousand_problems_are_listed_and_then_that_there_are_more() {
    for line in ["\tx: 1\n", "nothing: 1\n", "net:\n- net type: tcp\n  x: 1\n"] {
        let problems = read(&line.repeat(3000), Purpose::Add).unwrap_err();
        assert_eq!(problems.len(), 1001, "{line:?}");
        assert!(problems[1000].text.contains("not listed"), "{line:?}");
        let problems = read(&line.repeat(1000), Purpose::Add).unwrap_err();
        assert_eq!(problems.len(), 1000, "{line:?}");
    }
}

#[test]
fn a_file_without_end_is_read_until_it_is_too_long() {
    let text = super::text_of(std::io::repeat(b'#')).unwrap();
    problems_are(&text, Purpose::Add, &[(1, 1, None, ReturnCode::BAD_PARAM, "at most")]);
}

/// Without this check the item would delete every rule.
#[test]
fn a_selection_rule_of_the_first_design_that_says_only_its_type_is_not_deleted() {
    let text = "selection:\n  - type: net\n";
    problems_are(text, Purpose::Del, &[(2, 5, Some("udsp"), BAD, "a rule has 'type: net' with 'net'")]);
    assert!(read(text, Purpose::Show).is_ok());
    assert!(read("selection:\n  - {type: net, id: 3}\n", Purpose::Del).is_ok());
}
