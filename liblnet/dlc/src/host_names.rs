//! Host names in place of addresses in NIDs, for texts that people write: on a command line, in a file or in a C program.
//! Messages between nodes and their clients have addresses only.

use lnet_wire::lnd_table::AddressKind;
use lnet_wire::text::Problem;
use lnet_wire::{NetId, NetType, Nid, NidPattern, Pid, ProcessId, TextError};
use std::cell::Cell;
use std::net::IpAddr;
use std::time::Duration;

/// The timeout of the system's resolver for one name.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves the host names in NIDs, for one command or one file. A resolver that has not responded once is not used again, so
/// that all names together take at most 5 s.
#[derive(Debug, Default)]
pub struct Names {
    is_without_resolver: bool,
    has_timed_out: Cell<bool>,
}

impl Names {
    /// A resolver that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// No resolver: a name is an error. For what must not use a network.
    pub fn without_resolver() -> Self {
        Self { is_without_resolver: true, ..Self::default() }
    }

    /// Reads a NID whose address may be a host name, on nets whose addresses are IP addresses; without a net it is on `tcp`.
    /// Of several addresses of the host the first IPv4 address is taken, or the first of all if there is none. Waits for the
    /// resolver. IPv6 addresses that no interface has for other nodes are refused ([`Nid::check_address`]).
    pub fn nid(&self, text: &str) -> Result<Nid, TextError> {
        let text = text.trim_start();
        let error = match text.parse::<Nid>() {
            Ok(nid) => return checked(nid),
            Err(error) => error,
        };
        let Some((host, net, kind)) = host_of(text) else { return Err(error) };
        if self.is_without_resolver {
            return Err(TextError { problem: Problem::NotLookedUp, at: 0 });
        }
        if self.has_timed_out.get() {
            return Err(TextError { problem: Problem::ResolverTimeout, at: 0 });
        }
        let found = match look_up(host.to_owned(), LOOKUP_TIMEOUT) {
            Ok(addresses) => pick(&addresses, kind),
            Err(problem) => {
                self.has_timed_out.set(problem == Problem::ResolverTimeout);
                return Err(TextError { problem, at: 0 });
            }
        };
        match found {
            Some(IpAddr::V4(address)) => Ok(Nid::new(net, address.into())),
            Some(IpAddr::V6(address)) => Ok(Nid::new_long(net, address.octets())),
            None => Err(TextError { problem: Problem::UnknownHost, at: 0 }),
        }
    }

    /// Reads `PID-NID`, or a NID with LNet's own process id. A host name may contain a `-` as well.
    pub fn process(&self, text: &str) -> Result<ProcessId, TextError> {
        if let Some((pid, nid)) = text.split_once('-')
            && let Ok(pid) = pid.parse::<Pid>()
        {
            let within = |error: TextError| TextError { at: error.at + text.len() - nid.len(), ..error };
            return self.nid(nid).map(|nid| ProcessId { nid, pid }).map_err(within);
        }
        match text.parse::<ProcessId>() {
            Ok(process) => checked(process.nid).map(|_| process),
            Err(_) => self.nid(text).map(|nid| ProcessId { nid, pid: Pid::LUSTRE }),
        }
    }

    /// Reads `*`, `*@NET`, a mask such as `10.0.0.0/8@tcp`, or a NID.
    pub fn pattern(&self, text: &str) -> Result<NidPattern, TextError> {
        match text.starts_with('*') || text.contains('/') {
            true => text.parse(),
            false => self.nid(text).map(NidPattern::from),
        }
    }
}

/// Whether the address of this NID can be a host name.
pub(crate) fn is_named(text: &str) -> bool {
    host_of(text).is_some()
}

/// The NID, unless no interface can have it.
pub(crate) fn checked(nid: Nid) -> Result<Nid, TextError> {
    nid.check_address().map(|()| nid).map_err(|problem| TextError { problem, at: 0 })
}

/// The host name, the net and the kind of its addresses, if the address of this NID can be a host name: it begins with a letter.
fn host_of(text: &str) -> Option<(&str, NetId, AddressKind)> {
    let (host, net) = match text.split_once('@') {
        Some((host, net)) => (host, net.parse().ok()?),
        None => (text, NetId::new(NetType::TCP, 0)),
    };
    let is_name = host.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    let kind = net.kind().lnd()?.addresses;
    (is_name && matches!(kind, AddressKind::Ip | AddressKind::Ipv4)).then_some((host, net, kind))
}

fn pick(addresses: &[IpAddr], kind: AddressKind) -> Option<IpAddr> {
    let v4 = addresses.iter().find(|address| address.is_ipv4());
    v4.or_else(|| addresses.first().filter(|_| kind == AddressKind::Ip)).copied()
}

/// Asks the system's resolver on a separate thread, which is abandoned when it takes too long: the resolver has no timeout that a
/// caller could set.
#[cfg(unix)]
fn look_up(host: String, timeout: Duration) -> Result<Vec<IpAddr>, Problem> {
    use std::net::ToSocketAddrs;

    resolve_within(timeout, move || {
        (host.as_str(), 0).to_socket_addrs().map(|all| all.map(|address| address.ip()).collect()).ok()
    })
}

/// An error: there is no resolver.
#[cfg(not(unix))]
fn look_up(_host: String, _timeout: Duration) -> Result<Vec<IpAddr>, Problem> {
    Err(Problem::UnknownHost)
}

#[cfg(unix)]
fn resolve_within(
    timeout: Duration,
    resolve: impl FnOnce() -> Option<Vec<IpAddr>> + Send + 'static,
) -> Result<Vec<IpAddr>, Problem> {
    let (response, answered) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("lnet_resolver".to_owned());
    let resolver = lnet_os::thread::spawn(thread, move || {
        // After the timeout the caller has stopped waiting.
        let _ = response.send(resolve());
    });
    let Ok(resolver) = resolver else { return Err(Problem::ResolverTimeout) };
    let answered = answered.recv_timeout(timeout);
    if answered.is_ok() {
        // The thread ends at once. If the process exited in the meantime, memory of the system's resolver for the thread
        // would leak.
        let _ = resolver.join();
    }
    match answered {
        Ok(Some(addresses)) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err(Problem::UnknownHost),
        Err(_) => Err(Problem::ResolverTimeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_resolver_addresses_are_read_and_names_are_refused() {
        let names = Names::without_resolver();
        assert_eq!(names.nid("10.0.0.1@tcp"), Ok("10.0.0.1@tcp".parse().unwrap()));
        let refused = names.nid("localhost@tcp").map_err(|error| error.problem);
        assert_eq!(refused, Err(Problem::NotLookedUp));
    }

    #[test]
    fn a_host_name_stands_for_its_address() {
        let names = Names::new();
        let table = [
            ("localhost@tcp", "127.0.0.1@tcp"),
            ("localhost", "127.0.0.1@tcp"),
            (" localhost@o2ib3", "127.0.0.1@o2ib3"),
            ("10.0.0.1@tcp1", "10.0.0.1@tcp1"),
            ("7@gni", "7@gni"),
        ];
        for (text, nid) in table {
            assert_eq!(names.nid(text).map(|nid| nid.to_string()), Ok(nid.to_owned()), "{text}");
        }
        let process = |text: &str| names.process(text).map(|process| process.to_string());
        assert_eq!(process("localhost@tcp"), Ok("12345-127.0.0.1@tcp".to_owned()));
        assert_eq!(process("U7-localhost@tcp"), Ok("U7-127.0.0.1@tcp".to_owned()));
        assert_eq!(process("7-10.0.0.1"), Ok("7-10.0.0.1@tcp".to_owned()));
        assert_eq!(names.pattern("localhost@tcp").map(|it| it.to_string()), Ok("127.0.0.1@tcp".to_owned()));
        for mask in ["fd99::/64@tcp", "10.0.0.0/8@tcp1"] {
            assert_eq!(names.pattern(mask).map(|it| it.to_string()), Ok(mask.to_owned()));
        }
        assert_eq!(names.pattern("*@tcp").map(|it| it.to_string()), Ok("*@tcp".to_owned()));
    }

    #[test]
    fn ipv6_addresses_that_name_no_node_are_refused_with_a_word() {
        for (text, problem) in [
            ("fe80::1@tcp", Problem::LinkLocal),
            ("fe80::1%eth0@tcp", Problem::Zone),
            ("::@tcp", Problem::NoInterfacesAddress),
            ("::ffff:10.99.0.12@tcp", Problem::MappedIpv4),
        ] {
            let error = Err(TextError { problem, at: 0 });
            assert_eq!(Names::new().nid(text), error, "{text}");
            assert_eq!(Names::new().process(text).map(|it| it.nid), error, "{text}");
            assert_eq!(crate::ops::peer::parse_nids(text, 1).map(|all| all[0]), error, "{text}");
        }
    }

    /// Fails if a text that cannot be a host name is passed to the resolver, or if the resolver's error is reported in place
    /// of the text's.
    #[test]
    fn only_what_begins_with_a_letter_on_a_net_of_ip_addresses_is_looked_up() {
        for text in
            ["", "10.0.0@tcp", "1host@tcp", "host@gni", "host@bogus", "ho st@tcp", "*@tcp", "[1-2]@tcp"]
        {
            assert_eq!(host_of(text), None, "{text}");
            let error = Names::new().nid(text).unwrap_err();
            assert!(
                !matches!(error.problem, Problem::UnknownHost | Problem::ResolverTimeout),
                "{text}: {error}"
            );
        }
        assert_eq!(
            host_of("my-host.site_1@tcp2").map(|(host, net, _)| (host, net.number())),
            Some(("my-host.site_1", 2))
        );
    }

    #[test]
    fn a_resolver_that_hangs_is_waited_for_once() {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let hangs = move || {
            let _ = held.recv();
            Some(vec![IpAddr::from([10, 0, 0, 1])])
        };
        assert_eq!(resolve_within(Duration::from_millis(1), hangs), Err(Problem::ResolverTimeout));
        drop(release);
        let names = Names { has_timed_out: Cell::new(true), ..Names::new() };
        assert_eq!(names.nid("localhost@tcp").map_err(|error| error.problem), Err(Problem::ResolverTimeout));
        assert!(names.nid("10.0.0.1@tcp").is_ok());
    }

    #[test]
    fn an_ipv4_address_is_preferred_and_o2ib_takes_no_other() {
        let addresses = ["fd00::1", "10.0.0.1"].map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!(pick(&addresses, AddressKind::Ip), Some(addresses[1]));
        assert_eq!(pick(&addresses[..1], AddressKind::Ip), Some(addresses[0]));
        assert_eq!(pick(&addresses[..1], AddressKind::Ipv4), None);
        assert_eq!(resolve_within(LOOKUP_TIMEOUT, || None), Err(Problem::UnknownHost));
    }
}
