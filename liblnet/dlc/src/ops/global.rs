//! Settings of the whole node.

use super::error_text::error_text;
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

/// Sets one. [`ReturnCode::GENERIC`] when the node refuses the value. `lustre_lnet_config_numa_range` and the like
/// (cfg-090).
///
/// `drop_asym_route` is on for any value but 0, and so is discovery, for which 2 is a mode of its own: see
/// [`discovery_mode`]. A NUMA range of -1 is the largest. Response
/// tracking and what is about recovery are checked here ([`ReturnCode::BAD_PARAM`]), all others by the node.
pub fn config(
    backend: &dyn Backend,
    setting: Setting,
    value: i64,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let name = setting.name();
    let (rc, cause) = match request_for(setting, value).map(|request| backend.tell(request)) {
        Ok(Ok(())) => return report.success(Operation::Add, name, seq_no),
        Err(rc) => (rc, "not allowed".to_owned()),
        Ok(Err(errno)) => {
            let by_itself = matches!(setting, Setting::Tunable(_)) && errno != Errno::NetworkDown;
            (if by_itself { ReturnCode::GENERIC } else { errno.into() }, error_text(errno))
        }
    };
    let text = format!("cannot set {name} to {value}: {cause}; {}", allowed(setting));
    report.end(Operation::Add, name, seq_no, rc, text)
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

/// The request that sets it, or what the library itself returns.
fn request_for(setting: Setting, value: i64) -> Result<Request, ReturnCode> {
    match setting {
        Setting::LndTimeout => Err(ReturnCode::BAD_PARAM),
        Setting::NumaRange => u32::try_from(value)
            .or_else(|_| i32::try_from(value).map(|negative| negative as u32))
            .map(Request::SetNumaRange)
            .map_err(|_| ReturnCode::OUT_OF_RANGE),
        Setting::Tunable(tunable) => match tunable {
            Tunable::ResponseTracking if !(0..=3).contains(&value) => Err(ReturnCode::BAD_PARAM),
            Tunable::RecoveryLimit if value < 0 => Err(ReturnCode::BAD_PARAM),
            Tunable::MaxRecoveryPingInterval | Tunable::DiscoveryTimeout if value <= 0 => {
                Err(ReturnCode::BAD_PARAM)
            }
            Tunable::Discovery if value == VERIFY => Ok(Request::SetTunable(tunable, VERIFY)),
            Tunable::CompareQueuedBytes if !(0..=1).contains(&value) => Err(ReturnCode::BAD_PARAM),
            Tunable::Discovery | Tunable::DropAsymRoute => {
                Ok(Request::SetTunable(tunable, i64::from(value != 0)))
            }
            _ => Ok(Request::SetTunable(tunable, value)),
        },
    }
}

/// Which values it takes.
const fn allowed(setting: Setting) -> &'static str {
    match setting {
        Setting::NumaRange => "it takes 0 to 4294967295",
        Setting::LndTimeout => "it follows from transaction_timeout and retry_count; set those",
        Setting::Tunable(tunable) => match tunable {
            Tunable::MaxInterfaces => "it takes the number of interfaces that a peer may have",
            Tunable::Discovery => "it takes 0 (off), 1 (on) or 2 (verify)",
            Tunable::DropAsymRoute => "it takes 0 (off) or 1 (on)",
            Tunable::RetryCount => {
                "it takes 0 to transaction_timeout, and only 0 while health_sensitivity is 0"
            }
            Tunable::TransactionTimeout => "it takes seconds, more than retry_count",
            Tunable::HealthSensitivity => "it takes 0 to 1000",
            Tunable::RecoveryInterval => "it is accepted and ignored",
            Tunable::RouterSensitivity => "it takes 0 to 100 percent",
            Tunable::ResponseTracking => "it takes 0 (LNet's own), 1 (GETs), 2 (PUTs) or 3 (both)",
            Tunable::RecoveryLimit => "it takes seconds from 0, which is no limit",
            Tunable::CompareQueuedBytes => "it takes 0 (off) or 1 (on)",
            Tunable::MaxRecoveryPingInterval | Tunable::DiscoveryTimeout => "it takes seconds from 1",
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
    fn the_library_checks_some_settings_and_the_node_the_others() {
        use Tunable::*;
        let refused = || Err(Errno::Invalid);
        let done = || Ok(Reply::Done);
        let table = [
            (Setting::NumaRange, 5, Some((Request::SetNumaRange(5), done())), 0),
            (Setting::NumaRange, -1, Some((Request::SetNumaRange(u32::MAX), done())), 0),
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
            (tunable(Discovery), 3, Some((Request::SetTunable(Discovery, 1), done())), 0),
            (tunable(Discovery), -1, Some((Request::SetTunable(Discovery, 1), done())), 0),
            (tunable(DropAsymRoute), 3, Some((Request::SetTunable(DropAsymRoute, 1), done())), 0),
            (tunable(MaxInterfaces), 2, Some((Request::SetTunable(MaxInterfaces, 2), done())), 0),
            (tunable(RetryCount), -1, Some((Request::SetTunable(RetryCount, -1), refused())), -5),
            (
                tunable(TransactionTimeout),
                0,
                Some((Request::SetTunable(TransactionTimeout, 0), Err(Errno::OutOfRange))),
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
