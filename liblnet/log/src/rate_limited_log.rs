//! The lines of one node, or of one part of a program, thinned out, so that a flood fills no log and hides nothing else.
//!
//! In a [`PERIOD`] there are no more than [`LINES_PER_PERIOD`] for each class and subject; and of the classes that any peer
//! can cause ([`Limit::AnyPeer`]) no more than [`MAX_LINES_PER_CLASS`] each and [`MAX_LINES_IN_ALL`] together, whatever their
//! subjects. Half of the lines of such a class are for subjects that have none yet, and the first line of each class is always
//! written. What is about something that an operator has configured counts for its subject only.
//!
//! The memory is bounded: only [`MAX_SUBJECTS`] subjects of a class are told apart at a time, all others share one
//! allowance; besides these there are those that are configured. So a peer that has unlimited names fills neither the memory
//! nor the log.

use crate::class::{Limit, LogClass};
use std::collections::HashMap;
use std::fmt::{self, Arguments, Display, Write as _};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many lines one subject gets in a period, in each class.
pub const LINES_PER_PERIOD: u32 = 10;
/// How many lines a class that any peer can cause gets in a period.
pub const MAX_LINES_PER_CLASS: u32 = 40;
/// And all these classes together; the first line of each class is written nevertheless.
pub const MAX_LINES_IN_ALL: u32 = 100;
/// How long the lines of a class are counted before they start from zero; it begins with the first of them.
pub const PERIOD: Duration = Duration::from_secs(60);
/// How many subjects of one class are told apart.
pub const MAX_SUBJECTS: usize = 16;

/// So much of a subject is remembered for the line that says how many were suppressed.
const MAX_SUBJECT_BYTES: usize = 80;
const OTHER_SUBJECTS: &str = "other subjects";

/// Writes lines to the log, each class and subject at a limited rate, and tells how many were suppressed.
///
/// It has no clock: the time is an argument, any that never goes backward. All methods may be called from any thread.
#[derive(Debug, Default)]
pub struct RateLimitedLog {
    allowances: Mutex<Allowances>,
    /// Subjects are compared by what they hash to; a peer cannot know with which key.
    keys: RandomState,
    wake: Option<Wake>,
}

struct Wake(Box<dyn Fn() + Send + Sync>);

impl RateLimitedLog {
    /// Nothing has been written yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same; `wake` is called when something begins to be suppressed, by whoever writes: the thread that calls
    /// [`RateLimitedLog::poll`] may be asleep.
    pub fn with_wake(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let mut log = Self::new();
        log.wake = Some(Wake(Box::new(wake)));
        log
    }

    /// Writes `line`, or counts that it was suppressed. `subject` is what it is about, as in the line: a NID, a path
    /// (`A -> B`), a name.
    pub fn write(
        &self,
        now: impl Into<Duration>,
        class: LogClass,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.write_about(now.into(), class, Standing::of(class), &subject, line);
    }

    /// The same about something that an operator has configured: the lines that any peer can cause about others do not suppress
    /// it.
    pub fn write_configured(
        &self,
        now: impl Into<Duration>,
        class: LogClass,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.write_about(now.into(), class, Standing::Configured, &subject, line);
    }

    fn write_about(
        &self,
        now: Duration,
        class: LogClass,
        standing: Standing,
        subject: &impl Display,
        line: Arguments<'_>,
    ) {
        if !log::log_enabled!(target: class.target(), class.level()) {
            return;
        }
        let key = self.key(subject);
        let (ended, admitted, begins) = {
            let mut allowances = lock(&self.allowances);
            let (ended, waited) = (allowances.end_periods(now), allowances.next_report.is_some());
            let admitted = !class.is_limited() || allowances.admit(now, class, standing, key, subject);
            (ended, admitted, !waited && allowances.next_report.is_some())
        };
        ended.iter().for_each(Suppressed::write);
        if let Some(Wake(wake)) = self.wake.as_ref().filter(|_| begins) {
            wake();
        }
        if admitted {
            log::log!(target: class.target(), class.level(), "{line}");
        }
    }

    /// Says what was suppressed in the periods that have ended; to be called from time to time. When the next period
    /// ends of which there will be something to say.
    pub fn poll(&self, now: impl Into<Duration>) -> Option<Duration> {
        let (ended, next) = {
            let mut allowances = lock(&self.allowances);
            (allowances.end_periods(now.into()), allowances.next_report)
        };
        ended.iter().for_each(Suppressed::write);
        next
    }

    fn key(&self, subject: &impl Display) -> u64 {
        let mut hasher = HashingWriter(self.keys.build_hasher());
        // A hasher takes everything; a subject that fails to print itself is its beginning.
        let _ = write!(hasher, "{subject}");
        hasher.0.finish()
    }
}

/// What was suppressed is said at the end, too.
impl Drop for RateLimitedLog {
    fn drop(&mut self) {
        let allowances = self.allowances.get_mut().unwrap_or_else(PoisonError::into_inner);
        allowances.end_periods(Duration::MAX).iter().for_each(Suppressed::write);
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wake")
    }
}

/// Which limits a line is under, besides that of its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// None: its subject is one of those that an operator has configured.
    Configured,
    /// The number of subjects.
    Local,
    /// The number of subjects, the class, and all classes.
    AnyPeer,
}

/// Who has had how many lines, class by class.
#[derive(Debug)]
struct Allowances {
    classes: [Class; LogClass::ALL.len()],
    /// The lines of all classes that any peer can cause.
    in_all: Count,
    /// When the first period ends in which something was suppressed.
    next_report: Option<Duration>,
}

/// What the lines of a class have used in its period.
#[derive(Debug, Default)]
struct Class {
    /// Those that any peer can cause, and the period of all.
    count: Count,
    subjects: HashMap<u64, Allowance>,
    /// How many of these are not configured.
    told_apart: usize,
    /// The subjects that are not told apart.
    others: Allowance,
}

/// Lines in a period, which has begun if there is a time.
#[derive(Debug, Default)]
struct Count {
    since: Option<Duration>,
    written: u32,
}

/// What one subject, or all the other subjects together, has used in the period of its class.
#[derive(Debug, Default)]
struct Allowance {
    subject: String,
    written: u32,
    suppressed: u64,
}

/// How many lines of a class were not written in a period, and what most of them were about.
#[derive(Debug, PartialEq, Eq)]
struct Suppressed {
    class: LogClass,
    subject: String,
    and_others: bool,
    lines: u64,
}

impl Standing {
    const fn of(class: LogClass) -> Self {
        match class.limit() {
            Limit::AnyPeer => Self::AnyPeer,
            Limit::PerConfigured => Self::Configured,
            Limit::PerSubject | Limit::Unlimited => Self::Local,
        }
    }
}

impl Default for Allowances {
    fn default() -> Self {
        let classes = std::array::from_fn(|_| Class::default());
        Self { classes, in_all: Count::default(), next_report: None }
    }
}

impl Allowances {
    /// Whether a line may be written; if not, it is counted.
    fn admit(
        &mut self,
        now: Duration,
        class: LogClass,
        standing: Standing,
        key: u64,
        subject: &impl Display,
    ) -> bool {
        let Self { classes, in_all, next_report } = self;
        let Some(class) = classes.get_mut(class as usize) else { return true };
        // Where something was suppressed, that was said when the periods were ended.
        if class.count.begin(now) {
            *class = Class { count: Count { since: Some(now), written: 0 }, ..Class::default() };
        }
        in_all.begin(now);
        let (of_class, ends) = (class.count.written, class.count.ends());
        let allowance = class.allowance_of(standing, key, subject);
        let is_within = match standing {
            Standing::Configured | Standing::Local => true,
            Standing::AnyPeer => {
                let most = if allowance.written == 0 { MAX_LINES_PER_CLASS } else { MAX_LINES_PER_CLASS / 2 };
                of_class < most && (of_class == 0 || in_all.written < MAX_LINES_IN_ALL)
            }
        };
        if is_within && allowance.written < LINES_PER_PERIOD {
            allowance.written += 1;
            if standing == Standing::AnyPeer {
                class.count.written += 1;
                in_all.written += 1;
            }
            return true;
        }
        allowance.suppressed += 1;
        *next_report = Some(next_report.map_or(ends, |next| next.min(ends)));
        false
    }

    /// Forgets the periods that have ended in which something was suppressed; what that was, in one for each class.
    fn end_periods(&mut self, now: Duration) -> Vec<Suppressed> {
        if self.next_report.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let mut said = Vec::new();
        for (class, its) in LogClass::ALL.into_iter().zip(&mut self.classes) {
            if its.count.ends() <= now {
                said.extend(std::mem::take(its).suppressed(class));
            }
        }
        let unsaid = self.classes.iter().filter(|its| its.all().any(|one| one.suppressed > 0));
        self.next_report = unsaid.map(|its| its.count.ends()).min();
        said
    }
}

impl Class {
    fn allowance_of(&mut self, standing: Standing, key: u64, subject: &impl Display) -> &mut Allowance {
        let Self { subjects, told_apart, others, .. } = self;
        let is_known = subjects.contains_key(&key);
        if !is_known && standing != Standing::Configured {
            if *told_apart >= MAX_SUBJECTS {
                if others.subject.is_empty() {
                    OTHER_SUBJECTS.clone_into(&mut others.subject);
                }
                return others;
            }
            *told_apart += 1;
        }
        subjects.entry(key).or_insert_with(|| Allowance::new(subject))
    }

    fn all(&self) -> impl Iterator<Item = &Allowance> {
        self.subjects.values().chain(std::iter::once(&self.others))
    }

    fn suppressed(self, class: LogClass) -> Option<Suppressed> {
        let of_one = || self.all().filter(|one| one.suppressed > 0);
        let most = of_one()
            .max_by(|one, other| (one.suppressed, &other.subject).cmp(&(other.suppressed, &one.subject)))?;
        let lines = of_one().map(|one| one.suppressed).sum();
        Some(Suppressed { class, subject: most.subject.clone(), and_others: of_one().count() > 1, lines })
    }
}

impl Count {
    /// Begins a new period if there is none, or it has ended; returns whether it does.
    fn begin(&mut self, now: Duration) -> bool {
        let begins = self.ends() <= now;
        if begins {
            *self = Self { since: Some(now), written: 0 };
        }
        begins
    }

    fn ends(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.saturating_add(PERIOD))
    }
}

impl Allowance {
    fn new(subject: &impl Display) -> Self {
        let mut text = Truncated(String::new());
        // It ends with an error where it is too long, and is cut there.
        let _ = write!(text, "{subject}");
        Self { subject: text.0, written: 0, suppressed: 0 }
    }
}

impl Suppressed {
    fn write(&self) {
        let Self { class, subject, and_others, lines } = self;
        let others = if *and_others { " and others" } else { "" };
        let name = class.name();
        log::log!(target: class.target(), class.level(), "{subject}{others}: {lines} lines suppressed ({name})");
    }
}

/// Hashes what is written to it.
struct HashingWriter<H>(H);

impl<H: Hasher> fmt::Write for HashingWriter<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Keeps the beginning of what is written to it.
struct Truncated(String);

impl fmt::Write for Truncated {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if self.0.len() + char.len_utf8() > MAX_SUBJECT_BYTES {
                return Err(fmt::Error);
            }
            self.0.push(char);
        }
        Ok(())
    }
}

fn lock(allowances: &Mutex<Allowances>) -> MutexGuard<'_, Allowances> {
    allowances.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "rate_limited_log_tests.rs"]
mod tests;
