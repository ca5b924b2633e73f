use super::add::add_rules;
use super::*;
use crate::ip2nets::parse_string;
use crate::ops::fake::Fake;
use crate::request::GivenByUdsp;
use crate::request::{
    AddLocalNi, AppliedUdsp, CommCount, ElementStats, Heat, LocalHealth, LocalNi, MessageStats, NiState,
    NiStatus, Reply, SetHealth,
};
use lnet_os::interfaces::HostInterface;
use lnet_wire::Nid;
use std::num::NonZeroU32;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn config<'a>(net: &'a str, interfaces: &str) -> NetConfig<'a> {
    NetConfig {
        net: Some(net),
        interfaces: InterfaceSpec::parse_list(interfaces).unwrap(),
        ..Default::default()
    }
}

fn asked(net: &str, interface: &str) -> AddLocalNi {
    AddLocalNi {
        net: net.parse().unwrap(),
        interface: Some(interface.to_owned()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    }
}

fn added() -> Result<Reply, Errno> {
    Ok(Reply::Nid(nid("10.99.0.11@tcp")))
}

#[test]
fn interfaces_are_added_in_order_until_one_is_refused() {
    let fake = Fake::new([
        (Request::AddLocalNi(asked("tcp8", "eth0")), added()),
        (Request::AddLocalNi(asked("tcp8", "eth1")), Err(Errno::Exists)),
    ]);
    let mut report = Report::new();
    assert_eq!(add(&fake, &config("tcp8", "eth0,eth1,eth2"), SeqNo::from_c(3), &mut report), ReturnCode(-17));
    let expected = "\
add:
    - net:
          seq_no: 3
          errno: -17
          descr: \"cannot add eth1 to tcp8: File exists\"
";
    assert_eq!(report.errors_to_yaml(), expected);
}

/// cfg-025: fails if the partitions that are given for one interface, or for all, are not asked for.
#[test]
fn an_interfaces_own_cpts_take_precedence_over_the_common_ones() {
    let cpts = |cpts: &[u32]| Some(CptList::new(cpts.to_vec()));
    let tunables = NiTunables { credits: Some(512), ..NiTunables::default() };
    let lnd = LndTunables { conns_per_peer: Some(3), ..LndTunables::default() };
    let config = NetConfig { cpts: cpts(&[1]), tunables, lnd, ..config("tcp", "eth0[0],eth1") };
    let expected =
        |interface, cpts| Request::AddLocalNi(AddLocalNi { cpts, tunables, lnd, ..asked("tcp", interface) });
    let fake = Fake::new([(expected("eth0", cpts(&[0])), added()), (expected("eth1", cpts(&[1])), added())]);
    assert_eq!(add(&fake, &config, SeqNo::NONE, &mut Report::new()), ReturnCode::OK);
}

#[test]
fn arguments_that_the_library_rejects_or_ignores_send_no_request() {
    let table = [
        (NetConfig::default(), -2),
        (NetConfig { net: None, ..config("tcp", "eth1") }, -2),
        (NetConfig { net: Some("tcp"), ..NetConfig::default() }, -2),
        (NetConfig { net: Some("lo"), ..NetConfig::default() }, -2),
        (config("bogus", "eth1"), -1),
        (config("bogus7", "eth1"), -1),
        (config("tcp99999", "eth1"), -22),
        (NetConfig { ip2net: Some("tcp("), ..NetConfig::default() }, -22),
    ];
    for (config, rc) in table {
        assert_eq!(
            add(&Fake::unasked(), &config, SeqNo::NONE, &mut Report::new()),
            ReturnCode(rc),
            "{config:?}"
        );
    }
    for (reply, rc) in [(Ok(Reply::Done), 0), (Err(Errno::NetworkDown), -100)] {
        let fake = Fake::new([(Request::GetNode, reply)]);
        let found = add(&fake, &config("lo", "lo"), SeqNo::NONE, &mut Report::new());
        assert_eq!(found, ReturnCode(rc), "it is there already, if there is a node");
    }
    let long = "tcp ".to_owned() + &"1".repeat(124);
    let config = NetConfig { ip2net: Some(&long), ..NetConfig::default() };
    assert_eq!(add(&Fake::unasked(), &config, SeqNo::NONE, &mut Report::new()), ReturnCode(-1));
}

#[test]
fn the_nodes_errors_have_the_kernels_codes() {
    let table = [
        (Errno::NoDevice, "interface nosuch0: missing", -1, "interface nosuch0: missing"),
        (Errno::AddressNotAvailable, "", -1, "nosuch0"),
        (Errno::NetworkDown, "", -22, "lnetctl lnet configure"),
        (Errno::NetworkDown, "interface nosuch0: down", -100, "interface nosuch0: down"),
        (Errno::ProtocolNotSupported, "no driver", -22, "no driver"),
        (Errno::Invalid, "", -22, "Invalid argument"),
        (Errno::Exists, "", -17, "File exists"),
        (Errno::Shutdown, "", -108, "shutdown"),
    ];
    for (errno, text, rc, said) in table {
        let request = Request::AddLocalNi(asked("tcp", "nosuch0"));
        let mut report = Report::new();
        let fake = match text {
            "" => Fake::new([(request, Err(errno))]),
            text => Fake::refusing(request, errno, text),
        };
        assert_eq!(
            add(&fake, &config("tcp", "nosuch0"), SeqNo::NONE, &mut report),
            ReturnCode(rc),
            "{errno}"
        );
        assert!(report.errors_to_yaml().contains(said), "{}", report.errors_to_yaml());
    }
}

fn host() -> Vec<HostInterface> {
    let interface = |name: &str, v4: &str| HostInterface {
        name: name.to_owned(),
        up: true,
        loopback: name == "lo",
        address: v4.parse().ok(),
    };
    vec![interface("lo", "127.0.0.1"), interface("eth0", "10.99.0.11"), interface("eth1", "10.99.1.11")]
}

#[test]
fn rules_make_an_ni_of_each_interface_that_they_match() {
    let add = |net, interface, reply| (Request::AddLocalNi(asked(net, interface)), reply);
    let table = [
        ("tcp9(eth0) 10.99.0.*", vec![add("tcp9", "eth0", added())], 0),
        ("tcp9 10.99.*.*", vec![add("tcp9", "eth0", added()), add("tcp9", "eth1", added())], 0),
        ("tcp10(eth0) 192.168.*.*", vec![], -2),
        ("tcp10 192.168.*.*", vec![], -2),
        ("tcp10 192.168.*.*; tcp9(eth0) 10.99.0.*", vec![add("tcp9", "eth0", added())], 0),
        ("tcp10(eth1) 192.168.*.*; tcp9(eth0) 10.99.0.*", vec![add("tcp9", "eth0", added())], -22),
        ("tcp9(eth0,eth7) 10.99.0.*", vec![add("tcp9", "eth0", added())], 0),
        ("tcp9 10.99.*.*", vec![add("tcp9", "eth0", Err(Errno::Shutdown))], -108),
    ];
    for (text, script, rc) in table {
        let rules = parse_string(text).unwrap();
        let fake = Fake::new(script);
        let mut report = Report::new();
        let found = add_rules(&fake, &rules, &host(), &NetConfig::default(), SeqNo::NONE, &mut report);
        assert_eq!(found, ReturnCode(rc), "{text}: {}", report.errors_to_yaml());
    }
}

#[test]
fn a_rule_that_selects_existing_nis_succeeds() {
    let rules = parse_string("tcp(eth0) 10.99.0.*").unwrap();
    for (credits, rc) in [(None, 0), (Some(256), 0), (Some(512), -17)] {
        let tunables = NiTunables { credits, ..NiTunables::default() };
        let fake = Fake::new([
            (Request::AddLocalNi(AddLocalNi { tunables, ..asked("tcp", "eth0") }), Err(Errno::Exists)),
            (Request::GetLocalNi(0), Ok(Reply::LocalNi(Box::new(eth("10.99.0.11@tcp", "eth0"))))),
            (Request::GetLocalNi(1), Err(Errno::NotFound)),
        ]);
        let config = NetConfig { tunables, ..NetConfig::default() };
        let found = add_rule(&fake, &rules[0], &host(), &config, SeqNo::NONE, &mut Report::new());
        assert_eq!(found, ReturnCode(rc), "{credits:?}");
    }
}

#[test]
fn all_interfaces_are_tried_and_the_last_failure_is_returned() {
    let scene = |net: &str, interface: Option<&str>, reply| {
        let interface = interface.map(str::to_owned);
        (Request::DelLocalNi(DelLocalNi { net: net.parse().unwrap(), interface }), reply)
    };
    let done = || Ok(Reply::Done);
    let mut report = Report::new();
    let specs = InterfaceSpec::parse_list("eth0,nosuch0,eth1").unwrap();
    let fake = Fake::new([
        scene("tcp", Some("eth0"), Err(Errno::NotFound)),
        scene("tcp", Some("nosuch0"), Err(Errno::NoDevice)),
        scene("tcp", Some("eth1"), done()),
    ]);
    assert_eq!(del(&fake, Some("tcp"), &specs, SeqNo::NONE, &mut report), ReturnCode(-1));
    assert_eq!(report.errors_to_yaml().matches("- net:").count(), 2);
    let fake = Fake::new([scene("tcp8", None, done()), scene("tcp77", None, Err(Errno::NotFound))]);
    assert_eq!(del(&fake, Some("tcp8"), &[], SeqNo::NONE, &mut report), ReturnCode::OK);
    assert_eq!(del(&fake, Some("tcp77"), &[], SeqNo::NONE, &mut report), ReturnCode(-2));
    for (net, rc) in [(None, -2), (Some("bogus"), -1)] {
        assert_eq!(del(&Fake::unasked(), net, &specs, SeqNo::NONE, &mut report), ReturnCode(rc));
    }
    for (reply, rc) in [(done(), 0), (Err(Errno::NetworkDown), -100)] {
        let fake = Fake::new([(Request::GetNode, reply)]);
        assert_eq!(del(&fake, Some("lo"), &specs, SeqNo::NONE, &mut report), ReturnCode(rc));
    }
}

#[test]
fn connections_and_health_are_set_within_their_bounds() {
    let conns = |nid, value| Request::SetConnsPerPeer(SetConnsPerPeer { nid, value });
    let text = "10.99.0.11@tcp";
    let table = [
        (-1, Some(text), None, 0),
        (-2, None, None, -1),
        (128, None, None, -1),
        (500, Some(text), None, -1),
        (2, Some("1.2.3"), None, -1),
        (2, Some(text), Some((conns(Some(nid(text)), 2), Err(Errno::NotFound))), -2),
        (0, None, Some((conns(None, 0), Ok(Reply::Done))), 0),
        (127, Some(text), Some((conns(Some(nid(text)), 127), Ok(Reply::Done))), 0),
        (2, None, Some((conns(None, 2), Err(Errno::NetworkDown))), -100),
    ];
    let mut report = Report::new();
    for (value, nid, scene, rc) in table {
        let fake = Fake::new(scene);
        assert_eq!(
            set_conns_per_peer(&fake, value, nid, SeqNo::NONE, &mut report),
            ReturnCode(rc),
            "{value}"
        );
    }
    let health = SetHealth { kind: SetHealthKind::LocalNi, nid: Some(nid(text)), value: 500 };
    let fake = Fake::new([(Request::SetHealth(health), Ok(Reply::Done))]);
    assert_eq!(set_health(&fake, 500, Some(text), SeqNo::NONE, &mut report), ReturnCode::OK);
    for (value, named) in [(500, "1.2.3"), (1001, text), (-2, text)] {
        let rc = set_health(&Fake::unasked(), value, Some(named), SeqNo::NONE, &mut report);
        assert_eq!(rc, ReturnCode::BAD_PARAM, "{value} {named}");
    }
    assert!(report.errors_to_yaml().contains("health 1001 is not within 0 to 1000"));
}

fn eth(text: &str, interface: &str) -> LocalNi {
    LocalNi {
        tunables: NiTunables {
            peer_timeout: Some(180),
            peer_credits: Some(8),
            peer_buffer_credits: Some(0),
            credits: Some(256),
        },
        lnd: LndTunables { conns_per_peer: Some(2), ..LndTunables::default() },
        stats: ElementStats { sent: 20, received: 20, dropped: 0 },
        messages: MessageStats {
            sent: CommCount { put: 9, get: 11, ..CommCount::default() },
            received: CommCount { put: 3, get: 2, reply: 9, ack: 6, hello: 0 },
            dropped: CommCount::default(),
        },
        bytes: ElementStats { sent: 9000, received: 4096, dropped: 0 },
        heat: Heat { messages: 1500, bytes: 2_000_250 },
        tx_credits: 256,
        min_tx_credits: 250,
        ..LocalNi::unused(nid(text), Some(interface))
    }
}

fn loopback() -> LocalNi {
    LocalNi {
        device_cpt: 0,
        health: LocalHealth::default(),
        tx_credits: 256,
        min_tx_credits: 250,
        ..LocalNi::unused(Nid::LOOPBACK, None)
    }
}

fn shown(net: Option<&str>, detail: u32, backup: bool) -> String {
    let nis = [loopback(), eth("10.99.0.11@tcp", "eth0"), eth("10.99.1.11@tcp", "eth1")];
    let mut script: Vec<_> = (0..)
        .zip(&nis)
        .map(|(i, ni)| (Request::GetLocalNi(i), Ok(Reply::LocalNi(Box::new(ni.clone())))))
        .collect();
    script.push((Request::GetLocalNi(3), Err(Errno::NotFound)));
    for ni in nis.iter().filter(|ni| detail >= 4 && net.is_none_or(|net| ni.nid.net().to_string() == net)) {
        let given = |priority, rule| GivenByUdsp { priority, messages: NonZeroU32::new(rule), rule };
        let applied = match ni.nid.is_loopback() {
            true => AppliedUdsp::default(),
            false => AppliedUdsp { net: Some(given(0, 0)), nid: Some(given(3, 2)), ..AppliedUdsp::default() },
        };
        script.push((Request::GetAppliedUdsp(ni.nid, true), Ok(Reply::AppliedUdsp(applied))));
    }
    let mut report = Report::new();
    assert_eq!(show(&Fake::new(script), net, detail, SeqNo::NONE, &mut report, backup), ReturnCode::OK);
    report.shown.to_yaml()
}

/// The output of level 4 for the loopback, as captured from a kernel.
const LOOPBACK_AT_4: &str = "\
net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          statistics:
              send_count: 0
              recv_count: 0
              drop_count: 0
          udsp info:
              net priority: -1
              nid priority: -1
          sent_stats:
              put: 0
              get: 0
              reply: 0
              ack: 0
              hello: 0
          received_stats:
              put: 0
              get: 0
              reply: 0
              ack: 0
              hello: 0
          dropped_stats:
              put: 0
              get: 0
              reply: 0
              ack: 0
              hello: 0
          health stats:
              fatal_error: 0
              health value: 0
              interrupts: 0
              dropped: 0
              aborted: 0
              no route: 0
              timeouts: 0
              error: 0
              ping_count: 0
              next_ping: 0
          tunables:
              peer_timeout: 0
              peer_credits: 0
              peer_buffer_credits: 0
              credits: 0
          lnd tunables:
          dev cpt: 0
          CPT: \"[0]\"
";

/// cfg-045, cfg-055: fails if an interface is not shown, or not under its net.
/// dbg-005, dbg-035, dbg-095: fails if a counter, a credit or the partitions of an interface are not shown at
/// the level that has them.
/// dbg-085: fails if the sums are not those of the net's interfaces.
#[test]
fn nets_are_shown_as_the_kernel_shows_them() {
    let interfaces = |interface: &str| format!("interfaces:\n              0: {interface}\n");
    let tunables = "          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              conns_per_peer: 2
";
    let cpt = "          CPT: \"[0]\"\n";
    let ni = |address: &str, interface: &str, rest: &str| {
        format!(
            "        - nid: {address}@tcp\n          status: up\n          {}{rest}",
            interfaces(interface)
        )
    };
    let both = |rest: &str| ni("10.99.0.11", "eth0", rest) + &ni("10.99.1.11", "eth1", rest);
    let tcp = "    - net type: tcp\n      local NI(s):\n";
    let lo = "net:\n    - net type: lo\n      local NI(s):\n        - nid: 0@lo\n          status: up\n";
    assert_eq!(shown(None, 0, false), format!("{lo}{tcp}{}", both("")));
    assert_eq!(shown(Some("tcp"), 0, false), format!("net:\n{tcp}{}", both("")));
    assert_eq!(shown(Some("tcp55"), 0, false), "");
    assert_eq!(shown(Some("lo"), 4, false), LOOPBACK_AT_4);
    let counts = "          statistics:
              send_count: 20
              recv_count: 20
              drop_count: 0
";
    let level_1 = format!("{counts}{tunables}          dev cpt: -1\n{cpt}");
    assert_eq!(shown(Some("tcp"), 1, false), format!("net:\n{tcp}{}", both(&level_1)));
    let level_4 = format!(
        "{counts}          udsp info:
              net priority: 0
              nid priority: 3
              net rule: 0
              nid rule: 2
              nid messages: 2
          sent_stats:
              put: 9
              get: 11
              reply: 0
              ack: 0
              hello: 0
          received_stats:
              put: 3
              get: 2
              reply: 9
              ack: 6
              hello: 0
          dropped_stats:
              put: 0
              get: 0
              reply: 0
              ack: 0
              hello: 0
          health stats:
              fatal_error: 0
              health value: 1000
              interrupts: 0
              dropped: 0
              aborted: 0
              no route: 0
              timeouts: 0
              error: 0
              ping_count: 0
              next_ping: 0
{tunables}          dev cpt: -1
{cpt}"
    );
    assert_eq!(shown(Some("tcp"), 4, false), format!("net:\n{tcp}{}", both(&level_4)));
    let udsp = "          udsp info:\n              net priority: 0\n              nid priority: 3\n              net rule: 0\n              nid rule: 2\n              nid messages: 2\n";
    assert_eq!(shown(Some("tcp"), 2, false), format!("net:\n{tcp}{}", both(&level_4.replace(udsp, ""))));
    let level_5 = format!(
        "\
{level_4}          available_tx_credits: 256
          min_tx_credits: 250
          lengths:
              send_length: 9000
              recv_length: 4096
              drop_length: 0
          heat:
              messages: 1.500000
              bytes: 2000.250000
"
    );
    let sums = "      net statistics:\n          send_count: 40\n          recv_count: 40\n          \
                drop_count: 0\n          send_length: 18000\n          recv_length: 8192\n          \
                drop_length: 0\n";
    assert_eq!(shown(Some("tcp"), 5, false), format!("net:\n{tcp}{}{sums}", both(&level_5)));
    let kept = |interface: &str| format!("        - {}{tunables}{cpt}", interfaces(interface));
    assert_eq!(shown(None, 2, true), format!("net:\n{tcp}{}{}", kept("eth0"), kept("eth1")));
}

#[test]
fn nothing_is_shown_without_a_node_or_for_an_invalid_net() {
    let mut report = Report::new();
    assert_eq!(
        show(&Fake::down(Request::GetLocalNi(0)), None, 0, SeqNo::NONE, &mut report, false),
        ReturnCode(-100)
    );
    assert_eq!(show(&Fake::unasked(), Some("bogus"), 0, SeqNo::NONE, &mut report, false), ReturnCode(-1));
    assert!(report.shown.is_empty());
}

/// dbg-020: fails if time-outs are not shown beside the other causes, by the kernel's names and in their
/// order.
/// dbg-030: fails if an interface is shown without its state. It is a word from the level on that the kernel
/// does not have.
#[test]
fn every_cause_has_its_name_and_an_unhealthy_interface_its_state() {
    let health = LocalHealth {
        fatal_error: true,
        value: 900,
        interrupts: 1,
        dropped: 2,
        aborted: 3,
        no_route: 4,
        timeouts: 5,
        error: 6,
        ping_count: 7,
        next_ping: 80,
        next_ping_in: Some(9),
        state: Some(NiState::Failed),
        net_state: Some(NiState::Degraded),
    };
    let ni = LocalNi { status: NiStatus::Down, health, ..eth("10.99.0.11@tcp", "eth0") };
    let shown = |detail| {
        let mut script = vec![
            (Request::GetLocalNi(0), Ok(Reply::LocalNi(Box::new(ni.clone())))),
            (Request::GetLocalNi(1), Err(Errno::NotFound)),
        ];
        if detail >= 4 {
            let none = AppliedUdsp::default();
            script.push((Request::GetAppliedUdsp(ni.nid, true), Ok(Reply::AppliedUdsp(none))));
        }
        let mut report = Report::new();
        assert_eq!(show(&Fake::new(script), None, detail, SeqNo::NONE, &mut report, false), ReturnCode::OK);
        report.shown.to_yaml()
    };
    let stats = "          health stats:
              fatal_error: 1
              health value: 900
              interrupts: 1
              dropped: 2
              aborted: 3
              no route: 4
              timeouts: 5
              error: 6
              ping_count: 7
              next_ping: 80
";
    let words = ["          ni state: FAILED\n          next ping in: 9\n", "      net state: DEGRADED\n"];
    for detail in 0..=5 {
        let shown = shown(detail);
        assert!(shown.contains("          status: down\n"), "{shown}");
        assert_eq!(shown.contains(stats), detail >= 2, "{detail}: {shown}");
        for word in words {
            assert_eq!(shown.contains(word), detail >= 5, "{detail}: {shown}");
        }
    }
}
