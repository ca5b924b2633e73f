//! Tests of every form of a file, and of its equal in the form of 2.15.

use crate::yaml::{Purpose, read, to_value};

fn canonical(text: &str, purpose: Purpose) -> String {
    match read(text, purpose) {
        Ok(document) => to_value(&document).to_yaml(),
        Err(problems) => {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            panic!("{}\nin\n{text}", problems.join("\n"))
        }
    }
}

/// Checks that each of `forms` comes to `expected`, and that `expected` comes to itself.
fn all_come_to(purpose: Purpose, forms: &[&str], expected: &str) {
    for form in forms {
        assert_eq!(canonical(form, purpose), expected, "from\n{form}");
    }
    assert_eq!(canonical(expected, purpose), expected, "from itself");
}

const TWO_NIS: &str = "\
net:
    - net type: tcp1
      local NI(s):
        - interfaces:
              0: eth0
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          CPT: \"[0,1]\"
        - interfaces:
              0: eth1
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          CPT: \"[0,1]\"
";

/// cfg-065: fails if a form of the file that lnetctl has written or taken is not read.
/// bck-020: fails if a file from before Multi-Rail (the first form) comes to something else.
#[test]
fn nets_of_every_form_become_local_nis() {
    let before_multi_rail = "\
net:
    - net: tcp1
      nid: 192.0.2.10@tcp1
      status: up
      interfaces:
          0: eth0
          1: eth1
      tunables:
          peer_timeout: 180
          peer_credits: 8
          peer_buffer_credits: 0
          credits: 256
          CPT: \"[0,1]\"
";
    let item_level = "\
net:
- net type: tcp1
  local NI(s):
  - interfaces:
      0: eth0
  - interfaces: {0: eth1}
  tunables: {peer_timeout: 180, peer_credits: 8, peer_buffer_credits: 0, credits: 256}
  CPT: [0,1]
";
    let suffixes = "\
networks:
    net type: tcp1
    interfaces: eth0[0,1], eth1[0-1]
    tunables:
        peer_timeout: 180
        peer_credits: 8
        peer_buffer_credits: 0
        credits: 256
        CPT: \"7\"
";
    let one_with_labels = "\
net:
    - net type: tcp1
      local NI(s):
        - nid: 192.0.2.10@tcp1
          status: up
          interfaces:
              0: eth0
              1: eth1
          lnd tunables:
          dev cpt: -1
          tcp bonding: 0
          health stats:
              health value: 1000
          udsp info:
              net priority: -1
              Preferred gateway NIDs:
                  NID-0: 192.0.2.1@tcp
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          CPT: 0,1
";
    all_come_to(Purpose::Add, &[before_multi_rail, item_level, suffixes, one_with_labels], TWO_NIS);
}

#[test]
fn an_nis_own_tunables_come_before_the_items() {
    let mixed = "\
net:
    - net type: tcp
      tunables:
          credits: 100
          peer_credits: 4
      lnd tunables:
          conns_per_peer: 2
      local NI(s):
        - interfaces: {0: eth0}
          tunables: {peer_credits: 16}
        - interfaces: {0: 'eth1[3]'}
          lnd tunables: {conns_per_peer: 4, ntx: 512}
          CPT: 1
";
    let expected = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
          tunables:
              peer_credits: 16
              credits: 100
          lnd tunables:
              conns_per_peer: 2
        - interfaces:
              0: eth1
          tunables:
              peer_credits: 4
              credits: 100
          lnd tunables:
              ntx: 512
              conns_per_peer: 4
          CPT: \"[3]\"
";
    all_come_to(Purpose::Add, &[mixed], expected);
}

#[test]
fn drivers_tunables_among_the_interfaces_are_taken() {
    let of_2_9 = "net:\n    - net: o2ib\n      interfaces:\n          0: ib0\n          lnd tunables:\n              \
                  map_on_demand: 32\n              conns_per_peer: 4\n";
    let expected = "\
net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: ib0
          lnd tunables:
              map_on_demand: 32
              conns_per_peer: 4
";
    all_come_to(Purpose::Add, &[of_2_9], expected);
}

#[test]
fn nets_of_the_design_document_have_cpts_for_each_interface() {
    let draft = "\
net:
- net: o2ib1
  interfaces:
    - intf: ib0
      CPT: 1,3
    - intf: ib1
      CPT: 4,5
  seq_no: 3
";
    let numbered_below = "\
net:
- net: o2ib1
  interfaces:
    - intf: ib0
      CPT: 1,3
    - intf: ib1
      CPT: '[4-5]'
  tunables:
    seq_no: 3
";
    let expected = "\
net:
    - net type: o2ib1
      local NI(s):
        - interfaces:
              0: ib0
          CPT: \"[1,3]\"
        - interfaces:
              0: ib1
          CPT: \"[4,5]\"
      seq_no: 3
";
    all_come_to(Purpose::Add, &[draft, numbered_below], expected);
}

#[test]
fn patterns_within_nets_are_rules_of_ip2nets() {
    let draft =
        "net:\n- net: o2ib\n  pattern: 192.168.2.*\n- net: tcp\n  intf: eth0\n  pattern: 10.0.0.[2-8/2]\n";
    let expected = "\
ip2nets:
    - net-spec: o2ib
      ip-range:
          0: 192.168.2.[0-255]
    - net-spec: tcp
      interfaces:
          0: eth0
      ip-range:
          0: 10.0.0.[2-8/2]
";
    all_come_to(Purpose::Add, &[draft], expected);
}

/// cfg-065: fails if anything that a rule of ip2nets says is lost.
#[test]
fn rules_of_ip2nets_keep_interfaces_ranges_and_tunables() {
    let rules = "\
ip2nets:
    - net-spec: tcp1
      interfaces:
          0: eth0[0]
          a: eth1
      ip-range:
          0: 192.0.2.[2-8/2]
          1: \"*.51.100.*\"
      tunables:
          peer_credits: 16
      CPT: 2
      seq_no: 1
    - net-spec: o2ib
";
    let expected = "\
ip2nets:
    - net-spec: tcp1
      interfaces:
          0: eth0[0]
          1: eth1
      ip-range:
          0: 192.0.2.[2-8/2]
          1: \"[0-255].51.100.[0-255]\"
      tunables:
          peer_credits: 16
      CPT: \"[2]\"
      seq_no: 1
    - net-spec: o2ib
";
    all_come_to(Purpose::Add, &[rules], expected);
}

#[test]
fn the_loopback_net_is_passed_over() {
    let exported = "\
net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          statistics:
              send_count: 6
          tunables:
              peer_timeout: 0
          lnd tunables:
          dev cpt: 0
          CPT: \"[0]\"
";
    for purpose in [Purpose::Add, Purpose::Del] {
        all_come_to(purpose, &[exported], "");
    }
}

#[test]
fn nets_to_be_deleted_may_have_no_interfaces() {
    let expected = "net:\n    - net type: tcp1\n";
    assert_eq!(canonical("net:\n    - net: tcp1\n", Purpose::Del), expected);
    assert_eq!(canonical("net:\n    - net type: tcp1\n      local NI(s):\n", Purpose::Del), expected);
    let some =
        canonical("net:\n- net: o2ib1\n  interfaces:\n    - intf: ib0\n    - intf: ib1\n", Purpose::Del);
    assert_eq!(some.matches("0: ib").count(), 2);
}

#[test]
fn what_is_shown_is_chosen_by_the_keys_of_2_15() {
    let nets = "net:\n    - net: tcp\n      detail: 2\n    - net type: tcp9\n      local NI(s):\n        - interfaces:\n              0: eth0\n";
    assert_eq!(canonical(nets, Purpose::Show).matches("net type").count(), 1);
    let draft =
        "net:\n- net: tcp\n  interfaces:\n  - intf: eth0\n    detail: 1\n  - intf: eth1\n    detail: 2\n";
    assert!(canonical(draft, Purpose::Show).contains("detail: 2"));
    let peers = "peer:\n    - nid: 192.0.2.1@tcp\n      detail: 3\n    - primary nid: 192.0.2.2@tcp\n";
    let shown = canonical(peers, Purpose::Show);
    assert!(shown.contains("primary nid: 192.0.2.1@tcp") && !shown.contains("192.0.2.2"), "{shown}");
    assert_eq!(canonical("global:\n    discovery:\n", Purpose::Show), "global:\n    discovery: 0\n");
}

const TWO_PEERS: &str = "\
peer:
    - primary nid: 192.0.2.20@tcp
      Multi-Rail: True
      peer ni:
        - nid: 192.0.2.20@tcp
        - nid: 192.0.2.21@tcp
        - nid: 192.0.2.22@tcp1
    - primary nid: 198.51.100.1@tcp
      Multi-Rail: False
";

/// cfg-070: fails if a form of the file that lists the NIDs of peers is not read.
#[test]
fn peers_of_every_form_become_primary_and_list() {
    let ranges = "\
peers:
- primary nid: 192.0.2.20@tcp
  Multi-Rail: TRUE
  peer state: 273
  peer ni:
  - nid: 192.0.2.[20-21]@tcp
    state: NA
    refcount: 1
  - 192.0.2.22@tcp1
- primary nid: 198.51.100.1
  Multi-Rail: false
";
    let of_2_10 = "\
peer:
    - primary nid: 192.0.2.20@tcp
      peer ni:
        - nid: 192.0.2.20@tcp 192.0.2.21@tcp
          max_ni_tx_credits: 8
          send_count: 3
        - nid: 192.0.2.22@tcp1
    - primary nid: 198.51.100.1@tcp
      non_mr:
";
    all_come_to(Purpose::Add, &[ranges, of_2_10], TWO_PEERS);
}

#[test]
fn expressions_of_2_12_begin_with_the_primary_nid() {
    let of_2_12 =
        "peer:\n    - ip2nets:\n        - nid: 192.0.2.[20-21]@tcp\n        - nid: 192.0.2.22@tcp1\n";
    let expected = TWO_PEERS.split("    - primary nid: 198").next().unwrap();
    all_come_to(Purpose::Add, &[of_2_12], expected);
}

#[test]
fn peers_that_are_output_only_are_ignored() {
    let of_2_9 = "\
peer:
    - nid: 192.0.2.20@tcp1
      state: up
      refcount: 2
      max_ni_tx_credits: 8
      tx_q_num_of_buf: 0
";
    all_come_to(Purpose::Add, &[of_2_9], "");
    all_come_to(Purpose::Del, &[of_2_9], "");
}

#[test]
fn peers_of_the_design_document_are_complete() {
    let draft = "peers:\n- nids:\n    0: 10.2.2.3@tcp\n    1: 10.4.4.4@tcp1\n- nids: [10.5.5.5@tcp]\n";
    let as_printed = "peers:\n- nids:\n  0: 10.2.2.3@tcp\n  1: 10.4.4.4@tcp1\n- nids: 10.5.5.5@tcp\n";
    let expected = "\
peers:
    - nids:
          0: 10.2.2.3@tcp
          1: 10.4.4.4@tcp1
      Multi-Rail: True
    - nids:
          0: 10.5.5.5@tcp
      Multi-Rail: True
";
    all_come_to(Purpose::Add, &[draft, as_printed], expected);
}

#[test]
fn routes_keep_configured_fields_and_ignore_output_fields() {
    let route = "\
routes:
    - net: tcp2
      gateway: 192.0.2.[1-2]@tcp
      hop: -1
      priority: 010
      health_sensitivity: '1'
      state: up
      type: single-hop
      seq_no: 0
";
    let expected = "\
route:
    - net: tcp2
      gateway: 192.0.2.[1-2]@tcp
      hop: -1
      priority: 10
      health_sensitivity: 1
      seq_no: 0
";
    all_come_to(Purpose::Add, &[route], expected);
}

#[test]
fn routing_is_taken_from_whichever_item_has_it() {
    let exported = "\
routing:
    - cpt[0]:
          tiny:
              npages: 0
              nbuffers: 2048
    - enable: 1
buffers:
    tiny: 2048
    small: 16384
    large: 1024
";
    let expected = "\
routing:
    enable: 1
buffers:
    tiny: 2048
    small: 16384
    large: 1024
";
    all_come_to(Purpose::Add, &[exported], expected);
}

#[test]
fn older_names_of_settings_are_accepted() {
    let older = "numa:\n    range: 4\nglobal:\n    max_intf: 100\n    use_tcp_bonding: 0\n    discovery: true\n    lnd_timeout: 16\n";
    let expected =
        "global:\n    numa_range: 4\n    max_interfaces: 100\n    discovery: 1\n    lnd_timeout: 16\n";
    all_come_to(Purpose::Add, &[older], expected);
}

#[test]
fn modes_of_discovery_have_names_and_numbers() {
    for (said, number) in [("off", 0), ("on", 1), ("verify", 2), ("2", 2), ("false", 0)] {
        let text = format!("global:\n    discovery: {said}\n");
        all_come_to(Purpose::Add, &[&text], &format!("global:\n    discovery: {number}\n"));
    }
}

const RULES: &str = "\
udsp:
    - idx: 0
      src: tcp1
      dst: NA
      rte: NA
      action:
          priority: 0
    - idx: 1
      src: 192.0.2.[10-12]@tcp
      dst: 192.0.2.20@tcp
      rte: NA
    - idx: 2
      src: NA
      dst: 192.0.2.20@tcp
      rte: NA
      action:
          priority: 4294967295
";

/// cfg-165: fails if a form of the file that lists selection rules is not read.
#[test]
fn selection_rules_of_every_form_become_one() {
    let draft = "\
udsp:
- idx: 0
  src: \"*@tcp1\"
  action:
  - priority: 0
- idx: 1
  src: 192.0.2.[10-12]@tcp
  dst: 192.0.2.20@tcp
  rte: ~
- idx: 2
  dst: 192.0.2.20@tcp
  src: null
  priority: 4294967295
";
    all_come_to(Purpose::Add, &[draft], RULES);
}

#[test]
fn selection_of_the_first_design_becomes_rules() {
    let draft = "\
selection:
  - type: peer
    local: 10.0.0.2@tcp
    remote: 10.0.0.9@tcp
    priority: 2
  - type: net
    net: o2ib[1,2]
    priority: 1
  - type: peer
    local: 10.0.0.1@tcp
    remote: 10.0.0.9@tcp
    priority: 1
  - type: nid
    nid: 10.0.0.*@tcp
    priority: 3
    id: 7
";
    let expected = "\
udsp:
    - src: 10.0.0.2@tcp
      dst: 10.0.0.9@tcp
      rte: NA
      action:
          priority: 2
    - src: o2ib[1,2]
      dst: NA
      rte: NA
      action:
          priority: 1
    - src: 10.0.0.1@tcp
      dst: 10.0.0.9@tcp
      rte: NA
      action:
          priority: 1
    - idx: 7
      src: 10.0.0.[0-255]@tcp
      dst: NA
      rte: NA
      action:
          priority: 3
    - idx: 7
      src: NA
      dst: 10.0.0.[0-255]@tcp
      rte: NA
      action:
          priority: 3
";
    all_come_to(Purpose::Add, &[draft], expected);
}

#[test]
fn pings_and_discoveries_are_all_that_exec_reads() {
    let file = "\
net:
    - nonsense: 1
ping:
    - primary nid: 192.0.2.20
      timeout: 500
      source_nid: 192.0.2.10@tcp
    - primary nid: U7-192.0.2.20@tcp, 192.0.2.21@tcp
discover:
    primary nid: 192.0.2.22@tcp
    force: 1
    seq_no: 9
";
    let expected = "\
ping:
    - primary nid: 12345-192.0.2.20@tcp
      timeout: 500
      source_nid: 192.0.2.10@tcp
    - primary nid: U7-192.0.2.20@tcp
    - primary nid: 12345-192.0.2.21@tcp
discover:
    - primary nid: 12345-192.0.2.22@tcp
      force: 1
      seq_no: 9
";
    all_come_to(Purpose::Exec, &[file], expected);
}

#[test]
fn blocks_keep_their_order_and_may_come_again() {
    let file = "route:\n    - net: tcp2\n      gateway: 192.0.2.1@tcp\nstatistics:\n---\nroute:\n    - net: tcp3\n      gateway: 192.0.2.1@tcp\n";
    let document = read(file, Purpose::Add).unwrap();
    assert_eq!(document.blocks.len(), 3);
    assert_eq!(read("", Purpose::Add), Ok(crate::model::Document::default()));
    assert_eq!(canonical("net:\nroute:\npeer: []\n", Purpose::Add), "");
}

/// The backup of a node of 2.17.0, and its full export in part: other indentation, tunables that no driver here has.
#[test]
fn exports_of_2_17_are_read() {
    let backup = "\
net:
-     net type: tcp
      local NI(s):
      -     interfaces:
                  0: eth0
            tunables:
                  peer_timeout: 180
                  peer_credits: 8
                  peer_buffer_credits: 0
                  credits: 256
            lnd tunables:
                  conns_per_peer: 1
                  tos: -1
            CPT: \"[0]\"
peer:
-     primary nid: fd99::12@tcp
      Multi-Rail: true
      peer ni:
      -     nid: fd99::12@tcp
      -     nid: fd99:1::12@tcp
-     primary nid: 10.99.0.70@tcp
      Multi-Rail: true
      peer ni:
      -     nid: 10.99.0.70@tcp
      -     nid: fd99::70@tcp
global:
    numa_range: 0
    lnd_timeout: 49
    max_recovery_ping_interval: 900
";
    let expected = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              conns_per_peer: 1
              tos: -1
          CPT: \"[0]\"
peer:
    - primary nid: fd99::12@tcp
      Multi-Rail: True
      peer ni:
        - nid: fd99::12@tcp
        - nid: fd99:1::12@tcp
    - primary nid: 10.99.0.70@tcp
      Multi-Rail: True
      peer ni:
        - nid: 10.99.0.70@tcp
        - nid: fd99::70@tcp
global:
    numa_range: 0
    lnd_timeout: 49
    max_recovery_ping_interval: 900
";
    all_come_to(Purpose::Add, &[backup], expected);
}

/// Fails if an IPv6 NID in a file is passed over, by which the interface might get another address; or if an IPv4 NID, which 2.15 does not
/// read, has a meaning beside an interface.
#[test]
fn an_ipv6_nid_names_the_address_of_its_interface() {
    let live = "\
net:
-     net type: tcp
      local NI(s):
      -     nid: fd99::11@tcp
            status: up
            interfaces:
                  0: eth0[0]
            dev cpt: -1
      -     nid: 10.99.1.11@tcp
            status: up
            interfaces:
                  0: eth1
      -     nid: fd99:1::11@tcp
      -     interfaces:
                  0: eth3[large]
";
    let expected = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: fd99::11
          CPT: \"[0]\"
        - interfaces:
              0: eth1
        - interfaces:
              0: fd99:1::11
        - interfaces:
              0: eth3[large]
";
    all_come_to(Purpose::Add, &[live], expected);
    let other_net =
        "net:\n- net type: tcp1\n  local NI(s):\n  - nid: fd99::11@tcp\n    interfaces: {0: eth0}\n";
    let problems = read(other_net, Purpose::Add).unwrap_err();
    assert!(problems[0].to_string().contains("nid fd99::11@tcp is not on tcp1"), "{}", problems[0]);
}
