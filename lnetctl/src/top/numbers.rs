//! Numbers and times as the screen shows them, within the width of their columns.

use std::time::Duration;

/// An interval that people can read.
pub(super) fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A time as hours, minutes and seconds.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A number in at most six characters.
pub(super) fn count(number: f64) -> String {
    match number {
        0.0..9.95 if number.fract() != 0.0 => format!("{number:.1}"),
        ..999_999.5 => format!("{number:.0}"),
        ..999_950_000.0 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.1}G", number / 1e9),
    }
}

/// MiB in at most seven characters.
pub(super) fn mib(bytes: f64) -> String {
    let mib = bytes / f64::from(1 << 20);
    match mib {
        ..9999.995 => format!("{mib:.2}"),
        _ => format!("{mib:.0}"),
    }
}

/// A number of bytes with a unit.
pub(super) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut name = "B";
    for unit in units {
        if value < 1024.0 {
            break;
        }
        (value, name) = (value / 1024.0, unit);
    }
    if name == "B" { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

/// A delay in the largest unit that keeps it at 1 or more.
pub(super) fn time(delay: Duration) -> String {
    match delay.as_nanos() {
        0..1000 => format!("{} ns", delay.as_nanos()),
        1000..1_000_000 => format!("{} us", delay.as_micros()),
        1_000_000..1_000_000_000 => format!("{} ms", delay.as_millis()),
        _ => format!("{} s", delay.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_columns() {
        let table = [
            (0.0, "0"),
            (0.5, "0.5"),
            (3.0, "3"),
            (9.96, "10"),
            (999_999.0, "999999"),
            (1.5e6, "1.5M"),
            (2e9, "2.0G"),
        ];
        for (number, expected) in table {
            assert_eq!(count(number), expected, "{number}");
        }
        let table = [(0.0, "0.00"), (1048576.0, "1.00"), (12e9, "11444"), (1e3, "0.00"), (1e4, "0.01")];
        for (bytes, expected) in table {
            assert_eq!(mib(bytes), expected, "{bytes}");
        }
        let table = [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (u64::MAX, "16.0 EiB")];
        for (bytes, expected) in table {
            assert_eq!(size(bytes), expected, "{bytes}");
        }
        assert_eq!(clock(Duration::from_secs(3661)), "01:01:01");
    }
}
