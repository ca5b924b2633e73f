//! `lnetctl set`, `lnetctl routing`

use super::number;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use lnet_settings::{ChangeTime, Setting, Values, either};

/// The new value of a setting.
#[derive(Clone, Copy, Debug, Args)]
pub struct Value {
    /// A whole number
    #[arg(allow_negative_numbers = true, value_parser = number::whole)]
    pub value: i64,
}

/// Settings of the whole node.
#[derive(Debug, Subcommand)]
#[command(rename_all = "snake_case")]
pub enum Set {
    /// Router buffers for messages without data, over all CPU partitions; 0 is the default, -1 changes nothing
    TinyBuffers(Value),
    /// Router buffers of one page, over all CPU partitions; 0 is the default, -1 changes nothing
    SmallBuffers(Value),
    /// Router buffers of 1 MiB, over all CPU partitions; 0 is the default, -1 changes nothing
    LargeBuffers(Value),
    /// Forward messages for others (1) or not (0)
    Routing(Value),
    /// A setting of the table
    #[command(flatten)]
    Setting(SettingValue),
}

/// A setting that may change at any time, and its new value.
#[derive(Clone, Copy, Debug)]
pub struct SettingValue {
    /// The setting.
    pub setting: Setting,
    /// The value.
    pub value: i64,
}

impl SettingValue {
    fn all() -> impl Iterator<Item = Setting> {
        Setting::all_global().filter(|setting| setting.spec().change == ChangeTime::AnyTime)
    }

    fn command(setting: Setting) -> Command {
        let default = setting.default_value().to_string();
        let value = Arg::new("value").value_name("VALUE").required(true).allow_negative_numbers(true);
        let value = match setting.spec().values {
            values @ Values::NumberedWords(words) => {
                let numbered = words.iter().zip(0..).map(|(word, number)| format!("{word} ({number})"));
                let parser = move |text: &str| number::of_words(values, text);
                value.help(either(numbered.collect())).value_parser(parser)
            }
            _ => value.help("A whole number").value_parser(number::whole),
        };
        Command::new(setting.name()).about(setting.spec().help(&default)).arg(value)
    }
}

impl Subcommand for SettingValue {
    fn augment_subcommands(command: Command) -> Command {
        Self::all().fold(command, |command, setting| command.subcommand(Self::command(setting)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::all().any(|setting| setting.name() == name)
    }
}

impl FromArgMatches for SettingValue {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = matches.subcommand().and_then(|(name, matches)| {
            let setting = Self::all().find(|setting| setting.name() == name)?;
            let value = *matches.get_one::<i64>("value")?;
            Some(Self { setting, value })
        });
        given.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Subcommands of `routing`, which show the node as a router.
#[derive(Debug, Subcommand)]
pub enum Routing {
    /// Show whether the node forwards, and its router buffers; nothing if it never forwarded
    Show,
}
