//! Programs on other hosts, by a command such as `ssh {}`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
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

    /// Runs a program on a host, and writes its output to a file, which is there afterwards only if the program succeeded. The program has no
    /// input. The error is one line.
    pub(super) fn run(&self, host: &str, program: &[&str], to: &Path, limit: Duration) -> Result<(), String> {
        let unfinished = to.with_extension("unfinished");
        let output =
            File::create(&unfinished).map_err(|error| format!("{}: {error}", unfinished.display()))?;
        let ended = self.start(host, program, output).and_then(|child| wait(child, limit));
        let kept = ended
            .and_then(|()| fs::rename(&unfinished, to).map_err(|error| format!("{}: {error}", to.display())));
        kept.inspect_err(|_| {
            let _gone = fs::remove_file(&unfinished);
        })
    }

    fn start(&self, host: &str, program: &[&str], output: File) -> Result<Child, String> {
        let words: Vec<String> = self.0.iter().map(|word| word.replace(PLACE, host)).collect();
        let (first, rest) = words.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(first);
        command.args(rest).args(program).stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
        command.spawn().map_err(|error| format!("{first}: {error}"))
    }
}

/// Waits for a program, and kills it after this time.
fn wait(mut child: Child, limit: Duration) -> Result<(), String> {
    // Nobody but this thread waits for the end of the errors: a program that was killed may have left others that keep them open.
    let errors = child.stderr.take().map(|errors| thread::spawn(move || first_line(errors)));
    let status = match child.wait_timeout(limit) {
        Ok(Some(status)) => status,
        ended => {
            let _killed = child.kill().and_then(|()| child.wait());
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
        assert_eq!(via.run("a.b", &["sh", "-c", "echo $HOST"], &to, long), Ok(()));
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
            assert_eq!(via.run("a", program, &failing, limit), Err(said.to_owned()));
            assert!(!failing.exists(), "{program:?}");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
