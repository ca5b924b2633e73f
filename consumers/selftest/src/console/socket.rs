//! The Unix socket by which `lst` reaches a console: one JSON value a line in each direction, one command a connection. A
//! client that
//! closes its connection before the response has come interrupts the command.

use super::call::{Call, Response};
use super::host::ConsoleHost;
use super::refusal::Refusal;
use lnet_log::{LogClass, write_line};
use lnet_os::descriptor::{accept_unix, connect_unix, listen_unix};
use lnet_os::socket::send_all;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::{self, Builder};
use std::time::Duration;

/// The suffix of the name of a console's socket, behind the name of its node.
pub const SUFFIX: &str = ".lst";

/// The most bytes of a command.
const MAX_CALL: u64 = 16 << 20;
/// The most bytes of a response.
const MAX_ANSWER: u64 = 256 << 20;
/// The pause before the next connection is accepted, after one could not be for want of descriptors or memory.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The socket of a console; removed when this is dropped.
pub struct ConsoleSocket {
    path: PathBuf,
}

impl ConsoleSocket {
    /// Listens at a path, which only this user may connect to; a socket of a process that has died is replaced. The threads end
    /// with the process.
    pub fn listen(path: &Path, host: &Arc<ConsoleHost>) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = listen_unix(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let host = Arc::downgrade(host);
        lnet_os::thread::spawn(of_a_client(), move || {
            while let Some(next) = next_client(&listener, &host) {
                let Ok((stream, host)) = next else {
                    thread::sleep(RETRY_INTERVAL);
                    continue;
                };
                let serve = move || {
                    // A client that has disconnected is not an error.
                    let _ = serve(stream, &host);
                };
                if let Err(error) = lnet_os::thread::spawn(of_a_client(), serve) {
                    write_line!(LogClass::SelftestService, "lst: command refused (no thread: {error})");
                }
            }
        })?;
        Ok(Self { path: path.to_owned() })
    }
}

fn of_a_client() -> Builder {
    Builder::new().name("lnet_st_lst".to_owned())
}

/// Accepts the next client; returns it with the host that serves it. `None` if the host does not exist any more.
fn next_client(
    listener: &UnixListener,
    host: &Weak<ConsoleHost>,
) -> Option<io::Result<(UnixStream, Arc<ConsoleHost>)>> {
    let stream = accept_unix(listener);
    let host = host.upgrade()?;
    Some(stream.map(|stream| (stream, host)))
}

impl Drop for ConsoleSocket {
    fn drop(&mut self) {
        // The directory may have been removed with it.
        let _ = fs::remove_file(&self.path);
    }
}

fn serve(stream: UnixStream, host: &Arc<ConsoleHost>) -> io::Result<()> {
    let call: Call = read(&stream, MAX_CALL)?;
    let pending = host.call(call);
    let (id, watcher, watched) = (pending.id, Arc::clone(host), stream.try_clone()?);
    lnet_os::thread::spawn(of_a_client(), move || {
        // The client sends nothing more; the read returns when it disconnects.
        let _ = (&watched).read(&mut [0]);
        watcher.interrupt(id);
    })?;
    // A console that has ended sends no response, like one that does not exist.
    let sent = pending.response.recv().map_or(Ok(()), |response| write(&stream, &response));
    stream.shutdown(std::net::Shutdown::Both)?;
    sent
}

/// Gives the console at a path a command, and waits for its response.
pub fn call(path: &Path, call: &Call) -> io::Result<Result<Response, Refusal>> {
    let stream = connect_unix(path)?;
    write(&stream, call)?;
    read(&stream, MAX_ANSWER)
}

fn read<T: serde::de::DeserializeOwned>(stream: &UnixStream, limit: u64) -> io::Result<T> {
    let mut line = String::new();
    if BufReader::new(stream).take(limit).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&line).map_err(io::Error::other)
}

fn write(stream: &UnixStream, value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    send_all(stream, &line)
}
