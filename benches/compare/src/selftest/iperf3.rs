//! Measurement by iperf3: as many streams as RPCs are in flight, each with writes of the same size.

use super::grid::{Cell, Test};
use crate::error::{Error, context};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const ADDRESS: &str = "127.0.61.2";
const STARTS_WITHIN: Duration = Duration::from_secs(5);
/// Duration of a run: iperf3 accepts whole seconds only.
const SECONDS: &str = "1";

pub(super) struct Server {
    child: Child,
    port: String,
}

impl Server {
    pub(super) fn start() -> Result<Self, Error> {
        let probe = TcpListener::bind((ADDRESS, 0)).map_err(context("iperf3"))?;
        let port = probe.local_addr().map_err(context("iperf3"))?.port();
        drop(probe);
        let mut command = Command::new("iperf3");
        command.args(["-s", "-B", ADDRESS, "-p", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { child: command.spawn().map_err(context("iperf3"))?, port: port.to_string() };
        let began = Instant::now();
        while TcpStream::connect((ADDRESS, port)).is_err() {
            if began.elapsed() > STARTS_WITHIN {
                return Err("iperf3 does not start".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Returns the bytes per second that the receiver counts.
    pub(super) fn measure(&self, cell: Cell) -> Result<f64, Error> {
        let (size, direction) = match cell.test {
            Test::Write { size } => (size, None),
            Test::Read { size } => (size, Some("-R")),
            Test::Ping => return Err("iperf3 has no ping".to_owned()),
        };
        let mut command = Command::new("iperf3");
        command.args(["-c", ADDRESS, "-p", &self.port, "-t", SECONDS, "-J"]);
        command.args(["-l", &size.to_string(), "-P", &cell.concurrency.to_string()]).args(direction);
        let output = command.output().map_err(context("iperf3"))?;
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(context("iperf3"))?;
        let bits = said.pointer("/end/sum_received/bits_per_second").and_then(serde_json::Value::as_f64);
        let error =
            || said.get("error").map_or_else(|| "iperf3 says nothing".to_owned(), ToString::to_string);
        bits.map(|bits| bits / 8.0).ok_or_else(error)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
