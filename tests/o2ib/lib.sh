# shellcheck shell=dash disable=SC2013
# What scenarios call. They run in both guests at the same time, with these variables:
#   NODE      1 or 2
#   PEER      the other one
#   RAILS     how many rails there are: eth0, eth1, ... with the RDMA devices rxe0, rxe1, ...
#   SCENARIO  the scenario's name
# A scenario is a shell script under `set -eu`; busybox has the commands, beside the tools and our programs.

# The shell prefers its own programs of these names, which can do less.
ip() { /usr/bin/ip "$@"; }
tc() { /usr/bin/tc "$@"; }

# Address of a guest's rail: rail_address RAIL [NODE]
rail_address() { echo "10.99.$1.${2-$NODE}"; }

# Address of a guest on the control network, which is no rail: control_address [NODE]
control_address() { echo "10.98.0.${1-$NODE}"; }

# The index of the rail's GID that is its IPv4 address, for tools that do not use the connection manager: gid_index RAIL
gid_index() {
	local file
	for file in "/sys/class/infiniband/rxe$1/ports/1/gids/"*; do
		case $(cat "$file" 2>/dev/null) in
		0000:0000:0000:0000:0000:ffff:*)
			basename "$file"
			return
			;;
		esac
	done
	return 1
}

# check NAME COMMAND...: the command must succeed, within CHECK_LIMIT seconds (60). What it prints is shown if it does not.
# Several commands are put into a function; the first that fails ends it. The scenario goes on in any case.
check() {
	local name="$1" begun status
	shift
	begun=$(centiseconds)
	run_limited "$@" >"/tmp/check.$$" 2>&1
	status=$last_status
	if [ "$status" = 0 ]; then
		report "ok $SCENARIO: $name ($(seconds_since "$begun") s)"
	else
		report "not ok $SCENARIO: $name (exit status $status after $(seconds_since "$begun") s)"
		tail -n 40 "/tmp/check.$$" | while IFS= read -r line; do report "# $line"; done
	fi
}

# require NAME COMMAND...: like check, but a failure ends the scenario.
require() {
	check "$@"
	[ "$last_status" = 0 ] || exit 1
}

# wait_for SECONDS COMMAND...: repeats the command until it succeeds; fails when that takes too long.
wait_for() {
	local seconds="$1" end output
	shift
	end=$(($(centiseconds) + seconds * 100))
	output=$(mktemp)
	until "$@" >"$output" 2>&1; do
		if [ "$(centiseconds)" -ge "$end" ]; then
			cat "$output" >&2
			echo "not within $seconds s: $*" >&2
			rm "$output"
			return 1
		fi
		sleep 0.1
	done
	rm "$output"
}

# barrier NAME [SECONDS]: returns when both guests have called it; the scenario ends if the other guest's has ended, or after
# SECONDS (60). A name may be used again. It consists of letters, digits and hyphens.
barrier() {
	local passed mark over
	passed=$(cat "/run/passed/$SCENARIO.$1" 2>/dev/null || echo 0)
	echo $((passed + 1)) >"/run/passed/$SCENARIO.$1"
	mark=$SCENARIO.$1.$passed
	: >"/run/marks/$mark"
	if ! wait_for "${2-60}" peer_is_at_or_over "$mark"; then
		report "not ok $SCENARIO: barrier $1: guest $PEER did not come within ${2-60} s"
		exit 1
	fi
	[ "$over" = no ] || { report "not ok $SCENARIO: barrier $1: the scenario of guest $PEER ended before it"; exit 1; }
}

# pull RAIL, plug RAIL: the rail's cable, which both guests see.
pull() {
	report "pull $1"
	wait_for 20 carrier_is "$1" 0
}
plug() {
	report "plug $1"
	wait_for 20 carrier_is "$1" 1
}
carrier_is() { [ "$(cat "/sys/class/net/eth$1/carrier")" = "$2" ]; }

# blackhole RAIL, end_blackhole RAIL: what this guest sends over the rail is lost, and nothing says so.
blackhole() { tc qdisc replace dev "eth$1" root netem loss 100%; }
end_blackhole() { tc qdisc del dev "eth$1" root; }

# The port of a rail can be used: port_is_active RAIL
port_is_active() { [ "$(cat "/sys/class/infiniband/rxe$1/ports/1/state")" = "4: ACTIVE" ] && gid_index "$1"; }

# Something listens on a TCP port of this guest: listens_on PORT
listens_on() { netstat -ltn | grep -q ":$1 "; }

# The same of an RDMA listener, on any rail: listens_by_rdma PORT
listens_by_rdma() { rdma resource show cm_id | grep -q "state LISTEN .* src-addr [0-9.]*:$1 "; }

# ---- what the functions above consist of ----

# Tells the host, in one line, and the console.
report() {
	echo "$*" >&3
	echo "[$(cut -d ' ' -f 1 /proc/uptime)] $*" >/dev/console
}

centiseconds() {
	local up
	read -r up _ </proc/uptime
	# The 1 keeps a fraction such as 08 from being octal.
	echo $((${up%.*} * 100 + 1${up#*.} - 100))
}

seconds_since() {
	local passed
	passed=$(($(centiseconds) - $1))
	printf '%d.%d\n' $((passed / 100)) $((passed % 100 / 10))
}

# Runs a command or function in a process of its own and sets last_status. It is not called as a condition: there set -e is off.
run_limited() {
	local process watchdog
	"$@" &
	process=$!
	(
		sleep "${CHECK_LIMIT-60}"
		echo "not done within ${CHECK_LIMIT-60} s: $*"
		kill_tree "$process"
	) &
	watchdog=$!
	last_status=0
	wait "$process" || last_status=$?
	kill_tree "$watchdog"
	# Says that it was killed.
	wait "$watchdog" 2>/dev/null || :
}

# Ends a process and all that it started.
kill_tree() {
	local child
	kill -STOP "$1" 2>/dev/null || return 0
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		kill_tree "$child"
	done
	kill -KILL "$1" 2>/dev/null || :
}

# The peer has set a mark, or its scenario has ended without; `over` of the caller says which.
peer_is_at_or_over() {
	# In this order: it may set the mark and end between the two questions.
	over=no
	! peer_has_mark "$SCENARIO.over" || over=yes
	if peer_has_mark "$1"; then
		over=no
		return 0
	fi
	[ "$over" = yes ]
}

# Debian's static wget crashes when it is given a timeout.
peer_has_mark() {
	printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" | nc -w 5 "$(control_address "$PEER")" 80 | grep -q ' 200 OK'
}
