//! Ways to break a rail between machine 0 and machine 1, and to mend it.

use super::machines::{Machines, port, run};
use super::netns::ip;

/// Breaks (`false`) or mends the rail of a card.
pub type Break = fn(&Machines, usize, bool);

/// The ways to break a rail, with their names.
pub const BREAKS: [(&str, Break); 3] =
    [("link", set_link), ("blackhole", set_forwarding), ("cable", set_plugged)];

/// The link of machine 0.
pub fn set_link(machines: &Machines, card: usize, up: bool) {
    let name = format!("eth{card}");
    machines.ip_on(0, &[&["link", "set", &name, if up { "up" } else { "down" }]]);
    if up {
        machines.ip_on(0, &[&machines.wiring().route(card).each_ref().map(String::as_str)]);
    }
}

/// Makes the switch forward or drop packets from and to machine 1.
pub fn set_forwarding(machines: &Machines, card: usize, forwarding: bool) {
    let port = port(1, card);
    let state = if forwarding { "3" } else { "0" };
    machines.in_the_middle(|| run("bridge", &["link", "set", "dev", &port, "state", state]));
}

/// The cable of machine 0, whose carrier stays.
pub fn set_plugged(machines: &Machines, card: usize, plugged: bool) {
    let (port, switch) = (port(0, card), machines.wiring().switch(card));
    machines.in_the_middle(|| match plugged {
        true => ip(&["link", "set", &port, "master", &switch]),
        false => ip(&["link", "set", &port, "nomaster"]),
    });
}
