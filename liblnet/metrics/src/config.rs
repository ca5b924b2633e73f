//! What is served, and where: addresses, the variables of the environment.

use lnet_wire::Nid;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use thiserror::Error;

const METRICS: &str = "LNET_METRICS";
const EXPECT: &str = "LNET_METRICS_EXPECT";
const LUSTRE_NAMES: &str = "LNET_METRICS_LUSTRE_NAMES";

/// The variables that configure the metrics of a node, each with a short description.
pub const VARIABLES: &[(&str, &str)] = &[
    (
        METRICS,
        "where metrics, health and a page for browsers are served over HTTP: `PORT` or `HOST:PORT`; without a host, on the loopback interface only; there \
         is no authentication",
    ),
    (
        EXPECT,
        "NIDs separated by commas: peers that have to be reachable for `/healthz` to say that the node is healthy",
    ),
    (
        LUSTRE_NAMES,
        "1: some metrics are served a second time, under the names that lustrefs-exporter gives them",
    ),
];

/// An address to listen on: `PORT` or `HOST:PORT`. Without a host it is the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

/// A text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is no address; wanted is PORT or HOST:PORT, such as 9909 or 192.0.2.1:9909")]
pub struct NotAnAddress(String);

impl Address {
    /// The socket addresses that the host has.
    pub(crate) fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress(text.to_owned());
        let trimmed = text.trim();
        let (host, port) = trimmed.rsplit_once(':').unwrap_or(("", trimmed));
        let is_digits = !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_digits).ok_or_else(wrong)?;
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.filter(|it| it.contains(':')).ok_or_else(wrong)?,
            None if host.contains([':', ']', '/']) || host.contains(char::is_whitespace) => {
                return Err(wrong());
            }
            None => host,
        };
        let host = if host.is_empty() { Ipv4Addr::LOCALHOST.to_string() } else { host.to_owned() };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// What a node serves, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The address to listen on.
    pub address: Address,
    /// The peers that have to be reachable for the node to be healthy.
    pub expected: Vec<Nid>,
    /// Whether some metrics are also served under the names of lustrefs-exporter.
    pub lustre_names: bool,
}

impl MetricsConfig {
    /// The configuration that a source of variables gives; `None` without an address. The error is a text that names the variable
    /// that cannot be read.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let look_up = |name: &str| look_up(name).filter(|value| !value.trim().is_empty());
        let Some(address) = look_up(METRICS) else { return Ok(None) };
        let address = address.parse().map_err(|error| format!("{METRICS}: {error}"))?;
        let expected = look_up(EXPECT).map(|text| parse_nids(&text)).transpose();
        let expected = expected.map_err(|error| format!("{EXPECT}: {error}"))?.unwrap_or_default();
        let lustre_names = match look_up(LUSTRE_NAMES).as_deref().map(str::trim) {
            None | Some("0") => false,
            Some("1") => true,
            Some(text) => return Err(format!("{LUSTRE_NAMES}: '{text}': wanted is 0 or 1")),
        };
        Ok(Some(Self { address, expected, lustre_names }))
    }
}

/// Reads NIDs that are separated by commas.
pub fn parse_nids(text: &str) -> Result<Vec<Nid>, String> {
    let parse =
        |nid: &str| nid.trim().parse().map_err(|error| format!("'{}' is not a NID: {error}", nid.trim()));
    text.split(',').map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_host_an_address_is_on_the_loopback_interface() {
        let table = [
            ("9909", "127.0.0.1:9909"),
            (" :9909 ", "127.0.0.1:9909"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("localhost:0", "localhost:0"),
            ("[::1]:65535", "[::1]:65535"),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), expected, "{text}");
        }
        for text in
            ["", "localhost", "1:", "65536", "+1", "::1:80", "[a]:1", "[::1:2", "http://a:1", "a b:1", "-1"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn variables_without_an_address_say_nothing_and_wrong_ones_are_named() {
        let config = |variables: &[(&str, &str)]| {
            let variables = variables.to_vec();
            MetricsConfig::from_lookup(move |name| {
                variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(config(&[(METRICS, " "), (EXPECT, "?")]), Ok(None));
        let all = [(METRICS, "1"), (EXPECT, "10.0.0.1@tcp, 10.0.0.2@tcp"), (LUSTRE_NAMES, "1")];
        let read = config(&all).unwrap().unwrap();
        assert_eq!((read.expected.len(), read.lustre_names), (2, true));
        for (name, value) in
            [(METRICS, "x"), (EXPECT, "10.0.0.1@nonet"), (EXPECT, ","), (LUSTRE_NAMES, "yes")]
        {
            let error = config(&[(name, value), (METRICS, "1")]);
            assert!(error.unwrap_err().starts_with(&format!("{name}: ")), "{name}={value}");
        }
    }
}
