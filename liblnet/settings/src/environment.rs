//! Settings from environment variables.

use crate::row::Row;
use crate::values::InvalidValue;
use thiserror::Error;

/// An environment variable whose value is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}=\"{text}\": wanted is {wanted}")]
pub struct RejectedVariable {
    /// The name of the variable.
    pub name: &'static str,
    /// The value of the variable.
    pub text: String,
    /// The valid values.
    pub wanted: InvalidValue,
}

/// Stores the values of the variables of `rows` in `config`; `look_up` returns the text of a variable that is set. The result has
/// the settings that were set, each with the variable that was used. Variables that are not used are checked too.
pub fn apply<C>(
    rows: &'static [Row<C>],
    config: &mut C,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(&'static str, &'static str)>, RejectedVariable> {
    let mut set = Vec::new();
    for row in rows {
        let mut counts = None;
        for variable in row.spec.variables.iter().rev() {
            let name = variable.name;
            let Some(text) = look_up(name) else { continue };
            let value = variable.parse(row.spec.values, text.trim());
            value.and_then(|value| row.write(config, &value)).map_err(|wanted| RejectedVariable {
                name,
                text,
                wanted,
            })?;
            counts = Some(name);
        }
        set.extend(counts.map(|variable| (row.spec.name, variable)));
    }
    Ok(set)
}
