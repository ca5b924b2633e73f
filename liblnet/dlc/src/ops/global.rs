//! Operations on the settings of the whole node.

pub use lnet_settings::Setting;

use super::error_text::{OpError, error_text};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, Tunables};
use crate::{ReturnCode, Value};
use lnet_settings::{ChangeTime, Refusal};
use lnet_wire::Errno;

/// The code that DLC returns for a value that is not valid: some settings are checked by the library and some by the node
/// (dlc 1.6).
pub fn refusal(setting: Setting) -> ReturnCode {
    match setting.spec().global.map(|key| key.refusal) {
        Some(Refusal::OutOfRange) => ReturnCode::OUT_OF_RANGE,
        Some(Refusal::BadParam) | None => ReturnCode::BAD_PARAM,
        Some(Refusal::Generic) => ReturnCode::GENERIC,
    }
}

/// Changes a setting. [`refusal`] for a value out of its range, and [`ReturnCode::GENERIC`] for one that the node refuses
/// because of other settings. `lustre_lnet_config_numa_range` and the like (cfg-090).
pub fn config(
    backend: &dyn Backend,
    setting: Setting,
    value: i64,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let name = setting.name();
    let checked = setting.spec().range().check(value);
    let request = checked.ok().and_then(|value| request_for(setting, value));
    let (rc, text) = match request.map(|request| backend.tell(request)) {
        Some(Ok(())) => return report.success(Operation::Add, name, seq_no),
        None => (refusal(setting), said(setting, value, "not allowed")),
        Some(Err(errno)) => refused(setting, value, errno),
    };
    report.end(Operation::Add, name, seq_no, rc, text)
}

/// The code and the text for a value that the node refused.
fn refused(setting: Setting, value: i64, errno: Errno) -> OpError {
    let by_itself = setting != Setting::NumaRange && errno != Errno::NetworkDown;
    let rc = if by_itself { ReturnCode::GENERIC } else { errno.into() };
    (rc, said(setting, value, &error_text(errno)))
}

fn said(setting: Setting, value: i64, cause: &str) -> String {
    format!("cannot set {} to {value}: {cause}{}", setting.name(), allowed(setting))
}

/// Returns the error with which a node that has the settings `now` would refuse this one, whose value is within its range, or
/// stores the value in `now` with all that follows from it (HE-2, HE-30).
pub(crate) fn rehearse(now: &mut Tunables, setting: Setting, value: i64) -> Result<(), OpError> {
    now.set(setting, value).map_err(|errno| refused(setting, value, errno))
}

/// The values that a setting accepts, as text.
fn allowed(setting: Setting) -> String {
    let spec = setting.spec();
    match spec.change {
        ChangeTime::Never(_) => spec.remark(),
        ChangeTime::AtStart | ChangeTime::AnyTime => {
            format!("; it takes {}{}", spec.range().wanted(), spec.remark())
        }
    }
}

/// Shows a setting under `global`. `lustre_lnet_show_numa_range` and the like.
pub fn show(backend: &dyn Backend, setting: Setting, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let value = match setting {
        Setting::NumaRange => backend.ask(Request::GetNumaRange),
        _ => backend.ask(Request::GetTunables).map(|tunables: Tunables| tunables.get(setting)),
    };
    match value {
        Ok(value) => {
            report.show("global", Value::map().with(setting.name(), value));
            report.success(Operation::Show, ENTITY, seq_no)
        }
        Err(errno) => unreadable(setting, seq_no, errno, report),
    }
}

/// Shows all settings: `lnetctl global show`. Shows nothing if one of them cannot be read.
pub fn show_all(backend: &dyn Backend, report: &mut Report) -> ReturnCode {
    let numa_range: u32 = match backend.ask(Request::GetNumaRange) {
        Ok(range) => range,
        Err(errno) => return unreadable(Setting::NumaRange, SeqNo::NONE, errno, report),
    };
    let tunables: Tunables = match backend.ask(Request::GetTunables) {
        Ok(tunables) => tunables,
        Err(errno) => return unreadable(Setting::MaxInterfaces, SeqNo::NONE, errno, report),
    };
    let entries = Setting::all_global().map(|setting| {
        let value = match setting {
            Setting::NumaRange => numa_range,
            _ => tunables.get(setting),
        };
        (setting.name().to_owned(), value.into())
    });
    report.show("global", Value::Map(entries.collect()));
    report.success(Operation::Show, ENTITY, SeqNo::NONE)
}

const ENTITY: &str = "global";

fn unreadable(setting: Setting, seq_no: SeqNo, errno: Errno, report: &mut Report) -> ReturnCode {
    let text = format!("cannot read {}: {}", setting.name(), error_text(errno));
    report.end(Operation::Show, ENTITY, seq_no, errno.into(), text)
}

/// The request that changes a setting; `None` for settings that cannot change while the node runs.
pub(crate) fn request_for(setting: Setting, value: i64) -> Option<Request> {
    match (setting.spec().change, setting) {
        (ChangeTime::AtStart | ChangeTime::Never(_), _) => None,
        (ChangeTime::AnyTime, Setting::NumaRange) => u32::try_from(value).ok().map(Request::SetNumaRange),
        (ChangeTime::AnyTime, _) => Some(Request::SetTunable(setting, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range_and_never_changed() {
        let refused = || Err(Errno::Invalid);
        let done = || Ok(Reply::Done);
        let table = [
            (Setting::NumaRange, 5, Some((Request::SetNumaRange(5), done())), 0),
            (Setting::NumaRange, 4_294_967_295, Some((Request::SetNumaRange(u32::MAX), done())), 0),
            (Setting::NumaRange, -1, None, -3),
            (Setting::NumaRange, 1 << 32, None, -3),
            (Setting::LndTimeout, 10, None, -1),
            (
                Setting::ResponseTracking,
                3,
                Some((Request::SetTunable(Setting::ResponseTracking, 3), done())),
                0,
            ),
            (Setting::ResponseTracking, 4, None, -1),
            (Setting::ResponseTracking, -1, None, -1),
            (Setting::RecoveryLimit, 10, Some((Request::SetTunable(Setting::RecoveryLimit, 10), done())), 0),
            (Setting::RecoveryLimit, -1, None, -1),
            (
                Setting::MaxRecoveryPingInterval,
                60,
                Some((Request::SetTunable(Setting::MaxRecoveryPingInterval, 60), done())),
                0,
            ),
            (Setting::MaxRecoveryPingInterval, 0, None, -1),
            (
                Setting::CompareQueuedBytes,
                1,
                Some((Request::SetTunable(Setting::CompareQueuedBytes, 1), done())),
                0,
            ),
            (Setting::CompareQueuedBytes, 2, None, -1),
            (Setting::CompareQueuedBytes, -1, None, -1),
            (
                Setting::DiscoveryTimeout,
                5,
                Some((Request::SetTunable(Setting::DiscoveryTimeout, 5), done())),
                0,
            ),
            (Setting::DiscoveryTimeout, 0, None, -1),
            (Setting::Discovery, 2, Some((Request::SetTunable(Setting::Discovery, 2), done())), 0),
            (Setting::Discovery, 3, None, -5),
            (Setting::Discovery, -1, None, -5),
            (Setting::DropAsymRoute, 3, None, -5),
            (Setting::MaxInterfaces, 15, None, -5),
            (Setting::MaxInterfaces, 16, Some((Request::SetTunable(Setting::MaxInterfaces, 16), done())), 0),
            (Setting::RetryCount, -1, None, -5),
            (Setting::RetryCount, 99, Some((Request::SetTunable(Setting::RetryCount, 99), refused())), -5),
            (
                Setting::TransactionTimeout,
                1,
                Some((Request::SetTunable(Setting::TransactionTimeout, 1), Err(Errno::OutOfRange))),
                -5,
            ),
            (
                Setting::Discovery,
                1,
                Some((Request::SetTunable(Setting::Discovery, 1), Err(Errno::NetworkDown))),
                -100,
            ),
        ];
        for (setting, value, scene, rc) in table {
            let fake = Fake::new(scene);
            let mut report = Report::new();
            assert_eq!(
                config(&fake, setting, value, SeqNo::NONE, &mut report),
                ReturnCode(rc),
                "{setting:?} {value}"
            );
            let head = format!("add:\n    - {}:\n          errno: {rc}\n", setting.name());
            assert!(report.errors_to_yaml().starts_with(&head), "{}", report.errors_to_yaml());
            let names_the_range = report.errors_to_yaml().contains(&setting.spec().range().wanted());
            assert!(names_the_range || rc == 0 || setting == Setting::LndTimeout, "{setting:?} {value}");
        }
    }

    fn as_captured() -> Tunables {
        let mut tunables = Tunables::default();
        for (setting, value) in
            [(Setting::DropAsymRoute, 1), (Setting::RetryCount, 0), (Setting::RecoveryLimit, 10)]
        {
            tunables.set(setting, value).unwrap();
        }
        tunables
    }

    #[test]
    fn all_settings_are_shown_in_the_kernels_order() {
        let fake = Fake::new([
            (Request::GetNumaRange, Ok(Reply::Number(u32::MAX))),
            (Request::GetTunables, Ok(Reply::Tunables(as_captured()))),
        ]);
        let mut report = Report::new();
        assert_eq!(show_all(&fake, &mut report), ReturnCode::OK);
        let expected = "\
global:
    numa_range: 4294967295
    max_interfaces: 4096
    discovery: 1
    drop_asym_route: 1
    retry_count: 0
    transaction_timeout: 50
    health_sensitivity: 100
    recovery_interval: 1
    router_sensitivity: 100
    lnd_timeout: 49
    response_tracking: 3
    recovery_limit: 10
    max_recovery_ping_interval: 900
";
        let shown = report.shown.to_yaml();
        let of_this_library = shown.strip_prefix(expected).unwrap();
        let names: Vec<_> =
            of_this_library.lines().filter_map(|line| line.trim().split(':').next()).collect();
        let known = expected.lines().count() - 1;
        let expected: Vec<_> = Setting::all_global().skip(known).map(Setting::name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn nothing_is_shown_if_one_setting_cannot_be_read() {
        let fake = Fake::new([
            (Request::GetNumaRange, Ok(Reply::Number(0))),
            (Request::GetTunables, Err(Errno::Io)),
        ]);
        let mut report = Report::new();
        assert_eq!(show_all(&fake, &mut report), ReturnCode(-5));
        assert_eq!(show_all(&Fake::down(Request::GetNumaRange), &mut report), ReturnCode(-100));
        assert!(report.shown.is_empty());
    }

    #[test]
    fn settings_shown_one_by_one_share_their_key() {
        let fake = Fake::new([
            (Request::GetNumaRange, Ok(Reply::Number(7))),
            (Request::GetTunables, Ok(Reply::Tunables(as_captured()))),
        ]);
        let mut report = Report::new();
        assert_eq!(show(&fake, Setting::NumaRange, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(show(&fake, Setting::LndTimeout, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert_eq!(report.shown.to_yaml(), "global:\n    numa_range: 7\n    lnd_timeout: 49\n");
    }
}
