//! Conversion of the kernel modules' options, as in files of modprobe.d(5), to a configuration: `lnetctl convert`.
//!
//! The modules are `lnet` and the drivers, whose tunables become those of the interfaces on their nets. The `options` lines of all files
//! are read as one list, of which the last value of a parameter counts, as for modprobe(8).

mod options;

use crate::ip2nets::{self, Rule};
use crate::model::{Block, Document, Ip2netsItem, Item, NetItem, NiItem, Place, RouteItem};
use crate::networks::{self, Network};
use crate::ranges::{CONNS_PER_PEER, Range};
use crate::request::{LndNumber, LndTunables, NiTunables};
use crate::{InterfaceSpec, SeqNo, routes};
use lnet_settings::Setting;
use lnet_wire::NetType;
use options::ModuleOption;
use std::fmt;

/// The configuration that the options say, and the options that no key of it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The configuration: what is to be imported in place of loading the modules with the options.
    pub document: Document,
    /// The options that are not in it, those of `lnet` first.
    pub left: Vec<Left>,
}

/// An option with its place in the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The name of the file.
    pub file: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// The option, as in `lnet accept_port=989`.
    pub option: String,
    /// The reason why it is not in the configuration, or is wrong.
    pub reason: String,
}

/// Writes `lnet.conf:3: lnet accept_port=989: ...`.
impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, option, reason } = self;
        write!(f, "{file}:{line}: {option}: {reason}")
    }
}

/// Converts the options in files, given as pairs of name and text. Options that are wrong are returned as the error, all of them.
pub fn convert(files: &[(String, String)]) -> Result<Converted, Vec<Left>> {
    let mut conversion = Conversion::default();
    // The nets come first: a driver's tunables are those of interfaces on its nets.
    let (of_lnet, of_drivers): (Vec<_>, Vec<_>) =
        last_values(files).into_iter().partition(|given| given.option.module == LNET);
    for given in of_lnet.into_iter().chain(of_drivers) {
        match conversion.take(&given.option) {
            Ok(Fit::Taken) if !conversion.applies(&given.option) => {
                conversion.left.push(given.left(NO_NET.to_owned()));
            }
            Ok(Fit::Taken) => {}
            Ok(Fit::Left(reason)) => conversion.left.push(given.left(reason.to_owned())),
            Err(reason) => conversion.wrong.push(given.left(reason)),
        }
    }
    conversion.end()
}

/// An option and the file that it is in.
#[derive(Clone, Copy, Debug)]
struct Given<'a, O> {
    file: &'a str,
    option: O,
}

impl Given<'_, ModuleOption> {
    fn left(&self, reason: String) -> Left {
        let ModuleOption { line, module, name, value } = &self.option;
        let option = if value.contains(char::is_whitespace) {
            format!("{module} {name}=\"{value}\"")
        } else {
            format!("{module} {name}={value}")
        };
        Left { file: self.file.to_owned(), line: *line, option, reason }
    }
}

/// The options of LNet's modules in all files; of those that are there several times the last.
fn last_values(files: &[(String, String)]) -> Vec<Given<'_, ModuleOption>> {
    let mut all: Vec<Given<'_, ModuleOption>> = Vec::new();
    for (file, text) in files {
        for option in options::options(text).into_iter().filter(|option| is_of_lnet(&option.module)) {
            all.retain(|known| (&known.option.module, &known.option.name) != (&option.module, &option.name));
            all.push(Given { file, option });
        }
    }
    all
}

/// The drivers' modules and the kinds of their nets.
const DRIVERS: [(&str, NetType); 4] = [
    ("ksocklnd", NetType::TCP),
    ("ko2iblnd", NetType::O2IB),
    ("kgnilnd", NetType::GNI),
    ("kkfilnd", NetType::KFI),
];

fn is_of_lnet(module: &str) -> bool {
    module == LNET || DRIVERS.iter().any(|(driver, _)| *driver == module)
}

/// Whether a configuration can say what an option says; if not, the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Taken,
    Left(&'static str),
}

const LNET: &str = "lnet";
/// The reasons why an option that is not wrong is left.
const NO_NET: &str = "there is no net of this driver";
const NO_KEY: &str =
    "no key of a file has it; 'lnetctl tunables' shows the settings that environment variables have";
const ZERO_IS_DEFAULT: &str =
    "0 is the default in a file; the environment variable that ends in _PEER_TIMEOUT takes it";
/// The numbers of router buffers, in the order of the block `buffers`.
const BUFFERS: [&str; 3] = ["tiny_router_buffers", "small_router_buffers", "large_router_buffers"];

/// The setting of the block `global` that is a parameter of the module `lnet`, and whether their values are opposites.
fn setting(name: &str) -> Option<(Setting, bool)> {
    let (key, is_opposite) = match name {
        "lnet_interfaces_max" => ("max_interfaces", false),
        "lnet_peer_discovery_disabled" => ("discovery", true),
        "router_sensitivity_percentage" => ("router_sensitivity", false),
        other => (other.strip_prefix("lnet_")?, false),
    };
    Setting::all_global().find(|setting| setting.name() == key).map(|setting| (setting, is_opposite))
}

/// The tunables of the interfaces of one kind of net.
#[derive(Clone, Copy, Debug, Default)]
struct DriverTunables {
    common: NiTunables,
    lnd: LndTunables,
}

impl DriverTunables {
    /// Takes a tunable of the driver of nets of this kind, if it is one that files have.
    fn take(&mut self, kind: NetType, name: &str, value: &str) -> Result<Fit, String> {
        let within = |range: Range| range.check(self::number(value)?).map_err(|error| error.to_string());
        let number = || number(value).and_then(|it| u32::try_from(it).map_err(|_| not_a_number(value)));
        let field = match name {
            "credits" => &mut self.common.credits,
            "peer_credits" => &mut self.common.peer_credits,
            "peer_buffer_credits" => &mut self.common.peer_buffer_credits,
            "peer_timeout" if number()? == 0 => return Ok(Fit::Left(ZERO_IS_DEFAULT)),
            "peer_timeout" => &mut self.common.peer_timeout,
            "conns_per_peer" => {
                self.lnd.conns_per_peer = u16::try_from(within(CONNS_PER_PEER)?).ok();
                return Ok(Fit::Taken);
            }
            other => {
                // The key differs from the parameter in one name.
                let key = if other == "peer_credits_hiw" { "peercredits_hiw" } else { other };
                let Some(row) = LndNumber::named(key).filter(|row| row.of == kind) else {
                    return Ok(Fit::Left(NO_KEY));
                };
                self.lnd.numbers.give(row, within(row.range)?);
                return Ok(Fit::Taken);
            }
        };
        // 0 is the default in a file.
        *field = Some(number()?).filter(|number| *number > 0);
        Ok(Fit::Taken)
    }
}

/// Everything that the options have said so far.
#[derive(Debug, Default)]
struct Conversion {
    networks: Vec<Network>,
    ip2nets: Vec<Rule>,
    routes: Vec<Item<RouteItem>>,
    forwarding: Option<bool>,
    buffers: [Option<u32>; 3],
    settings: Vec<(Setting, i64)>,
    drivers: [DriverTunables; DRIVERS.len()],
    left: Vec<Left>,
    wrong: Vec<Left>,
}

impl Conversion {
    /// Takes an option if a key of files has it; the error is what is wrong with it.
    fn take(&mut self, option: &ModuleOption) -> Result<Fit, String> {
        let ModuleOption { module, name, value, .. } = option;
        let drivers = DRIVERS.iter().zip(&mut self.drivers);
        if let Some(((_, kind), tunables)) = drivers.into_iter().find(|((driver, _), _)| driver == module) {
            return tunables.take(*kind, name, value);
        }
        match name.as_str() {
            "networks" => {
                self.networks = networks::parse(value).map_err(|error| error.to_string())?;
                self.refuse_both()?;
            }
            "ip2nets" => {
                self.ip2nets = ip2nets::parse_string(value).map_err(|error| error.to_string())?;
                self.refuse_both()?;
            }
            "routes" => {
                let routes = routes::parse(value).map_err(|error| error.to_string())?;
                self.routes = routes.iter().map(|route| item(route_item(route))).collect();
            }
            "forwarding" => {
                self.forwarding = match value.as_str() {
                    "enabled" => Some(true),
                    "disabled" | "" => Some(false),
                    other => return Err(format!("`{other}` is neither enabled nor disabled")),
                }
            }
            name => {
                if let Some(size) = BUFFERS.iter().position(|buffers| *buffers == name) {
                    let count = u32::try_from(number(value)?).map_err(|_| not_a_number(value))?;
                    // 0 is the default in the kernel.
                    self.buffers[size] = Some(count).filter(|count| *count > 0);
                } else if let Some((setting, is_opposite)) = setting(name) {
                    let value = number(value)?;
                    let value = if is_opposite { i64::from(value == 0) } else { value };
                    let value = setting.spec().range().check(value).map_err(|error| error.to_string())?;
                    self.settings.push((setting, value));
                } else {
                    return Ok(Fit::Left(NO_KEY));
                }
            }
        }
        Ok(Fit::Taken)
    }

    /// Whether an option belongs to something that the options make: those of drivers need a net.
    fn applies(&self, option: &ModuleOption) -> bool {
        let kind = DRIVERS.iter().find(|(driver, _)| *driver == option.module).map(|(_, kind)| *kind);
        let mut nets = self.networks.iter().map(|it| it.net).chain(self.ip2nets.iter().map(|rule| rule.net));
        kind.is_none_or(|kind| nets.any(|net| net.kind() == kind))
    }

    /// Refuses nets in both ways, as the module does.
    fn refuse_both(&self) -> Result<(), String> {
        match self.networks.is_empty() || self.ip2nets.is_empty() {
            true => Ok(()),
            false => Err("networks and ip2nets exclude each other; keep one of them".to_owned()),
        }
    }

    fn end(self) -> Result<Converted, Vec<Left>> {
        let Self { networks, ip2nets, routes, forwarding, buffers, settings, drivers, left, wrong } = self;
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let tunables = |kind: NetType| {
            let driver = DRIVERS.iter().position(|(_, its)| *its == kind);
            driver.map_or_else(DriverTunables::default, |at| drivers[at])
        };
        // An item of `net` names its interfaces. A rule may leave them out, and then means the first of the machine, as `networks=tcp`
        // does. All nets become rules then, so that their order stays.
        let as_rules = networks.iter().any(|network| network.interfaces.is_empty());
        let (networks, as_rules) = if as_rules { (Vec::new(), networks) } else { (networks, Vec::new()) };
        let nets = networks.into_iter().map(|network| {
            let tunables = tunables(network.net.kind());
            item(net_item(network, tunables))
        });
        let of_networks = as_rules
            .into_iter()
            .map(|Network { net, interfaces, cpts }| (Rule { net, interfaces, ranges: Vec::new() }, cpts));
        let rules = of_networks.chain(ip2nets.into_iter().map(|rule| (rule, None))).map(|(rule, cpts)| {
            let DriverTunables { common, lnd } = tunables(rule.net.kind());
            item(Ip2netsItem { rule, tunables: common, lnd, cpts })
        });
        let (nets, rules): (Vec<_>, Vec<_>) = (nets.collect(), rules.collect());
        let blocks = [
            (!nets.is_empty()).then_some(Block::Net(nets)),
            (!rules.is_empty()).then_some(Block::Ip2nets(rules)),
            (!routes.is_empty()).then_some(Block::Route(routes)),
            forwarding.map(|on| Block::Routing(item(Some(on)))),
            buffers.iter().any(Option::is_some).then(|| Block::Buffers(item(buffers))),
            (!settings.is_empty()).then(|| Block::Global(item(settings))),
        ];
        let document = Document { blocks: blocks.into_iter().flatten().collect(), empty: Vec::new() };
        Ok(Converted { document, left })
    }
}

fn net_item(network: Network, tunables: DriverTunables) -> NetItem {
    let DriverTunables { common, lnd } = tunables;
    let ni = |interface, cpts| NiItem { interface, tunables: common, lnd, cpts, ..NiItem::default() };
    let Network { net, interfaces, cpts } = network;
    let nis = interfaces.into_iter().map(|InterfaceSpec { name, cpts: own }| {
        ni(Some(InterfaceSpec::named(name)), own.or_else(|| cpts.clone()))
    });
    NetItem { net: Some(net), nis: nis.collect(), ip2net: None, detail: None }
}

fn route_item(route: &crate::request::AddRoute) -> RouteItem {
    RouteItem {
        net: Some(route.net),
        gateway: Some(route.gateway.to_string()),
        hops: route.hops,
        priority: Some(route.priority).filter(|priority| *priority > 0),
        sensitivity: None,
        detail: None,
    }
}

const fn item<T>(it: T) -> Item<T> {
    Item { it, at: Place { line: 0, column: 0 }, seq_no: SeqNo::NONE }
}

/// Reads a number as the kernel does: decimal, hexadecimal with 0x, octal with 0.
fn number(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let parsed = match (digits.strip_prefix("0x"), digits.strip_prefix('0')) {
        (Some(hexadecimal), _) => i64::from_str_radix(hexadecimal, 16),
        (None, Some(octal)) if !octal.is_empty() => i64::from_str_radix(octal, 8),
        _ => digits.parse(),
    };
    let sign = if digits.len() < text.len() { -1 } else { 1 };
    parsed.map(|number| sign * number).map_err(|_| not_a_number(text))
}

fn not_a_number(text: &str) -> String {
    format!("`{text}` is no number that it takes")
}

#[cfg(test)]
mod tests;
