//! Programs on other hosts, by a command such as `ssh {}`.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use wait_timeout::ChildExt;

/// The place of the host in a command.
const PLACE: &str = "{}";
/// The most bytes of the errors of a program that are kept.
const MAX_ERRORS: u64 = 4096;

/// The command that runs a program on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Via(Vec<String>);

impl Via {
    /// Splits a command at spaces.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.split_first() {
            None => Err("the command is empty: write one such as 'ssh {}'".to_owned()),
            Some((program, _)) if program.contains(PLACE) => Err(format!(
                "'{text}': the command begins with the host: begin it with a program, as in 'ssh {{}}'"
            )),
            Some((_, words)) if !words.iter().any(|word| word.contains(PLACE)) => Err(format!(
                "'{text}': the command has no place for the host: write {{}} there, as in 'ssh {{}}'"
            )),
            Some(_) => Ok(Self(words)),
        }
    }

    /// Runs a program on a host, and writes its output to a file, which is replaced only if the program succeeded and `check` accepts the
    /// output. The program has no input. The error is one line.
    pub(super) fn run(
        &self,
        host: &str,
        program: &[&str],
        to: &Path,
        limit: Duration,
        check: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<(), String> {
        let of = |file: &Path, error: io::Error| format!("{}: {error}", file.display());
        // Another process may collect to the same directory.
        let mut unfinished = to.as_os_str().to_owned();
        unfinished.push(format!(".{}", std::process::id()));
        let unfinished = PathBuf::from(unfinished);
        let output = File::options().write(true).create_new(true).open(&unfinished);
        let output = output.map_err(|error| of(&unfinished, error))?;
        let ended = self.start(host, program, output).and_then(|child| wait(child, limit));
        let kept = ended
            .and_then(|()| check(&unfinished))
            .and_then(|()| fs::rename(&unfinished, to).map_err(|error| of(to, error)));
        kept.inspect_err(|_| {
            let _gone = fs::remove_file(&unfinished);
        })
    }

    fn start(&self, host: &str, program: &[&str], output: File) -> Result<Child, String> {
        let words: Vec<String> = self.0.iter().map(|word| word.replace(PLACE, host)).collect();
        let (first, rest) = words.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(first);
        command.args(rest).args(program).stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
        // A group of its own, so that a command that is given up ends with all that it has started.
        command.process_group(0);
        command.spawn().map_err(|error| format!("{first}: {error}"))
    }
}

/// Waits for a program, and kills it after this time, with all that it has started.
fn wait(mut child: Child, limit: Duration) -> Result<(), String> {
    // Nobody but this thread waits for the end of the errors: a program that was killed may have left others that keep them open.
    let errors = child.stderr.take().map(|errors| thread::spawn(move || first_line(errors)));
    let status = match child.wait_timeout(limit) {
        Ok(Some(status)) => status,
        ended => {
            let _killed = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ended = child.wait();
            return Err(match ended {
                Err(error) => error.to_string(),
                _ => format!("no answer within {} seconds", limit.as_secs()),
            });
        }
    };
    if status.success() {
        return Ok(());
    }
    let said = errors.and_then(|errors| errors.join().ok()).and_then(Result::ok).unwrap_or_default();
    Err(if said.is_empty() { status.to_string() } else { said })
}

/// The first line of a stream that has letters; the rest is dropped.
fn first_line(stream: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut stream = stream;
    stream.by_ref().take(MAX_ERRORS).read_to_end(&mut bytes)?;
    // The program could not end if its pipe were full.
    io::copy(&mut stream, &mut io::sink())?;
    let text = String::from_utf8_lossy(&bytes);
    let line =
        text.lines().map(str::trim).find(|line| line.contains(char::is_alphabetic)).unwrap_or_default();
    Ok(line.chars().map(|it| if it.is_control() { ' ' } else { it }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_program_and_a_place_for_the_host() {
        for (text, words) in [
            ("ssh {}", Some(vec!["ssh", "{}"])),
            ("  docker  exec node-{} ", Some(vec!["docker", "exec", "node-{}"])),
            ("", None),
            ("ssh", None),
            ("{} ssh", None),
        ] {
            let words = words.map(|words| Via(words.into_iter().map(str::to_owned).collect()));
            assert_eq!(Via::parse(text).ok(), words, "{text:?}");
        }
    }

    #[test]
    fn the_output_of_a_program_is_kept_only_if_it_succeeds() {
        let directory = tempfile::tempdir().unwrap();
        let via = Via::parse("env HOST={}").unwrap();
        let long = Duration::from_secs(60);
        let to = directory.path().join("a.b.yaml");
        let any = |_: &Path| Ok(());
        assert_eq!(via.run("a.b", &["sh", "-c", "echo $HOST"], &to, long, any), Ok(()));
        let refuse = |_: &Path| Err("no".to_owned());
        assert_eq!(via.run("c", &["sh", "-c", "echo $HOST"], &to, long, refuse), Err("no".to_owned()));
        assert_eq!(fs::read_to_string(&to).unwrap(), "a.b\n");
        let failing = directory.path().join("failing.yaml");
        for (program, limit, said) in [
            (
                &["sh", "-c", "echo some; echo '  '>&2; echo no such node >&2; exit 3"][..],
                long,
                "no such node",
            ),
            (&["sh", "-c", "exit 3"], long, "exit status: 3"),
            (&["sleep", "60"], Duration::from_millis(1), "no answer within 0 seconds"),
            // More errors than a pipe holds.
            (&["sh", "-c", "yes wrong | head -c 300000 >&2; exit 1"], long, "wrong"),
        ] {
            assert_eq!(via.run("a", program, &failing, limit, any), Err(said.to_owned()));
            assert!(!failing.exists(), "{program:?}");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_program_that_is_given_up_ends_with_those_that_it_has_started() {
        let directory = tempfile::tempdir().unwrap();
        let (read, write) = io::pipe().unwrap();
        let via = Via(vec!["sh".to_owned(), "-c".to_owned(), "sleep 600 & wait # {}".to_owned()]);
        let to = directory.path().join("a");
        // The programs have the other end of this pipe as long as they live.
        let flags = rustix::io::fcntl_getfd(&write).unwrap();
        rustix::io::fcntl_setfd(&write, flags - rustix::io::FdFlags::CLOEXEC).unwrap();
        let gave_up = via.run("a", &[], &to, Duration::from_millis(100), |_| Ok(()));
        assert_eq!(gave_up, Err("no answer within 0 seconds".to_owned()));
        drop(write);
        let mut rest = Vec::new();
        let mut read = read;
        read.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, Vec::<u8>::new());
    }
}
