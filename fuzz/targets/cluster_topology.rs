//! Topology files of `lnetctl cluster check`: any text is read, or refused with positions in it; each cluster that was read is checked, and
//! has its reports.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_cluster::report::picture::{Form, draw};
use lnet_cluster::{checks, input, report};
use std::io;
use std::path::Path;

/// The number of classes above which a cluster is only read: the cost of the checks grows with its square.
const MAX_CHECKED: usize = 6;

const CLIENT: &str = "\
net:
  - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}, {interfaces: {0: eth1}}]}
  - {net type: tcp1, local NI(s): [{interfaces: {0: eth2}}]}
route: [{net: tcp2, gateway: 10.0.0.9@tcp}]
";
const ROUTER: &str = "\
net:
  - {net type: tcp, local NI(s): [{nid: 10.0.0.9@tcp, interfaces: {0: eth0}}]}
  - {net type: tcp2, local NI(s): [{nid: 10.2.0.9@tcp2, interfaces: {0: eth1}}]}
routing: {enable: 1}
buffers: {large: 2}
";
const RULES: &str = "\
ip2nets:
  - {net-spec: tcp, ip-range: {0: '10.[0-1].*.*', 1: 'fd00::[1-9]'}}
  - {net-spec: tcp1, interfaces: {0: eth1}}
net:
  - {ip2net: 'tcp2(eth0) 10.0.[2-8/2].*; tcp3'}
";

fuzz_target!(|text: &str| {
    let file = Path::new("topology.yaml");
    match input::read_topology(file, text, &text_of) {
        Ok(cluster) => {
            assert!(cluster.classes.iter().all(|class| class.count > 0));
            for class in &cluster.classes {
                for ni in class.nis.iter().filter(|ni| ni.addresses.is_known()) {
                    assert_eq!(ni.addresses.count(), class.count, "{}", class.name);
                }
            }
            if cluster.classes.len() <= MAX_CHECKED {
                let findings = checks::check(&cluster);
                assert!(!report::to_text(&cluster, &findings).is_empty());
                report::to_value(&cluster, &findings).to_json();
                draw(Form::Svg, &cluster, &findings);
            }
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems.iter().filter(|problem| problem.file == file) {
                let at = problem.at.expect("a problem of the file has a place");
                assert!(at.line >= 1 && at.column >= 1);
                assert!(at.line as usize <= text.split(['\n', '\r']).count() + 1, "{problem}");
            }
        }
    }
});

/// The texts of the files of classes.
fn text_of(file: &Path) -> io::Result<String> {
    match file.to_str() {
        Some("client") => Ok(CLIENT.to_owned()),
        Some("router") => Ok(ROUTER.to_owned()),
        Some("rules") => Ok(RULES.to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}
