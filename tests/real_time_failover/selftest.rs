//! LNet selftest as load: brw with every byte checked, in both directions, between two more nodes beside the nodes under
//! load, on the same rails and routers: whatever happens to those, no RPC fails and no byte is wrong.

use super::netns::ip;
use super::site::{FAR, NEAR, Site, WIRING};
use super::testbed::{SELFTEST_PORT, Testbed};
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The variable with the path of `lst`. Without it there is no such load.
pub const PROGRAM: &str = "SELFTEST_LOAD";

/// The port that routers listen on and connect to.
const ROUTERS_PORT: u16 = 988;
/// RPCs of 64 KiB and of 1 MiB at once, in each direction.
const SMALL: &str = "--concurrency 4 --from cli --to srv brw check=full size=64k";
const LARGE: &str = "--concurrency 1 --from cli --to srv brw check=full size=1m";

/// A batch that runs.
pub struct Selftest {
    program: PathBuf,
    directory: TempDir,
    server: Child,
}

impl Selftest {
    /// Starts the load, if it is requested.
    pub fn start(testbed: &Testbed) -> Option<Self> {
        let program = PathBuf::from(std::env::var_os(PROGRAM)?);
        let directory = tempfile::tempdir().unwrap();
        if testbed.site() != Site::Rails {
            for machine in [NEAR, FAR] {
                for (_, card) in testbed.site().interfaces(machine) {
                    let address = format!("{}/24", address(testbed, machine, card));
                    testbed.on(machine, || ip(&["addr", "add", &address, "dev", &format!("eth{card}")]));
                }
            }
        }
        let mut command = command(testbed, FAR, &program, &directory);
        command.args(["console", "--stay"]).stdout(Stdio::piped()).stderr(testbed.new_log("selftest.log"));
        let mut server = testbed.on(FAR, || command.spawn().unwrap());
        let mut said = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim_end(), "ready");
        let this = Self { program, directory, server };
        let [cli, srv] = [NEAR, FAR].map(|machine| {
            let (net, card) = testbed.site().interfaces(machine).remove(0);
            format!("{}@{net}", address(testbed, machine, card))
        });
        for line in [
            "new_session --timeout 1000000 load".to_owned(),
            format!("add_group cli {cli}"),
            format!("add_group srv {srv}"),
            format!("add_test {SMALL} read"),
            format!("add_test {SMALL} write"),
            format!("add_test {LARGE} read"),
            format!("add_test {LARGE} write"),
            "run".to_owned(),
        ] {
            let output = this.lst(testbed, &line);
            assert!(output.status.success(), "{line}: {output:?}");
        }
        Some(this)
    }

    /// Ends the batch, when no fault is active. Returns a summary, or the output of `lst` if there were errors.
    pub fn end(self, testbed: &Testbed) -> Result<String, String> {
        let stat = self.lst(testbed, "--format json show_error --session srv");
        let running = text(&self.lst(testbed, "query"));
        let errors = text(&self.lst(testbed, "show_error --session cli srv"));
        let stopped = text(&self.lst(testbed, "stop"));
        self.lst(testbed, "end_session");
        let is_well = errors.matches("Total 0 error nodes").count() == 2
            && running.starts_with("batch [0] is running")
            && stopped.ends_with("Batch is stopped\n");
        match is_well {
            true => Ok(format!("selftest: {} MiB checked, no error", checked(&text(&stat)) >> 20)),
            false => Err(format!("selftest: {running}{errors}{stopped}")),
        }
    }

    fn lst(&self, testbed: &Testbed, line: &str) -> Output {
        let mut command = command(testbed, NEAR, &self.program, &self.directory);
        command.args(line.split_whitespace());
        testbed.on(NEAR, || command.output().unwrap())
    }
}

impl Drop for Selftest {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn command(testbed: &Testbed, machine: usize, program: &PathBuf, directory: &TempDir) -> Command {
    let site = testbed.site();
    // All of a node of this load are on one net.
    let interfaces = site.interfaces(machine);
    let net = interfaces.first().map_or("tcp", |(net, _)| net);
    let addresses: Vec<String> =
        interfaces.iter().map(|(_, card)| address(testbed, machine, *card)).collect();
    let routes: Vec<String> =
        site.routes(machine).into_iter().map(|(net, gateway)| format!("{net} {gateway}")).collect();
    let mut command = Command::new(program);
    command
        .env("LNET_RUNTIME_DIR", directory.path())
        .env("LNET_NODE", format!("selftest{machine}"))
        .env("LNET_NETWORKS", format!("{net}({})", addresses.join(",")))
        .env("LNET_ROUTES", routes.join(";"))
        .env("LNET_ACCEPT", "all")
        .env("LNET_ACCEPT_PORT", if site == Site::Rails { SELFTEST_PORT } else { ROUTERS_PORT }.to_string())
        .env("LST_SESSION", "1")
        .stdin(Stdio::null());
    command
}

/// The address of a node of this load. On a site with routers, whose nodes must all use one port, it is a separate address; on
/// the site of rails, where a scenario removes addresses, it is the machine's own.
fn address(testbed: &Testbed, machine: usize, card: usize) -> String {
    let address: Ipv4Addr = WIRING.address(machine, card).parse().unwrap();
    let own = if testbed.site() == Site::Rails { 0 } else { 100 };
    Ipv4Addr::from_bits(address.to_bits() + own).to_string()
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Returns the bytes that a server moved.
fn checked(json: &str) -> u64 {
    let number = |name: &str| {
        let behind = json.split_once(&format!("\"{name}\":")).map_or("", |(_, behind)| behind);
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    number("bulk_get") + number("bulk_put")
}
