//! The forms of a line: text, JSON, and an entry of the journal. Pure.

mod fields;

use crate::LogClass;
use fields::Fields;
use log::Level;
use std::fmt::Write;
use std::time::SystemTime;

/// The name of the variable that chooses the form.
pub(crate) const FORMAT_VARIABLE: &str = "LNET_LOG_FORMAT";

/// The number of bytes from which a message is cut for the journal: with its fields it fits into a datagram of a Unix socket, for which Linux
/// has at least 200 KiB by default.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024;

/// A form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text that begins with the time and the level.
    Text,
    /// Text that begins with the priority, for a standard error that is the journal's.
    TextForJournal,
    /// An object of JSON on each line.
    Json,
    /// Entries of the journal with fields, sent to its socket.
    Journal,
}

/// The wish of the variable [`FORMAT_VARIABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Text,
    Json,
    Journal,
}

impl Wish {
    /// Reads the value of the variable; `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            "journald" => Some(Self::Journal),
            _ => None,
        }
    }
}

/// The form of the lines, from the wish, whether standard error is the journal's, and whether the journal's socket takes entries. Without a
/// wish, lines for the journal are entries with fields. Where the socket takes none, the form is text.
pub(crate) fn choose(
    wish: Option<Wish>,
    stderr_is_journal: bool,
    journal_answers: impl FnOnce() -> bool,
) -> Format {
    let text = if stderr_is_journal { Format::TextForJournal } else { Format::Text };
    let is_for_journal = wish == Some(Wish::Journal) || wish.is_none() && stderr_is_journal;
    match wish {
        Some(Wish::Json) => Format::Json,
        _ if is_for_journal && journal_answers() => Format::Journal,
        _ => text,
    }
}

/// A line without its form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The part of the library that writes.
    pub(crate) subsystem: &'a str,
    pub(crate) level: Level,
    /// The target of the record: `lnet::` and the class, or the module of a line without a class.
    pub(crate) target: &'a str,
    pub(crate) message: &'a str,
}

impl Line<'_> {
    /// The bytes of the line at the time `now`. `program` is the name of the program, for the journal.
    pub(crate) fn bytes(&self, format: Format, program: &str, now: SystemTime) -> Vec<u8> {
        match format {
            Format::Text => {
                format!("{}{}\n", text_prefix(self.subsystem, self.level, now), self.message).into_bytes()
            }
            Format::TextForJournal => format!("<{}>{}\n", priority(self.level), self.message).into_bytes(),
            Format::Json => self.json(now),
            Format::Journal => self.journal_entry(program),
        }
    }

    fn class(&self) -> Option<&str> {
        let name = self.target.strip_prefix("lnet::")?;
        LogClass::ALL.iter().map(|class| class.name()).find(|its| *its == name)
    }

    fn json(&self, now: SystemTime) -> Vec<u8> {
        let Fields { ni, peer, gateway, net } = Fields::of(self.message);
        let time = humantime::format_rfc3339_millis(now).to_string();
        let mut object = "{".to_owned();
        for (name, value) in [
            ("time", Some(time.as_str())),
            ("level", Some(level_name(self.level))),
            ("class", self.class()),
            ("subsystem", Some(self.subsystem)),
            ("message", Some(self.message)),
            ("ni", ni),
            ("peer", peer),
            ("gateway", gateway),
            ("net", net),
        ] {
            if let Some(value) = value {
                push_member(&mut object, name, value);
            }
        }
        object.push_str("}\n");
        object.into_bytes()
    }

    /// The entry in the journal's native protocol: `FIELD=value` on a line of its own, or, for a value of several lines, `FIELD`, the length
    /// as 64 bits in little endian, and the value.
    fn journal_entry(&self, program: &str) -> Vec<u8> {
        let Fields { ni, peer, gateway, net } = Fields::of(self.message);
        let cut = self.message.floor_char_boundary(MAX_MESSAGE);
        let mut entry = Vec::with_capacity(cut.min(self.message.len()) + 256);
        push_field(&mut entry, "MESSAGE", self.message.get(..cut).unwrap_or_default());
        push_field(&mut entry, "PRIORITY", priority(self.level));
        push_field(&mut entry, "SYSLOG_IDENTIFIER", program);
        push_field(&mut entry, "LNET_SUBSYSTEM", self.subsystem);
        for (name, value) in [
            ("LNET_CLASS", self.class()),
            ("LNET_NI", ni),
            ("LNET_PEER", peer),
            ("LNET_GATEWAY", gateway),
            ("LNET_NET", net),
        ] {
            if let Some(value) = value {
                push_field(&mut entry, name, value);
            }
        }
        entry
    }
}

/// Adds a member of an object of JSON, whose first byte is there: a name that needs no escapes, and a text (RFC 8259).
fn push_member(object: &mut String, name: &str, value: &str) {
    let comma = if object.len() > 1 { "," } else { "" };
    // Writing into a string does not fail.
    let _ = write!(object, "{comma}\"{name}\":\"");
    for character in value.chars() {
        let _ = match character {
            '"' | '\\' => write!(object, "\\{character}"),
            '\n' => write!(object, "\\n"),
            '\0'..='\u{1f}' => write!(object, "\\u{:04x}", u32::from(character)),
            _ => object.write_char(character),
        };
    }
    object.push('"');
}

fn push_field(entry: &mut Vec<u8>, name: &str, value: &str) {
    entry.extend(name.as_bytes());
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend(value.as_bytes());
    entry.push(b'\n');
}

fn text_prefix(subsystem: &str, level: Level, now: SystemTime) -> String {
    let level = match level {
        Level::Error => "Error: ",
        Level::Warn => ": warning: ",
        Level::Info => ": ",
        Level::Debug => ": debug: ",
        Level::Trace => ": trace: ",
    };
    format!("{} {subsystem}{level}", humantime::format_rfc3339_millis(now))
}

/// The name of a level, as `LNET_DEBUG` has it.
const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}

/// syslog's numbers.
const fn priority(level: Level) -> &'static str {
    match level {
        Level::Error => "3",
        Level::Warn => "4",
        Level::Info => "6",
        Level::Debug | Level::Trace => "7",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042)
    }

    fn line(message: &str) -> Line<'_> {
        Line { subsystem: "LNet", level: Level::Error, target: "lnet::ni_state", message }
    }

    fn text(format: Format, line: Line<'_>) -> String {
        String::from_utf8(line.bytes(format, "lnetd", now())).unwrap()
    }

    #[test]
    fn a_line_of_text_begins_with_the_time_in_utc_and_who_says_how_urgently() {
        let failed = line("NI 10.0.0.1@tcp: failed");
        assert_eq!(
            text(Format::Text, failed),
            "2023-11-14T22:13:20.042Z LNetError: NI 10.0.0.1@tcp: failed\n"
        );
        let warning = Line { subsystem: "PtlRPC", level: Level::Warn, ..failed };
        assert!(text(Format::Text, warning).starts_with("2023-11-14T22:13:20.042Z PtlRPC: warning: NI"));
        assert_eq!(text(Format::TextForJournal, warning), "<4>NI 10.0.0.1@tcp: failed\n");
    }

    #[test]
    fn a_line_of_json_is_one_object_with_the_fields_that_the_line_has() {
        let failed = line("path 10.0.0.1@tcp -> 10.0.0.2@tcp: \"unresponsive\"\nagain");
        let expected = concat!(
            r#"{"time":"2023-11-14T22:13:20.042Z","level":"error","class":"ni_state","subsystem":"LNet","#,
            r#""message":"path 10.0.0.1@tcp -> 10.0.0.2@tcp: \"unresponsive\"\nagain","#,
            r#""ni":"10.0.0.1@tcp","peer":"10.0.0.2@tcp"}"#,
            "\n"
        );
        assert_eq!(text(Format::Json, failed), expected);
        let debug = Line { level: Level::Debug, target: "lnet_core::send", ..line("a") };
        let expected =
            r#"{"time":"2023-11-14T22:13:20.042Z","level":"debug","subsystem":"LNet","message":"a"}"#;
        assert_eq!(text(Format::Json, debug), format!("{expected}\n"));
    }

    #[test]
    fn an_entry_of_the_journal_has_fields_and_a_message_of_several_lines_its_length() {
        let entry = text(Format::Journal, line("peer 10.0.0.2@tcp: reachable -> unreachable"));
        let expected = "\
MESSAGE=peer 10.0.0.2@tcp: reachable -> unreachable
PRIORITY=3
SYSLOG_IDENTIFIER=lnetd
LNET_SUBSYSTEM=LNet
LNET_CLASS=ni_state
LNET_PEER=10.0.0.2@tcp
";
        assert_eq!(entry, expected);
        let entry = line("a\nb").bytes(Format::Journal, "lnetd", now());
        assert!(entry.starts_with(b"MESSAGE\n\x03\0\0\0\0\0\0\0a\nb\nPRIORITY=3\n"), "{entry:?}");
        let long = "é".repeat(MAX_MESSAGE);
        let entry = text(Format::Journal, line(&long));
        assert_eq!(entry.lines().next().unwrap().len(), "MESSAGE=".len() + MAX_MESSAGE);
    }

    #[test]
    fn the_form_is_as_wished_and_otherwise_follows_standard_error() {
        let table = [
            (None, false, true, Format::Text),
            (None, true, true, Format::Journal),
            (None, true, false, Format::TextForJournal),
            (Some(Wish::Text), false, true, Format::Text),
            (Some(Wish::Text), true, true, Format::TextForJournal),
            (Some(Wish::Json), true, true, Format::Json),
            (Some(Wish::Journal), false, true, Format::Journal),
            (Some(Wish::Journal), false, false, Format::Text),
            (Some(Wish::Journal), true, false, Format::TextForJournal),
        ];
        for (wish, stderr_is_journal, answers, expected) in table {
            let chosen = choose(wish, stderr_is_journal, || answers);
            assert_eq!(chosen, expected, "{wish:?}, {stderr_is_journal}, {answers}");
        }
        for (text, wish) in [
            ("text", Some(Wish::Text)),
            (" json\n", Some(Wish::Json)),
            ("journald", Some(Wish::Journal)),
            ("xml", None),
        ] {
            assert_eq!(Wish::parse(text), wish, "{text}");
        }
    }
}
