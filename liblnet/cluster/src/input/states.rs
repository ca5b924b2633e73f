//! States that `lnetctl cluster collect` has gathered beside the configuration of a node, in a directory with the node's name: the MTU of links, and the
//! port on which the node accepts connections. No export says either.

use super::text_of;
use crate::model::Class;
use std::collections::BTreeMap;
use std::path::Path;

/// The file with the output of `ip -o link`.
pub const LINKS_FILE: &str = "links.txt";
/// The file with the output of `lnetctl tunables`, or of `grep -H` of the parameter of the kernel module.
pub const TUNABLES_FILE: &str = "tunables.yaml";
/// The name of the port in both.
const ACCEPT_PORT: &str = "accept_port";

/// Adds to a class of one node what the files beside the configuration say. Files that are missing or say nothing change nothing.
pub(super) fn add(class: &mut Class, configuration: &Path) {
    let directory = configuration.with_extension("");
    let text = |name| text_of(&directory.join(name)).unwrap_or_default();
    let mtu = mtu_of_links(&text(LINKS_FILE));
    for ni in &mut class.nis {
        ni.mtu = ni.interface.as_deref().and_then(|name| mtu.get(name)).copied();
    }
    class.accept_port = accept_port(&text(TUNABLES_FILE));
}

/// The MTU of each link: of lines such as `2: eth0: <BROADCAST,UP> mtu 1500 qdisc ...`, or `3: eth0.7@eth0: ...`.
fn mtu_of_links(text: &str) -> BTreeMap<String, u32> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.nth(1)?.strip_suffix(':')?;
        let name = name.split('@').next().unwrap_or(name);
        let mtu = words.skip_while(|word| *word != "mtu").nth(1)?.parse().ok()?;
        Some((name.to_owned(), mtu))
    };
    text.lines().filter_map(of_line).collect()
}

/// The port of a line `value: 988` behind a line `name: accept_port`, or of a line that ends with `/accept_port:988`.
fn accept_port(text: &str) -> Option<u16> {
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("- "));
    while let Some(line) = lines.next() {
        let value = match line.rsplit_once(':') {
            Some((path, value)) if path.rsplit_once('/').is_some_and(|(_, name)| name == ACCEPT_PORT) => {
                value
            }
            Some(("name", name)) if name.trim() == ACCEPT_PORT => lines.next()?.strip_prefix("value:")?,
            _ => continue,
        };
        return value.trim().parse().ok();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mtu_of_links_is_behind_their_names() {
        let text = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\\    link/loopback 00:00:00:00:00:00\n\
            2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP\n\
            3: eth0.7@eth0: <BROADCAST> mtu 1500 qdisc noop\n\
            4: broken: <BROADCAST>\nnothing\n\n";
        let all = mtu_of_links(text);
        let all: Vec<(&str, u32)> = all.iter().map(|(name, mtu)| (name.as_str(), *mtu)).collect();
        assert_eq!(all, [("eth0", 9000), ("eth0.7", 1500), ("lo", 65536)]);
    }

    #[test]
    fn the_port_is_that_of_our_tunables_or_of_the_kernel_module() {
        for (text, port) in [
            ("/sys/module/lnet/parameters/accept_port:988\n", Some(988)),
            (
                "tunables:\n    - module: lnet\n      name: accept_port\n      value: 9988\n      default: 988\n",
                Some(9988),
            ),
            ("    - name: accept_port_bulk\n      value: 7\n", None),
            ("    - name: accept_port\n      default: 7\n", None),
            ("value: 1\n\"stats\"\n\"help\"\n", None),
            ("", None),
        ] {
            assert_eq!(accept_port(text), port, "{text:?}");
        }
    }
}
