//! A network of a test's own, in which every address of the captures is local.
//!
//! In it a test has the kernel nodes' exact NIDs, port 988 and the privileged source ports to itself, and
//! nothing it sends can leave the machine.

use std::env;
use std::process::Command;
use std::thread;

/// The machines of the captures that are guests: 10.99.0.11 and fd99::11 are the addresses of the first link of the first of them.
const GUESTS: [u8; 3] = [1, 2, 3];
/// The links of each machine.
const LINKS: [u8; 2] = [0, 1];

/// All addresses of the captures' networks, including those that no interface has.
const LOCAL_NETS: [&str; 2] = ["10.99.0.0/16", "fd99::/16"];

/// Set in the test process that a test starts for itself in a user namespace.
const WITHIN_USER_NAMESPACE: &str = "LNET_TEST_WITHIN_USER_NAMESPACE";

/// Proof that the calling thread, and each that it starts from now on, is in a network namespace of the test.
#[derive(Debug)]
pub struct Namespace(());

/// Moves the calling thread into a new network namespace. `None` means that the test should return: either
/// it cannot run here, which is reported, or it has just run and passed in a process in a user namespace.
pub fn namespace_or_skip() -> Option<Namespace> {
    let namespace = empty_namespace_or_skip()?;
    bring_up_addresses();
    Some(namespace)
}

/// Does the same as [`namespace_or_skip`], but the namespace has only a loopback device, which is down.
pub fn empty_namespace_or_skip() -> Option<Namespace> {
    if enter_new_network_namespace() {
        return Some(Namespace(()));
    }
    if env::var_os(WITHIN_USER_NAMESPACE).is_none() && user_namespaces_work() {
        run_this_test_in_a_user_namespace();
        return None;
    }
    test_support::skip("making a network namespace needs root, or user namespaces");
    None
}

/// Moves the calling thread, and each that it starts from now on, to a new network namespace. Returns whether that succeeded.
pub fn enter_new_network_namespace() -> bool {
    // SAFETY: unshare takes no pointers, and CLONE_NEWNET leaves memory and file descriptors shared.
    unsafe { libc::unshare(libc::CLONE_NEWNET) == 0 }
}

fn bring_up_addresses() {
    ip(&["link", "set", "lo", "up"]);
    // The host of the guests is not one: its addresses are on the loopback.
    LINKS.iter().for_each(|link| add_addresses("lo", *link, 1));
    for guest in GUESTS {
        // An interface has the addresses of both families that a captured one had. What is sent to them is delivered by the loopback.
        let [first, second] = LINKS.map(|link| format!("g{guest}eth{link}"));
        ip(&["link", "add", &first, "type", "veth", "peer", "name", &second]);
        for (link, name) in LINKS.iter().zip([&first, &second]) {
            ip(&["link", "set", name, "up"]);
            add_addresses(name, *link, 10 + guest);
        }
    }
    for net in LOCAL_NETS {
        ip(&["route", "add", "local", net, "dev", "lo"]);
    }
}

/// Adds the addresses that end with `host` in the nets of a link.
fn add_addresses(device: &str, link: u8, host: u8) {
    let v6_net = if link == 0 { "fd99:".to_owned() } else { format!("fd99:{link}:") };
    ip(&["address", "add", &format!("10.99.{link}.{host}/32"), "dev", device]);
    // Without the last word an IPv6 address is not usable at once.
    ip(&["address", "add", &format!("{v6_net}:{host}/128"), "dev", device, "nodad"]);
}

/// Runs `ip` in the calling thread's namespace. Only a command about IPv6 may fail: some machines have none.
pub fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("the ip command (iproute2)");
    let ipv6 = arguments.iter().any(|argument| argument.contains("::"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || ipv6, "ip {}: {error}", arguments.join(" "));
}

fn user_namespaces_work() -> bool {
    Command::new("unshare").args(["-Urn", "true"]).output().is_ok_and(|output| output.status.success())
}

fn run_this_test_in_a_user_namespace() {
    let thread = thread::current();
    let test = thread.name().unwrap_or(MAIN_THREAD);
    let arguments = match test {
        // If there is one test, or one runs at a time, the thread has no name: all tests of the command line are run.
        MAIN_THREAD => env::args().skip(1).collect(),
        test => ["--exact", "--nocapture", test].map(str::to_owned).to_vec(),
    };
    let status = Command::new("unshare")
        .args(["-Urn", "--"])
        .arg(env::current_exe().expect("the test's own binary"))
        .args(arguments)
        .env(WITHIN_USER_NAMESPACE, "1")
        .status()
        .expect("unshare to start");
    assert!(status.success(), "{test} failed in a user namespace");
    println!("{test} ran in a user namespace");
}

const MAIN_THREAD: &str = "main";
