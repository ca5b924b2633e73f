# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_lnetctl_global_optspecs
    string join \n list-commands node= format= h/help V/version
end

function __fish_lnetctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_lnetctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_lnetctl_using_subcommand
    set -l cmd (__fish_lnetctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c lnetctl -n "__fish_lnetctl_needs_command" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_needs_command" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_needs_command" -l list-commands -d 'Print the names of all commands'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -s V -l version -d 'Print version'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "lnet" -d 'Bring LNet up or down'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "route" -d 'Routes: nets that are reached over other nodes'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "net" -d 'Nets and the interfaces on them'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "routing" -d 'What this node has as a router'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "set" -d 'Settings of the whole node'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "import" -d 'Take in a YAML file of configuration'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "export" -d 'Give out the whole configuration as YAML'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "stats" -d 'Counters of the node'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "debug" -d 'For finding faults'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "global" -d 'All settings of the node'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "peer" -d 'Other nodes'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "ping" -d 'Ask other nodes for their NIDs'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "discover" -d 'Discover other nodes: learn all their NIDs and tell them ours'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "service-id" -d 'Show the RDMA service of LNet'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "udsp" -d 'Selection rules: which interfaces are preferred for what'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "selection" -d 'Selection rules by what they are about: nets, NIDs, pairs'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "setup-mrrouting" -d 'Run the system\'s helper that sets up routing tables for machines with several interfaces'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "cpt-of-nid" -d 'Show to which CPU partition a NID belongs'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "numa" -d 'Show the NUMA range'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "peer_credits" -d 'Show peers with their credits'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "fault" -d 'Lose or delay messages on purpose, to test what is built on LNet'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "top" -d 'Watch interfaces and peers, their rates, credits and health'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "help" -d 'Summarise the commands, or one of them'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "exit" -d 'End the interactive shell'
complete -c lnetctl -n "__fish_lnetctl_needs_command" -f -a "quit" -d 'End the interactive shell'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and not __fish_seen_subcommand_from configure unconfigure" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and not __fish_seen_subcommand_from configure unconfigure" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and not __fish_seen_subcommand_from configure unconfigure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and not __fish_seen_subcommand_from configure unconfigure" -f -a "configure" -d 'Bring LNet up; start the daemon if no node runs'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and not __fish_seen_subcommand_from configure unconfigure" -f -a "unconfigure" -d 'Take LNet down: nets, peers, routes, rules; the daemon ends, and settings with it'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from configure" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from configure" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from configure" -s a -l all -d 'With the nets of the start configuration (LNET_NETWORKS, LNET_IP2NETS, LNET_ROUTES); without it the node has the loopback only'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from configure" -s l -l large -d 'For NIDs with IPv6 addresses [not supported yet]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from configure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from unconfigure" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from unconfigure" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand lnet; and __fish_seen_subcommand_from unconfigure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -f -a "add" -d 'Add routes; one that is there already is no failure'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -f -a "del" -d 'Delete routes'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and not __fish_seen_subcommand_from add del show" -f -a "show" -d 'Show routes: those that all given options fit'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -s n -l net -d 'The net that is reached; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -s g -l gateway -d 'The nodes that lead there: ranges of NIDs between commas, at most 128 NIDs; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -s c -l hop-count -d 'How many routers lie between: 1 to 255 [default: not known]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -s p -l priority -d 'Smaller is preferred: from 0 [default: 0]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -l health_sensitivity -d 'Of releases before 2.17: kept and shown, but `set health_sensitivity` says how much a failure lowers the health of gateways, too; from 1 [default: 1]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from del" -s n -l net -d 'The net that is reached; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from del" -s g -l gateway -d 'The nodes that lead there: ranges of NIDs between commas; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from del" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from del" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from del" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s n -l net -d 'To this net' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s g -l gateway -d 'By the node with this NID' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s c -l hop-count -d 'Over so many routers' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s p -l priority -d 'With this priority' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Show more; levels 1 to 4, and 5 for what only this program shows; 1 without LEVEL' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand route; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -f -a "add" -d 'Add interfaces to a net; the first interface that is refused ends it, those before stay'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -f -a "del" -d 'Delete a net, or interfaces of it'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -f -a "show" -d 'Show nets and their interfaces'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and not __fish_seen_subcommand_from add del show set" -f -a "set" -d 'Change what can be changed of an interface'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s n -l net -d 'The net, such as tcp or tcp1' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s i -l if -d 'Interfaces between commas, by name or address, with their CPU partitions if they have any: eth0,eth1[0,2]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -l nid -d 'Net and interface in one, in place of --net and --if' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s p -l ip2net -d 'A rule by addresses, in place of --net and --if: "tcp(eth0) 10.0.*.*"; at most 127 characters' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s t -l peer-timeout -d 'Seconds without a message after which a peer counts as down; 0 is the default [default: 180]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s c -l peer-credits -d 'Messages under way to one peer; 0 is the default [default: 8]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s b -l peer-buffer-credits -d 'Router buffers that one peer may occupy [default: 0, as many as --peer-credits]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s r -l credits -d 'Messages under way on the interface; 0 is the default [default: 256]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s s -l cpt -d 'CPU partitions for interfaces that name none: 0, [0,1], [0-3/2] [default: all]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s m -l conns-per-peer -d 'Connections for bulk data in each direction to one peer: 1 to 127, or 0 for what suits the link [default: 0]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s k -l skip-mr-route-setup -d 'Without effect: routing tables are never touched here; see setup-mrrouting'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -s n -l net -d 'The net' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -s i -l if -d 'Only these interfaces of it, between commas; all are tried' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -l nid -d 'The interface with this NID, in place of --net and --if' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from del" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from show" -s n -l net -d 'Only this net; several between commas' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Show more; levels 1 to 4, and 5 for what only this program shows; 1 without LEVEL' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -s n -l nid -d 'The interface with this NID' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -s t -l health -d 'Health: 0 to 1000, which is healthy' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -s m -l conns-per-peer -d 'Connections to one peer, for connections to come: 0 to 127' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -l net -d 'For --lnd-timeout [not supported yet]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -l lnd-timeout -d 'Seconds that the driver has for a message [not supported yet]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -s a -l all -d 'All interfaces'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand net; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and not __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and not __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show whether the node forwards, and its router buffers; nothing if it never forwarded'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand routing; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "tiny_buffers" -d 'Router buffers for messages without data, over all CPU partitions; 0 is the default, -1 changes nothing'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "small_buffers" -d 'Router buffers of one page, over all CPU partitions; 0 is the default, -1 changes nothing'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "large_buffers" -d 'Router buffers of 1 MiB, over all CPU partitions; 0 is the default, -1 changes nothing'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "routing" -d 'Forward messages for others (1) or not (0)'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "numa_range" -d 'How far apart NUMA nodes may be and count as near: 0 to 4294967295 [default: 0]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "max_interfaces" -d 'The most interfaces that a peer may have: from 16 [default: 200]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "discovery" -d 'Discover peers (1, on) or not (0, off), or only compare what they say with what is known of them and report what differs (2, verify) [default: 1]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "drop_asym_route" -d 'Drop messages that came by another way than the answer would go (1) or not (0) [default: 0]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "retry_count" -d 'How often a message is sent again: 0 to transaction_timeout, and only 0 while health_sensitivity is 0 [default: 2]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "transaction_timeout" -d 'Seconds that a message and its answer may take: more than retry_count [default: 50]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "health_sensitivity" -d 'By how much a failure lowers the health of an interface: 0 to 1000; 0 sets retry_count to 0 as well [default: 100]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "recovery_interval" -d 'Accepted and without effect'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "router_sensitivity" -d 'Percent of its health that a router must have to be used: 0 to 100 [default: 100]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "response_tracking" -d 'For which messages answers are awaited: 0 LNet\'s own, 1 GETs, 2 PUTs, 3 both [default: 3]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "recovery_limit" -d 'Seconds for which recovery pings go to an unhealthy interface, from 0, which is no limit [default: 0]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "max_recovery_ping_interval" -d 'The longest time between two recovery pings to an unhealthy interface, in seconds from 1 [default: 900]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "compare_queued_bytes" -d 'Compare a peer\'s interfaces by their queued bytes before their credits (1) or not (0) [default: 0]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and not __fish_seen_subcommand_from tiny_buffers small_buffers large_buffers routing numa_range max_interfaces discovery drop_asym_route retry_count transaction_timeout health_sensitivity recovery_interval router_sensitivity response_tracking recovery_limit max_recovery_ping_interval compare_queued_bytes discovery_timeout" -f -a "discovery_timeout" -d 'Seconds that a discovery may take, all of its steps together, and that a message waits for one, from 1 [default: 10]'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from tiny_buffers" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from tiny_buffers" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from tiny_buffers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from small_buffers" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from small_buffers" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from small_buffers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from large_buffers" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from large_buffers" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from large_buffers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from routing" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from routing" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from routing" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from numa_range" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from numa_range" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from numa_range" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_interfaces" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_interfaces" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_interfaces" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from drop_asym_route" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from drop_asym_route" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from drop_asym_route" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from retry_count" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from retry_count" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from retry_count" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from transaction_timeout" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from transaction_timeout" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from transaction_timeout" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from health_sensitivity" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from health_sensitivity" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from health_sensitivity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_interval" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_interval" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_interval" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from router_sensitivity" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from router_sensitivity" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from router_sensitivity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from response_tracking" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from response_tracking" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from response_tracking" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_limit" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_limit" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from recovery_limit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_recovery_ping_interval" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_recovery_ping_interval" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from max_recovery_ping_interval" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from compare_queued_bytes" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from compare_queued_bytes" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from compare_queued_bytes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery_timeout" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery_timeout" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand set; and __fish_seen_subcommand_from discovery_timeout" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -s a -l add -d 'Add what is in the file and carry out its pings and discoveries; this is the default'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -s d -l del -d 'Delete what is in the file'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -s s -l show -d 'Show what the node has of what is in the file'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -s e -l exec -d 'Carry out pings and discoveries only'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -l check -d 'Show what --add would change, and change nothing; without a node, what it would do to an empty one; fails where --add would be refused, and for a file with nothing in it'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand export" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand export" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand export" -s b -l backup -d 'Only what has been configured and can be imported again: no counters, no states, no peers that were only heard of'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -l prometheus -d 'The same as \'stats show --prometheus\''
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -f -a "show" -d 'Show the node\'s counters'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -f -a "reset" -d 'Set all counters to 0: the node\'s, its interfaces\' and the peers\''
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and not __fish_seen_subcommand_from show reset rate" -f -a "rate" -d 'Measure messages and bytes per second, of the node, its nets and its interfaces'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from show" -l prometheus -d 'Everything that is counted, of the node, its interfaces and all peers, in the text format of Prometheus'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from reset" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from reset" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from rate" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from rate" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand stats; and __fish_seen_subcommand_from rate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and not __fish_seen_subcommand_from recovery" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and not __fish_seen_subcommand_from recovery" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and not __fish_seen_subcommand_from recovery" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and not __fish_seen_subcommand_from recovery" -f -a "recovery" -d 'Show the NIDs that are being recovered'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and __fish_seen_subcommand_from recovery" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and __fish_seen_subcommand_from recovery" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and __fish_seen_subcommand_from recovery" -s l -l local -d 'Of this node'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and __fish_seen_subcommand_from recovery" -s p -l peer -d 'Of other nodes'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand debug; and __fish_seen_subcommand_from recovery" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and not __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and not __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show all settings of the node'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand global; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "add" -d 'Make a peer, or give it NIDs; the first NID that is refused ends it, those before stay'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "del" -d 'Forget a peer, or take NIDs from it'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "show" -d 'Show peers'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "list" -d 'Show the primary NIDs of all peers'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "set" -d 'Change what can be changed of a peer'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and not __fish_seen_subcommand_from add del show list set explain" -f -a "explain" -d 'Show which way the next message would go, and what spoke against every other; nothing is sent'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -s k -l prim_nid -d 'The peer\'s primary NID; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -s n -l nid -d 'Its NIDs: ranges between commas, at most 128 NIDs: 10.0.0.[1-4]@tcp,10.1.0.1@tcp1' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -l ip2nets -d 'Ranges of NIDs, each NID a peer of its own, in place of --prim_nid and --nid' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -s m -l non_mr -d 'The peer is not multi-rail: it uses one NID a net'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -s l -l lock_prim -d 'Discovery may not change its primary NID'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -s k -l prim_nid -d 'The peer\'s primary NID; mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -s n -l nid -d 'Only these NIDs; the primary NID among them is the peer' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -l ip2nets -d 'Ranges of NIDs, each NID a peer of its own, in place of --prim_nid and --nid' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -s f -l force -d 'Even if the primary NID is locked'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from del" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from show" -s n -l nid -d 'Only the peer with this NID, which may be any of its NIDs' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Show more; levels 1 to 4, and 5 for what only this program shows; 1 without LEVEL' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from list" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from list" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -s n -l nid -d 'The peer interface with this NID' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -s t -l health -d 'Health: 0 to 1000, which is healthy [default: 1000]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -s s -l state -d 'Overwrite the peer\'s state word, for debugging; needs --nid' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -s a -l all -d 'All peers'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from explain" -s t -l to -d 'The NID that a program would send to' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from explain" -s f -l from -d 'The own NID that it would send by [default: LNet\'s choice]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from explain" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from explain" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand ping" -s t -l timeout -d 'How many seconds to wait for an answer: 1 to 180 [default: 1]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand ping" -s s -l source -d 'By which of this node\'s NIDs' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand ping" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand ping" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand ping" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand discover" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand discover" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand discover" -s f -l force -d 'Also tell this node\'s NIDs to nodes that have them already'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand discover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand service-id" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand service-id" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand service-id" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -f -a "del" -d 'Delete a rule; those behind it move up'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and not __fish_seen_subcommand_from add del show" -f -a "show" -d 'Show rules in their order'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s s -l src -d 'Interfaces of this node' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s d -l dst -d 'Other nodes' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s r -l rte -d 'Routers' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s p -l priority -d 'From 0, the most preferred, to 255. Without it, 0' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s m -l messages -d 'How many messages go in a row, before the next of equal priority has its turn' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s i -l idx -d 'The place of the rule, from 0 [default: the last]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s i -l idx -d 'Which; -1 is all' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s s -l src -d 'Interfaces of this node, as they were given' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s d -l dst -d 'Other nodes' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s r -l rte -d 'Routers' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s a -l all -d 'All rules'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from del" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from show" -s i -l idx -d 'Which [default: all]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand udsp; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -f -a "net" -d 'Rules about nets of this node'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -f -a "nid" -d 'Rules about NIDs, this node\'s and others\''
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and not __fish_seen_subcommand_from net nid peer" -f -a "peer" -d 'Rules about NIDs of this node for NIDs of others'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -f -a "del" -d 'Delete a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from net" -f -a "show" -d 'Show rules'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -f -a "del" -d 'Delete a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from nid" -f -a "show" -d 'Show rules'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -f -a "del" -d 'Delete a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand selection; and __fish_seen_subcommand_from peer" -f -a "show" -d 'Show rules'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand setup-mrrouting" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand setup-mrrouting" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand setup-mrrouting" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand cpt-of-nid" -s n -l nid -d 'One NID; --ncpt is mandatory' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand cpt-of-nid" -s c -l ncpt -d 'How many CPU partitions there are' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand cpt-of-nid" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand cpt-of-nid" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand cpt-of-nid" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and not __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and not __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show the NUMA range'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand numa; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and not __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and not __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show peers with their credits'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and __fish_seen_subcommand_from show" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and __fish_seen_subcommand_from show" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand peer_credits; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and not __fish_seen_subcommand_from drop delay" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and not __fish_seen_subcommand_from drop delay" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and not __fish_seen_subcommand_from drop delay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and not __fish_seen_subcommand_from drop delay" -f -a "drop" -d 'Lose messages, or make it fail to send them'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and not __fish_seen_subcommand_from drop delay" -f -a "delay" -d 'Make messages late, on their way out and on arrival'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -f -a "del" -d 'Delete rules: those with this source and destination, or all'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -f -a "reset" -d 'Set the counts of all rules to 0, and begin their windows anew'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from drop" -f -a "show" -d 'Show rules and what they have done'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -f -a "add" -d 'Add a rule'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -f -a "del" -d 'Delete rules: those with this source and destination, or all; messages that they hold go on at once'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -f -a "reset" -d 'Set the counts of all rules to 0, and begin their windows anew'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand fault; and __fish_seen_subcommand_from delay" -f -a "show" -d 'Show rules and what they have done'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -s i -l interval -d 'Seconds from one look to the next; fractions are allowed' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -s s -l sort -d 'How peers are ordered at first' -r -f -a "traffic\t'The busiest first: by bytes, then by messages per second'
nid\t'By NID'
health\t'The worst health first'
credits\t'The fewest credits first'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -l max-peers -d 'Look at so many peers and no more: those that came first' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -l once -d 'Write one picture as text, with all rows, after one interval, and end'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand help" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand help" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand exit" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand exit" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand exit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lnetctl -n "__fish_lnetctl_using_subcommand quit" -l node -d 'Which node; needed only where several run on this machine [default: LNET_NODE, if that is set]' -r
complete -c lnetctl -n "__fish_lnetctl_using_subcommand quit" -l format -d 'How to write what is shown: yaml (the default) or json' -r -f -a "yaml\t'In the form of lnetctl 2.15'
json\t'One value; {} for nothing, and errors too'"
complete -c lnetctl -n "__fish_lnetctl_using_subcommand quit" -s h -l help -d 'Print help (see more with \'--help\')'
