//! Every form of commands and files in the design documents, the specification of `lnetctl` and the recorded outputs of
//! kernel nodes is accepted, or refused with its place and the correct form. The effects of recorded commands are compared
//! with those of the kernel's tool in the project's test `lnetctl_transcripts`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[allow(dead_code, reason = "shared with other tests")]
mod fake;

use fake::{Changes, FakeNode};
use lnet_dlc::request::AppliedUdsp;
use lnet_dlc::{Reply, Request};
use lnet_wire::Errno;
use lnetctl::cli::Globals;
use lnetctl::node::Node;
use lnetctl::output::Streams;
use lnetctl::run::{self, LineEnd};

/// The expected outcome of a form.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The form is accepted, without output on standard error.
    Taken,
    /// The form is refused, and the error contains these texts, such as the place and the form to use instead.
    Refused(&'static [&'static str]),
}

use Outcome::{Refused, Taken};

/// A node that also accepts peers.
fn node_with_peers() -> Box<dyn Node> {
    let others = fake::one_interface(Changes::default());
    FakeNode::boxed(move |request| match request {
        Request::AddPeerNi(_) => Ok(Reply::Done),
        Request::GetPeerNi(_) => Err(Errno::NotFound.into()),
        Request::GetAppliedUdsp(..) => Ok(Reply::AppliedUdsp(AppliedUdsp::default())),
        other => others(other),
    })
}

/// Runs a command; returns the exit status, and the output on standard error.
fn carried_out(command: &str, input: &str) -> (u8, String) {
    let words: Vec<String> = command
        .split('"')
        .enumerate()
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect();
    let connect = |_| node_with_peers();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = input.as_bytes();
    let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err };
    let rc = match run::line(&words, &Globals::default(), &connect, &mut streams).unwrap() {
        LineEnd::Done(rc) => rc.exit_code(),
        LineEnd::Exit => 0,
    };
    (rc, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
}

/// Describes the difference from the expected outcome, if there is one.
fn wrong(what: &str, (rc, said): (u8, String), outcome: Outcome) -> Option<String> {
    let is_right = match outcome {
        Taken => rc == 0 && !said.contains("errno"),
        Refused(parts) => rc != 0 && parts.iter().all(|part| said.contains(part)),
    };
    (!is_right).then(|| format!("{what}\nshould be {outcome:?}; {rc}\n{said}\n"))
}

#[test]
fn every_published_command_is_taken_or_refused_with_what_to_write() {
    let table: &[(&str, Outcome)] = &[
        // The Multi-Rail design.
        ("net add --net tcp0 --if eth0", Taken),
        ("net add --net tcp --if \"eth0, eth1, eth2\"", Taken),
        (
            "net add --net tcp --if eth0 --peer-timeout 180 --peer-credits 8 --peer-buffer-credits 0 --credits 256 --cpt [0,1]",
            Taken,
        ),
        ("net add --ip2net \"tcp(lo) 127.0.0.*\"", Taken),
        ("net add --ip2nets \"tcp(lo) 127.0.0.*\"", Taken),
        ("net del --net tcp0", Taken),
        ("net del --net tcp0 --if eth0", Taken),
        ("net del --net tcp0 --if eth0,eth1", Taken),
        ("net show --net tcp,lo", Taken),
        ("peer add --nid 10.1.1.2@tcp0", Refused(&["--prim_nid 10.1.1.2@tcp0"])),
        ("peer add --nid 10.1.1.2@tcp0,10.1.2.2@tcp1", Refused(&["--prim_nid 10.1.1.2@tcp0"])),
        ("peer del --nid 10.1.1.2@tcp0,10.1.2.2@tcp1", Refused(&["--prim_nid 10.1.1.2@tcp0"])),
        ("selection net add --net o2ib --priority 0", Taken),
        ("selection net add --net o2ib* --priority 1", Taken),
        ("selection net add --net o2ib[1,2] --priority 2", Taken),
        ("selection net del --net tcp1", Taken),
        ("selection net del --net tcp1 --id 3", Taken),
        ("selection net del --id 3", Taken),
        ("selection net show", Taken),
        ("selection net show --net tcp1", Taken),
        ("selection nid add --nid 10.0.0.*@tcp --priority 0", Taken),
        ("selection nid del --nid 10.0.0.*@tcp", Taken),
        ("selection nid del --nid 10.0.0.*@tcp --id 1", Taken),
        ("selection nid show --nid 10.0.0.*@tcp", Taken),
        ("selection peer add --local 10.0.0.1@tcp --remote 10.0.0.9@tcp --priority 0", Taken),
        ("selection peer del --local 10.0.0.1@tcp --remote 10.0.0.9@tcp", Taken),
        ("selection peer del --local 10.0.0.1@tcp --remote 10.0.0.9@tcp --id 0", Taken),
        ("selection peer show --local 10.0.0.1@tcp --remote 10.0.0.9@tcp", Taken),
        // The design of selection policies.
        ("policy add --src *@o2ib1 --priority 0", Taken),
        ("policy add --src 10.10.10.2@o2ib1 --priority 1", Taken),
        ("policy add --src 10.10.10.2@o2ib1 --dst 10.10.10.4@o2ib1 --priority 1", Taken),
        ("policy add --dst 10.10.10.2@o2ib3 --rte 10.10.10.[5-8]@o2ib --priority 0", Taken),
        ("policy add --dst 10.10.10.*@o2ib3 --priority 255 --idx 0", Taken),
        ("policy add --src tcp --dst 10.0.0.*@tcp --idx 9", Taken),
        ("policy add --src tcp --priority 256", Refused(&["--priority", "not within 0 to 255"])),
        ("policy show", Taken),
        ("policy del --idx 0", Taken),
        // Releases up to 2.12.
        ("peer_credits show", Taken),
        ("numa show", Taken),
        ("net show --detail", Taken),
        ("net show --net tcp --detail 1", Taken),
        ("route show --detail", Taken),
        ("peer show --detail", Taken),
        ("peer add --ip2nets 10.0.0.[1-2]@tcp", Taken),
        ("peer del --ip2nets 10.0.0.[1-2]@tcp", Taken),
        ("peer add --prim_nid 10.0.0.1@tcp 10.0.1.1@tcp", Refused(&["'10.0.1.1@tcp'", "--help"])),
        ("set max_intf 100", Refused(&["max_intf", "max_interfaces"])),
        // 2.15.
        ("lnet configure", Taken),
        ("lnet configure --all", Taken),
        ("lnet unconfigure", Taken),
        ("net add --net tcp1 --if eth0[0,2],eth1 --conns-per-peer 2 --skip-mr-route-setup", Taken),
        ("net add --net tcp --if eth0 --cpt [0-3/2]", Taken),
        ("net show --net tcp --verbose 2", Taken),
        ("net show -v4", Taken),
        ("net set --nid 10.0.0.1@tcp --health 500 --conns-per-peer 2", Taken),
        ("net set --all --health 1000", Taken),
        ("net set --nid 10.0.0.1@tcp --health 1001", Refused(&["--health", "not within 0 to 1000"])),
        ("net set --all --conns-per-peer 128", Refused(&["conns_per_peer 128 is not within 0 to 127"])),
        ("peer add --prim_nid 10.0.0.1@tcp --nid 10.0.1.[1-4]@tcp,10.0.2.1@tcp1 --lock_prim", Taken),
        ("peer add --prim 10.0.0.1@tcp --non_mr", Taken),
        ("peer add --prim_nid 10.0.0.1@tcp --nid *@tcp", Refused(&["NIDs '*@tcp'"])),
        ("peer del --prim_nid 10.0.0.1@tcp --nid 10.0.1.1@tcp --force", Taken),
        ("peer show --verbose", Taken),
        ("peer list", Taken),
        ("peer set --nid 10.0.0.1@tcp --health 900", Taken),
        ("peer set --nid 10.0.0.1@tcp --state 5", Taken),
        (
            "route add --net tcp2 --gateway 10.0.0.[8-9]@tcp --hop-count 2 --priority 1 --health_sensitivity 1",
            Taken,
        ),
        (
            "route add --net tcp2 --gateway 10.0.0.9@tcp --hop 256",
            Refused(&["hop 256 is not within 1 to 255"]),
        ),
        (
            "route add --net tcp2 --gateway 10.0.0.9@tcp --priority -1",
            Refused(&["--priority", "not within 0 to"]),
        ),
        ("route add --net bogus --gateway 10.0.0.9@tcp", Refused(&["'bogus' is not a net", "such as tcp1"])),
        ("route del --net tcp2 --gateway 10.0.0.9@tcp", Taken),
        ("route show --net tcp2 --gateway 10.0.0.9@tcp --hop-count 2 --priority 1 --verbose", Taken),
        ("routing show", Taken),
        ("set routing 1", Taken),
        ("set routing 2", Refused(&["it takes 1 (on) or 0 (off)"])),
        ("set tiny_buffers 4096", Taken),
        ("set small_buffers 0", Taken),
        ("set large_buffers -1", Taken),
        ("set large_buffers -2", Refused(&["large buffers -2 is not within -1 to 2147483647"])),
        ("set numa_range 5", Taken),
        ("set numa_range -1", Refused(&["0 to 4294967295"])),
        ("set max_interfaces 100", Taken),
        ("set max_interfaces 2", Refused(&["16 to 2147483647"])),
        ("set discovery 0", Taken),
        ("set discovery -1", Refused(&["0 to 2 (off, on, verify)"])),
        ("set drop_asym_route 3", Refused(&["0 to 1 (off, on)"])),
        ("set retry_count 3", Taken),
        ("set retry_count -1", Refused(&["at most transaction_timeout"])),
        ("set transaction_timeout 50", Taken),
        ("set health_sensitivity 1001", Refused(&["0 to 1000"])),
        ("set recovery_interval 1", Taken),
        ("set router_sensitivity 101", Refused(&["0 to 100 percent"])),
        ("set response_tracking 4", Refused(&["0 to 3"])),
        ("set recovery_limit -1", Refused(&["0 to 2147483647 seconds"])),
        ("set lnd_timeout 10", Refused(&["lnd_timeout", "transaction_timeout"])),
        ("import --add", Taken),
        ("export --backup", Taken),
        ("stats show", Taken),
        ("stats reset", Taken),
        ("global show", Taken),
        ("debug recovery --local --peer", Taken),
        ("ping 10.0.0.12@tcp,10.0.0.13 U7-10.0.0.14@tcp --timeout 3 --source 10.0.0.1@tcp", Taken),
        ("ping localhost@tcp", Taken),
        ("ping --timeout 0 10.0.0.12@tcp", Refused(&["--timeout", "not within 1 to 180"])),
        ("discover 10.0.0.12@tcp --force", Taken),
        ("udsp add --src tcp --priority 0", Taken),
        ("udsp add --src tcp --priority -1", Refused(&["--priority", "not within 0 to 255"])),
        ("udsp add --src tcp --idx -1", Refused(&["--idx", "not within 0 to"])),
        ("udsp add --src tcp --rte tcp1", Refused(&["src, dst, src and dst, or dst and rte"])),
        ("udsp del --idx -1", Taken),
        ("udsp del", Refused(&["--idx", "--all"])),
        ("udsp show --idx 1", Taken),
        ("cpt-of-nid --nid 10.0.0.12@tcp --ncpt 8", Taken),
        ("service-id", Refused(&["o2ib"])),
        // 2.17.
        ("lnet configure --large", Taken),
        ("net add --nid fd99::11@tcp", Taken),
        ("net add --nid fe80::1@tcp", Refused(&["link-local"])),
        ("net del --nid fd99::11@tcp", Taken),
        ("route add --net tcp1 --gateway fd99::12@tcp", Taken),
        ("peer add --prim_nid fd99::12@tcp --nid fd99:1::12@tcp", Taken),
        ("peer add --prim_nid fd99::77@tcp --nid fd99::77@tcp,10.99.0.77@tcp", Taken),
        ("peer add --prim_nid fd99::88@tcp --nid fd99::[90-92]@tcp", Taken),
        ("peer del --prim_nid fd99::77@tcp --nid 10.99.0.77@tcp", Taken),
        ("peer show --nid fd99:1::12@tcp", Refused(&["No such file"])),
        ("udsp add --src fd99::11@tcp", Taken),
        ("udsp add --src fd99::/64@tcp --priority 1", Taken),
        ("udsp add --src fd99::11@tcp --dst fd99::12@tcp", Taken),
        ("udsp add --dst fd99::*@tcp", Taken),
        ("udsp add --src 10.99.0.0/24@tcp", Taken),
        ("udsp add --dst fd99::/200@tcp", Refused(&["dst 'fd99::/200@tcp'", "not within 0 to 128"])),
        ("fault drop add --source fd99::11@tcp --dest fd99::12@tcp --rate 1", Taken),
        ("fault drop add --source fd99::/64@tcp --dest fd99::12@tcp --rate 2", Taken),
        ("fault delay add --source fd99::11@tcp --dest fd99::12@tcp --rate 1 --latency 1", Taken),
        ("debug peer --nid fd99::12@tcp", Refused(&["No such file"])),
        ("net add --nid 10.0.0.1@tcp", Taken),
        ("net del --nid 10.0.0.1@tcp", Taken),
        ("net add --net tcp --if eth0 --tos 4", Taken),
        ("net add --net tcp --if eth0 --tos -1", Taken),
        ("net add --net tcp --if eth0 --tos 256", Refused(&["--tos", "-1 to 255"])),
        ("net set --net tcp --lnd-timeout 5", Refused(&["--lnd-timeout", "not supported yet"])),
        ("route add --net tcp2 --gateway 10.0.0.9@tcp --hop 2", Taken),
        ("set max_recovery_ping_interval 60", Taken),
        ("udsp del --all", Taken),
        ("cpt-of-nid 10.0.0.12@tcp 10.0.0.13@tcp", Taken),
        (
            "fault drop add --source *@tcp --dest *@tcp --rate 100 --message GET --health_error local_error",
            Taken,
        ),
        ("fault delay add --source 10.0.0.1@tcp --dest 10.0.0.2@tcp --rate 1 --latency 1", Taken),
        ("fault drop add --source *@tcp --dest *@tcp", Refused(&["--rate", "--interval"])),
        ("fault drop del --all", Taken),
        ("fault drop show", Taken),
        ("setup-sysctl", Refused(&["setup-sysctl", "set"])),
    ];
    let all =
        table.iter().filter_map(|(command, outcome)| wrong(command, carried_out(command, ""), *outcome));
    let all: Vec<String> = all.collect();
    assert!(all.is_empty(), "{}", all.concat());
}

#[test]
fn every_published_form_of_a_file_is_taken_or_refused_with_its_place_and_what_to_write() {
    let table: &[(&str, &str, Outcome)] = &[
        // The Multi-Rail design: nets.
        (
            "--add",
            "net:\n  - net: o2ib1\n    interfaces:\n      - intf: ib0\n        CPT: 1,3\n        detail: 1\n      - intf: ib1\n        CPT: 4,5\n    tunables:\n      peer_timeout: 180\n      peer_credits: 8\n      peer_buffer_credits: 0\n      credits: 256\n      seq_no: 3\n",
            Taken,
        ),
        ("--del", "net:\n  - net: o2ib1\n", Taken),
        (
            "--del",
            "net:\n  - net: o2ib1\n    interfaces:\n      - intf: ib0\n      - intf: ib1\n    seq_no: 1\n",
            Taken,
        ),
        ("--add", "net:\n- net: tcp\n  intf: lo\n  pattern: 127.0.0.*\n", Taken),
        // Peers and rules of the draft. There is no net 'ib0'.
        ("--add", "peers:\n- nids:\n  0: 10.2.2.3@tcp\n  1: 10.4.4.4@tcp1\n", Taken),
        ("--add", "peers:\n  - nids:\n      0: 10.2.2.3@tcp\n      1: 10.5.5.5@tcp2\n", Taken),
        (
            "--add",
            "peers:\n- nids:\n  0: 10.2.2.3@ib0\n",
            Refused(&["stdin:3:6", "unknown network name", "such as tcp1"]),
        ),
        ("--add", "selection:\n  - type: net\n    net: o2ib*\n    priority: 1\n", Taken),
        ("--add", "selection:\n  - type: net\n    net: o2ib[1,2]\n    priority: 1\n    id: 2\n", Taken),
        ("--add", "selection:\n  - type: nid\n    nid: 10.0.0.*@tcp\n    priority: 0\n    id: 7\n", Taken),
        (
            "--add",
            "selection:\n  - type: peer\n    local: 10.0.0.1@tcp\n    remote: 10.0.0.*@tcp\n    priority: 0\n",
            Taken,
        ),
        (
            "--add",
            "selection:\n  - type: peer\n    local: 10.0.0.1@tcp\n",
            Refused(&["stdin:2:5", "'local' and 'remote'"]),
        ),
        ("--del", "selection:\n  - type: net\n    id: 3\n", Taken),
        ("--del", "selection:\n  - type: net\n    net: tcp1\n    id: 3\n", Taken),
        ("--del", "selection:\n  - type: nid\n    nid: 10.0.0.*@tcp\n", Taken),
        ("--del", "selection:\n  - type: peer\n    local: 10.0.0.1@tcp\n    remote: 10.0.0.9@tcp\n", Taken),
        // The design of selection policies.
        (
            "--add",
            "udsp:\n- idx: 0\n  src: 10.10.10.2@o2ib1\n  dst: 10.10.10.4@o2ib1\n  action:\n  - priority: 1\n",
            Taken,
        ),
        (
            "--add",
            "udsp:\n- idx: 1\n  dst: 10.10.10.2@o2ib3\n  rte: 10.10.10.[5-8]@o2ib\n  action:\n    - priority: 0\n",
            Taken,
        ),
        ("--add", "udsp:\n- idx: 0\n  src: \"*@o2ib1\"\n  action:\n  - priority: 0\n", Taken),
        ("--add", "udsp:\n- src: *@o2ib1\n", Refused(&["stdin:2:8", "needs quotes"])),
        (
            "--add",
            "udsp:\n- idx: 0\n  src: tcp\n  dst: tcp\n  rte: tcp\n",
            Refused(&["stdin:2:3", "give 'src', 'dst', 'src' with 'dst', or 'dst' with 'rte'"]),
        ),
        // The forms from before Multi-Rail, and of the Lustre manual.
        (
            "--add",
            "net:\n    - net: tcp1\n      nid: 192.0.2.10@tcp1\n      status: up\n      interfaces:\n          0: eth0\n          1: eth1\n      tunables:\n          peer_timeout: 180\n          credits: 256\n          CPT: \"[0,1]\"\n",
            Taken,
        ),
        (
            "--add",
            "net:\n    - net: tcp1\n      interfaces:\n          0: eth0\n      tunables:\n          credits: 256\n      SMP:\n          CPT: \"[0,1]\"\n",
            Taken,
        ),
        (
            "--add",
            "net:\n    - net: tcp\n      local NI(s):\n        - nid: 10.0.0.2@tcp\n          interfaces:\n              0: eth9\n          SMP:\n              CPT: \"[0]\"\n",
            Taken,
        ),
        (
            "--add",
            "net:\n    - net: tcp1\n      interfaces:\n          0: eth0\n      SMP:\n          CPT: \"[0]\"\n      CPT: \"[1]\"\n",
            Refused(&["stdin:6:11", "keep one"]),
        ),
        ("--add", "net:\n    - ip2net: \"tcp(lo) 127.0.0.*\"\n", Taken),
        (
            "--add",
            "peer:\n    - nid: 192.0.2.20@tcp1\n      state: up\n      refcount: 2\n      tx_q_num_of_buf: 0\n",
            Taken,
        ),
        (
            "--add",
            "routing:\n    - tiny: 2048\n      small: 16384\n      large: 1024\n      enable: 1\n",
            Taken,
        ),
        ("--add", "routing:\n    - tiny: 1024\n      small: 8192\n      large: 512\n", Taken),
        ("--add", "routing:\n    enable: 1\n    seq_no: 4\n", Taken),
        ("--add", "routing:\n    - enable: 2\n", Refused(&["stdin:2:15", "enable 2 is not within 0 to 1"])),
        // 2.10 and 2.12.
        ("--add", "numa:\n    range: 4\n", Taken),
        ("--add", "global:\n    max_intf: 100\n", Taken),
        (
            "--add",
            "peer:\n    - primary nid: 192.0.2.20@tcp\n      non_mr:\n      peer ni:\n        - nid: 192.0.2.20@tcp\n",
            Taken,
        ),
        ("--add", "peer:\n    - ip2nets:\n        - nid: 192.0.2.[20-21]@tcp\n", Taken),
        // 2.15.
        (
            "--add",
            "net:\n    - net type: lo\n      local NI(s):\n        - nid: 0@lo\n          status: up\n          tunables:\n              peer_timeout: 0\n              peer_credits: 0\n          lnd tunables:\n          dev cpt: 0\n          CPT: \"[0]\"\n    - net type: tcp5\n      local NI(s):\n        - interfaces:\n              0: eth0[0]\n          tunables:\n              peer_credits: 8\n          lnd tunables:\n              conns_per_peer: 1\n          dev cpt: -1\n          CPT: \"[0]\"\n",
            Taken,
        ),
        (
            "--del",
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n",
            Taken,
        ),
        ("--del", "net:\n    - net type: tcp\n", Refused(&["stdin:2:7", "say 'net:' for 'net type:'"])),
        ("--show", "net:\n    - net: tcp\n      detail: 2\n", Taken),
        (
            "--add",
            "route:\n    - net: tcp2\n      gateway: 10.0.0.9@tcp\n      hop: -1\n      priority: 0\n      health_sensitivity: 1\n      state: up\n      type: single-hop\n",
            Taken,
        ),
        (
            "--add",
            "route:\n    - net: tcp2\n      gateway: 10.0.0.9@tcp\n      priority: -1\n",
            Refused(&["stdin:4:17", "not within 0 to"]),
        ),
        (
            "--add",
            "peer:\n    - primary nid: 10.0.0.20@tcp\n      Multi-Rail: True\n      peer state: 273\n      peer ni:\n        - nid: 10.0.0.20@tcp\n          state: NA\n        - nid: 10.0.1.[20-21]@tcp\n",
            Taken,
        ),
        ("--add", "peer:\n    - primary nid: localhost@tcp\n", Taken),
        (
            "--add",
            "peer:\n    - peer ni:\n        - nid: 10.0.0.20@tcp\n",
            Refused(&["stdin:2:7", "add 'primary nid: NID'"]),
        ),
        ("--add", "buffers:\n    tiny: 2048\n    small: 16384\n    large: 1024\n", Taken),
        (
            "--add",
            "global:\n    numa_range: 0\n    max_interfaces: 200\n    discovery: 1\n    drop_asym_route: 0\n    retry_count: 2\n    transaction_timeout: 50\n    health_sensitivity: 100\n    recovery_interval: 1\n    router_sensitivity: 100\n    lnd_timeout: 16\n    response_tracking: 3\n    recovery_limit: 0\n",
            Taken,
        ),
        ("--add", "global:\n    health_sensitivity: 9999\n", Refused(&["stdin:2:25", "0 to 1000"])),
        (
            "--add",
            "udsp:\n    - idx: 0\n      src: tcp\n      dst: NA\n      rte: NA\n      action:\n          priority: 4294967295\n    - idx: 1\n      src: 192.0.2.[10-12]@tcp\n      dst: 192.0.2.20@tcp\n      rte: NA\n",
            Taken,
        ),
        (
            "--add",
            "udsp:\n    - src: tcp\n      action:\n          priority: -1\n",
            Refused(&["stdin:4:21", "priority -1 is not within 0 to 255"]),
        ),
        ("--del", "udsp:\n    - idx: 0\n", Taken),
        (
            "--add",
            "ip2nets:\n    - net-spec: tcp5\n      interfaces:\n          0: lo[0]\n      ip-range:\n          0: 127.0.0.[0-8/1]\n          1: 198.51.100.*\n      tunables:\n          peer_credits: 16\n",
            Taken,
        ),
        ("--add", "statistics:\n    msgs_alloc: 0\n", Taken),
        (
            "--exec",
            "ping:\n    - primary nid: 10.0.0.12@tcp\n      timeout: 500\n      source_nid: 10.0.0.1@tcp\ndiscover:\n    - primary nid: 10.0.0.12@tcp\n      force: 1\n",
            Taken,
        ),
        (
            "--add",
            "bogus:\n    - x: 1\n",
            Refused(&["stdin:1:1", "there is no block 'bogus'; there are net"]),
        ),
        ("--add", "garbage\n", Refused(&["stdin:1:1", "a block such as 'net:'"])),
        ("--add", "net:\n\t- net type: tcp\n", Refused(&["stdin:2:1", "YAML is indented with blanks"])),
        ("--add", "net:\n  - net type: tcp\n  local: [\n", Refused(&["stdin:", "not YAML"])),
        // The style of 2.17.
        (
            "--add",
            "---\nnet:\n-     net type: tcp5\n      local NI(s):\n      -     interfaces:\n                  0: eth0\n            lnd tunables:\n                  conns_per_peer: 1\n                  timeout: 5\n                  tos: -1\n...\n",
            Taken,
        ),
        ("--add", "global:\n    max_recovery_ping_interval: 900\n", Taken),
    ];
    let all = table.iter().filter_map(|(purpose, text, outcome)| {
        let command = format!("import {purpose}");
        wrong(&format!("{command}\n{text}"), carried_out(&command, text), *outcome)
    });
    let all: Vec<String> = all.collect();
    assert!(all.is_empty(), "{}", all.concat());
}
