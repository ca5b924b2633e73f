//! Two nodes on the loopback interface, and `lst bench` between them.

use super::grid::{Cell, Sample, Test};
use crate::error::{Error, context};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CLIENT: &str = "127.0.61.1";
const SERVER: &str = "127.0.61.2";

/// The node that is measured, as long as this value lives. The other one is started for each measurement.
pub(super) struct Site {
    program: PathBuf,
    directory: PathBuf,
    port: u16,
    server: Child,
}

impl Site {
    pub(super) fn start(program: &Path) -> Result<Self, Error> {
        let directory = std::env::temp_dir().join(format!("lnet-selftest-{}", std::process::id()));
        let probe = TcpListener::bind((SERVER, 0)).map_err(context(SERVER))?;
        let port = probe.local_addr().map_err(context(SERVER))?.port();
        drop(probe);
        let mut command = command(program, &directory, port, SERVER);
        command.args(["console", "--stay"]).stdout(Stdio::piped());
        let mut server = command.spawn().map_err(context(&program.display().to_string()))?;
        let mut said = String::new();
        if let Some(stdout) = server.stdout.take() {
            BufReader::new(stdout).read_line(&mut said).map_err(context("lst"))?;
        }
        let site = Self { program: program.to_owned(), directory, port, server };
        if said.trim_end() == "ready" { Ok(site) } else { Err(format!("lst: {said}")) }
    }

    pub(super) fn bench(&self, cell: Cell, time: Duration) -> Result<Sample, Error> {
        let words = match cell.test {
            Test::Ping => vec!["ping".to_owned()],
            Test::Write { size } => vec!["brw".to_owned(), "write".to_owned(), format!("size={size}")],
            Test::Read { size } => vec!["brw".to_owned(), "read".to_owned(), format!("size={size}")],
        };
        let mut command = command(&self.program, &self.directory, self.port, CLIENT);
        command.arg("bench").arg(format!("{SERVER}@tcp")).args(words);
        command.args(["--concurrency", &cell.concurrency.to_string()]);
        command.args(["--time", &time.as_secs_f64().to_string(), "--format", "json"]);
        let output = command.stderr(Stdio::piped()).output().map_err(context("lst"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let said: serde_json::Value = serde_json::from_str(&text).map_err(context("lst"))?;
        let number = |name: &str| said.get(name).and_then(serde_json::Value::as_f64);
        let found = number("bytes_per_second").zip(number("rpcs_per_second"));
        found.map(|(bytes, rpcs)| Sample { bytes, rpcs }).ok_or_else(|| format!("lst: {text}"))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn command(program: &Path, directory: &Path, port: u16, address: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("LNET_RUNTIME_DIR", directory)
        .env("LNET_NODE", format!("lst-{address}"))
        .env("LNET_NETWORKS", format!("tcp({address})"))
        .env("LNET_ACCEPT", "all")
        .env("LNET_ACCEPT_PORT", port.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}
