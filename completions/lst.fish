# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_lst_global_optspecs
    string join \n list-commands node= format= h/help V/version
end

function __fish_lst_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_lst_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_lst_using_subcommand
    set -l cmd (__fish_lst_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c lst -n "__fish_lst_needs_command" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_needs_command" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_needs_command" -l list-commands -d 'Print the names of all commands'
complete -c lst -n "__fish_lst_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_needs_command" -s V -l version -d 'Print version'
complete -c lst -n "__fish_lst_needs_command" -f -a "new_session" -d 'Make a session'
complete -c lst -n "__fish_lst_needs_command" -f -a "end_session" -d 'Take the session from all nodes, and end it'
complete -c lst -n "__fish_lst_needs_command" -f -a "show_session" -d 'Show the session, with its key'
complete -c lst -n "__fish_lst_needs_command" -f -a "ping" -d 'Ask nodes which session they have'
complete -c lst -n "__fish_lst_needs_command" -f -a "add_group" -d 'Make a group of nodes'
complete -c lst -n "__fish_lst_needs_command" -f -a "del_group" -d 'Delete a group'
complete -c lst -n "__fish_lst_needs_command" -f -a "update_group" -d 'Give nodes of a group the session again, or take nodes out of it'
complete -c lst -n "__fish_lst_needs_command" -f -a "list_group" -d 'Show groups, or the nodes of some'
complete -c lst -n "__fish_lst_needs_command" -f -a "stat" -d 'Show how many messages nodes exchange, and how many bytes'
complete -c lst -n "__fish_lst_needs_command" -f -a "show_error" -d 'Show the nodes that had errors'
complete -c lst -n "__fish_lst_needs_command" -f -a "add_batch" -d 'Make a batch of tests'
complete -c lst -n "__fish_lst_needs_command" -f -a "run" -d 'Start the tests of a batch'
complete -c lst -n "__fish_lst_needs_command" -f -a "stop" -d 'End the tests of a batch'
complete -c lst -n "__fish_lst_needs_command" -f -a "list_batch" -d 'Show batches, or the tests and nodes of one'
complete -c lst -n "__fish_lst_needs_command" -f -a "query" -d 'Show whether a batch runs'
complete -c lst -n "__fish_lst_needs_command" -f -a "add_test" -d 'Put a test into a batch'
complete -c lst -n "__fish_lst_needs_command" -f -a "bench" -d 'Measure a node: session, groups, test, result, and all is undone'
complete -c lst -n "__fish_lst_needs_command" -f -a "help" -d 'Summarise the commands, or one of them'
complete -c lst -n "__fish_lst_needs_command" -f -a "exit" -d 'End the interactive shell'
complete -c lst -n "__fish_lst_needs_command" -f -a "quit" -d 'End the interactive shell'
complete -c lst -n "__fish_lst_using_subcommand new_session" -s t -l timeout -d 'After so many seconds without a command the session ends' -r
complete -c lst -n "__fish_lst_using_subcommand new_session" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand new_session" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand new_session" -s f -l force -d 'Take the place of other sessions, here and on nodes'
complete -c lst -n "__fish_lst_using_subcommand new_session" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand end_session" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand end_session" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand end_session" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand show_session" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand show_session" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand show_session" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand ping" -s g -l group -d 'The nodes of a group' -r
complete -c lst -n "__fish_lst_using_subcommand ping" -s n -l nodes -d 'Some nodes' -r
complete -c lst -n "__fish_lst_using_subcommand ping" -s b -l batch -d 'The clients of a batch' -r
complete -c lst -n "__fish_lst_using_subcommand ping" -s t -l timeout -d 'How many seconds to wait, 3 to 30' -r
complete -c lst -n "__fish_lst_using_subcommand ping" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand ping" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand ping" -s s -l session -d 'All nodes of the session'
complete -c lst -n "__fish_lst_using_subcommand ping" -s v -l server -d 'With --batch: its servers'
complete -c lst -n "__fish_lst_using_subcommand ping" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand add_group" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand add_group" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand add_group" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand del_group" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand del_group" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand del_group" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand update_group" -s c -l clean -d 'Forget its nodes in this state: active, busy, down, unknown, or invalid for all that are not active' -r
complete -c lst -n "__fish_lst_using_subcommand update_group" -s r -l remove -d 'Take the session from these of its nodes, and forget them' -r
complete -c lst -n "__fish_lst_using_subcommand update_group" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand update_group" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand update_group" -s f -l refresh -d 'Give the session to those of its nodes that do not have it'
complete -c lst -n "__fish_lst_using_subcommand update_group" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand list_group" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand list_group" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand list_group" -s a -l active -d 'Show nodes that have the session'
complete -c lst -n "__fish_lst_using_subcommand list_group" -s b -l busy -d 'Show nodes that have another one'
complete -c lst -n "__fish_lst_using_subcommand list_group" -s d -l down -d 'Show nodes that did not answer in time'
complete -c lst -n "__fish_lst_using_subcommand list_group" -s u -l unknown -d 'Show nodes of which nothing is known'
complete -c lst -n "__fish_lst_using_subcommand list_group" -s l -l all -d 'Show all nodes'
complete -c lst -n "__fish_lst_using_subcommand list_group" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand stat" -s t -l timeout -d 'How many seconds to wait for nodes, 3 to 30' -r
complete -c lst -n "__fish_lst_using_subcommand stat" -s d -l delay -d 'Seconds from one look to the next' -r
complete -c lst -n "__fish_lst_using_subcommand stat" -l count -d 'After so many blocks it ends [default: never]' -r
complete -c lst -n "__fish_lst_using_subcommand stat" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand stat" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand stat" -s l -l lnet -d 'Show LNet messages, which is the default'
complete -c lst -n "__fish_lst_using_subcommand stat" -s c -l rpc -d 'Show RPCs, of which there is nothing'
complete -c lst -n "__fish_lst_using_subcommand stat" -s b -l bw -d 'Show bandwidths, and rates only with --rate'
complete -c lst -n "__fish_lst_using_subcommand stat" -s a -l rate -d 'Show rates, and bandwidths only with --bw'
complete -c lst -n "__fish_lst_using_subcommand stat" -s r -l read -d 'Show what the clients of a group of servers read: what the group sends'
complete -c lst -n "__fish_lst_using_subcommand stat" -s w -l write -d 'Show what the clients of a group of servers write: what the group receives'
complete -c lst -n "__fish_lst_using_subcommand stat" -s g -l avg -d 'Show the mean of the nodes'
complete -c lst -n "__fish_lst_using_subcommand stat" -s n -l min -d 'Show the least of them'
complete -c lst -n "__fish_lst_using_subcommand stat" -s x -l max -d 'Show the most of them'
complete -c lst -n "__fish_lst_using_subcommand stat" -s m -l mbs -d 'Bandwidths in 1000000 bytes a second instead of 1048576'
complete -c lst -n "__fish_lst_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand show_error" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand show_error" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand show_error" -s s -l session -d 'Errors of tests in this session only, and not those of RPCs since the nodes began'
complete -c lst -n "__fish_lst_using_subcommand show_error" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand add_batch" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand add_batch" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand add_batch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand run" -s t -l timeout -d 'Told to the nodes, which do not look at it' -r
complete -c lst -n "__fish_lst_using_subcommand run" -l interval -d 'With --live: seconds from one look to the next; fractions are allowed' -r
complete -c lst -n "__fish_lst_using_subcommand run" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand run" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand run" -l live -d 'Watch its nodes until q is pressed or it has ended: bandwidths, rates, errors'
complete -c lst -n "__fish_lst_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand stop" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand stop" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand stop" -s f -l force -d 'Give up RPCs that are in flight'
complete -c lst -n "__fish_lst_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s t -l test -d 'Only this of its tests, from 1 on' -r
complete -c lst -n "__fish_lst_using_subcommand list_batch" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand list_batch" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s s -l server -d 'Show servers instead of clients'
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s a -l active -d 'Show nodes that have the session'
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s i -l invalid -d 'Show nodes that do not'
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s l -l all -d 'Show all nodes'
complete -c lst -n "__fish_lst_using_subcommand list_batch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand query" -s t -l test -d 'Only for this of its tests, from 1 on' -r
complete -c lst -n "__fish_lst_using_subcommand query" -s o -l timeout -d 'How many seconds to wait for nodes' -r
complete -c lst -n "__fish_lst_using_subcommand query" -s d -l delay -d 'With --loop: seconds from one question to the next' -r
complete -c lst -n "__fish_lst_using_subcommand query" -s c -l loop -d 'How often to ask' -r
complete -c lst -n "__fish_lst_using_subcommand query" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand query" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand query" -s s -l server -d 'Of its servers, which run nothing of their own'
complete -c lst -n "__fish_lst_using_subcommand query" -s a -l active -d 'Show nodes that run something of it'
complete -c lst -n "__fish_lst_using_subcommand query" -s i -l idle -d 'Show nodes that do not'
complete -c lst -n "__fish_lst_using_subcommand query" -s e -l error -d 'Show nodes that say no'
complete -c lst -n "__fish_lst_using_subcommand query" -s l -l all -d 'Show all nodes'
complete -c lst -n "__fish_lst_using_subcommand query" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand add_test" -s b -l batch -d 'The batch that it goes into' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -s c -l concurrency -d 'RPCs at once between two nodes, up to 1024' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -s d -l distribute -d 'So many clients in a row share so many servers' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -s f -l from -d 'The group of the clients' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -s t -l to -d 'The group of the servers' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -s l -l loop -d 'RPCs of each, one after the other; below 0: without end' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand add_test" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand add_test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand bench" -l from -d 'Who sends [default: this node]' -r
complete -c lst -n "__fish_lst_using_subcommand bench" -s c -l concurrency -d 'RPCs at once between two nodes, up to 1024' -r
complete -c lst -n "__fish_lst_using_subcommand bench" -s d -l distribute -d 'Which clients have which servers [default: every client all of them]' -r
complete -c lst -n "__fish_lst_using_subcommand bench" -s t -l time -d 'How many seconds to measure; fractions are allowed' -r
complete -c lst -n "__fish_lst_using_subcommand bench" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand bench" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand bench" -s f -l force -d 'Take nodes from other sessions'
complete -c lst -n "__fish_lst_using_subcommand bench" -l live -d 'Watch the nodes meanwhile'
complete -c lst -n "__fish_lst_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand help" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand help" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand exit" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand exit" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand exit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lst -n "__fish_lst_using_subcommand quit" -l node -d 'The console of which node; needed only where several have a session on this machine' -r
complete -c lst -n "__fish_lst_using_subcommand quit" -l format -d 'How to write what is shown: text (the default) or json' -r -f -a "text\t'In the form of the kernel\'s lst'
json\t'One JSON value a line'"
complete -c lst -n "__fish_lst_using_subcommand quit" -s h -l help -d 'Print help (see more with \'--help\')'
