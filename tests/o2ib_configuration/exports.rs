//! What nodes export, and other nodes import.

use crate::{exported, free_port, node, take};
use lnet_dlc::import::{Source, import};
use lnet_dlc::request::{LndNumbers, LocalNi, Request};
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Backend, Report, ReturnCode};
use o2iblnd::device::model::ModelNet;

/// Every block of a file, and every number of an o2ib interface.
const EVERYTHING: &str = "\
net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: 127.0.12.1
          tunables:
              peer_timeout: 100
              peer_credits: 32
              peer_buffer_credits: 4
              credits: 1024
          lnd tunables:
              peercredits_hiw: 20
              map_on_demand: 32
              concurrent_sends: 64
              fmr_pool_size: 2048
              fmr_flush_trigger: 500
              fmr_cache: 2
              ntx: 1000
              conns_per_peer: 4
          CPT: \"[1]\"
        - interfaces:
              0: 127.0.12.2
    - net type: o2ib7
      local NI(s):
        - interfaces:
              0: 127.0.12.3
          lnd tunables:
              conns_per_peer: 2
    - net type: tcp
      local NI(s):
        - interfaces:
              0: 127.0.12.4
          tunables:
              peer_credits: 16
          lnd tunables:
              conns_per_peer: 3
route:
    - net: tcp9
      gateway: 127.0.12.99@o2ib
      priority: 1
peer:
    - primary nid: 127.0.12.99@o2ib
      Multi-Rail: True
      peer ni:
        - nid: 127.0.12.99@o2ib
        - nid: 127.0.12.99@tcp
global:
    retry_count: 3
udsp:
    - src: o2ib
      action:
          priority: 0
    - src: tcp
      action:
          priority: 1
";

/// Fails if an export lacks something of an o2ib interface, or if a fresh node is made another one from it.
#[test]
fn a_fresh_node_exports_what_it_has_imported() {
    for backup in [true, false] {
        let (net, port) = (ModelNet::default(), free_port());
        let first = node(&net, &port);
        take(&first, EVERYTHING);
        let (file, configuration) = (exported(&first, backup), exported(&first, true));
        first.shutdown();
        let second = node(&net, &port);
        take(&second, &file);
        assert_eq!(exported(&second, true), configuration, "from {file}");
        // What is there already is no failure, and changes nothing.
        take(&second, &file);
        assert_eq!(exported(&second, true), configuration);
        for line in ["fmr_pool_size: 2048", "fmr_pool_size: 512", "concurrent_sends: 64", "ntx: 1000"] {
            assert!(configuration.contains(line), "{line}: {configuration}");
        }
        second.shutdown();
    }
}

/// An item of an interface in an export of a kernel node, in the form of dlc 2.3, with the numbers of wire-o2ib 11.
const OF_2_15: &str = "\
net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          statistics:
              send_count: 2
              recv_count: 2
              drop_count: 0
          tunables:
              peer_timeout: 0
              peer_credits: 0
              peer_buffer_credits: 0
              credits: 0
          lnd tunables:
          dev cpt: 0
          CPT: \"[0,1]\"
    - net type: o2ib
      local NI(s):
        - nid: 127.0.13.1@o2ib
          status: up
          interfaces:
              0: 127.0.13.1
          statistics:
              send_count: 8
              recv_count: 8
              drop_count: 0
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
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              peercredits_hiw: 4
              map_on_demand: 1
              concurrent_sends: 8
              fmr_pool_size: 512
              fmr_flush_trigger: 384
              fmr_cache: 1
              ntx: 512
              conns_per_peer: 1
          dev cpt: 1
          CPT: \"[0,1]\"
";

/// The same form with module options that sites set for fast adapters.
const OF_A_FAST_ADAPTER: &str = "\
net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: 127.0.13.1
          tunables:
              peer_timeout: 180
              peer_credits: 128
              peer_buffer_credits: 0
              credits: 1024
          lnd tunables:
              peercredits_hiw: 64
              map_on_demand: 32
              concurrent_sends: 256
              fmr_pool_size: 2048
              fmr_flush_trigger: 512
              fmr_cache: 1
              ntx: 2048
              conns_per_peer: 4
          CPT: \"[0,1]\"
";

/// The form of 2.12, before there was a number of connections, where an interface could have several names.
const OF_2_12: &str = "\
net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: 127.0.13.1
          tunables:
              peer_timeout: 180
              peer_credits: 8
              peer_buffer_credits: 0
              credits: 256
          lnd tunables:
              peercredits_hiw: 4
              map_on_demand: 0
              concurrent_sends: 8
              fmr_pool_size: 512
              fmr_flush_trigger: 384
              fmr_cache: 1
              ntx: 512
          tcp bonding: 0
          CPT: \"[0,1]\"
";

/// The emitter of 2.17, with the numbers that 2.17 adds (dlc 1.7).
const OF_2_17: &str = "\
---
net:
-     net type: o2ib
      local NI(s):
      -     interfaces:
                  0: 127.0.13.1
            tunables:
                  peer_timeout: 180
                  peer_credits: 8
                  peer_buffer_credits: 0
                  credits: 256
            lnd tunables:
                  peercredits_hiw: 4
                  map_on_demand: 1
                  concurrent_sends: 8
                  fmr_pool_size: 512
                  fmr_flush_trigger: 384
                  fmr_cache: 1
                  ntx: 512
                  conns_per_peer: 1
                  timeout: 50
                  tos: -1
                  nqps: 1
            CPT: \"[0,1]\"
...
";

/// The numbers with their names, in the order of [`LndNumbers::names`], the connections last.
type Numbers = [u32; 8];

#[test]
fn exports_of_kernel_nodes_with_o2ib_interfaces_are_taken_with_all_their_numbers() {
    let defaults: Numbers = [4, 1, 8, 512, 384, 1, 512, 1];
    let table: [(&str, &str, u32, Numbers); 4] = [
        ("2.15", OF_2_15, 8, defaults),
        ("a fast adapter", OF_A_FAST_ADAPTER, 128, [64, 32, 256, 2048, 512, 1, 2048, 4]),
        ("2.12", OF_2_12, 8, [4, 0, 8, 512, 384, 1, 512, 1]),
        ("2.17", OF_2_17, 8, defaults),
    ];
    for (name, text, peer_credits, [numbers @ .., connections]) in table {
        let node = node(&ModelNet::default(), &free_port());
        take(&node, text);
        let ni: Box<LocalNi> = (&*node as &dyn Backend).ask(Request::GetLocalNi(1)).unwrap();
        assert_eq!(ni.nid.to_string(), "127.0.13.1@o2ib", "{name}");
        assert_eq!(ni.tunables.peer_credits, Some(peer_credits), "{name}");
        let expected = LndNumbers::new(LndNumbers::names().iter().copied().zip(numbers));
        assert_eq!(ni.lnd.numbers, expected, "{name}");
        assert_eq!(ni.lnd.conns_per_peer.map(u32::from), Some(connections), "{name}");
        node.shutdown();
    }
}

/// Fails if a file that is in force is refused, or a changed number is neither in force afterwards nor refused by name.
#[test]
fn a_changed_number_is_in_force_or_refused_by_name() {
    let node = node(&ModelNet::default(), &free_port());
    take(&node, OF_A_FAST_ADAPTER);
    let chosen = OF_A_FAST_ADAPTER.replace("conns_per_peer: 4", "conns_per_peer: 0");
    take(&node, &chosen.replace("concurrent_sends: 256", "concurrent_sends: 0"));
    let configuration = exported(&node, true);
    take(&node, &OF_A_FAST_ADAPTER.replace("conns_per_peer: 4", "conns_per_peer: 3"));
    assert_eq!(exported(&node, true), configuration.replace("conns_per_peer: 4", "conns_per_peer: 3"));
    let mut report = Report::new();
    let text = &OF_A_FAST_ADAPTER.replace("ntx: 2048", "ntx: 2047").replace("fmr_cache: 1", "fmr_cache: 0");
    let rc = import(&*node, Source { name: "the file", text }, Purpose::Add, &mut report);
    assert_eq!(rc, ReturnCode(-17));
    let errors = report.errors_to_yaml();
    assert!(
        errors.contains("cannot change fmr_cache from 1 to 0, ntx from 2048 to 2047 of 127.0.13.1"),
        "{errors}"
    );
    node.shutdown();
}
