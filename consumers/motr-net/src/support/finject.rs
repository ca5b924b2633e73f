//! Fault injection points in the program's own functions (`lib/finject.h`).

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use lnet_api::c_pointer::Text;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::ffi::{CString, c_int, c_void};
use std::hash::BuildHasher;
use std::sync::LazyLock;

type Trigger = unsafe extern "C" fn(data: *mut c_void) -> bool;

/// The rule by which an enabled point fails.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Always,
    Once,
    /// Fails with a probability in percent.
    Random(u32),
    /// Fails at every n-th call; 0: never.
    EachNth(u32),
    /// Succeeds for `off` calls, then fails for `on` calls, and repeats that.
    OffOn {
        off: u32,
        on: u32,
    },
    /// Fails when the program's function returns true.
    Trigger(Trigger, UserData),
}

/// The argument of the program's function.
#[derive(Clone, Copy, Debug)]
struct UserData(*mut c_void);

// SAFETY: only handed back to the program, which has said that any thread may call its function (`lib/finject.h`).
unsafe impl Send for UserData {}

/// An enabled point.
#[derive(Debug)]
struct FaultPoint {
    rule: Rule,
    /// The number of calls so far.
    calls: u64,
}

/// The outcome of a call of a point.
#[derive(Clone, Copy, Debug)]
enum FaultOutcome {
    No,
    Yes,
    /// The point fails, and is disabled.
    Last,
    Ask(Trigger, UserData),
}

impl FaultPoint {
    /// The outcome of the next call. `random` is a random number.
    fn call(&mut self, random: u64) -> FaultOutcome {
        let number = self.calls;
        self.calls += 1;
        let fails = match self.rule {
            Rule::Always => true,
            Rule::Once => return FaultOutcome::Last,
            Rule::Random(percent) => random % 100 < percent.into(),
            Rule::EachNth(count) => count > 0 && (number + 1).is_multiple_of(count.into()),
            Rule::OffOn { off, on } => {
                let period = u64::from(off) + u64::from(on);
                period > 0 && number % period >= off.into()
            }
            Rule::Trigger(trigger, data) => return FaultOutcome::Ask(trigger, data),
        };
        if fails { FaultOutcome::Yes } else { FaultOutcome::No }
    }
}

/// The enabled points, by function and tag.
static POINTS: LazyLock<Mutex<HashMap<(CString, CString), FaultPoint>>> = LazyLock::new(Mutex::default);
/// The number of enabled points: a point takes no lock while none is enabled.
static ENABLED: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(0));

/// The name of a point; NULL is an empty name.
fn name(function: Text<'_>, tag: Text<'_>) -> (CString, CString) {
    let owned = |text: Text<'_>| text.get().unwrap_or_default().to_owned();
    (owned(function), owned(tag))
}

fn enable(function: Text<'_>, tag: Text<'_>, rule: Rule) {
    let mut points = lock(&POINTS);
    points.insert(name(function, tag), FaultPoint { rule, calls: 0 });
    ENABLED.store(points.len(), Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enabled(fp_func: Text<'_>, fp_tag: Text<'_>) -> bool {
    if ENABLED.load(Ordering::Acquire) == 0 {
        return false;
    }
    let name = name(fp_func, fp_tag);
    let outcome = {
        let mut points = lock(&POINTS);
        let Some(point) = points.get_mut(&name) else { return false };
        let outcome = point.call(RandomState::new().hash_one(point.calls));
        if matches!(outcome, FaultOutcome::Last) {
            points.remove(&name);
            ENABLED.store(points.len(), Ordering::Release);
        }
        outcome
    };
    match outcome {
        FaultOutcome::No => false,
        FaultOutcome::Yes | FaultOutcome::Last => true,
        // SAFETY: the program's function and its data, which it keeps until it disables the point; `m0_fi_enable_func` was given both.
        FaultOutcome::Ask(trigger, UserData(data)) => unsafe { trigger(data) },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_init() -> c_int {
    m0_fi_fini();
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_fini() {
    let mut points = lock(&POINTS);
    points.clear();
    ENABLED.store(0, Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enable(fp_func: Text<'_>, fp_tag: Text<'_>) {
    enable(fp_func, fp_tag, Rule::Always);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enable_once(fp_func: Text<'_>, fp_tag: Text<'_>) {
    enable(fp_func, fp_tag, Rule::Once);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enable_random(fp_func: Text<'_>, fp_tag: Text<'_>, p: u32) {
    enable(fp_func, fp_tag, Rule::Random(p));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enable_each_nth_time(fp_func: Text<'_>, fp_tag: Text<'_>, n: u32) {
    enable(fp_func, fp_tag, Rule::EachNth(n));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_enable_off_n_on_m(fp_func: Text<'_>, fp_tag: Text<'_>, n: u32, m: u32) {
    enable(fp_func, fp_tag, Rule::OffOn { off: n, on: m });
}

/// # Safety
/// Any thread may call `trigger_func` with `data` until the point is disabled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_fi_enable_func(
    fp_func: Text<'_>,
    fp_tag: Text<'_>,
    trigger_func: Option<Trigger>,
    data: *mut c_void,
) {
    if let Some(trigger) = trigger_func {
        enable(fp_func, fp_tag, Rule::Trigger(trigger, UserData(data)));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_fi_disable(fp_func: Text<'_>, fp_tag: Text<'_>) {
    let mut points = lock(&POINTS);
    points.remove(&name(fp_func, fp_tag));
    ENABLED.store(points.len(), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_which_calls_of_a_point_fail() {
        let table = [
            (Rule::Always, "111111"),
            (Rule::EachNth(0), "000000"),
            (Rule::EachNth(1), "111111"),
            (Rule::EachNth(3), "001001"),
            (Rule::OffOn { off: 2, on: 1 }, "001001"),
            (Rule::OffOn { off: 0, on: 1 }, "111111"),
            (Rule::OffOn { off: 0, on: 0 }, "000000"),
            // The random numbers are 0, 20, 40 and so on.
            (Rule::Random(0), "000000"),
            (Rule::Random(41), "111001"),
            (Rule::Random(100), "111111"),
        ];
        for (rule, expected) in table {
            let mut point = FaultPoint { rule, calls: 0 };
            let calls: String = (0..6)
                .map(|call| if matches!(point.call(call * 20), FaultOutcome::Yes) { '1' } else { '0' })
                .collect();
            assert_eq!(calls, expected, "{rule:?}");
        }
    }
}
