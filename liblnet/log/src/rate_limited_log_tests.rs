use super::*;
use LogClass::{MessageDropped, ResponseTimeout};

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How many of `times` lines are admitted; what was suppressed in the periods that have ended before.
fn flood(
    allowances: &mut Allowances,
    now: u64,
    class: LogClass,
    subject: u64,
    times: usize,
) -> (usize, Vec<Suppressed>) {
    let ended = allowances.end_periods(at(now));
    let admitted = (0..times).filter(|_| allowances.admit(at(now), class, subject, &subject)).count();
    (admitted, ended)
}

fn suppressed(class: LogClass, subject: impl Display, lines: u64) -> Suppressed {
    Suppressed { class, subject: subject.to_string(), lines }
}

/// Fails if a flood takes the lines of another class, or of another subject.
#[test]
fn a_flood_hides_nothing_of_another_class_nor_of_another_subject() {
    let mut allowances = Allowances::default();
    assert_eq!(flood(&mut allowances, 0, ResponseTimeout, 1, 100_000), (10, vec![]));
    assert_eq!(flood(&mut allowances, 0, ResponseTimeout, 2, 3), (3, vec![]));
    for class in LogClass::ALL.into_iter().filter(|class| *class != ResponseTimeout) {
        assert_eq!(flood(&mut allowances, 0, class, 1, 10), (10, vec![]));
    }
}

/// Fails if what was suppressed is not counted, or not said when its period ends: with the next line of any class.
#[test]
fn what_was_suppressed_is_said_once_when_its_period_ends() {
    let mut allowances = Allowances::default();
    assert_eq!(flood(&mut allowances, 0, ResponseTimeout, 7, 1010).0, 10);
    assert_eq!(flood(&mut allowances, 30, ResponseTimeout, 8, 12).0, 10);
    assert_eq!(flood(&mut allowances, 59, ResponseTimeout, 7, 5), (0, vec![]));
    assert_eq!(allowances.next_report, Some(at(60)));
    let first = suppressed(ResponseTimeout, 7, 1005);
    assert_eq!(flood(&mut allowances, 60, MessageDropped, 1, 1), (1, vec![first]));
    assert_eq!(allowances.next_report, Some(at(90)));
    assert_eq!(flood(&mut allowances, 60, ResponseTimeout, 7, 11), (10, vec![]));
    assert_eq!(
        flood(&mut allowances, 90, MessageDropped, 1, 1),
        (1, vec![suppressed(ResponseTimeout, 8, 2)])
    );
    assert_eq!(allowances.end_periods(at(1000)), [suppressed(ResponseTimeout, 7, 1)]);
    assert_eq!((allowances.next_report, allowances.end_periods(at(2000))), (None, vec![]));
}

/// Fails if who has unlimited names fills the memory or the log, or takes the lines of who was there before.
#[test]
fn subjects_without_number_share_what_is_left_and_need_no_memory() {
    let mut allowances = Allowances::default();
    let written: usize = (0..10_000).map(|name| flood(&mut allowances, 0, MessageDropped, name, 3).0).sum();
    assert_eq!(written, 3 * MAX_SUBJECTS + LINES_PER_PERIOD as usize);
    let known = &allowances.classes[MessageDropped as usize];
    assert_eq!(known.len(), MAX_SUBJECTS + 1);
    assert_eq!(flood(&mut allowances, 10, MessageDropped, 3, 20).0, 7);
    let lines = 3 * (10_000 - MAX_SUBJECTS as u64) - 10;
    assert_eq!(
        allowances.end_periods(at(60)),
        [suppressed(MessageDropped, 3, 13), suppressed(MessageDropped, OTHER_SUBJECTS, lines)]
    );
    // Those whose period is over make room for others.
    assert_eq!(flood(&mut allowances, 60, MessageDropped, 20_000, 11).0, 10);
    assert_eq!(allowances.classes[MessageDropped as usize].len(), 1);
}

/// Fails if a subject as long as its peer likes is remembered whole.
#[test]
fn of_a_long_subject_the_beginning_is_remembered() {
    let long = "ü".repeat(1_000_000);
    assert_eq!(Allowance::new(at(0), Some(1), &long).subject, "ü".repeat(MAX_SUBJECT_BYTES / 2));
}
