//! Topology files: classes of nodes with their numbers and addresses.
//!
//! ```yaml
//! classes:
//!   clients:
//!     count: 10000
//!     class: client.yaml
//!     addresses: {tcp: 10.0.0.0/16}
//!     switches: {eth0: [leaf-1, leaf-2]}
//! apart:
//!   - [clients, other-clients]
//! ```

use super::{InputProblem, MAX_TOPOLOGY_DEPTH, addresses::parse_addresses, ip2nets, node};
use crate::model::{Addresses, Class};
use lnet_dlc::model::Place;
use lnet_dlc::yaml::tree::{MapEntry, Node, NodeKind, documents};
use lnet_wire::NetId;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::str::FromStr;

/// The JSON Schema of topology files.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/cluster-topology.schema.json");

/// The key by which a topology file is known.
const CLASSES: &str = "classes";
/// The most nodes of a class.
const MAX_NODES: u64 = 1 << 32;
/// The greatest MTU, in bytes.
const MAX_MTU: u64 = 1 << 16;

/// The classes of a topology file, and the pairs of them that need not reach each other.
#[derive(Default)]
pub(super) struct Topology {
    pub(super) classes: Vec<Class>,
    /// The place of each class in the file.
    pub(super) places: Vec<Place>,
    pub(super) apart: Vec<(usize, usize)>,
}

/// Whether a file is a topology file: whether a line begins with its key.
pub(super) fn is_topology(text: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(CLASSES).is_some_and(|rest| rest.trim_start().starts_with(':')))
}

/// Reads a topology file. Names of files in it are relative to its directory; `text_of` has their texts. `before` is the number of classes
/// of topology files that were read before.
pub(super) fn read(
    file: &Path,
    text: &str,
    before: usize,
    text_of: TextOf<'_>,
) -> Result<Topology, Vec<InputProblem>> {
    let (problems, topology, names, refused) = Default::default();
    let mut reader = Reader { file, text_of, problems, topology, names, before, refused };
    match documents(text, MAX_TOPOLOGY_DEPTH) {
        Ok(roots) => roots.iter().for_each(|root| reader.root(root)),
        Err(problem) => reader.wrong(problem.at, problem.text),
    }
    if reader.problems.is_empty() { Ok(reader.topology) } else { Err(reader.problems) }
}

/// The text of a file.
pub(super) type TextOf<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

struct Reader<'a> {
    file: &'a Path,
    text_of: TextOf<'a>,
    problems: Vec<InputProblem>,
    topology: Topology,
    /// The names of all classes, also of those that have mistakes.
    names: BTreeSet<String>,
    before: usize,
    /// The interfaces of the class that is read whose addresses have mistakes.
    refused: Vec<String>,
}

impl Reader<'_> {
    fn wrong(&mut self, at: Place, text: impl Into<String>) {
        self.problems.push(InputProblem { file: self.file.to_owned(), at: Some(at), text: text.into() });
    }

    fn map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [MapEntry] {
        match &node.kind {
            NodeKind::Map(entries) => entries,
            _ => {
                self.wrong(node.at, format!("{what} must be a mapping, not {}", node.what()));
                &[]
            }
        }
    }

    fn scalar<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Scalar(text) => Some(text.trim()),
            _ => {
                self.wrong(node.at, format!("{what} must be a single value, not {}", node.what()));
                None
            }
        }
    }

    /// A single value, or the items of a sequence of them.
    fn scalars<'n>(&mut self, node: &'n Node, what: &str) -> Vec<&'n str> {
        match &node.kind {
            NodeKind::Seq(items) => items.iter().filter_map(|item| self.scalar(item, what)).collect(),
            _ => self.scalar(node, what).into_iter().collect(),
        }
    }

    fn number<T: FromStr + PartialOrd + Display>(
        &mut self,
        node: &Node,
        what: &str,
        least: T,
        most: T,
    ) -> Option<T> {
        let text = self.scalar(node, what)?;
        let number = text.parse::<T>().ok().filter(|number| (&least..=&most).contains(&number));
        if number.is_none() {
            self.wrong(node.at, format!("{what} must be a number from {least} to {most}, not '{text}'"));
        }
        number
    }

    fn root(&mut self, root: &Node) {
        let mut apart = None;
        for entry in self.map(root, "a topology file") {
            match entry.key.as_str() {
                CLASSES => {
                    for class in self.map(&entry.value, "'classes'") {
                        self.class(class);
                    }
                }
                "apart" => apart = Some(&entry.value),
                key => self
                    .wrong(entry.at, format!("a topology file has no key '{key}'; there are classes, apart")),
            }
        }
        if let Some(node) = apart {
            self.apart(node);
        }
    }

    fn class(&mut self, entry: &MapEntry) {
        let name = &entry.key;
        if !self.names.insert(name.clone()) {
            return self.wrong(entry.at, format!("there are two classes '{name}'; give one another name"));
        }
        let keys = self.map(&entry.value, "a class");
        let value = |key: &str| keys.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        for other in keys.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            self.wrong(
                other.at,
                format!("a class has no key '{}'; there are {}", other.key, KEYS.join(", ")),
            );
        }
        let count = value("count").map_or(Some(1), |node| self.number(node, "count", 1, MAX_NODES));
        let Some(config) = value("class") else {
            return self.wrong(entry.at, format!("class '{name}' has no configuration; add 'class: FILE'"));
        };
        let (Some(count), Some(path)) = (count, self.scalar(config, "class")) else { return };
        let path = self.file.parent().map_or_else(|| path.into(), |directory| directory.join(path));
        let text = match (self.text_of)(&path) {
            Ok(text) => text,
            Err(error) => {
                return self.wrong(config.at, format!("{} cannot be read: {error}", path.display()));
            }
        };
        let mut class = match node::read(&path, name, &text) {
            Ok(class) => class,
            Err(problems) => return self.problems.extend(problems),
        };
        (class.name, class.count) = (name.clone(), count);
        (class.nodes, class.files) = (Vec::new(), Vec::new());
        class.peers.iter_mut().for_each(|peer| peer.nodes = count);
        if let Some(node) = value("accept_port") {
            class.accept_port = self.number(node, "accept_port", 1, u16::MAX);
        }
        if count > 1 {
            class.nis.iter_mut().for_each(|ni| ni.addresses = Addresses::UNKNOWN);
        }
        let named = self.rules(&mut class, value("addresses"), &path);
        self.of_interfaces(&mut class, value("addresses"), "addresses", &named, |reader, ni, node| {
            let texts = reader.scalars(node, "an address");
            match parse_addresses(texts, count) {
                Ok(addresses) => ni.addresses = addresses,
                Err(text) => {
                    reader.refused.push(interface_key(ni));
                    reader.wrong(node.at, text);
                }
            }
        });
        self.of_interfaces(&mut class, value("switches"), "switches", &named, |reader, ni, node| {
            ni.switches = reader.scalars(node, "a switch").into_iter().map(str::to_owned).collect();
        });
        self.of_interfaces(&mut class, value("mtu"), "mtu", &named, |reader, ni, node| {
            ni.mtu = reader.number(node, "mtu", 68, MAX_MTU).and_then(|mtu| u32::try_from(mtu).ok());
        });
        let refused = std::mem::take(&mut self.refused);
        let without = || class.nis.iter().filter(|ni| count > 1 && !ni.addresses.is_known());
        if without().any(|ni| ni.is_assumed) {
            let text = format!(
                "class '{name}' has rules of ip2nets; add the addresses of its interfaces by their names, such as \
                 'addresses: {{eth0: 10.0.0.0/16}}'"
            );
            self.wrong(entry.at, text);
        }
        let without = without().filter(|ni| !ni.is_assumed);
        for key in without.map(interface_key).filter(|key| !refused.contains(key)) {
            self.wrong(
                entry.at,
                format!("class '{name}' has no addresses for {key}; add them under 'addresses'"),
            );
        }
        self.topology.classes.push(class);
        self.topology.places.push(entry.at);
    }

    /// Evaluates the rules of `ip2nets` of a class, if it has any, for the interfaces whose addresses are given by their names. Returns these names.
    fn rules(&mut self, class: &mut Class, addresses: Option<&Node>, file: &Path) -> BTreeSet<String> {
        let (mut host, mut named) = (Vec::new(), BTreeSet::new());
        let Some(node) = addresses.filter(|_| class.nis.iter().any(|ni| ni.is_assumed)) else {
            return BTreeSet::new();
        };
        for entry in self.map(node, "addresses") {
            if entry.key.contains('@') || entry.key.parse::<NetId>().is_ok() {
                continue;
            }
            named.insert(entry.key.clone());
            match parse_addresses(self.scalars(&entry.value, "an address"), class.count) {
                Ok(addresses) => host.push((entry.key.clone(), addresses)),
                Err(text) => self.wrong(entry.value.at, text),
            }
        }
        if !named.is_empty() {
            // Of addresses or rules with mistakes nothing follows.
            if host.len() == named.len()
                && let Err((at, text)) = ip2nets::evaluate(class, &host)
            {
                self.problems.push(InputProblem { file: file.to_owned(), at: Some(at), text });
            }
            class.nis.retain(|ni| !ni.is_assumed);
        }
        named
    }

    /// Applies the values of a mapping whose keys are interfaces: `NET`, `INTERFACE`, or `INTERFACE@NET`. Those in `named` need
    /// not be on a net.
    fn of_interfaces(
        &mut self,
        class: &mut Class,
        node: Option<&Node>,
        what: &str,
        named: &BTreeSet<String>,
        apply: impl Fn(&mut Self, &mut crate::model::ClassNi, &Node),
    ) {
        let Some(node) = node else { return };
        for entry in self.map(node, what) {
            let is_meant = |ni: &crate::model::ClassNi| {
                let (name, net) = match entry.key.split_once('@') {
                    Some((name, net)) => (Some(name), Some(net)),
                    None if ni.interface.as_deref() == Some(&entry.key) => (Some(entry.key.as_str()), None),
                    None => (None, Some(entry.key.as_str())),
                };
                name.is_none_or(|name| ni.interface.as_deref() == Some(name))
                    && net.is_none_or(|net| net.parse() == Ok(ni.net))
            };
            let mut found = 0;
            for ni in class.nis.iter_mut().filter(|ni| is_meant(ni)) {
                found += 1;
                apply(self, ni, &entry.value);
            }
            match (found, what) {
                (0, _) if named.contains(&entry.key) => {}
                (0, _) => {
                    let text = format!(
                        "{} has no interface '{}'; write NET, INTERFACE or INTERFACE@NET",
                        class.file.display(),
                        entry.key
                    );
                    self.wrong(entry.at, text);
                }
                // The addresses of an interface are those on all nets that a rule puts it on.
                (1, _) | (_, "switches" | "mtu") => {}
                _ if named.contains(&entry.key) => {}
                _ => {
                    let text =
                        format!("'{}' are {found} interfaces; write INTERFACE@NET for each", entry.key);
                    self.wrong(entry.at, text);
                }
            }
        }
    }

    fn apart(&mut self, node: &Node) {
        let NodeKind::Seq(pairs) = &node.kind else {
            return self.wrong(node.at, format!("'apart' must be a sequence of pairs, not {}", node.what()));
        };
        for pair in pairs {
            let names = self.scalars(pair, "a class");
            let mut indices = Vec::new();
            for name in &names {
                match self.topology.classes.iter().position(|class| class.name == *name) {
                    Some(index) => indices.push(self.before + index),
                    None => self.wrong(pair.at, format!("there is no class '{name}'")),
                }
            }
            match indices[..] {
                [one, other] => self.topology.apart.push((one, other)),
                _ if indices.len() == names.len() => {
                    self.wrong(pair.at, "an item of 'apart' is a pair of classes, such as [clients, others]");
                }
                _ => {}
            }
        }
    }
}

/// The key by which a topology file names an interface: `INTERFACE@NET`, or `NET` without a name.
fn interface_key(ni: &crate::model::ClassNi) -> String {
    ni.interface.as_ref().map_or_else(|| ni.net.to_string(), |name| format!("{name}@{}", ni.net))
}

/// The keys of a class.
const KEYS: &[&str] = &["count", "class", "addresses", "switches", "mtu", "accept_port"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topology_files_are_known_by_their_key() {
        for (text, expected) in [
            ("classes:\n  a: {}\n", true),
            ("# a comment\nclasses : {}\n", true),
            ("net:\n  - net type: tcp\n", false),
            ("net:\n  classes: 1\n", false),
        ] {
            assert_eq!(is_topology(text), expected, "{text}");
        }
    }

    #[test]
    fn the_keys_of_a_class_are_those_of_the_schema() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys = schema["$defs"]["class"]["properties"].as_object().unwrap();
        let (mut ours, mut theirs): (Vec<_>, Vec<_>) =
            (KEYS.to_vec(), keys.keys().map(String::as_str).collect());
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }
}
