//! The ten mistakes of a beginner: each ends in a message that names it. The table here is that of `docs/guides/ten-mistakes.md`;
//! `UPDATE_TRANSCRIPTS=1` writes it there. `c-tests/ten_mistakes.c` makes the mistakes, with the libraries as they are built.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/placement.rs"]
#[allow(dead_code, unreachable_pub)]
mod placement;
#[path = "support/programs.rs"]
#[allow(unreachable_pub)]
mod programs;

use placement::NodeOfProgram;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A mistake that a running program makes.
struct Mistake {
    /// Its name, which is the argument of the program.
    name: &'static str,
    /// The node's networks.
    networks: &'static str,
    /// The text of a result or of the status of an event, as `LNetErrorText` has it. Empty: the program is told nothing.
    program: &'static str,
    /// A part of a line of the log; empty where the log has none.
    log: &'static str,
}

const TCP: &str = "tcp(127.0.1.1)";

const MISTAKES: [Mistake; 11] = [
    Mistake {
        name: "a NID with a typo",
        networks: TCP,
        program: "event: no target: its NID is LNET_NID_ANY, which libcfs_str2nid returns for a text that is no NID; or the source is no NID of this node",
        log: "PUT of 64 bytes to any node, portal 10, match bits 0x2a, offset 0: not sent (the target is LNET_NID_ANY, EINVAL); name one node; libcfs_str2nid returns LNET_NID_ANY for a text that is no NID",
    },
    Mistake {
        name: "a NID of another net",
        networks: TCP,
        program: "event: no path: this node is not on the target's net and has no route there, or the target refuses connections",
        log: "not sent (this node is not on tcp7, and has no route there, EHOSTUNREACH); add the net (`lnetctl net add`), or a route to it (`lnetctl route add`)",
    },
    Mistake {
        name: "an absent peer",
        networks: TCP,
        program: "event: no path: this node is not on the target's net and has no route there, or the target refuses connections",
        log: "peer 127.0.1.9@tcp: unknown -> unreachable (no path responds: Connection refused",
    },
    Mistake {
        name: "no network",
        networks: "",
        program: "LNetGetId: no interface has this number; without LNET_NETWORKS there is only number 0, the loopback",
        log: "this node has no network but the loopback; it reaches no other node, and none reaches it, until a net is added",
    },
    Mistake {
        name: "a portal out of range",
        networks: TCP,
        program: "LNetPut: no such portal (they are numbered from 0 to 63), or no such kind of acknowledgement",
        log: "refused (portal 64, EINVAL); portals are numbered from 0 to 63, on every node",
    },
    Mistake {
        name: "a portal where nobody listens",
        networks: TCP,
        program: "event: no response in time: the target is away, or nothing matched there (see its log), or it was too long for the memory there",
        log: "dropped (no match); portal 11, match bits 0x2a, offset 0; its sender gets no answer: attach a match entry with memory for it there before it is sent",
    },
    Mistake {
        name: "a forgotten poll",
        networks: TCP,
        program: "LNetEQFree: a memory descriptor still uses the queue: unlink it, and take its events until one has unlinked set",
        log: "event queue of 4 events: full (its program reads it too late, or never)",
    },
    Mistake {
        name: "a small queue",
        networks: TCP,
        program: "LNetEQGet: events were lost because the queue was full: read it sooner, or give LNetEQAlloc a larger count",
        log: "the oldest events are lost: read it sooner (LNetEQPoll), or give LNetEQAlloc a larger count",
    },
    Mistake {
        name: "a small descriptor",
        networks: TCP,
        program: "event: no response in time: the target is away, or nothing matched there (see its log), or it was too long for the memory there",
        log: "dropped (longer than the memory it matches); portal 10, match bits 0x2a, offset 0; its sender gets no answer: attach memory of its length, or with LNET_MD_TRUNCATE",
    },
    Mistake {
        name: "a double unlink",
        networks: TCP,
        program: "LNetMDUnlink: no such memory descriptor: it has been unlinked already, by a call or because it was exhausted or timed out",
        log: "",
    },
    Mistake {
        name: "a call before LNetNIInit",
        networks: TCP,
        program: "LNetMEAttach: the network is down: LNetNIInit has not been called, or has failed; or LNetNIFini has been called, or this is a child of fork",
        log: "LNetMEAttach: refused (ENETDOWN); the network of this process is down until LNetNIInit has succeeded",
    },
];

/// A mistake of who builds a program without `pkg-config`.
struct Unbuilt {
    name: &'static str,
    /// What is left out of the flags.
    left_out: Part,
    /// A part of the message of the compiler, the linker or the loader.
    message: &'static str,
    remedy: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Headers,
    Library,
    Path,
}

const UNBUILT: [Unbuilt; 3] = [
    Unbuilt {
        name: "no `pkg-config --cflags lnet`",
        left_out: Part::Headers,
        message: "lnet/api.h: No such file or directory",
        remedy: "compile with `$(pkg-config --cflags lnet)`",
    },
    Unbuilt {
        name: "no `pkg-config --libs lnet`",
        left_out: Part::Library,
        message: "undefined reference to `LNetNIInit'",
        remedy: "put `$(pkg-config --libs lnet)` behind the sources",
    },
    Unbuilt {
        name: "a library where the loader does not look",
        left_out: Part::Path,
        message: "liblnet.so.1: cannot open shared object file: No such file or directory",
        remedy: "`sudo ldconfig` after the installation, or `LD_LIBRARY_PATH` with the result of `pkg-config --variable=libdir lnet`",
    },
];

/// Fails if a beginner's mistake ends in an error that names something else, or in none.
#[test]
fn each_mistake_of_a_running_program_ends_in_a_message_that_names_it() {
    let Some(build) = Build::new_or_skip("running") else { return };
    let flags = [build.libraries(), vec![format!("-Wl,-rpath,{}", build.directory.display())]].concat();
    let built = build.run(true, &flags);
    assert!(built.status.success(), "{}", texts(&built).1);
    // Nobody listens there on the nodes' port.
    let nodes = placement::Site::new();
    for Mistake { name, networks, program, log } in &MISTAKES {
        let node = NodeOfProgram::Own("beginner".to_owned(), (*networks).to_owned());
        let output = nodes
            .command(&build.program(), &node)
            .arg(name)
            .env("LNET_ATTACH", "no")
            .env("LNET_RETRY_COUNT", "0")
            .env("LNET_TRANSACTION_TIMEOUT", "1")
            .output()
            .unwrap();
        let (said, logged) = texts(&output);
        let row = format!("{name}: {}\n{said}\n{logged}", output.status);
        assert!(output.status.success(), "{row}");
        assert_eq!(said.trim_end(), *program, "{row}");
        let is_logged = logged.lines().any(|line| line.contains(log));
        assert!(if log.is_empty() { logged.is_empty() } else { is_logged }, "{row}");
    }
}

#[test]
fn a_build_without_pkg_config_ends_in_a_message_that_says_what_is_missing() {
    for Unbuilt { name, left_out, message, .. } in &UNBUILT {
        let Some(build) = Build::new_or_skip("building") else { return };
        let flags: Vec<String> =
            build.libraries().into_iter().filter(|_| *left_out != Part::Library).collect();
        let mut output = build.run(*left_out != Part::Headers, &flags);
        if *left_out == Part::Path {
            assert!(output.status.success(), "{name}: {output:?}");
            output = Command::new(build.program()).env_remove("LD_LIBRARY_PATH").output().unwrap();
        }
        let (_, error) = texts(&output);
        assert!(!output.status.success() && error.contains(message), "{name}: {error}");
    }
}

#[test]
fn the_guide_has_the_table_of_the_tests() {
    let path = root().join("docs/guides/ten-mistakes.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut made = String::new();
    let mut tables = [running_table(), building_table()].into_iter();
    let mut is_inside = false;
    for line in text.lines() {
        let is_row = line.starts_with('|');
        if is_row && !is_inside {
            made += &tables.next().expect("the guide has two tables");
        }
        is_inside = is_row;
        if !is_row {
            made += &format!("{line}\n");
        }
    }
    assert!(tables.next().is_none(), "the guide has two tables");
    if env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        fs::write(&path, made).unwrap();
    } else {
        assert!(made == text, "UPDATE_TRANSCRIPTS=1 writes the tables of {} anew", path.display());
    }
}

fn running_table() -> String {
    let code = |text: &str| match text {
        "" => "nothing".to_owned(),
        // A text that has back quotes itself.
        text if text.contains('`') => format!("`` {text} ``"),
        text => format!("`{text}`"),
    };
    let rows =
        MISTAKES.iter().map(|row| format!("| {} | {} | {} |\n", row.name, code(row.program), code(row.log)));
    "| mistake | what the program is told | what the log says |\n|---|---|---|\n".to_owned()
        + &rows.collect::<String>()
}

fn building_table() -> String {
    let rows =
        UNBUILT.iter().map(|row| format!("| {} | `` {} `` | {} |\n", row.name, row.message, row.remedy));
    "| mistake | message | remedy |\n|---|---|---|\n".to_owned() + &rows.collect::<String>()
}

/// A directory with the libraries, and what gcc makes of the program.
struct Build {
    directory: PathBuf,
}

impl Build {
    fn new_or_skip(name: &str) -> Option<Self> {
        if Command::new("gcc").arg("--version").output().is_err() {
            test_support::skip("no gcc");
            return None;
        }
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ten-mistakes").join(name);
        fs::create_dir_all(&directory).unwrap();
        let built = env::current_exe().unwrap().with_file_name("liblnet.so");
        for link in ["liblnet.so", "liblnet.so.1"].map(|link| directory.join(link)) {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, link).unwrap();
        }
        Some(Self { directory })
    }

    /// The linker's flags, which `pkg-config --libs lnet` prints for an installed library.
    fn libraries(&self) -> Vec<String> {
        vec![format!("-L{}", self.directory.display()), "-llnet".to_owned()]
    }

    fn run(&self, has_headers: bool, libraries: &[String]) -> Output {
        let include = format!("-I{}", root().join("include").display());
        Command::new("gcc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
            .args(has_headers.then_some(include))
            .arg(root().join("c-tests/ten_mistakes.c"))
            .arg("-o")
            .arg(self.program())
            .args(libraries)
            .env("LC_ALL", "C")
            .output()
            .unwrap()
    }

    fn program(&self) -> PathBuf {
        self.directory.join("ten_mistakes")
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
