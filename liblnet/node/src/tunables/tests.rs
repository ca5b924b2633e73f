use super::start::START;
use super::{apply, for_each};
use crate::start_config::StartConfig;
use lnet_core::cpt::{Layout, Pattern};
use lnet_core::lnd::DriverConfig;
use lnet_core::{DiscoveryMode, Errno, Settings};
use socklnd::{AcceptFrom, DeliveryAcks, SocklndConfig};
use std::num::NonZeroUsize;
use std::time::Duration;

fn start(variables: &[(&str, &str)]) -> Result<StartConfig, Errno> {
    StartConfig::from_lookup(|name| {
        variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    })
}

fn socklnd(config: &StartConfig) -> SocklndConfig {
    config.drivers.get().cloned().unwrap()
}

#[test]
fn each_variable_sets_its_field() {
    let config = start(&[
        ("LNET_NETWORKS", "tcp(127.0.1.1)"),
        ("LNET_ACCEPT", "all"),
        ("LNET_ACCEPT_PORT", " 9988 "),
        ("SOCKLND_PEER_CREDITS", "16"),
        ("SOCKLND_PEER_BUFFER_CREDITS", "12"),
        ("SOCKLND_CONNS_PER_PEER", ""),
        ("SOCKLND_ZC_MIN_PAYLOAD", "2048"),
        ("SOCKLND_DELIVERY_ACK", "ours"),
        ("LNET_CPU_NPARTITIONS", "4"),
        ("LNET_COMPARE_QUEUED_BYTES", "1"),
        ("LNET_MULTI_RAIL", "0"),
        ("LNET_MAX_PEERS", "99"),
        ("LNET_MAX_PENDING_RESPONSES", "1000"),
        ("SOCKLND_CONNS_PER_ADDRESS", "0"),
        ("SOCKLND_BIND_TO_DEVICE", "1"),
    ])
    .unwrap();
    assert!(socklnd(&config).bind_to_device && !socklnd(&start(&[]).unwrap()).bind_to_device);
    assert_eq!((config.max_peers, socklnd(&config).conns_per_address), (99, 0));
    assert_eq!(config.max_pending_responses, 1000);
    assert!(config.settings.compare_queued_bytes && !start(&[]).unwrap().settings.compare_queued_bytes);
    assert!(!config.multi_rail && start(&[]).unwrap().multi_rail);
    assert_eq!(config.networks.len(), 1);
    assert_eq!(socklnd(&config).accept, AcceptFrom::All);
    assert_eq!(socklnd(&config).accept_port, 9988);
    assert_eq!((socklnd(&config).ni.peer_credits, socklnd(&config).ni.peer_buffer_credits), (16, 12));
    assert_eq!(socklnd(&start(&[("SOCKLND_PEER_BUFFER_CREDITS", "0")]).unwrap()).ni.peer_buffer_credits, 0);
    assert_eq!(socklnd(&config).conns_per_peer, 1);
    assert_eq!(socklnd(&config).zc_min_payload, Some(2048));
    let delivery_acks = socklnd(&config).delivery_acks;
    assert_eq!(
        (delivery_acks, socklnd(&start(&[]).unwrap()).delivery_acks),
        (DeliveryAcks::SameImplementation, DeliveryAcks::All)
    );
    assert_eq!(socklnd(&start(&[("LNET_RECEIPTS", "large")]).unwrap()).delivery_acks, DeliveryAcks::Large);
    assert_eq!(config.cpts, Layout::Count(NonZeroUsize::new(4).unwrap()));
    let config = start(&[("LNET_CPU_NPARTITIONS", "4"), ("LNET_CPU_PATTERN", " N 0[1] 1[0] ")]).unwrap();
    assert_eq!(config.cpts, Layout::Pattern(Pattern::Nodes(vec![vec![1], vec![0]])));
    assert_eq!(start(&[("LNET_CPU_NPARTITIONS", "0")]).unwrap().cpts, Layout::Default);
}

#[test]
fn old_names_are_accepted_and_new_names_take_precedence() {
    let acks = |variables: &[(&str, &str)]| socklnd(&start(variables).unwrap()).delivery_acks;
    let (old, new) = (("LNET_RECEIPTS", "large"), ("SOCKLND_DELIVERY_ACK", "ours"));
    assert_eq!([acks(&[old]), acks(&[new, old])], [DeliveryAcks::Large, DeliveryAcks::SameImplementation]);
    let limit = |variables: &[(&str, &str)]| socklnd(&start(variables).unwrap()).unresponsive_timeout;
    let (old, new) = (("SOCKLND_SILENCE", "70"), ("SOCKLND_UNRESPONSIVE_MS", "80"));
    assert_eq!([limit(&[old]), limit(&[new, old])], [70, 80].map(Duration::from_millis));
}

#[test]
fn discovery_modes_are_numbers_or_words_and_the_kernel_parameter_is_inverted() {
    use DiscoveryMode::{Off, On, Verify};
    const DISABLED: &str = "LNET_PEER_DISCOVERY_DISABLED";
    let table: [(&[(&str, &str)], DiscoveryMode); 10] = [
        (&[], On),
        (&[("LNET_DISCOVERY", "0")], Off),
        (&[("LNET_DISCOVERY", "off")], Off),
        (&[("LNET_DISCOVERY", "1")], On),
        (&[("LNET_DISCOVERY", "2")], Verify),
        (&[("LNET_DISCOVERY", "verify")], Verify),
        (&[(DISABLED, "0")], On),
        (&[(DISABLED, "1")], Off),
        (&[(DISABLED, "2")], Verify),
        (&[(DISABLED, "1"), ("LNET_DISCOVERY", "2")], Off),
    ];
    for (variables, mode) in table {
        assert_eq!(start(variables).unwrap().settings.discovery, mode, "{variables:?}");
    }
    let config = start(&[("LNET_FIRST_PING", "0"), ("LNET_LOCK_PRIM_NID", "0")]).unwrap();
    assert!(!config.settings.first_ping && !config.settings.lock_primary);
}

#[test]
fn health_settings_are_checked_against_each_other() {
    let read = |variables: &[(&str, &str)]| {
        start(variables).map(|config| {
            let Settings { transaction_timeout, retry_count, health_sensitivity, .. } = config.settings;
            (transaction_timeout, retry_count, health_sensitivity)
        })
    };
    let (timeout, retries, sensitivity) =
        ("LNET_TRANSACTION_TIMEOUT", "LNET_RETRY_COUNT", "LNET_HEALTH_SENSITIVITY");
    type Case<'a> = (&'a [(&'a str, &'a str)], Result<(u32, u32, u32), Errno>);
    let table: [Case<'_>; 7] = [
        (&[], Ok((50, 2, 100))),
        (&[(timeout, "2"), (retries, "1")], Ok((2, 1, 100))),
        (&[(timeout, "2")], Err(Errno::Invalid)),
        (&[(timeout, "100"), (retries, "99")], Ok((100, 99, 100))),
        (&[(retries, "50")], Err(Errno::Invalid)),
        (&[(sensitivity, "0")], Ok((50, 0, 0))),
        (&[(sensitivity, "1000"), (retries, "0")], Ok((50, 0, 1000))),
    ];
    for (variables, expected) in table {
        assert_eq!(read(variables), expected, "{variables:?}");
    }
    let config = start(&[
        ("LNET_RESPONSE_TRACKING", "1"),
        ("LNET_RECOVERY_LIMIT", "60"),
        ("LNET_MAX_RECOVERY_PING_INTERVAL", "30"),
        ("LNET_DISCOVERY_TIMEOUT", "4"),
        ("LNET_RESEND_UNCONFIRMED", "1"),
    ]);
    let settings = config.unwrap().settings;
    let Settings { response_tracking, recovery_limit, max_recovery_ping_interval, .. } = settings;
    assert_eq!((response_tracking, recovery_limit, max_recovery_ping_interval), (1, 60, 30));
    assert_eq!(settings.discovery_timeout, 4);
    assert!(settings.resend_unconfirmed);
}

#[test]
fn invalid_values_are_rejected() {
    let table = [
        ("LNET_NETWORKS", "tcp(", Errno::Invalid),
        ("LNET_ROUTES", "tcp1", Errno::Invalid),
        ("LNET_ACCEPT", "some", Errno::Invalid),
        ("LNET_ACCEPT_PORT", "0", Errno::Invalid),
        ("LNET_ACCEPT_PORT", "65536", Errno::Invalid),
        ("SOCKLND_CREDITS", "-1", Errno::Invalid),
        ("SOCKLND_CREDITS", "2147483648", Errno::Invalid),
        ("SOCKLND_CONNS_PER_PEER", "128", Errno::Invalid),
        ("SOCKLND_ZC_MIN_PAYLOAD", "2047", Errno::Invalid),
        ("LNET_SMALL_ROUTER_BUFFERS", "-1", Errno::Invalid),
        ("SOCKLND_TYPED_CONNS", "2", Errno::Invalid),
        ("SOCKLND_IMPLEMENTATION_ID", "2", Errno::Invalid),
        ("SOCKLND_MIN_RECONNECTMS", "0", Errno::Invalid),
        ("SOCKLND_UNRESPONSIVE_MS", "-1", Errno::Invalid),
        ("SOCKLND_SILENCE", "-1", Errno::Invalid),
        ("LNET_IP2NETS_STRICT", "2", Errno::Invalid),
        ("LNET_MAX_PEERS", "0", Errno::Invalid),
        ("LNET_MAX_PENDING_RESPONSES", "0", Errno::Invalid),
        ("SOCKLND_CONNS_PER_ADDRESS", "-1", Errno::Invalid),
        ("LNET_CPU_NPARTITIONS", "257", Errno::Invalid),
        ("LNET_COMPARE_QUEUED_BYTES", "2", Errno::Invalid),
        ("LNET_MULTI_RAIL", "yes", Errno::Invalid),
        ("SOCKLND_BIND_TO_DEVICE", "eth0", Errno::Invalid),
        ("LNET_CPU_PATTERN", "0[0", Errno::Invalid),
        ("LNET_DISCOVERY", "3", Errno::Invalid),
        ("LNET_PEER_DISCOVERY_DISABLED", "3", Errno::Invalid),
        ("LNET_PEER_DISCOVERY_DISABLED", "off", Errno::Invalid),
        ("LNET_FIRST_PING", "2", Errno::Invalid),
        ("LNET_LOCK_PRIM_NID", "-1", Errno::Invalid),
        ("LNET_TRANSACTION_TIMEOUT", "0", Errno::Invalid),
        ("LNET_HEALTH_SENSITIVITY", "1001", Errno::Invalid),
        ("LNET_RESPONSE_TRACKING", "4", Errno::Invalid),
        ("LNET_RECOVERY_LIMIT", "-1", Errno::Invalid),
        ("LNET_MAX_RECOVERY_PING_INTERVAL", "0", Errno::Invalid),
        ("LNET_RESEND_UNCONFIRMED", "2", Errno::Invalid),
    ];
    for (name, value, errno) in table {
        assert_eq!(start(&[(name, value)]).err(), Some(errno), "{name}={value}");
    }
}

/// Fails if the error for a value out of range does not name the range of the command line and files.
#[test]
fn a_value_that_is_not_taken_is_answered_with_what_is_wanted() {
    let wanted = |name: &str, value: &str| {
        let look_up = |variable: &str| (variable == name).then(|| value.to_owned());
        apply(&mut StartConfig::default(), &look_up).unwrap_err().wanted
    };
    let table = [
        ("SOCKLND_CONNS_PER_PEER", "128", "a number from 0 to 127"),
        ("SOCKLND_PEER_CREDITS", "0", "a number from 1 to 2147483647"),
        ("LNET_HEALTH_SENSITIVITY", "1001", "a number from 0 to 1000"),
        ("LNET_ACCEPT_PORT", "65536", "a number from 1 to 65535"),
        ("SOCKLND_ZC_MIN_PAYLOAD", "1", "0, or a number from 2048 to 4294967295"),
        ("LNET_FIRST_PING", "yes", "a number from 0 to 1"),
        ("LNET_DISCOVERY", "yes", "0 (off), 1 (on) or 2 (verify)"),
        ("LNET_PEER_DISCOVERY_DISABLED", "3", "a number from 0 to 2"),
        ("LNET_ACCEPT", "yes", "secure, all or none"),
        ("LNET_FORWARDING", "yes", "enabled, disabled or nothing"),
        ("SOCKLND_DELIVERY_ACK", "yes", "all, ours or large"),
        ("LNET_CPU_PATTERN", "0[0", "partitions numbered from 0, such as 0[0-3] 1[4-7]"),
    ];
    for (name, value, text) in table {
        assert_eq!(wanted(name, value).to_string(), text, "{name}={value}");
    }
}

/// Fails if two rows have one name or one variable, or a row cannot write what it reads.
#[test]
fn every_row_has_its_own_name_and_variables_and_takes_its_default() {
    let mut config = StartConfig::default();
    let mut names = Vec::new();
    for_each(&config, |spec, _| {
        names.push((spec.module, spec.name));
        names.extend(spec.variables.iter().map(|variable| ("", variable.name)));
    });
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for row in START {
        let value = row.read(&config);
        assert!(value.to_string().is_empty() || row.write(&mut config, &value).is_ok(), "{}", row.spec.name);
        assert_eq!(row.read(&config), value, "{}", row.spec.name);
    }
    let socklnd = config.drivers.get_mut::<SocklndConfig>().unwrap();
    for row in SocklndConfig::TUNABLES {
        let value = row.read(socklnd);
        assert_eq!(row.write(socklnd, &value), Ok(()), "{}", row.spec.name);
        assert_eq!(row.read(socklnd), value, "{}", row.spec.name);
    }
}
