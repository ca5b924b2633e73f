//! Classes of lines about the configuration of a node, and about what its host has for it.

/// Adds the rows of these classes to others, and passes all to the next macro.
macro_rules! with_configuration {
    ([$next:ident $($later:ident)*] $($rows:tt)*) => {
        $next! {
            [$($later)*] $($rows)*

            FaultRule {
                name: "fault_rule",
                level: Warn,
                limit: Unlimited,
                meaning: "A fault injection rule was added: messages are dropped or delayed on purpose.",
                action: "Nothing in a test. `lnetctl fault drop del` and `lnetctl fault delay del` end it.",
            }
            ConfigInvalid {
                name: "config_invalid",
                level: Error,
                limit: Unlimited,
                meaning: "A variable of the environment or the configuration file cannot be used; the node does not start.",
                action: "Correct what is named; docs/environment.md and docs/configuration.md list what may stand there.",
            }
            ConfigChanged {
                name: "config_changed",
                level: Info,
                limit: Unlimited,
                meaning: "Somebody has changed the configuration of the node while it runs.",
                action: "Nothing. The line has the request, and the user and the process that made it.",
            }
            ConfigIgnored {
                name: "config_ignored",
                level: Warn,
                limit: Unlimited,
                meaning: "Something in the configuration has no effect on this node; all else of it has.",
                action: "Correct or remove what is named, unless one configuration serves nodes that differ.",
            }
            NiNotStarted {
                name: "ni_not_started",
                level: Error,
                limit: Unlimited,
                meaning: "An interface could not be added to the node.",
                action: "Do what the line says, or compare the configuration with `ip address`. `Address already in use`: another node of this machine has the address.",
            }
            NiWaiting {
                name: "ni_waiting",
                level: Warn,
                limit: PerSubject,
                meaning: "An interface of the configuration is not there when the node starts, is down or has no address. The node starts without it.",
                action: "Nothing, if the interface comes later in the boot. `lnetctl net show` has what the node waits for; a name that is wrong goes with `lnetctl net del`.",
            }
            NiStarted {
                name: "ni_started",
                level: Info,
                limit: PerSubject,
                meaning: "An interface that was not there when the node started has come, and its NI is in use.",
                action: "Nothing.",
            }
            NoNetwork {
                name: "no_network",
                level: Warn,
                limit: Unlimited,
                meaning: "The node has no interface but the loopback and reaches no other node.",
                action: "Set LNET_NETWORKS, or add a net with `lnetctl net add`.",
            }
            NetworkDown {
                name: "network_down",
                level: Error,
                limit: Unlimited,
                meaning: "The program has called a function of the C API, and the process has never had a network: LNetNIInit has not been called, or has failed. One line for each process.",
                action: "Mend the program: it calls LNetNIInit first, and goes on only if the result is not negative.",
            }
            SubnetShared {
                name: "subnet_shared",
                level: Warn,
                limit: Unlimited,
                meaning: "Interfaces of this node are in one subnet on different links, and what one of them sends leaves by the link of another: the machine has no source routes. Several NIs use one link, and stop with it.",
                action: "Add a source route for each address (`ip rule add from ADDRESS table N`, `ip route add SUBNET dev LINK table N`), or set SOCKLND_BIND_TO_DEVICE=1. In both cases set arp_ignore=1 and arp_announce=2 for the links, so that each answers for its own address.",
            }
            RequestWarning {
                name: "request_warning",
                level: Warn,
                limit: Unlimited,
                meaning: "A node in another process carried out what this process asked for through liblnetconfig, and warns about it. The line is that node's, which has it in its own log as well.",
                action: "Do what the line says.",
            }
            LinksUnwatched {
                name: "links_unwatched",
                level: Warn,
                limit: Unlimited,
                meaning: "The links and addresses of this machine are not watched. That an interface has failed is found by timeouts only.",
                action: "See whether the process may open netlink sockets (sandbox, seccomp), and how many descriptors it may have.",
            }
            LinkListFailed {
                name: "link_list_failed",
                level: Warn,
                limit: PerSubject,
                meaning: "The links of this machine could not be listed; the node tries again.",
                action: "Look for a shortage of descriptors or memory.",
            }
            NumaUnknown {
                name: "numa_unknown",
                level: Info,
                limit: Unlimited,
                meaning: "The kernel does not say on which NUMA node memory is (a container may forbid it). Interfaces are chosen by the NUMA node of the thread.",
                action: "Nothing, or allow the process move_pages().",
            }
        }
    };
}

pub(super) use with_configuration;
