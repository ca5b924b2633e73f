//! Completions of values that only the running program knows: the scripts ask it, by `PROGRAM generate values LINE`, for the words that
//! complete a line.

use clap_complete::Shell;
use std::fmt::Write;

/// The line in which the script of zsh begins the function that completes; NAME stands for the program's name, here and below.
const ZSH_FUNCTION: &str = "_NAME() {\n";

const BASH: &str = r#"
_NAME_with_values() {
    local line="${COMP_LINE:0:COMP_POINT}" value
    # Bash cuts words at characters such as @ and : too, and replaces what is behind the last one only; of these an @ is replaced as well.
    local word="${line##*[[:blank:]]}"
    local kept="${word%"${word##*["$COMP_WORDBREAKS"]}"}"
    kept="${kept%@}"
    COMPREPLY=()
    while IFS= read -r value; do
        COMPREPLY+=("${value#"$kept"}")
    done < <("$1" generate values "${line#*[[:blank:]]}" 2>/dev/null)
    ((${#COMPREPLY[@]})) || _NAME "$@"
}
complete -F _NAME_with_values -o bashdefault -o default NAME
"#;

const ZSH: &str = r#"_NAME_values() {
    local line="${(j: :)words[2,CURRENT-1]} $PREFIX"
    local -a values
    values=(${(f)"$(_call_program values ${words[1]} generate values ${(q)line} 2>/dev/null)"})
    (( $#values )) && compadd -Q -- $values
}

_NAME() {
    _NAME_values && return 0
"#;

const FISH: &str = r#"
function __NAME_values
    set -l line (commandline -cp | string replace -r '^\s*\S+\s+' '')
    # Of --option=value fish completes the value.
    NAME generate values "$line" 2>/dev/null | string replace -r '^--[^=]+=' ''
end
complete -c NAME -a '(__NAME_values)'
"#;
/// An option with known values gets these as its completions in the script of fish, which looks at no others there.
const FISH_OPTION: &str = " -f -a '(__NAME_values)'";

/// Adds to the script of a shell that the program is asked for known values; other completions come where there are none. `options` are
/// the long options with known values. A shell without a template gets the script as it is.
pub(super) fn with_values(shell: Shell, program: &str, options: &[&str], script: &str) -> String {
    let named = |template: &str| template.replace("NAME", program);
    match shell {
        Shell::Bash => format!("{script}{}", named(BASH)),
        Shell::Zsh => script.replacen(&named(ZSH_FUNCTION), &named(ZSH), 1),
        Shell::Fish => {
            let mut with_values = String::with_capacity(2 * script.len());
            for line in script.lines() {
                let is_known = options.iter().any(|option| line.contains(&format!(" -l {option} ")));
                let values = if is_known { named(FISH_OPTION) } else { String::new() };
                let _ = writeln!(with_values, "{line}{values}");
            }
            with_values + &named(FISH)
        }
        _ => script.to_owned(),
    }
}
