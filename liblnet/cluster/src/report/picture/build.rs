//! From a cluster and its findings to vertices and links.

use super::graph::{Bar, Graph, Link, Role, Status, SwitchVertex, Tag, Vertex};
use crate::checks::{Finding, FindingKind, Severity};
use crate::model::{Class, Cluster, Element, NidIndex, NodeRef};
use crate::reach::{Gateway, GroupRoute, Passage, Reach};
use crate::report::Counts;
use lnet_wire::NetId;
use std::collections::{BTreeMap, BTreeSet};

/// Makes the graph of a cluster, with one vertex for each class and one bar for each net.
pub(super) fn build(cluster: &Cluster, findings: &[Finding]) -> Graph {
    let reach = Reach::of(cluster, &NidIndex::of(cluster), None);
    let mut building = Building { cluster, reach, graph: Graph::default(), bar_of: BTreeMap::new() };
    building.graph.title = title(cluster, findings);
    cluster.nets().into_iter().for_each(|net| _ = building.bar(net));
    (0..cluster.classes.len()).for_each(|class| building.class(class));
    building.switches();
    (0..cluster.classes.len()).for_each(|class| building.routes(class));
    findings.iter().for_each(|finding| building.finding(finding));
    building.graph.links.sort_by_key(|link| (link.vertex, link.bar));
    building.graph
}

fn title(cluster: &Cluster, findings: &[Finding]) -> String {
    let Counts { errors, warnings, notes } = Counts::of(findings);
    let counted = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}{}", if one.ends_with('s') { "es" } else { "s" }),
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    format!(
        "{} in {} on {}: {}, {}, {}",
        counted(cluster.node_count(), "node"),
        counted(number(cluster.classes.len()), "class"),
        counted(number(cluster.nets().len()), "net"),
        counted(number(errors), "error"),
        counted(number(warnings), "warning"),
        counted(number(notes), "note"),
    )
}

struct Building<'a> {
    cluster: &'a Cluster,
    reach: Reach,
    graph: Graph,
    bar_of: BTreeMap<NetId, usize>,
}

impl Building<'_> {
    /// The bar of a net, which may be one that nobody is on.
    fn bar(&mut self, net: NetId) -> usize {
        let bars = &mut self.graph.bars;
        *self.bar_of.entry(net).or_insert_with(|| {
            let (status, tags, notes) = Default::default();
            bars.push(Bar { name: net.to_string(), nets: 1, status, tags, notes });
            bars.len() - 1
        })
    }

    /// Adds the vertex of a class, whose index is the same, and its links.
    fn class(&mut self, index: usize) {
        let class = &self.cluster.classes[index];
        self.graph.vertices.push(Vertex {
            name: class.name.clone(),
            role: if class.is_router { Role::Router } else { Role::End },
            classes: 1,
            nodes: class.count,
            detail: String::new(),
            status: Status::Sound,
            tags: BTreeSet::new(),
            notes: Vec::new(),
        });
        for net in class.nets() {
            let bar = self.bar(net);
            let label = link_label(class, net);
            self.graph.links.push(Link { vertex: index, bar, status: Status::Sound, exists: true, label });
        }
    }

    fn switches(&mut self) {
        let labels = self.cluster.switches();
        let mut all: BTreeMap<&str, SwitchVertex> = labels
            .into_iter()
            .map(|label| {
                let (interfaces, links, status, tags, notes) = Default::default();
                (label, SwitchVertex { name: label.to_owned(), interfaces, links, status, tags, notes })
            })
            .collect();
        for (index, class) in self.cluster.classes.iter().enumerate() {
            for ni in &class.nis {
                let period = u64::try_from(ni.switches.len()).unwrap_or(u64::MAX);
                for (residue, label) in (0..class.count).zip(&ni.switches) {
                    if let Some(switch) = all.get_mut(label.as_str()) {
                        switch.interfaces += class.count / period + u64::from(residue < class.count % period);
                        switch.links.insert((index, self.bar_of[&ni.net]));
                    }
                }
            }
        }
        self.graph.switches.extend(all.into_values());
    }

    /// Marks what is broken about the routes of a class.
    fn routes(&mut self, user: usize) {
        let routes: Vec<GroupRoute> =
            self.reach.groups().get(user).map_or(Vec::new(), |it| it.routes.clone());
        for route in routes {
            if let Gateway::Group(gateway) = route.gateway
                && let Some(vertex) = self.graph.vertices.get_mut(gateway)
            {
                vertex.role = Role::Router;
            }
            let works = self.reach.working_routes(user, route.net).any(|it| it.index == route.index);
            if !works && !self.cluster.classes[user].is_on(route.net) {
                self.broken_route(user, &route);
            }
        }
    }

    fn broken_route(&mut self, user: usize, route: &GroupRoute) {
        let cluster = self.cluster;
        let class = &cluster.classes[user];
        if !class.is_on(route.gateway_net) {
            self.missing_link(user, route.gateway_net);
        }
        match route.gateway {
            Gateway::Assumed => {}
            Gateway::Nobody => {
                let Some(said) = class.routes.get(route.index) else { return };
                let kind = FindingKind::GatewayNobody;
                let note =
                    format!("no node has this NID, by which {} has a route to {}", class.label(), route.net);
                let name = said.gateway.to_string();
                let vertex = Vertex::missing(name, "no such gateway".to_owned(), kind, note);
                self.missing_vertex(vertex, [route.gateway_net, route.net]);
            }
            Gateway::Group(gateway) => {
                let its_class = &cluster.classes[gateway];
                if !its_class.is_router {
                    let of_gateway = self.graph.links.iter_mut().filter(|link| link.vertex == gateway);
                    of_gateway.for_each(|link| link.status = Status::Broken);
                } else if !its_class.is_on(route.net)
                    && !its_class.routes.iter().any(|own| own.net == route.net)
                {
                    self.missing_link(gateway, route.net);
                }
            }
        }
    }

    /// Adds a link that would be needed.
    fn missing_link(&mut self, vertex: usize, net: NetId) {
        let bar = self.bar(net);
        if !self.graph.links.iter().any(|link| (link.vertex, link.bar) == (vertex, bar)) {
            let label = "not connected".to_owned();
            self.graph.links.push(Link { vertex, bar, status: Status::Broken, exists: false, label });
        }
    }

    /// Adds a vertex that would be needed; one of the same name gets further links.
    fn missing_vertex(&mut self, vertex: Vertex, nets: impl IntoIterator<Item = NetId>) {
        let same =
            |it: &Vertex| (it.role, &it.name, &it.detail) == (vertex.role, &vertex.name, &vertex.detail);
        let index = self.graph.vertices.iter().position(same).unwrap_or_else(|| {
            self.graph.vertices.push(vertex);
            self.graph.vertices.len() - 1
        });
        for net in nets {
            let bar = self.bar(net);
            if !self.graph.links.iter().any(|link| (link.vertex, link.bar) == (index, bar)) {
                let label = String::new();
                self.graph.links.push(Link {
                    vertex: index,
                    bar,
                    status: Status::Broken,
                    exists: false,
                    label,
                });
            }
        }
    }

    /// Puts a finding where it belongs.
    fn finding(&mut self, finding: &Finding) {
        if finding.kind == FindingKind::NoPath {
            return self.no_path(finding);
        }
        let mut is_placed = false;
        for element in &finding.elements {
            match element {
                Element::Net(net) => {
                    let bar = self.bar(*net);
                    let bar = &mut self.graph.bars[bar];
                    mark(finding, &mut bar.status, &mut bar.tags, &mut bar.notes);
                    is_placed = true;
                }
                Element::Switch(label) => {
                    self.single_switch(label, finding);
                    is_placed = true;
                }
                Element::Node(NodeRef { class, .. }) => {
                    let links = self.graph.links.iter_mut().filter(|link| link.vertex == *class);
                    links.for_each(|link| link.status = link.status.max(Status::Single));
                }
                Element::Interface { node, nis } => {
                    let nis = nis.iter().filter_map(|ni| self.cluster.classes.get(node.class)?.nis.get(*ni));
                    let bars: Vec<usize> = nis.map(|ni| self.bar_of[&ni.net]).collect();
                    let links = self.graph.links.iter_mut();
                    let lost = links.filter(|link| link.vertex == node.class && bars.contains(&link.bar));
                    lost.for_each(|link| link.status = link.status.max(Status::Single));
                }
            }
        }
        if !is_placed {
            for class in &finding.classes {
                if let Some(it) = self.graph.vertices.get_mut(*class) {
                    // An interface whose loss matters is marked itself, the other interfaces of the nodes are not.
                    let mut of_interfaces = it.status;
                    let is_of_interface = finding.kind == FindingKind::SingleInterface;
                    let status = if is_of_interface { &mut of_interfaces } else { &mut it.status };
                    mark(finding, status, &mut it.tags, &mut it.notes);
                }
            }
        }
    }

    fn single_switch(&mut self, label: &str, finding: &Finding) {
        let Some(switch) = self.graph.switches.iter_mut().find(|switch| switch.name == label) else { return };
        mark(finding, &mut switch.status, &mut switch.tags, &mut switch.notes);
        let lost = self.graph.links.iter_mut().filter(|link| switch.links.contains(&(link.vertex, link.bar)));
        lost.for_each(|link| link.status = link.status.max(Status::Single));
    }

    /// Adds a missing path between the nets of the classes of a finding. For nodes that only get no responses, it is the path back.
    fn no_path(&mut self, finding: &Finding) {
        let Some((from, targets)) = finding.classes.split_first() else { return };
        let Some(source) = self.cluster.classes.get(*from) else { return };
        let targets: Vec<(usize, &Class)> =
            targets.iter().filter_map(|to| Some((*to, self.cluster.classes.get(*to)?))).collect();
        let Some((first, first_class)) = targets.first() else { return };
        let more = if targets.len() > 1 { format!(" and {} more", targets.len() - 1) } else { String::new() };
        let target = format!("{}{more}", first_class.name);
        let detail = match self.reach.passage(*from, *first) {
            Passage::NoResponse => format!("{target} \u{2192} {}", source.name),
            _ => format!("{} \u{2192} {target}", source.name),
        };
        let mut nets = source.nets();
        nets.extend(targets.iter().flat_map(|(_, class)| class.nets()));
        let vertex = Vertex::missing("no path".to_owned(), detail, FindingKind::NoPath, note_of(finding));
        self.missing_vertex(vertex, nets);
    }
}

/// Adds a finding to a part of the picture.
fn mark(finding: &Finding, status: &mut Status, tags: &mut BTreeSet<Tag>, notes: &mut Vec<String>) {
    let is_single = matches!(
        finding.kind,
        FindingKind::SingleRouter
            | FindingKind::SingleSwitch
            | FindingKind::SingleNet
            | FindingKind::SingleInterface
    );
    let its = match finding.severity {
        Severity::Error => Status::Broken,
        _ if is_single => Status::Single,
        _ => Status::Sound,
    };
    *status = its.max(*status);
    tags.insert(Tag { severity: finding.severity, id: finding.kind.row().id });
    notes.push(note_of(finding));
}

fn note_of(finding: &Finding) -> String {
    format!("{}: {}: {}", finding.severity.word(), finding.kind.row().id, finding.what)
}

/// The interfaces of a class on a net: their names if they have some, and their switches.
fn link_label(class: &Class, net: NetId) -> String {
    let on_net: Vec<_> = class.nis.iter().filter(|ni| ni.net == net).collect();
    let names: Vec<&str> = on_net.iter().filter_map(|ni| ni.interface.as_deref()).collect();
    let switches: BTreeSet<&str> = on_net.iter().flat_map(|ni| &ni.switches).map(String::as_str).collect();
    let names = match (names.len(), on_net.len()) {
        (0, 0 | 1) => String::new(),
        (0, count) => format!("{count} interfaces"),
        _ => names.join(", "),
    };
    let switches: Vec<&str> = switches.into_iter().collect();
    match (names.is_empty(), switches.is_empty()) {
        (_, true) => names,
        (true, false) => format!("at {}", switches.join(", ")),
        (false, false) => format!("{names} at {}", switches.join(", ")),
    }
}
