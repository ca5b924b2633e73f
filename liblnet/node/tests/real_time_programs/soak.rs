//! The soak: it starts all processes, kills and stops some of them by chance, and looks at what is left in the end.

use super::process::Process;
use super::roles::{DIRECTORY, NUMBER, PORT, PROGRAMS};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The number of programs.
const COUNT: usize = 4;
/// The longest pause between two things that happen, in milliseconds.
const MAX_PAUSE: u64 = 600;
/// Far beyond the time in which the daemon frees what a program has.
const FOR_EVER: Duration = Duration::from_secs(60);

/// What has happened in a soak.
#[derive(Default)]
pub struct Outcome {
    /// What was done to processes, with counts.
    done: BTreeMap<&'static str, u64>,
    /// Operations by how they ended.
    operations: BTreeMap<String, u64>,
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = |(what, count): (String, u64)| format!("{what}: {count}");
        let done = self.done.iter().map(|(what, count)| ((*what).to_owned(), *count));
        let operations = self.operations.iter().map(|(what, count)| (format!("operations {what}"), *count));
        f.write_str(&done.chain(operations).map(text).collect::<Vec<_>>().join(", "))
    }
}

struct Soak {
    variables: Vec<(&'static str, String)>,
    daemon: Process,
    other: Process,
    programs: Vec<Process>,
    /// What a daemon has before the first program attaches.
    before: BTreeMap<String, usize>,
    random: fastrand::Rng,
    outcome: Outcome,
}

/// Runs a soak for `time`.
pub fn run(seed: u64, time: Duration) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let mut soak = Soak::start(&directory, seed);
    let end = Instant::now() + time;
    while Instant::now() < end && soak.outcome.faults.is_empty() {
        soak.episode();
        let pause = soak.random.u64(0..MAX_PAUSE);
        thread::sleep(Duration::from_millis(pause));
    }
    soak.finish()
}

impl Soak {
    fn start(directory: &TempDir, seed: u64) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port();
        let variables = vec![
            (DIRECTORY, directory.path().to_str().unwrap().to_owned()),
            (PORT, port.to_string()),
            (PROGRAMS, COUNT.to_string()),
        ];
        let daemon = Process::start("daemon", &variables);
        let before = daemon.resources();
        let other = start("other", &variables, 0);
        let programs = (1..=COUNT).map(|number| start("program", &variables, number)).collect();
        let (random, outcome) = (fastrand::Rng::with_seed(seed), Outcome::default());
        Self { variables, daemon, other, programs, before, random, outcome }
    }

    /// Does something to a process.
    fn episode(&mut self) {
        let at = self.random.usize(0..COUNT);
        match self.random.u32(0..20) {
            0..12 => {
                self.count("programs killed");
                let said = self.replace(at).kill();
                self.note(said);
            }
            12..15 => {
                self.count("programs ended");
                let ended = self.replace(at).end();
                self.note_end(&format!("program {}", at + 1), ended);
            }
            15..18 => {
                self.count("programs stopped for a while");
                self.programs[at].signal(Signal::STOP);
                let pause = self.random.u64(0..MAX_PAUSE);
                thread::sleep(Duration::from_millis(pause));
                self.programs[at].signal(Signal::CONT);
            }
            _ => {
                self.count("daemons killed");
                self.daemon.kill();
                self.daemon = Process::start("daemon", &self.variables);
            }
        }
        let said: Vec<String> = self.programs.iter().chain([&self.other]).flat_map(Process::said).collect();
        self.note(said);
    }

    /// Starts a program beside one that is about to end, which is returned.
    fn replace(&mut self, at: usize) -> Process {
        let new = start("program", &self.variables, at + 1);
        std::mem::replace(&mut self.programs[at], new)
    }

    fn count(&mut self, what: &'static str) {
        *self.outcome.done.entry(what).or_default() += 1;
    }

    /// Takes what processes have said.
    fn note(&mut self, said: Vec<String>) {
        for line in said {
            if line.starts_with("wrong") {
                self.outcome.faults.push(line);
                continue;
            }
            for part in line.split(", ") {
                let Some((count, how)) = part.split_once(' ') else { continue };
                let count = count.parse::<u64>().unwrap_or(0);
                *self.outcome.operations.entry(how.to_owned()).or_default() += count;
            }
        }
    }

    fn note_end(&mut self, who: &str, (said, wrong): (Vec<String>, Option<String>)) {
        self.note(said);
        self.outcome.faults.extend(wrong.map(|status| format!("{who} has not ended well ({status})")));
    }

    /// Lets all participants end, and checks what is left in the daemon.
    fn finish(mut self) -> Outcome {
        // Together: those whose partners have ended wait for answers that do not come.
        self.programs.iter_mut().for_each(Process::tell_to_end);
        for (number, mut program) in (1..).zip(std::mem::take(&mut self.programs)) {
            self.note_end(&format!("program {number}"), program.end());
        }
        let begun = Instant::now();
        let mut left = String::new();
        while begun.elapsed() < FOR_EVER {
            let state = self.daemon.ask().unwrap_or_default();
            let now = self.daemon.resources();
            if state == "0 programs, 0 messages" && now == self.before {
                left.clear();
                break;
            }
            left = format!("left in the daemon: {state}, {now:?}; before: {:?}", self.before);
            thread::sleep(Duration::from_millis(50));
        }
        if !left.is_empty() {
            self.outcome.faults.push(left);
        }
        let ended = self.other.end();
        self.note_end("the other node", ended);
        self.outcome
    }
}

fn start(role: &str, variables: &[(&'static str, String)], number: usize) -> Process {
    let mut variables = variables.to_vec();
    variables.push((NUMBER, number.to_string()));
    Process::start(role, &variables)
}
