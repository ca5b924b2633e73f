//! Values that are texts.

use clap::Command;
use clap::builder::{NonEmptyStringValueParser, ValueParser};
use std::any::TypeId;

/// Makes every option and argument of `command` and of its subcommands that is a text refuse an empty one: `--dst ""` in a script
/// is a variable that is not set, not a rule about every node.
pub fn refuse_empty(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let takes_text = arg.get_value_parser().type_id() == TypeId::of::<String>();
            let takes_values = arg.get_action().takes_values();
            if takes_text && takes_values {
                arg.value_parser(ValueParser::new(NonEmptyStringValueParser::new()))
            } else {
                arg
            }
        })
        .mut_subcommands(refuse_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    #[test]
    fn an_empty_text_is_refused_in_every_command_and_other_values_are_parsed_as_before() {
        let add = Command::new("add")
            .arg(Arg::new("src").long("src"))
            .arg(Arg::new("idx").long("idx").value_parser(clap::value_parser!(u32)));
        let command = refuse_empty(Command::new("udsp").arg(Arg::new("node").long("node")).subcommand(add));
        let parses = |line: &[&str]| command.clone().try_get_matches_from(line).is_ok();
        for (line, taken) in [
            (&["udsp", "add", "--src", "tcp", "--idx", "1"][..], true),
            (&["udsp", "add", "--src", ""], false),
            (&["udsp", "add", "--src="], false),
            (&["udsp", "--node", "", "add"], false),
            (&["udsp", "add", "--idx", ""], false),
        ] {
            assert_eq!(parses(line), taken, "{line:?}");
        }
    }
}
