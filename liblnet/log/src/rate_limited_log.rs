//! Rate limit for the log lines of one node, or of one part of a program: a flood neither fills the log nor hides other lines.
//!
//! In a [`PERIOD`] there are no more than [`LINES_PER_PERIOD`] for each class and subject; and of the classes that any peer
//! can cause ([`Limit::AnyPeer`]) no more than [`MAX_LINES_PER_CLASS`] each and [`MAX_LINES_IN_ALL`] together, whatever their
//! subjects. Half of the lines of such a class are for subjects that have none yet, and the first line of each class is
//! always written. A line about a subject that an operator has configured counts for its subject only.
//!
//! The memory is bounded: only [`MAX_SUBJECTS`] subjects of a class are told apart at a time, all others share one
//! allowance; configured subjects come on top. So a peer with unlimited names fills neither the memory nor the log.

use crate::class::{Limit, LogClass};
use crate::history::History;
use std::collections::HashMap;
use std::fmt::{self, Arguments, Display, Write as _};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of lines about one subject in a period, in each class.
pub const LINES_PER_PERIOD: u32 = 10;
/// Maximum number of lines in a period of a class that any peer can cause.
pub const MAX_LINES_PER_CLASS: u32 = 40;
/// Maximum number of lines in a period of all these classes together; the first line of each class is written nevertheless.
pub const MAX_LINES_IN_ALL: u32 = 100;
/// Time for which the lines of a class are counted before they start from zero; begins with the first of them.
pub const PERIOD: Duration = Duration::from_secs(60);
/// Maximum number of subjects of one class that are told apart.
pub const MAX_SUBJECTS: usize = 16;

/// Maximum length in bytes of the subject that is kept for the line about suppressed lines.
const MAX_SUBJECT_BYTES: usize = 80;
const OTHER_SUBJECTS: &str = "other subjects";

/// Writes lines to the log, each class and subject at a limited rate, and logs how many were suppressed.
///
/// The time is an argument that never goes backward. All methods may be called from any thread.
#[derive(Debug, Default)]
pub struct RateLimitedLog {
    allowances: Mutex<Allowances>,
    /// The same for changes that are added to the history before their line is written.
    kept: Mutex<Allowances>,
    /// Keys of the hash by which subjects are compared; a peer cannot know them.
    keys: RandomState,
    wake: Option<Wake>,
    history: Option<Arc<History>>,
}

struct Wake(Box<dyn Fn() + Send + Sync>);

impl RateLimitedLog {
    /// Makes a log to which nothing has been written.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a log that calls `wake` on the writing thread when lines begin to be suppressed: the thread that calls
    /// [`RateLimitedLog::poll`] may be asleep.
    pub fn with_wake(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let mut log = Self::new();
        log.wake = Some(Wake(Box::new(wake)));
        log
    }

    /// Adds the lines of classes that are kept to this history, too, whatever level is written.
    #[must_use]
    pub fn keeping(mut self, history: Option<Arc<History>>) -> Self {
        self.history = history;
        self
    }

    /// Writes `line`, or counts it as suppressed. `subject` is the subject of the line: a NID, a path
    /// (`A -> B`), a name.
    pub fn write(
        &self,
        now: impl Into<Duration>,
        class: LogClass,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.write_about(now.into(), class, Standing::of(class), &subject, line, self.history.as_deref());
    }

    /// Adds a change to the history, with the same limits as lines, and writes none: [`RateLimitedLog::write_kept`] does when
    /// the new state has lasted. Of a subject that an operator has configured (`is_configured`) it is not left out because of
    /// changes that any peer can cause of others.
    pub fn keep(
        &self,
        now: impl Into<Duration>,
        class: LogClass,
        is_configured: bool,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        let Some(history) = self.history.as_ref().filter(|_| class.is_kept()) else { return };
        let (now, key) = (now.into(), self.key(&subject));
        let admitted = {
            let mut kept = lock(&self.kept);
            // The numbers of those that were left out are not written.
            kept.end_periods(now);
            !class.is_limited() || kept.admit(now, class, Standing::with(class, is_configured), key, &subject)
        };
        if admitted {
            history.add(class, subject, line);
        }
    }

    /// Writes a line about changes that [`RateLimitedLog::keep`] has added to the history. Lines that any peer can cause
    /// about others do not suppress one about a subject that an operator has configured.
    pub fn write_kept(
        &self,
        now: impl Into<Duration>,
        class: LogClass,
        is_configured: bool,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.write_about(now.into(), class, Standing::with(class, is_configured), &subject, line, None);
    }

    fn write_about(
        &self,
        now: Duration,
        class: LogClass,
        standing: Standing,
        subject: &impl Display,
        line: Arguments<'_>,
        history: Option<&History>,
    ) {
        let is_written = log::log_enabled!(target: class.target(), class.level());
        let history = history.filter(|_| class.is_kept());
        if !is_written && history.is_none() {
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
        if let Some(history) = history.filter(|_| admitted) {
            history.add(class, subject, line);
        }
        if admitted && is_written {
            log::log!(target: class.target(), class.level(), "{line}");
        }
    }

    /// Logs how many lines were suppressed in the periods that have ended; to be called periodically. Returns when the
    /// next period ends for which there will be such a line.
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

/// Logs at the end how many lines were suppressed.
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

/// The limits that apply to a line in addition to that of its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// No limit: an operator has configured the subject.
    Configured,
    /// The maximum number of subjects.
    Local,
    /// The maximum number of subjects, and those of lines of the class and of all classes.
    AnyPeer,
}

/// Lines written and suppressed in the current periods, by class and subject.
#[derive(Debug)]
struct Allowances {
    classes: [Class; LogClass::ALL.len()],
    /// Lines of all classes that any peer can cause.
    in_all: Count,
    /// The end of the first period in which lines were suppressed.
    next_report: Option<Duration>,
}

/// The lines of one class in its period.
#[derive(Debug, Default)]
struct Class {
    /// Lines that any peer can cause, and the period of all lines.
    count: Count,
    subjects: HashMap<u64, Allowance>,
    /// Number of `subjects` that are not configured.
    told_apart: usize,
    /// The subjects that are not told apart, taken together.
    others: Allowance,
}

/// Number of lines in a period, which has begun if there is a time.
#[derive(Debug, Default)]
struct Count {
    since: Option<Duration>,
    written: u32,
}

/// Lines about one subject, or about all the other subjects together, in the period of its class.
#[derive(Debug, Default)]
struct Allowance {
    subject: String,
    written: u32,
    suppressed: u64,
}

/// Number of lines of a class that were suppressed in a period, and the subject of most of them.
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

    const fn with(class: LogClass, is_configured: bool) -> Self {
        if is_configured { Self::Configured } else { Self::of(class) }
    }
}

impl Default for Allowances {
    fn default() -> Self {
        let classes = std::array::from_fn(|_| Class::default());
        Self { classes, in_all: Count::default(), next_report: None }
    }
}

impl Allowances {
    /// Returns whether a line may be written; counts it in either case.
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
        // Lines that were suppressed in the period have been reported when it was ended.
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

    /// Ends the periods that are over and in which lines were suppressed. Returns their counts, one for each class.
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
    /// Begins a new period if there is none, or the last has ended; returns whether it does.
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
        // A subject that is too long ends with an error, and is cut there.
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

/// Hashes the text that is written to it.
struct HashingWriter<H>(H);

impl<H: Hasher> fmt::Write for HashingWriter<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Keeps the beginning of the text that is written to it.
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
