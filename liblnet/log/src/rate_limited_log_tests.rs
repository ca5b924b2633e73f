use super::*;
use LogClass::{MessageDropped, ResponseTimeout, RouteState};

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Offers `times` lines. Returns the number of admitted ones, and the suppressed lines of the periods that have ended before.
fn flood(
    allowances: &mut Allowances,
    now: u64,
    class: LogClass,
    subject: u64,
    times: usize,
) -> (usize, Vec<Suppressed>) {
    let ended = allowances.end_periods(at(now));
    let mut admit = || allowances.admit(at(now), class, Standing::of(class), subject, &subject);
    ((0..times).filter(|_| admit()).count(), ended)
}

fn suppressed(class: LogClass, subject: impl Display, and_others: bool, lines: u64) -> Suppressed {
    Suppressed { class, subject: subject.to_string(), and_others, lines }
}

/// The classes that any peer can cause.
fn any_peers() -> impl Iterator<Item = LogClass> {
    LogClass::ALL.into_iter().filter(|class| class.limit() == Limit::AnyPeer)
}

/// Fails if a flood takes the lines of another class, or of another subject.
#[test]
fn a_flood_hides_nothing_of_another_class_nor_of_another_subject() {
    let mut allowances = Allowances::default();
    assert_eq!(flood(&mut allowances, 0, ResponseTimeout, 1, 100_000), (10, vec![]));
    assert_eq!(flood(&mut allowances, 0, ResponseTimeout, 2, 3), (3, vec![]));
    for class in LogClass::ALL.into_iter().filter(|class| class.is_limited() && *class != ResponseTimeout) {
        let (written, _) = flood(&mut allowances, 0, class, 1, 10);
        assert!(written == 10 || class.limit() == Limit::AnyPeer && written >= 1, "{class:?}: {written}");
    }
}

/// Fails if a peer can write more than its class may, with whatever names, however many peers it pretends to be; or if one
/// subject takes the lines of all others of the class.
#[test]
fn every_class_that_a_peer_can_cause_has_a_limit_whatever_the_subjects_are() {
    for class in any_peers() {
        let mut allowances = Allowances::default();
        let of_few: usize = (0..4).map(|name| flood(&mut allowances, 0, class, name, 1000).0).sum();
        assert_eq!(of_few, MAX_LINES_PER_CLASS as usize / 2 + 2, "{class:?}: the first lines of two more");
        let of_many: usize = (4..10_000).map(|name| flood(&mut allowances, 1, class, name, 1).0).sum();
        assert!(of_many >= 10 && of_few + of_many <= MAX_LINES_PER_CLASS as usize, "{class:?}: {of_many}");
        let said = allowances.end_periods(at(60));
        let lines: u64 = said.iter().map(|said| said.lines).sum();
        assert_eq!((said.len(), lines), (1, 4000 + 9996 - (of_few + of_many) as u64), "{class:?}");
    }
}

/// Fails if a peer that causes lines of every class writes more than all of them may have together; or if a class has no line
/// at all because of others.
#[test]
fn a_flood_of_every_class_that_a_peer_can_cause_has_a_limit_in_all() {
    let mut allowances = Allowances::default();
    let classes = any_peers().count();
    let mut written = vec![0; classes];
    for name in 0..1000 {
        for (class, written) in any_peers().zip(&mut written) {
            *written += flood(&mut allowances, 0, class, name, 1).0;
        }
    }
    let in_all: usize = written.iter().sum();
    assert!(in_all <= MAX_LINES_IN_ALL as usize + classes, "{in_all}");
    assert!(written.iter().all(|written| *written > 0), "{written:?}");
    // One line for each class reports the suppressed ones.
    assert_eq!(allowances.end_periods(at(60)).len(), classes);
}

/// Fails if an operator does not learn what becomes of what is configured while a flood goes on, or if whoever speaks as one of
/// those floods the log.
#[test]
fn lines_about_what_is_configured_are_limited_by_their_subject_only() {
    let mut allowances = Allowances::default();
    any_peers().for_each(|class| {
        (0..1000).for_each(|name| _ = flood(&mut allowances, 0, class, name, 1));
    });
    for name in 1000..1500 {
        assert_eq!(flood(&mut allowances, 0, RouteState, name, 12).0, LINES_PER_PERIOD as usize);
        let mut peer =
            || allowances.admit(at(0), LogClass::PeerUnreachable, Standing::Configured, name, &name);
        assert_eq!((0..12).filter(|_| peer()).count(), LINES_PER_PERIOD as usize);
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
    let first = suppressed(ResponseTimeout, 7, true, 1007);
    assert_eq!(flood(&mut allowances, 60, MessageDropped, 1, 1), (1, vec![first]));
    assert_eq!(allowances.next_report, None);
    assert_eq!(flood(&mut allowances, 60, ResponseTimeout, 7, 11), (10, vec![]));
    assert_eq!(allowances.end_periods(at(1000)), [suppressed(ResponseTimeout, 7, false, 1)]);
    assert_eq!((allowances.next_report, allowances.end_periods(at(2000))), (None, vec![]));
}

/// Fails if who has unlimited names fills the memory or the log, or takes the lines of who was there before.
#[test]
fn subjects_without_number_share_what_is_left_and_need_no_memory() {
    let mut allowances = Allowances::default();
    let written: usize = (0..10_000).map(|name| flood(&mut allowances, 0, MessageDropped, name, 1).0).sum();
    assert_eq!(written, MAX_LINES_PER_CLASS as usize / 2);
    let known = &allowances.classes[MessageDropped as usize];
    assert_eq!((known.subjects.len(), known.told_apart), (MAX_SUBJECTS, MAX_SUBJECTS));
    let lines = 10_000 - written as u64;
    assert_eq!(allowances.end_periods(at(60)), [suppressed(MessageDropped, OTHER_SUBJECTS, false, lines)]);
    // Subjects whose period has ended make space for others.
    assert_eq!(flood(&mut allowances, 60, MessageDropped, 20_000, 11).0, 10);
    assert_eq!(allowances.classes[MessageDropped as usize].subjects.len(), 1);
}

/// Fails if a subject is stored whole, however long its peer has made it.
#[test]
fn of_a_long_subject_the_beginning_is_remembered() {
    let long = "ü".repeat(1_000_000);
    assert_eq!(Allowance::new(&long).subject, "ü".repeat(MAX_SUBJECT_BYTES / 2));
}

#[test]
fn a_change_is_kept_at_once_in_a_limited_number_and_its_line_is_not_kept_again() {
    let history = Arc::new(History::new(|| std::time::UNIX_EPOCH));
    let log = RateLimitedLog::new().keeping(Some(Arc::clone(&history)));
    log.keep(at(0), RouteState, true, "a", format_args!("down"));
    log.write_kept(at(2), RouteState, true, "a", format_args!("down, and it has lasted"));
    log.keep(at(2), MessageDropped, true, "a", format_args!("no change of a state"));
    let texts =
        |after| -> Vec<String> { history.after(after, 99).into_iter().map(|change| change.text).collect() };
    assert_eq!(texts(0), ["down"]);
    for _ in 0..3 * LINES_PER_PERIOD {
        log.keep(at(3), RouteState, true, "a", format_args!("again"));
    }
    assert_eq!(texts(1).len(), LINES_PER_PERIOD as usize - 1);
    log.keep(at(70), RouteState, true, "a", format_args!("in the next period"));
    assert_eq!(texts(LINES_PER_PERIOD.into()), ["in the next period"]);
}
