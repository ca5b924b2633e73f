//! Output of all settings of a node and tunables of its drivers.

use super::error_text::error_text;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, SetBy, SettingState};
use crate::{ReturnCode, Value};

const ENTITY: &str = "tunables";

/// Shows all settings and tunables with values, defaults, and the origins of the values: `lnetctl tunables`.
pub fn show(backend: &dyn Backend, report: &mut Report) -> ReturnCode {
    match backend.ask::<Vec<SettingState>>(Request::GetSettings) {
        Ok(all) => {
            report.show(ENTITY, Value::Seq(all.into_iter().map(shown).collect()));
            report.success(Operation::Show, ENTITY, SeqNo::NONE)
        }
        Err(errno) => {
            let text = format!("cannot read the settings: {}", error_text(errno));
            report.end(Operation::Show, ENTITY, SeqNo::NONE, errno.into(), text)
        }
    }
}

fn shown(state: SettingState) -> Value {
    let value = |value| match value {
        lnet_settings::Value::Number(number) => Value::from(number),
        lnet_settings::Value::Text(text) => Value::from(text),
    };
    let change = match (&state.set_by, state.can_change) {
        (SetBy::Settings, _) => "with other settings",
        (_, true) => "any time",
        (_, false) => "at start",
    };
    let (set_by, variable) = match state.set_by {
        SetBy::Default => ("default", None),
        SetBy::Environment(variable) => ("environment", Some(variable)),
        SetBy::File => ("file", None),
        SetBy::Command => ("command", None),
        SetBy::Settings => ("other settings", None),
    };
    let mut shown = Value::map()
        .with("module", state.module)
        .with("name", state.name)
        .with("value", value(state.value))
        .with("default", value(state.default))
        .with("set by", set_by);
    if let Some(variable) = variable {
        shown.push("variable", variable);
    }
    shown.with("change", change)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::request::Reply;
    use lnet_wire::Errno;

    fn state(name: &str, value: lnet_settings::Value, set_by: SetBy, can_change: bool) -> SettingState {
        let default = lnet_settings::Value::Number(2);
        SettingState { module: "lnet".into(), name: name.into(), value, default, set_by, can_change }
    }

    #[test]
    fn each_setting_is_shown_with_value_default_and_who_set_it() {
        use lnet_settings::Value::{Number, Text};
        let all = vec![
            state("retry_count", Number(3), SetBy::Environment("LNET_RETRY_COUNT".into()), true),
            state("accept", Text("all".into()), SetBy::File, false),
        ];
        let fake = Fake::new([(Request::GetSettings, Ok(Reply::Settings(all)))]);
        let mut report = Report::new();
        assert_eq!(show(&fake, &mut report), ReturnCode::OK);
        let expected = "\
tunables:
    - module: lnet
      name: retry_count
      value: 3
      default: 2
      set by: environment
      variable: LNET_RETRY_COUNT
      change: any time
    - module: lnet
      name: accept
      value: all
      default: 2
      set by: file
      change: at start
";
        assert_eq!(report.shown.to_yaml(), expected);
    }

    #[test]
    fn nothing_is_shown_if_the_node_cannot_say() {
        let fake = Fake::new([(Request::GetSettings, Err(Errno::NotSupported))]);
        let mut report = Report::new();
        assert_eq!(show(&fake, &mut report), ReturnCode::from(Errno::NotSupported));
        assert!(report.shown.is_empty());
    }
}
