//! Changes of state for the page.

use lnet_dlc::request::StateChange;
use lnet_log::LogClass;
use serde_json::Value;

/// A change as JSON. The page is for everybody who reaches it, so the user and the process that have changed the configuration are left out.
pub(super) fn to_json(change: &StateChange) -> Value {
    let mut shown = change.clone();
    if shown.kind == LogClass::ConfigChanged.name() {
        // The user is the subject, and stands at the end of the line.
        shown.subject = String::new();
        let end = shown.text.rfind(" by ").unwrap_or(0);
        shown.text.truncate(end);
    }
    serde_json::to_value(shown).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if the page names who has changed the configuration.
    #[test]
    fn only_the_user_of_a_change_is_left_out() {
        let change = |kind: &str, text: &str| {
            let (subject, text) = ("uid 1000".to_owned(), text.to_owned());
            to_json(&StateChange {
                number: 7,
                at_ms: 9,
                kind: kind.to_owned(),
                level: "info".to_owned(),
                subject,
                text,
            })
        };
        let shown = change(
            "config_changed",
            "configuration: route to tcp1 by 10.0.0.1@tcp added by uid 1000, process 4711 (a_by_b)",
        );
        assert_eq!(shown["text"], "configuration: route to tcp1 by 10.0.0.1@tcp added");
        assert_eq!(
            (&shown["subject"], &shown["number"], &shown["at_ms"]),
            (&"".into(), &7.into(), &9.into())
        );
        assert_eq!(change("config_changed", "another form")["text"], "");
        let shown = change("ni_state", "stopped by uid 1000");
        assert_eq!((&shown["text"], &shown["subject"]), (&"stopped by uid 1000".into(), &"uid 1000".into()));
    }
}
