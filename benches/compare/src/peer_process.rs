//! Child processes that cannot outlive the comparison or hang it, and free ports for them.

use crate::error::{Error, context};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time until a server responds.
const START_LIMIT: Duration = Duration::from_secs(10);
/// The program that starts another and makes the kernel end it together with this one.
const TIE: &str = "setpriv";
/// Interval at which a process that has closed its output is checked for its end.
const EXIT_INTERVAL: Duration = Duration::from_millis(1);

/// Returns the time limit of a process that measures for `duration`.
pub(crate) fn limit(duration: Duration) -> Duration {
    START_LIMIT + 20 * duration
}

/// A child process that is ended when this is dropped.
pub(crate) struct Peer {
    name: String,
    child: Child,
    output: Receiver<String>,
    limit: Duration,
    deadline: Instant,
}

impl Peer {
    /// Starts a process; later calls wait for it at most until `limit` has passed.
    pub(crate) fn start(command: &mut Command, limit: Duration) -> Result<Self, Error> {
        let name = name_of(command);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(context(&name))?;
        let output = lines(child.stdout.take());
        Ok(Self { name, child, output, limit, deadline: Instant::now() + limit })
    }

    /// Returns the first line that the process prints; servers print one when they are ready.
    pub(crate) fn first_line(&mut self) -> Result<String, Error> {
        let line = self.next_line()?.ok_or("the other end ended before it was ready")?;
        Ok(line.trim_end().to_owned())
    }

    /// Sends the process an empty line, and returns the line with which it responds.
    pub(crate) fn ask(&mut self) -> Result<String, Error> {
        let input = self.child.stdin.as_mut().ok_or("its input is closed")?;
        input.write_all(b"\n").map_err(context(&self.name))?;
        Ok(self.next_line()?.ok_or("it ended before it answered")?)
    }

    /// Returns the rest of the process's output, and its exit status.
    fn finish(mut self) -> Result<(String, ExitStatus), Error> {
        let mut output = String::new();
        while let Some(line) = self.next_line()? {
            output.push_str(&line);
        }
        loop {
            if let Some(status) = self.child.try_wait().map_err(context(&self.name))? {
                return Ok((output, status));
            }
            if Instant::now() > self.deadline {
                return Err(self.timed_out());
            }
            thread::sleep(EXIT_INTERVAL);
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn next_line(&self) -> Result<Option<String>, Error> {
        match self.output.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> Error {
        format!("{}: timed out after {:.0} s", self.name, self.limit.as_secs_f64())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the lines that a process prints, read by a thread that ends with it.
fn lines(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = stream {
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
    }
    receiver
}

/// Runs a program to its end. Returns its output if it succeeds; otherwise the error is the last line on standard error.
pub(crate) fn output_of(command: &mut Command, limit: Duration) -> Result<String, Error> {
    let mut peer = Peer::start(command.stderr(Stdio::piped()), limit)?;
    let (name, deadline) = (peer.name.clone(), peer.deadline);
    let errors = lines(peer.child.stderr.take());
    let (output, status) = peer.finish()?;
    if status.success() {
        return Ok(output);
    }
    let next = || errors.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    let last = std::iter::from_fn(next).filter(|line| !line.trim().is_empty()).last();
    Err(format!("{name}: {}", last.map_or_else(|| status.to_string(), |line| line.trim().to_owned())))
}

/// Starts a server that prints nothing when it is ready, and runs a client until the server responds.
pub(crate) fn ask_idle_server(
    server: &mut Command,
    client: &mut Command,
    limit: Duration,
) -> Result<String, Error> {
    let _server = Peer::start(server.stderr(Stdio::null()), limit)?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let begin = Instant::now();
        match output_of(client, limit) {
            Err(error) if Instant::now() > deadline || begin.elapsed() > limit => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(10)),
            output => return output,
        }
    }
}

/// Returns the command of a foreign program that ends when this program does, even if that is killed.
pub(crate) fn tied(program: impl AsRef<OsStr>) -> Command {
    static CAN_TIE: OnceLock<bool> = OnceLock::new();
    if !CAN_TIE.get_or_init(|| runs(&mut Command::new(TIE), "--version")) {
        return Command::new(program);
    }
    let mut command = Command::new(TIE);
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Returns the program that does the work, also of a command that [`tied`] made.
fn name_of(command: &Command) -> String {
    let program = command.get_program();
    let tied = command.get_args().nth(2).filter(|_| program == TIE);
    tied.unwrap_or(program).to_string_lossy().into_owned()
}

/// Whether a program exists, and runs with this argument.
pub(crate) fn runs(command: &mut Command, argument: &str) -> bool {
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Returns a port that no process uses, for servers that do not report the port that they have chosen.
pub(crate) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(context("a free port"))?;
    Ok(listener.local_addr().map_err(context("a free port"))?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMPLE: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_output_of_a_program_that_succeeds_is_returned_whole() {
        assert_eq!(output_of(&mut shell("echo a; echo b >&2; printf c"), AMPLE), Ok("a\nc".into()));
    }

    #[test]
    fn a_program_that_fails_is_quoted_with_its_last_words() {
        let failed = output_of(&mut shell("echo first >&2; echo last >&2; exit 3"), AMPLE);
        assert_eq!(failed, Err("sh: last".into()));
        assert_eq!(output_of(&mut shell("exit 3"), AMPLE), Err("sh: exit status: 3".into()));
    }

    #[test]
    fn a_program_that_hangs_is_ended_and_called_timed_out() {
        for script in ["exec sleep 600", "exec sleep 600 >&- 2>&-"] {
            let result = output_of(&mut shell(script), Duration::ZERO);
            assert_eq!(result, Err("sh: timed out after 0 s".into()), "{script}");
        }
    }

    #[test]
    fn a_program_is_called_by_its_own_name_however_it_is_started() {
        for command in [Command::new("fi_pingpong"), tied("fi_pingpong")] {
            assert_eq!(name_of(&command), "fi_pingpong");
        }
    }

    #[test]
    fn a_process_answers_each_line_that_it_is_given() {
        let mut process = Peer::start(&mut shell("while read line; do echo answer; done"), AMPLE).unwrap();
        assert_eq!([process.ask(), process.ask()], [(); 2].map(|()| Ok("answer\n".to_owned())));
    }

    #[test]
    fn a_server_that_ends_before_it_is_ready_is_an_error() {
        let mut server = Peer::start(&mut shell("exit 0"), AMPLE).unwrap();
        assert!(server.first_line().is_err());
    }
}
