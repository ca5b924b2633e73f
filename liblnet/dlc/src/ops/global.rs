//! Settings of the whole node.

use super::error_text::{OpError, error_text};
use crate::ranges::Range;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, Tunable, Tunables};
use crate::{ReturnCode, Value};
use lnet_wire::Errno;

/// One of the settings of the `global` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// By how much NUMA distances may differ.
    NumaRange,
    /// What the kernel has as a module parameter.
    Tunable(Tunable),
    /// Shown only.
    LndTimeout,
}

impl Setting {
    /// All, in the order in which they are shown (dlc 2.7); the recovery ping interval came with 2.17, what follows is this library's.
    pub const ALL: &[Self] = &[
        Self::NumaRange,
        Self::Tunable(Tunable::MaxInterfaces),
        Self::Tunable(Tunable::Discovery),
        Self::Tunable(Tunable::DropAsymRoute),
        Self::Tunable(Tunable::RetryCount),
        Self::Tunable(Tunable::TransactionTimeout),
        Self::Tunable(Tunable::HealthSensitivity),
        Self::Tunable(Tunable::RecoveryInterval),
        Self::Tunable(Tunable::RouterSensitivity),
        Self::LndTimeout,
        Self::Tunable(Tunable::ResponseTracking),
        Self::Tunable(Tunable::RecoveryLimit),
        Self::Tunable(Tunable::MaxRecoveryPingInterval),
        Self::Tunable(Tunable::CompareQueuedBytes),
        Self::Tunable(Tunable::DiscoveryTimeout),
    ];

    /// Its name on the command line and in YAML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NumaRange => "numa_range",
            Self::Tunable(tunable) => tunable.name(),
            Self::LndTimeout => "lnd_timeout",
        }
    }

    /// The values that it takes on some node; what it takes on a certain one may depend on other settings.
    pub const fn range(self) -> Range {
        let (least, most) = match self {
            Self::NumaRange => (0, u32::MAX as i64),
            Self::LndTimeout => (0, i32::MAX as i64),
            Self::Tunable(tunable) => match tunable {
                Tunable::MaxInterfaces => (16, i32::MAX as i64),
                Tunable::Discovery => (0, VERIFY),
                Tunable::DropAsymRoute | Tunable::CompareQueuedBytes => (0, 1),
                Tunable::RetryCount | Tunable::RecoveryInterval | Tunable::RecoveryLimit => {
                    (0, i32::MAX as i64)
                }
                Tunable::TransactionTimeout
                | Tunable::MaxRecoveryPingInterval
                | Tunable::DiscoveryTimeout => (1, i32::MAX as i64),
                Tunable::HealthSensitivity => (0, 1000),
                Tunable::RouterSensitivity => (0, 100),
                Tunable::ResponseTracking => (0, 3),
            },
        };
        Range { name: self.name(), least, most }
    }

    /// What DLC returns for a value that it does not take: some are judged by the library and some by the node (dlc 1.6).
    pub const fn refusal(self) -> ReturnCode {
        match self {
            Self::NumaRange => ReturnCode::OUT_OF_RANGE,
            Self::LndTimeout
            | Self::Tunable(
                Tunable::ResponseTracking
                | Tunable::RecoveryLimit
                | Tunable::MaxRecoveryPingInterval
                | Tunable::CompareQueuedBytes
                | Tunable::DiscoveryTimeout,
            ) => ReturnCode::BAD_PARAM,
            Self::Tunable(_) => ReturnCode::GENERIC,
        }
    }
}

/// The value of the setting `discovery` that has this name: `off`, `on`, or `verify`, in which peers are asked
/// who they are and nothing is changed: what differs from what is known of them is reported (dyn-060).
pub fn discovery_mode(word: &str) -> Option<i64> {
    match word {
        "off" => Some(0),
        "on" => Some(1),
        "verify" => Some(VERIFY),
        _ => None,
    }
}

const VERIFY: i64 = 2;

/// Sets one. [`Setting::refusal`] for a value out of its range, and [`ReturnCode::GENERIC`] for one that the node refuses because of
/// other settings. `lustre_lnet_config_numa_range` and the like (cfg-090).
pub fn config(
    backend: &dyn Backend,
    setting: Setting,
    value: i64,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let name = setting.name();
    let request = setting.range().check(value).ok().and_then(|value| request_for(setting, value));
    let (rc, text) = match request.map(|request| backend.tell(request)) {
        Some(Ok(())) => return report.success(Operation::Add, name, seq_no),
        None => (setting.refusal(), said(setting, value, "not allowed")),
        Some(Err(errno)) => refused(setting, value, errno),
    };
    report.end(Operation::Add, name, seq_no, rc, text)
}

/// The code and the text for a value that the node refused.
fn refused(setting: Setting, value: i64, errno: Errno) -> OpError {
    let by_itself = matches!(setting, Setting::Tunable(_)) && errno != Errno::NetworkDown;
    let rc = if by_itself { ReturnCode::GENERIC } else { errno.into() };
    (rc, said(setting, value, &error_text(errno)))
}

fn said(setting: Setting, value: i64, cause: &str) -> String {
    format!("cannot set {} to {value}: {cause}{}", setting.name(), allowed(setting))
}

/// What a node with these settings would answer to this one, which is within its range: `now` becomes what it then has (HE-2, HE-30).
pub(crate) fn rehearse(now: &mut Tunables, setting: Setting, value: i64) -> Result<(), OpError> {
    let Setting::Tunable(tunable) = setting else { return Ok(()) };
    let value_of = |tunable| i64::from(now.get(tunable));
    let agrees = match tunable {
        Tunable::RetryCount => {
            value <= value_of(Tunable::TransactionTimeout)
                && (value == 0 || value_of(Tunable::HealthSensitivity) > 0)
        }
        Tunable::TransactionTimeout => value > value_of(Tunable::RetryCount),
        _ => true,
    };
    match u32::try_from(value) {
        Ok(value) if agrees => now.set(tunable, value),
        _ => return Err(refused(setting, value, Errno::Invalid)),
    }
    if tunable == Tunable::HealthSensitivity && value == 0 {
        now.set(Tunable::RetryCount, 0);
    }
    Ok(())
}

/// Which values it takes.
fn allowed(setting: Setting) -> String {
    match setting {
        Setting::LndTimeout => remark(setting).to_owned(),
        _ => format!("; it takes {}{}", setting.range().wanted(), remark(setting)),
    }
}

/// Shows one under `global`. `lustre_lnet_show_numa_range` and the like.
pub fn show(backend: &dyn Backend, setting: Setting, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let value = match setting {
        Setting::NumaRange => backend.ask(Request::GetNumaRange),
        Setting::LndTimeout | Setting::Tunable(_) => {
            backend.ask(Request::GetTunables).map(|tunables| of_tunables(setting, &tunables))
        }
    };
    match value {
        Ok(value) => {
            report.show("global", Value::map().with(setting.name(), value));
            report.success(Operation::Show, ENTITY, seq_no)
        }
        Err(errno) => unreadable(setting, seq_no, errno, report),
    }
}

/// Shows all: `lnetctl global show`. Nothing if there is one that cannot be read.
pub fn show_all(backend: &dyn Backend, report: &mut Report) -> ReturnCode {
    let numa_range: u32 = match backend.ask(Request::GetNumaRange) {
        Ok(range) => range,
        Err(errno) => return unreadable(Setting::NumaRange, SeqNo::NONE, errno, report),
    };
    let tunables = match backend.ask(Request::GetTunables) {
        Ok(tunables) => tunables,
        Err(errno) => {
            return unreadable(Setting::Tunable(Tunable::MaxInterfaces), SeqNo::NONE, errno, report);
        }
    };
    let entries = Setting::ALL.iter().map(|&setting| {
        let value = match setting {
            Setting::NumaRange => numa_range,
            _ => of_tunables(setting, &tunables),
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

/// Not for the NUMA range, which is not among them.
const fn of_tunables(setting: Setting, tunables: &Tunables) -> u32 {
    match setting {
        Setting::Tunable(tunable) => tunables.get(tunable),
        Setting::LndTimeout | Setting::NumaRange => tunables.lnd_timeout,
    }
}

/// The request that sets it; `None` for what cannot be set.
fn request_for(setting: Setting, value: i64) -> Option<Request> {
    match setting {
        Setting::LndTimeout => None,
        Setting::NumaRange => u32::try_from(value).ok().map(Request::SetNumaRange),
        Setting::Tunable(tunable) => Some(Request::SetTunable(tunable, value)),
    }
}

/// What else is to be known of its values, besides their range.
const fn remark(setting: Setting) -> &'static str {
    match setting {
        Setting::NumaRange => "",
        Setting::LndTimeout => "; it follows from transaction_timeout and retry_count; set those",
        Setting::Tunable(tunable) => match tunable {
            Tunable::Discovery => " (off, on, verify)",
            Tunable::DropAsymRoute | Tunable::CompareQueuedBytes => " (off, on)",
            Tunable::RetryCount => ", at most transaction_timeout, and only 0 while health_sensitivity is 0",
            Tunable::TransactionTimeout => " seconds, more than retry_count",
            Tunable::RouterSensitivity => " percent",
            Tunable::ResponseTracking => " (LNet's own, GETs, PUTs, both)",
            Tunable::RecoveryLimit => " seconds, where 0 is no limit",
            Tunable::MaxRecoveryPingInterval | Tunable::DiscoveryTimeout => " seconds",
            Tunable::MaxInterfaces | Tunable::HealthSensitivity | Tunable::RecoveryInterval => "",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;

    const fn tunable(tunable: Tunable) -> Setting {
        Setting::Tunable(tunable)
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range_and_never_changed() {
        use Tunable::*;
        let refused = || Err(Errno::Invalid);
        let done = || Ok(Reply::Done);
        let table = [
            (Setting::NumaRange, 5, Some((Request::SetNumaRange(5), done())), 0),
            (Setting::NumaRange, 4_294_967_295, Some((Request::SetNumaRange(u32::MAX), done())), 0),
            (Setting::NumaRange, -1, None, -3),
            (Setting::NumaRange, 1 << 32, None, -3),
            (Setting::LndTimeout, 10, None, -1),
            (tunable(ResponseTracking), 3, Some((Request::SetTunable(ResponseTracking, 3), done())), 0),
            (tunable(ResponseTracking), 4, None, -1),
            (tunable(ResponseTracking), -1, None, -1),
            (tunable(RecoveryLimit), 10, Some((Request::SetTunable(RecoveryLimit, 10), done())), 0),
            (tunable(RecoveryLimit), -1, None, -1),
            (
                tunable(MaxRecoveryPingInterval),
                60,
                Some((Request::SetTunable(MaxRecoveryPingInterval, 60), done())),
                0,
            ),
            (tunable(MaxRecoveryPingInterval), 0, None, -1),
            (tunable(CompareQueuedBytes), 1, Some((Request::SetTunable(CompareQueuedBytes, 1), done())), 0),
            (tunable(CompareQueuedBytes), 2, None, -1),
            (tunable(CompareQueuedBytes), -1, None, -1),
            (tunable(DiscoveryTimeout), 5, Some((Request::SetTunable(DiscoveryTimeout, 5), done())), 0),
            (tunable(DiscoveryTimeout), 0, None, -1),
            (tunable(Discovery), 2, Some((Request::SetTunable(Discovery, 2), done())), 0),
            (tunable(Discovery), 3, None, -5),
            (tunable(Discovery), -1, None, -5),
            (tunable(DropAsymRoute), 3, None, -5),
            (tunable(MaxInterfaces), 15, None, -5),
            (tunable(MaxInterfaces), 16, Some((Request::SetTunable(MaxInterfaces, 16), done())), 0),
            (tunable(RetryCount), -1, None, -5),
            (tunable(RetryCount), 99, Some((Request::SetTunable(RetryCount, 99), refused())), -5),
            (
                tunable(TransactionTimeout),
                1,
                Some((Request::SetTunable(TransactionTimeout, 1), Err(Errno::OutOfRange))),
                -5,
            ),
            (tunable(Discovery), 1, Some((Request::SetTunable(Discovery, 1), Err(Errno::NetworkDown))), -100),
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
            let names_the_range = report.errors_to_yaml().contains(&setting.range().wanted());
            assert!(names_the_range || rc == 0 || setting == Setting::LndTimeout, "{setting:?} {value}");
        }
    }

    fn as_captured() -> Tunables {
        Tunables {
            max_interfaces: 200,
            discovery: 1,
            drop_asym_route: 1,
            retry_count: 0,
            transaction_timeout: 50,
            health_sensitivity: 100,
            recovery_interval: 1,
            router_sensitivity: 100,
            response_tracking: 3,
            recovery_limit: 10,
            max_recovery_ping_interval: 900,
            compare_queued_bytes: 0,
            discovery_timeout: 10,
            lnd_timeout: 49,
        }
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
    max_interfaces: 200
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
    compare_queued_bytes: 0
    discovery_timeout: 10
";
        assert_eq!(report.shown.to_yaml(), expected);
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
