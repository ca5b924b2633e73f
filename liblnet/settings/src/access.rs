//! Functions that read and write the fields in which settings are stored.

use crate::values::{InvalidValue, Value};

/// The functions that read and write the field of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Access<C: 'static> {
    /// Returns the value of the field.
    pub read: fn(&C) -> Value,
    /// Stores a valid value; the error names the values that the field takes.
    pub write: fn(&mut C, &Value) -> Result<(), InvalidValue>,
}

/// A type that a field of a setting may have.
pub trait Field {
    /// The value of the field.
    fn value(&self) -> Value;

    /// Stores a value; the error names the values that the field takes.
    fn store(&mut self, value: &Value) -> Result<(), InvalidValue>;
}

/// The [`Access`] to a field, given by the path to it: `field!(settings.retry_count)`.
#[macro_export]
macro_rules! field {
    ($($path:tt)+) => {
        $crate::Access {
            read: |config| $crate::Field::value(&config.$($path)+),
            write: |config, value| $crate::Field::store(&mut config.$($path)+, value),
        }
    };
}

/// The [`Access`] to a field of type [`std::time::Duration`], in the unit of two of its methods:
/// `duration!(from_secs, as_secs, keepalive)`.
#[macro_export]
macro_rules! duration {
    ($from:ident, $to:ident, $($path:tt)+) => {
        $crate::Access {
            read: |config| $crate::Value::Number(i64::try_from(config.$($path)+.$to()).unwrap_or(i64::MAX)),
            write: |config, value| match value {
                $crate::Value::Number(number) => {
                    config.$($path)+ = std::time::Duration::$from(number.unsigned_abs());
                    Ok(())
                }
                $crate::Value::Text(_) => Err($crate::InvalidValue::NotANumber),
            },
        }
    };
}

/// The [`Access`] to a field with one value for each word, in the order of the words: `choice!(accept, [AcceptFrom::Secure, ...])`.
#[macro_export]
macro_rules! choice {
    ($($path:ident).+, [$($choice:expr),+ $(,)?]) => {
        $crate::Access {
            read: |config| {
                let number = [$($choice),+].iter().position(|choice| *choice == config.$($path).+);
                $crate::Value::Number(number.and_then(|number| i64::try_from(number).ok()).unwrap_or(0))
            },
            write: |config, value| {
                let choices = [$($choice),+];
                let index = match value {
                    $crate::Value::Number(number) => usize::try_from(*number).unwrap_or(usize::MAX),
                    $crate::Value::Text(_) => usize::MAX,
                };
                match choices.get(index) {
                    Some(choice) => {
                        config.$($path).+ = *choice;
                        Ok(())
                    }
                    None => Err($crate::InvalidValue::NotAWord),
                }
            },
        }
    };
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn value(&self) -> Value {
                Value::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn store(&mut self, value: &Value) -> Result<(), InvalidValue> {
                let Value::Number(number) = value else { return Err(InvalidValue::NotANumber) };
                *self = Self::try_from(*number).map_err(|_| InvalidValue::TooLarge)?;
                Ok(())
            }
        }
    )*};
}

numbers!(u16, u32, usize, i32);

impl Field for bool {
    fn value(&self) -> Value {
        Value::Number((*self).into())
    }

    fn store(&mut self, value: &Value) -> Result<(), InvalidValue> {
        *self = *value == Value::Number(1);
        Ok(())
    }
}

/// `None` is stored as 0.
impl Field for Option<u32> {
    fn value(&self) -> Value {
        Value::Number(self.unwrap_or(0).into())
    }

    fn store(&mut self, value: &Value) -> Result<(), InvalidValue> {
        let mut number = 0_u32;
        number.store(value)?;
        *self = Some(number).filter(|number| *number > 0);
        Ok(())
    }
}

/// `None` is stored as the empty text.
impl Field for Option<String> {
    fn value(&self) -> Value {
        Value::Text(self.clone().unwrap_or_default())
    }

    fn store(&mut self, value: &Value) -> Result<(), InvalidValue> {
        *self = Some(value.to_string()).filter(|text| !text.is_empty());
        Ok(())
    }
}
