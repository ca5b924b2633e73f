//! The `options` lines of files of modprobe.d(5).

/// The value of one parameter of a kernel module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModuleOption {
    /// The line at which the command begins, from 1.
    pub(super) line: u32,
    pub(super) module: String,
    pub(super) name: String,
    /// The value without its quotes; empty for a parameter that is named alone.
    pub(super) value: String,
}

/// Returns the options of a file in its order. Other commands, such as `install` and `alias`, are passed over. As in module names
/// everywhere, `-` and `_` are the same in them.
pub(super) fn options(text: &str) -> Vec<ModuleOption> {
    let mut all = Vec::new();
    for (line, command) in commands(text) {
        let mut words = words(&command).into_iter();
        if words.next().as_deref() != Some("options") {
            continue;
        }
        let Some(module) = words.next().map(|name| name.replace('-', "_")) else { continue };
        all.extend(words.map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((&word, ""));
            let (name, value) = (name.replace('-', "_"), value.to_owned());
            ModuleOption { line, module: module.clone(), name, value }
        }));
    }
    all
}

/// The commands with their first lines; a command goes on after a backslash at the end of a line.
fn commands(text: &str) -> Vec<(u32, String)> {
    let mut all: Vec<(u32, String)> = Vec::new();
    let mut goes_on = false;
    for (line, number) in text.lines().zip(1..) {
        let (part, next_goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match all.last_mut().filter(|_| goes_on) {
            Some((_, command)) => command.push_str(part),
            None => all.push((number, part.to_owned())),
        }
        goes_on = next_goes_on;
    }
    all.retain(|(_, command)| !command.trim_start().starts_with('#'));
    all
}

/// The words of a command, up to a comment. Blanks within double quotes separate nothing, as for the kernel, nor those within single
/// quotes, which Lustre's manual has around whole options: `'networks="tcp(eth0)"'`. The quotes are left out.
fn words(command: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let (mut in_double, mut in_single) = (false, false);
    for letter in command.chars() {
        let is_quoted = in_double || in_single;
        match letter {
            '"' => {
                in_double = !in_double;
                word.get_or_insert_default();
            }
            '\'' if !in_double => {
                in_single = !in_single;
                word.get_or_insert_default();
            }
            '#' if !is_quoted && word.is_none() => break,
            blank if blank.is_whitespace() && !is_quoted => all.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_all_spellings_are_read_and_other_commands_passed_over() {
        let text = "# options lnet networks=tcp9\n\
                    alias char-major-10 lnet\n\
                    options lnet networks=\"tcp0(eth0), o2ib(ib0)\" forwarding=enabled\n\
                    \n  options ko2iblnd-opa \"peer_credits=128\" \\\n  concurrent-sends=256 nothing\n\
                    install lnet /sbin/modprobe --ignore-install lnet\n\
                    options\noptions lnet # networks=tcp8\n\
                    options lnet 'networks=\"tcp(eth0), tcp1(eth1)\"' 'accept=all' #x\n\
                    options lnet routes=\"tcp1 o'brien@tcp\" name=a#b\n";
        let found = options(text);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.line, it.module.as_str(), it.name.as_str(), it.value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (3, "lnet", "networks", "tcp0(eth0), o2ib(ib0)"),
                (3, "lnet", "forwarding", "enabled"),
                (5, "ko2iblnd_opa", "peer_credits", "128"),
                (5, "ko2iblnd_opa", "concurrent_sends", "256"),
                (5, "ko2iblnd_opa", "nothing", ""),
                (10, "lnet", "networks", "tcp(eth0), tcp1(eth1)"),
                (10, "lnet", "accept", "all"),
                (11, "lnet", "routes", "tcp1 o'brien@tcp"),
                (11, "lnet", "name", "a#b"),
            ]
        );
    }
}
