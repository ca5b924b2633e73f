//! Tests that options become the configuration that the modules had with them.

use super::*;
use crate::yaml::{Purpose, read, to_value};
use proptest::prelude::*;

fn convert_text(text: &str) -> Result<Converted, Vec<Left>> {
    convert(&[("lnet.conf".to_owned(), text.to_owned())])
}

/// The YAML of the options; the file must read as the same configuration.
fn yaml(text: &str) -> String {
    let converted = convert_text(text).unwrap();
    let yaml = to_value(&converted.document).to_yaml();
    let again = read(&yaml, Purpose::Add).unwrap();
    assert_eq!(to_value(&again).to_yaml(), yaml);
    yaml
}

#[test]
fn options_become_the_keys_of_files() {
    let table = [
        ("", ""),
        (
            "options lnet networks=\"tcp0(eth0,eth1[0]),o2ib1(ib0)[1]\"",
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n        \
             - interfaces:\n              0: eth1\n          CPT: \"[0]\"\n    - net type: o2ib1\n      local NI(s):\n        \
             - interfaces:\n              0: ib0\n          CPT: \"[1]\"\n",
        ),
        (
            "options lnet ip2nets=\"tcp(eth0) 10.0.0.*; o2ib 10.1.*.*\"\noptions ksocklnd credits=512 conns_per_peer=4",
            "ip2nets:\n    - net-spec: tcp\n      interfaces:\n          0: eth0\n      ip-range:\n          0: 10.0.0.[0-255]\n      \
             tunables:\n          credits: 512\n      lnd tunables:\n          conns_per_peer: 4\n    \
             - net-spec: o2ib\n      ip-range:\n          0: 10.1.[0-255].[0-255]\n",
        ),
        (
            "options lnet routes=\"o2ib 2 10.0.0.[1-2]@tcp:1\"",
            "route:\n    - net: o2ib\n      gateway: 10.0.0.1@tcp\n      hop: 2\n      priority: 1\n    \
             - net: o2ib\n      gateway: 10.0.0.2@tcp\n      hop: 2\n      priority: 1\n",
        ),
        (
            "options lnet forwarding=enabled large_router_buffers=2048 tiny_router_buffers=0",
            "routing:\n    enable: 1\nbuffers:\n    large: 2048\n",
        ),
        (
            "options lnet lnet_peer_discovery_disabled=1 lnet_transaction_timeout=0x32 lnet_interfaces_max=64 \
             router_sensitivity_percentage=90",
            "global:\n    discovery: 0\n    transaction_timeout: 50\n    max_interfaces: 64\n    router_sensitivity: 90\n",
        ),
        (
            "options lnet networks=o2ib(ib0)\noptions ko2iblnd peer_credits=128 peer_credits_hiw=64 concurrent_sends=256",
            "net:\n    - net type: o2ib\n      local NI(s):\n        - interfaces:\n              0: ib0\n          \
             tunables:\n              peer_credits: 128\n          lnd tunables:\n              peercredits_hiw: 64\n              \
             concurrent_sends: 256\n",
        ),
        (
            "options lnet networks=tcp(eth0)\noptions ksocklnd tos=0x48 conns_per_peer=2",
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n          \
             lnd tunables:\n              conns_per_peer: 2\n              tos: 72\n",
        ),
        // A net without an interface has the machine's first, which a rule says.
        ("options lnet networks=tcp", "ip2nets:\n    - net-spec: tcp\n"),
        (
            "options lnet networks=tcp1(eth1),tcp[0]\noptions ksocklnd credits=512",
            "ip2nets:\n    - net-spec: tcp1\n      interfaces:\n          0: eth1\n      tunables:\n          credits: 512\n    \
             - net-spec: tcp\n      tunables:\n          credits: 512\n      CPT: \"[0]\"\n",
        ),
        (
            "options lnet 'networks=\"tcp(eth0), tcp1(eth1)\"' 'forwarding=enabled' # a router",
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n    \
             - net type: tcp1\n      local NI(s):\n        - interfaces:\n              0: eth1\nrouting:\n    enable: 1\n",
        ),
        // The last value counts, and other modules do not.
        (
            "options lnet networks=tcp(eth0)\noptions nvme networks=x\noptions lnet networks=tcp(eth1)\n",
            "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth1\n",
        ),
    ];
    for (options, expected) in table {
        assert_eq!(yaml(options), expected, "{options}");
    }
}

#[test]
fn options_without_a_key_are_named_with_their_places() {
    let converted = convert_text(
        "options lnet networks=tcp(eth0) accept_port=989\n\noptions ksocklnd nscheds=4 peer_timeout=0\n\
         options ko2iblnd credits=9 tos=1\n",
    );
    let left: Vec<String> = converted.unwrap().left.iter().map(ToString::to_string).collect();
    assert_eq!(left.len(), 5, "{left:?}");
    assert!(
        left[2].starts_with("lnet.conf:3: ksocklnd peer_timeout=0: 0 is the default in a file; "),
        "{left:?}"
    );
    assert_eq!(left[3], "lnet.conf:4: ko2iblnd credits=9: there is no net of this driver");
    assert!(left[0].starts_with("lnet.conf:1: lnet accept_port=989: no key of a file has it"), "{left:?}");
    assert!(left[1].starts_with("lnet.conf:3: ksocklnd nscheds=4: "), "{left:?}");
    // A driver's number is no key for the nets of another.
    assert!(left[4].starts_with("lnet.conf:4: ko2iblnd tos=1: no key of a file has it"), "{left:?}");
}

#[test]
fn all_wrong_options_are_named_and_nothing_is_converted() {
    let wrong = convert_text(
        "options lnet networks=\"tcp(eth0\" forwarding=yes lnet_retry_count=few\noptions ksocklnd credits=-1 tos=256\n\
         options lnet lnet_health_sensitivity=5000\noptions ksocklnd conns_per_peer=200\n",
    );
    let texts = |wrong: Vec<Left>| wrong.iter().map(ToString::to_string).collect::<Vec<_>>();
    let both = convert_text("options lnet networks=tcp\noptions lnet ip2nets=\"tcp *.*.*.*\"\n").unwrap_err();
    assert_eq!(
        texts(both),
        [
            "lnet.conf:2: lnet ip2nets=\"tcp *.*.*.*\": networks and ip2nets exclude each other; keep one of them"
        ]
    );
    assert_eq!(
        texts(wrong.unwrap_err()),
        [
            "lnet.conf:1: lnet networks=tcp(eth0: a `(` without its `)`, at byte 3",
            "lnet.conf:1: lnet forwarding=yes: `yes` is neither enabled nor disabled",
            "lnet.conf:1: lnet lnet_retry_count=few: `few` is no number that it takes",
            "lnet.conf:3: lnet lnet_health_sensitivity=5000: health_sensitivity 5000 is not within 0 to 1000",
            "lnet.conf:2: ksocklnd credits=-1: `-1` is no number that it takes",
            "lnet.conf:2: ksocklnd tos=256: tos 256 is not within -1 to 255",
            "lnet.conf:4: ksocklnd conns_per_peer=200: conns_per_peer 200 is not within 0 to 127",
        ]
    );
}

const NETS: &str =
    "tcp[0-3]?(\\((eth[0-3](\\[[0-3]\\])?|fd99::1)(,eth[4-7])?\\))?(\\[large\\])?(\\[[0-3]\\])?(,o2ib[0-9])?";
const RULES: &str = "tcp[0-3]?(\\((eth[0-3]|10\\.0\\.0\\.1|fd99::1)\\))?( 10\\.0\\.\\*\\.[1-9]| fd99::/64| 10\\.0\\.0\\.0/8){0,2}(; o2ib[1-9])?";

/// Options of each kind with values that they take.
fn options() -> impl Strategy<Value = String> {
    let option = format!(
        "options (lnet (networks={NETS}|'networks=\"{NETS}\"'|ip2nets=\"{RULES}\"|routes=\"tcp[1-3] fd99::[1-9]@tcp(:[0-9])?\"\
         |forwarding=enabled|lnet_retry_count=[0-5]|large_router_buffers=[0-9]{{1,3}}|[a-z]{{1,6}}=[0-9])\
         |ksocklnd ((peer_)?credits=[0-9]{{1,3}}|conns_per_peer=[0-9]{{1,2}}|peer_timeout=[0-9]{{1,3}}|tos=[0-9]{{1,2}}))\n"
    );
    proptest::string::string_regex(&format!("({option}){{0,3}}")).unwrap()
}

proptest! {
    #[test]
    fn what_options_become_is_read_as_a_file(valid in options(), noise in ".*") {
        for text in [valid, noise] {
            let Ok(converted) = convert_text(&text) else { continue };
            let yaml = to_value(&converted.document).to_yaml();
            let again = read(&yaml, Purpose::Add);
            prop_assert!(again.is_ok(), "{}\n{}\n{:?}", text, yaml, again);
            prop_assert_eq!(to_value(&again.unwrap()).to_yaml(), yaml);
        }
    }
}
