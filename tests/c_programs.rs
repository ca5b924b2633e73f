//! The C programs of `c-tests/`: compiled by gcc against `include/` alone, linked to the built library, run without tools, under
//! valgrind, with the address sanitizer, and attached to a daemon. A test whose tool is not installed is skipped, and reports it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;
#[path = "support/programs.rs"]
#[allow(unreachable_pub)]
mod programs;

use exported::exported;
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{ControlConfig, ControlServer, DriverConfigs, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::ModelNet;
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

const STRICT: [&str; 3] = ["-Wall", "-Wextra", "-Werror"];
/// Defines the tests that run programs under valgrind and under the address sanitizer: one test for each program and tool, so
/// that they run beside each other and a failure names the program.
macro_rules! under_tools {
    ($($program:ident)*) => {
        mod valgrind_finds_nothing_in {
            $(#[test] fn $program() { super::under_valgrind(stringify!($program)); })*
        }

        mod the_address_sanitizer_finds_nothing_in {
            $(#[test] fn $program() { super::under_the_sanitizer(stringify!($program)); })*
        }
    };
}

under_tools!(nidstr api_errors failures loopback threads two_nodes cyaml dlc selection control handler_calls shutdown waits list parser ptlrpc_loopback
    m0net_support m0net_domains m0net_tm m0net_messages m0net_bulk m0net_delivery m0net_fake_transport m0net_pools
    m0net_scenarios m0net_interfaces m0net_limits m0net_program selftest_node api_2_15 api_2_17 both_apis nid_updates);

/// Defines the tests that run programs with a node of `lnetd` in place of each node in a process, some of them under valgrind, too.
macro_rules! attached {
    ($($program:ident)*; under valgrind: $($checked:ident)*) => {
        mod attached_to_a_daemon_works {
            $(#[test] fn $program() { super::attached(stringify!($program)); })*
        }

        mod valgrind_finds_nothing_in_attached {
            $(#[test] fn $checked() { super::attached_under_valgrind(stringify!($checked)); })*
        }
    };
}

// Left out: `loads_libraries`, which calls the functions of one library by their addresses, and the programs that have no node.
attached!(api_errors broken_peers calling_handlers calls_beside_handlers control dlc failures forked handler_calls lazy_portal long_handlers loopback
    api_2_15 api_2_17 both_apis nid_updates out_of_memory primary_nid process programs selection server_exit shutdown standard_error threads two_nodes waits
    ptlrpc_forked ptlrpc_loopback selftest_forked selftest_node
    m0net_bulk m0net_delivery m0net_domains m0net_fake_transport m0net_interfaces m0net_limits m0net_messages m0net_pools m0net_program
    m0net_scenarios m0net_support m0net_tm;
    under valgrind: api_2_17 loopback shutdown threads two_nodes waits);

#[test]
fn structures_and_constants_are_those_of_the_c_api_specification() {
    run("layout", &[], &[]);
}

#[test]
fn structures_and_constants_of_later_releases_are_those_of_the_specification() {
    run("layout_2_15", &[], &[]);
    run("layout_2_17", &[], &[]);
}

#[test]
fn every_function_that_2_15_changed_works_in_its_form() {
    run("api_2_15", &[], &[]);
}

#[test]
fn every_function_that_2_17_changed_works_in_its_form() {
    run("api_2_17", &[], &[]);
}

#[test]
fn a_program_learns_which_nids_of_its_node_come_and_go() {
    run("nid_updates", &[], &[]);
}

/// Fails if one linker, or the optimisation of a whole program, gives a file the functions of another file's release.
#[test]
fn files_of_three_releases_share_a_node_in_one_program() {
    run("both_apis", &[], &[]);
    for flags in [&["-fuse-ld=gold"][..], &["-flto"], &["-O2", "-flto", "-fuse-ld=gold", "-Wl,-z,now"]] {
        if compiles_with(flags) {
            run("both_apis", flags, &[]);
        }
    }
}

#[test]
fn symbols_of_each_version_are_found_by_name_and_version() {
    run("symbol_versions", &[], &[]);
    if compiles_with(&["-fuse-ld=gold"]) {
        run("symbol_versions", &["-fuse-ld=gold"], &[]);
    }
}

/// Fails if a program that was linked before there were forms of later releases, or to a library without versions, gets one of those.
#[test]
fn programs_linked_before_get_the_functions_of_2_10() {
    if !installed("gcc") {
        test_support::skip("no gcc");
        return;
    }
    let out = out_dir("linked-before");
    let gcc = |args: &[&str]| {
        let output = Command::new("gcc").current_dir(&out).args(args).output().unwrap();
        succeeded(&output, &args.join(" "));
    };
    let names: Vec<&str> =
        exported().filter(|export| !export.is_lnetconfig()).map(|export| export.name).collect();
    let functions: String = names.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    fs::write(out.join("before.c"), functions).unwrap();
    fs::write(
        out.join("versioned.map"),
        format!("LNET_2.10 {{ global: {}; local: *; }};\n", names.join("; ")),
    )
    .unwrap();
    let include = format!("-I{}", root().join("include").display());
    let source = root().join("c-tests/loopback.c").display().to_string();
    for (kind, script) in [("unversioned", None), ("versioned", Some("-Wl,--version-script=versioned.map"))] {
        fs::create_dir_all(out.join(kind)).unwrap();
        let library = format!("{kind}/liblnet.so");
        let mut args = vec!["-shared", "-fPIC", "-w", "-Wl,-soname,liblnet.so.1", "before.c", "-o", &library];
        args.extend(script);
        gcc(&args);
        let (path, before) = (format!("{kind}/loopback"), format!("-L{kind}"));
        gcc(&["-std=gnu11", "-pthread", &include, &source, "-o", &path, &before, "-llnet"]);
        let mut command = Command::new(out.join(&path));
        let sockets = tempfile::tempdir().unwrap();
        command.env("LNET_RUNTIME_DIR", sockets.path()).env("LD_LIBRARY_PATH", &out);
        succeeded(&command.output().unwrap(), &path);
    }
}

#[test]
fn nids_and_lists_convert_as_recorded() {
    run("nidstr", &[], &[]);
}

#[test]
fn every_error_is_the_one_in_the_specification() {
    run("api_errors", &[], &[]);
}

#[test]
fn the_loopback_shows_what_consumers_rely_on() {
    run("loopback", &[], &[]);
}

#[test]
fn threads_get_exactly_one_last_event_for_each_md() {
    run("threads", &[], &[]);
}

#[test]
fn two_processes_move_every_size_both_ways() {
    run("two_nodes", &[], &[]);
}

#[test]
fn control_commands_change_and_list_the_configuration() {
    run("control", &[], &[]);
}

#[test]
fn calls_that_wait_are_refused_in_an_event_handler() {
    run("handler_calls", &[], &[]);
}

#[test]
fn failed_operations_have_the_specified_status_and_one_last_event() {
    run("failures", &[], &[]);
}

#[test]
fn replies_match_the_primary_nid_that_was_returned_to_the_program() {
    run("primary_nid", &[], &[]);
}

#[test]
fn a_wait_ends_when_its_queue_is_freed_or_its_node_shuts_down() {
    run("waits", &[], &[]);
}

#[test]
fn every_get_ends_when_its_server_is_killed_or_shut_down() {
    run("server_exit", &[], &[]);
}

#[test]
fn handlers_wait_for_what_they_send_and_keep_no_other_peer() {
    run("long_handlers", &[], &[]);
}

/// Fails if a thread that has been replaced while it was in a handler keeps the wake-up of the one that replaced it.
#[test]
fn calls_in_handlers_return_however_long_these_take() {
    run("calling_handlers", &[], &[]);
}

/// Fails if a call in a handler leaves reports in the ring of an attached program that nobody reads.
#[test]
fn calls_return_while_handlers_call_the_library() {
    run("calls_beside_handlers", &[], &[]);
}

#[test]
fn attaching_memory_to_a_lazy_portal_delivers_what_waited_there_and_shutdowns_let_puts_leave() {
    run("lazy_portal", &[], &[]);
}

#[test]
fn every_operation_in_flight_ends_once_at_unlink_or_shutdown() {
    run("shutdown", &[], &[]);
}

#[test]
fn a_child_of_fork_is_neither_taken_for_its_parents_node_nor_takes_it_down() {
    run("forked", &[], &[]);
}

/// Fails if a peer, or a client of the control socket, ends a program that leaves SIGPIPE at its default, in whichever role and at whichever
/// byte it goes away.
#[test]
fn peers_and_clients_that_go_away_end_no_program() {
    run("broken_peers", &[], &[]);
}

/// Fails if a log line stops a node or ends its program, changes the flags of standard error, or is lost without a word.
#[test]
fn a_node_goes_on_whatever_becomes_of_standard_error() {
    run("standard_error", &[], &[]);
}

/// Fails if a child waits for a thread that only its parent has.
#[test]
fn a_child_of_fork_is_refused_by_the_libraries_on_lnet() {
    run("ptlrpc_forked", &[], &[]);
    run("selftest_forked", &[], &[]);
}

/// Fails if a node stops, or one of its descriptors outlives exec or takes a number below 3, when its program handles or blocks signals, closes
/// its standard files, changes its umask, directory, root or user, or has no descriptors, threads or other resources left.
#[test]
fn a_node_goes_on_whatever_its_program_does_to_the_process() {
    run("process", &[], &[]);
}

#[test]
fn a_failed_allocation_returns_an_error_and_the_node_continues() {
    run("out_of_memory", &[], &[]);
}

#[test]
fn a_node_is_used_and_ended_by_a_handler_of_the_programs_exit() {
    run("exit_handlers", &[], &[]);
}

#[test]
fn yaml_trees_are_made_read_printed_and_freed() {
    run("cyaml", &[], &[]);
}

/// cfg-005, cfg-015: fails if a net, an interface, a rule or a setting cannot be changed or asked for by the
/// calls of liblnetconfig.
#[test]
fn every_dlc_call_acts_on_the_node_of_its_process() {
    run("dlc", &[], &[]);
}

/// Fails if a number that a program gives for an o2ib interface does not reach the driver, or is shown as another one.
#[test]
fn numbers_of_o2ib_interfaces_go_from_c_to_the_driver_and_back() {
    let mut config = StartConfig::default();
    let driver = O2iblndConfig { devices: Arc::new(ModelNet::default()), ..O2iblndConfig::default() };
    config.drivers = DriverConfigs::none().with(driver);
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let sockets = tempfile::tempdir().unwrap();
    let control = ControlConfig::new(RuntimeDir::at(sockets.path()), "o2ib".parse().unwrap());
    let _server = ControlServer::start(control, Arc::clone(&node) as SharedBackend).unwrap();
    run_in(sockets.path(), "o2ib_tunables", &[], &[]);
    node.shutdown();
}

/// Fails if a call of the design document acts on rules of another kind, or if bytes that are no rule are taken for one.
#[test]
fn selection_rules_are_set_by_every_call_that_c_programs_have_for_them() {
    run("selection", &[], &[]);
}

#[test]
fn lists_of_the_headers_are_those_of_linux() {
    run("list", &[], &[]);
}

/// Compiles the program with its definitions between LNet's headers and those that need rings, or before all of them; and with
/// rings that are announced because no macro defines them.
#[test]
fn a_programs_own_page_size_kvec_and_list_stand_beside_the_headers() {
    run("own_names", &[], &[]);
    run("own_names", &["-DBEFORE"], &[]);
    run("own_names", &["-DBEFORE", "-DWITHOUT_MACROS"], &[]);
}

#[test]
fn the_command_parser_runs_arguments_and_lines_and_lists_commands() {
    run("parser", &[], &[]);
    // The program has a build system that defines its version.
    run("parser", &["-DPACKAGE_VERSION=\"2.15.8\""], &[]);
}

#[test]
fn a_ptlrpc_client_and_service_work_as_their_header_documents() {
    run("ptlrpc_loopback", &[], &[]);
}

#[test]
fn the_support_types_and_macros_of_motr_work_as_their_headers_document() {
    run("m0net_support", &[], &[]);
}

#[test]
fn motr_domains_show_limits_interfaces_and_transports() {
    run("m0net_domains", &[], &[]);
}

#[test]
fn a_motr_transfer_machine_starts_once_and_stops_in_every_state() {
    run("m0net_tm", &[], &[]);
}

#[test]
fn motr_messages_fill_buffers_one_behind_the_other() {
    run("m0net_messages", &[], &[]);
}

#[test]
fn motr_bulk_data_is_transferred_both_ways_by_descriptors() {
    run("m0net_bulk", &[], &[]);
}

#[test]
fn motr_events_are_delivered_when_the_program_asks_and_operations_time_out() {
    run("m0net_delivery", &[], &[]);
}

#[test]
fn a_transport_of_the_programs_own_is_called_with_the_right_locks() {
    run("m0net_fake_transport", &[], &[]);
}

#[test]
fn motr_receive_queues_are_filled_from_pools() {
    run("m0net_pools", &[], &[]);
}

#[test]
fn the_scenarios_of_the_motr_design_document_work() {
    run("m0net_scenarios", &[], &[]);
}

#[test]
fn motr_messages_name_the_interface_of_their_sender() {
    run("m0net_interfaces", &[], &[]);
}

#[test]
fn motr_domains_use_no_more_than_their_programs_allow_and_log_what_these_ask_for() {
    run("m0net_limits", &[], &[]);
}

/// Fails if a header, macro or function that programs of Motr's network layer use is missing, or if pool buffers are not back in
/// their pool when a machine has stopped.
#[test]
fn a_program_with_the_headers_and_habits_of_motr_compiles_and_runs() {
    run("m0net_program", &[], &[]);
}

#[test]
fn a_program_in_c_takes_part_in_lnet_selftest_as_its_header_documents() {
    run("selftest_node", &[], &[]);
}

/// dbg-080: fails if a function of liblnetconfig is called by no C program: nobody knows whether it asks the
/// node.
#[test]
fn the_c_programs_use_every_function_of_liblnetconfig() {
    let source: String = ["cyaml.c", "dlc.c", "parser.c", "selection.c"]
        .map(|file| fs::read_to_string(root().join("c-tests").join(file)).unwrap())
        .concat();
    let words: BTreeSet<&str> = source.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let unused: Vec<&str> = exported()
        .filter(|export| export.is_lnetconfig())
        .map(|export| export.name)
        .filter(|name| !words.contains(name))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// Fails if a program linked with liblnetconfig, as `make install` makes it (`liblnetconfig.so.4` without code, and a linker
/// script for `-llnetconfig`), misses a symbol when it starts: `lnetctl` and `lst` are linked so that all symbols are resolved
/// then.
#[test]
fn programs_for_liblnetconfig_find_it_in_liblnet() {
    if !installed("gcc") {
        test_support::skip("no gcc");
        return;
    }
    let out = out_dir("lnetconfig");
    let gcc = |args: &[&str]| {
        let output = Command::new("gcc").current_dir(&out).args(args).output().unwrap();
        succeeded(&output, &args.join(" "));
    };
    let needs = |program: &str, library: &str| {
        let output = Command::new("readelf").arg("-d").arg(out.join(program)).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(library))
    };
    let include = format!("-I{}", root().join("include").display());
    let empty = root().join("scripts/liblnetconfig.c").display().to_string();

    // The library of existing programs: another liblnetconfig.so.4, with all functions.
    let functions = exported().filter(|export| export.is_lnetconfig());
    let others: String = functions.map(|export| format!("void {}(void) {{}}\n", export.name)).collect();
    fs::write(out.join("other.c"), others).unwrap();
    fs::create_dir_all(out.join("other")).unwrap();
    let soname = "-Wl,-soname,liblnetconfig.so.4";
    gcc(&["-shared", "-fPIC", "-w", soname, "other.c", "-o", "other/liblnetconfig.so"]);
    let as_needed = "-Wl,--no-as-needed";
    gcc(&["-shared", "-fPIC", soname, as_needed, &empty, "-o", "liblnetconfig.so.4", "-L.", "-llnet"]);
    fs::copy(root().join("scripts/liblnetconfig.so"), out.join("liblnetconfig.so")).unwrap();

    for program in ["cyaml", "parser"] {
        let source = root().join(format!("c-tests/{program}.c")).display().to_string();
        for (when, libraries) in [("linked-before", "-Lother"), ("linked-now", "-L.")] {
            // Each library has its own name, which is part of the messages.
            fs::create_dir_all(out.join(when)).unwrap();
            let path = format!("{when}/{program}");
            gcc(&["-std=gnu11", "-pthread", &include, &source, "-o", &path, libraries, "-llnetconfig"]);
            assert_eq!(needs(&path, "liblnet.so.1"), when == "linked-now");

            let run = |command: &mut Command| {
                let output = command.env("LD_LIBRARY_PATH", &out).env("LD_BIND_NOW", "1").output().unwrap();
                succeeded(&output, &path);
                String::from_utf8_lossy(&output.stderr).into_owned()
                    + &String::from_utf8_lossy(&output.stdout)
            };
            let found = run(Command::new("ldd").arg("-r").arg(out.join(&path)));
            assert!(!found.contains("undefined symbol") && !found.contains("not found"), "{path}: {found}");
            run(&mut Command::new(out.join(&path)));
        }
    }
}

/// Fails if a library cannot be loaded while `liblnet.so.1` is not in the process and its directory is unknown to the loader,
/// or if unloading the library removes code that still runs.
#[test]
fn each_library_can_be_loaded_alone_and_let_go() {
    if !installed("gcc") {
        test_support::skip("no gcc");
        return;
    }
    let out = out_dir("loads_libraries");
    let (program, source) = (out.join("loads_libraries"), root().join("c-tests/loads_libraries.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-g"]).args(STRICT).arg(source).arg("-o").arg(&program).arg("-ldl");
    succeeded(&gcc.output().unwrap(), "compiling loads_libraries.c");
    let sockets = tempfile::tempdir().unwrap();
    for (library, begin, end) in [
        ("liblnet.so.1", "LNetNIInit", "LNetNIFini"),
        ("libptlrpc.so.1", "ptlrpc_init", "ptlrpc_fini"),
        ("libm0net.so.1", "m0_init", "m0_fini"),
        ("liblnet_selftest.so.1", "lnet_selftest_start", "lnet_selftest_stop"),
    ] {
        let mut command = Command::new(&program);
        command.arg(out.join(library)).args([begin, end]);
        command.env_remove("LD_LIBRARY_PATH").env("LNET_RUNTIME_DIR", sockets.path());
        succeeded(&command.output().unwrap(), library);
    }
}

fn under_valgrind(program: &str) {
    // Some run themselves.
    with_valgrind("yes", |valgrind| run(program, &["-DUNDER_VALGRIND"], valgrind));
}

/// Calls `run` with the valgrind that is to be before a program, and before those that it executes (`yes` or `no`).
fn with_valgrind(and_children: &str, run: impl FnOnce(&[&str])) {
    if !installed("valgrind") {
        test_support::skip("no valgrind");
        return;
    }
    let suppressions = format!("--suppressions={}", root().join("c-tests/valgrind.supp").display());
    // Only memory that is definitely lost counts: the standard library keeps a thread's handle where valgrind does not look.
    let valgrind = [
        "valgrind",
        "--quiet",
        "--error-exitcode=99",
        &format!("--trace-children={and_children}"),
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
        &suppressions,
    ];
    run(&valgrind);
}

fn under_the_sanitizer(program: &str) {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let probe = out_dir(&format!("asan-{program}")).join("probe");
    let source = probe.with_extension("c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let built = Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&probe).status();
    let works = built.is_ok_and(|s| s.success()) && Command::new(&probe).status().is_ok_and(|s| s.success());
    if !works {
        test_support::skip("the address sanitizer does not work here");
        return;
    }
    run(program, &flags, &[]);
}

fn attached(program: &str) {
    run_attached(program, &[], &[]);
}

fn attached_under_valgrind(program: &str) {
    with_valgrind("no", |valgrind| run_attached(program, &["-DUNDER_VALGRIND"], valgrind));
}

/// Runs a program with `c-tests/attached.c`, which starts and ends the daemons.
fn run_attached(program: &str, flags: &[&str], wrapper: &[&str]) {
    let lnetd = format!("-DLNETD=\"{}\"", programs::programs().join("lnetd").display());
    let source = root().join("c-tests/attached.c").display().to_string();
    // The libraries that the program uses find the functions of that file, too.
    run(program, &[&["-DATTACHED", &lnetd, "-rdynamic", &source], flags].concat(), wrapper);
}

/// Compiles `c-tests/PROGRAM.c` and runs it, with `wrapper` before it.
fn run(program: &str, flags: &[&str], wrapper: &[&str]) {
    // The directory is not that of this machine's nodes, and its path is short enough for a socket.
    run_in(tempfile::tempdir().unwrap().path(), program, flags, wrapper);
}

/// Does so where the sockets of nodes are in this directory.
fn run_in(sockets: &Path, program: &str, flags: &[&str], wrapper: &[&str]) {
    if !installed("gcc") {
        test_support::skip("no gcc");
        return;
    }
    let kind = format!("{program}{}{}", wrapper.first().unwrap_or(&""), flags.len());
    let out = out_dir(&kind);
    let binary = out.join(program);
    let output = Command::new("gcc")
        .args(["-std=gnu11", "-g", "-O1", "-pthread"])
        .args(STRICT)
        .args(flags)
        .arg("-I")
        .arg(root().join("include"))
        .arg("-I")
        .arg(root().join("consumers/motr-net/include"))
        .args(files_of(program).iter().map(|file| root().join("c-tests").join(format!("{file}.c"))))
        .arg("-o")
        .arg(&binary)
        .arg("-L")
        .arg(&out)
        .args(program.starts_with("ptlrpc").then_some("-lptlrpc"))
        .args(program.starts_with("m0net").then_some("-lm0net"))
        .args(program.starts_with("selftest").then_some("-llnet_selftest"))
        .arg("-llnet")
        .arg(format!("-Wl,-rpath,{}", out.display()))
        .output();
    succeeded(&output.unwrap(), &format!("compiling {program}.c"));

    let (first, rest) = match wrapper.split_first() {
        Some((first, rest)) => (OsStr::new(*first), rest),
        None => (binary.as_os_str(), &[][..]),
    };
    let mut command = Command::new(first);
    command.args(rest);
    if !wrapper.is_empty() {
        command.arg(&binary);
    }
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("LNET_") || name.to_string_lossy().starts_with("SOCKLND_") {
            command.env_remove(name);
        }
    }
    // Cargo's value comes before the path in the program, and may lead to libraries of an earlier build.
    command.env_remove("LD_LIBRARY_PATH");
    command.env("LNET_RUNTIME_DIR", sockets);
    succeeded(&command.output().unwrap(), &format!("{} {program}", wrapper.join(" ")));
}

/// The files of a program, without `.c`.
fn files_of(program: &str) -> Vec<&str> {
    match program {
        "both_apis" => vec![program, "both_apis_2_15", "both_apis_2_17"],
        _ => vec![program],
    }
}

/// Whether gcc makes programs with these options. If not, the test counts as skipped.
fn compiles_with(flags: &[&str]) -> bool {
    let probe = out_dir(&format!("probe{}", flags.concat())).join("probe");
    let source = probe.with_extension("c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let built = Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&probe).output();
    let works = built.is_ok_and(|output| output.status.success());
    if !works {
        test_support::skip(&format!("gcc does not take {}", flags.join(" ")));
    }
    works
}

/// A directory of this test's own with the libraries in it, each under both of its names.
fn out_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs").join(name);
    fs::create_dir_all(&dir).unwrap();
    for library in ["liblnet.so", "libptlrpc.so", "libm0net.so", "liblnet_selftest.so"] {
        for link in [library.to_owned(), format!("{library}.1")] {
            let link = dir.join(link);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(built(library), link).unwrap();
        }
    }
    dir
}

/// The libraries lie beside the test programs.
fn built(library: &str) -> PathBuf {
    let library = env::current_exe().unwrap().with_file_name(library);
    assert!(library.exists(), "no {}", library.display());
    library
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn succeeded(output: &Output, what: &str) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}{err}", output.status);
}
