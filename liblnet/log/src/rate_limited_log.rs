//! The lines of one node, or of one part of a program, thinned out: no more than [`LINES_PER_PERIOD`] in a [`PERIOD`] for
//! each class and subject, so that a flood of one hides nothing of another.
//!
//! The memory is bounded: only [`MAX_SUBJECTS`] subjects of a class are told apart at a time, all others share one
//! allowance. So a peer that has unlimited names fills neither the memory nor the log.

use crate::class::LogClass;
use std::fmt::{self, Arguments, Display, Write as _};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many lines one subject gets in a period, in each class.
pub const LINES_PER_PERIOD: u32 = 10;
/// How long a subject's lines are counted before they start from zero; it begins with the first of them.
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
        if !log::log_enabled!(target: class.target(), class.level()) {
            return;
        }
        let now = now.into();
        let subject_key = self.key(&subject);
        let (ended, admitted, begins) = {
            let mut allowances = lock(&self.allowances);
            let (ended, waited) = (allowances.end_periods(now), allowances.next_report.is_some());
            let admitted = !class.is_limited() || allowances.admit(now, class, subject_key, &subject);
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

/// Who has had how many lines, class by class.
#[derive(Debug)]
struct Allowances {
    classes: [Vec<Allowance>; LogClass::ALL.len()],
    /// When the first period ends in which something was suppressed.
    next_report: Option<Duration>,
}

/// What one subject, or all the other subjects together, has used in its period.
#[derive(Debug)]
struct Allowance {
    /// `None`: the subjects that are not told apart.
    key: Option<u64>,
    subject: String,
    since: Duration,
    written: u32,
    suppressed: u64,
}

/// How many lines of a class about a subject were not written in a period.
#[derive(Debug, PartialEq, Eq)]
struct Suppressed {
    class: LogClass,
    subject: String,
    lines: u64,
}

impl Default for Allowances {
    fn default() -> Self {
        Self { classes: std::array::from_fn(|_| Vec::new()), next_report: None }
    }
}

impl Allowances {
    /// Whether a line may be written; if not, it is counted.
    fn admit(&mut self, now: Duration, class: LogClass, key: u64, subject: &impl Display) -> bool {
        let Some(known) = self.classes.get_mut(class as usize) else { return true };
        // Where something was suppressed, that was said when the periods were ended.
        known.retain(|allowance| allowance.suppressed > 0 || !allowance.has_ended(now));
        let place = known.iter().position(|allowance| allowance.key == Some(key)).unwrap_or_else(|| {
            let told_apart = known.iter().filter(|allowance| allowance.key.is_some()).count();
            let shared = known.iter().position(|allowance| allowance.key.is_none());
            match shared.filter(|_| told_apart >= MAX_SUBJECTS) {
                Some(shared) => shared,
                None if told_apart >= MAX_SUBJECTS => {
                    known.push(Allowance::new(now, None, &OTHER_SUBJECTS));
                    known.len() - 1
                }
                None => {
                    known.push(Allowance::new(now, Some(key), subject));
                    known.len() - 1
                }
            }
        });
        let Some(allowance) = known.get_mut(place) else { return true };
        if allowance.written < LINES_PER_PERIOD {
            allowance.written += 1;
            return true;
        }
        allowance.suppressed += 1;
        let ends = allowance.ends();
        self.next_report = Some(self.next_report.map_or(ends, |next| next.min(ends)));
        false
    }

    /// Forgets the periods that have ended, of all classes; what was suppressed in them.
    fn end_periods(&mut self, now: Duration) -> Vec<Suppressed> {
        if self.next_report.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let mut said = Vec::new();
        for (class, known) in LogClass::ALL.into_iter().zip(&mut self.classes) {
            for ended in known.extract_if(.., |allowance| allowance.has_ended(now)) {
                if ended.suppressed > 0 {
                    said.push(Suppressed { class, subject: ended.subject, lines: ended.suppressed });
                }
            }
        }
        let unsaid = self.classes.iter().flatten().filter(|allowance| allowance.suppressed > 0);
        self.next_report = unsaid.map(Allowance::ends).min();
        said
    }
}

impl Allowance {
    fn new(now: Duration, key: Option<u64>, subject: &impl Display) -> Self {
        let mut text = Truncated(String::new());
        // It ends with an error where it is too long, and is cut there.
        let _ = write!(text, "{subject}");
        Self { key, subject: text.0, since: now, written: 0, suppressed: 0 }
    }

    const fn ends(&self) -> Duration {
        self.since.saturating_add(PERIOD)
    }

    fn has_ended(&self, now: Duration) -> bool {
        self.ends() <= now
    }
}

impl Suppressed {
    fn write(&self) {
        let Self { class, subject, lines } = self;
        log::log!(target: class.target(), class.level(), "{subject}: {lines} lines suppressed ({})", class.name());
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
