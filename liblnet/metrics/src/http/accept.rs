//! Content negotiation: which text format a client wants.

use crate::text::Format;

/// The format for a request with this value of the header Accept. OpenMetrics is for clients that name it; all others get the text
/// format of Prometheus, which a person can read as well.
pub fn format_for(accept: &str) -> Format {
    let quality = |wanted: fn(&str) -> bool| {
        let ranges = accept.split(',').filter_map(media_range);
        ranges.filter(|(media, _)| wanted(media)).map(|(_, quality)| quality).max().unwrap_or(0)
    };
    let open = quality(|media| media == "application/openmetrics-text");
    let plain = quality(|media| media == "text/plain");
    if open > 0 && open >= plain { Format::OpenMetrics } else { Format::Prometheus }
}

/// The media type in lower case and its quality in thousandths. `None` for a version of OpenMetrics that this server does not have.
fn media_range(text: &str) -> Option<(String, u32)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next()?.to_ascii_lowercase();
    let mut quality = 1000;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "q" => {
                let number: f32 = value.parse().ok()?;
                quality = (number.clamp(0.0, 1.0) * 1000.0) as u32;
            }
            "version" if media.starts_with("application/openmetrics") && value != "1.0.0" => return None,
            _ => {}
        }
    }
    Some((media, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_clients_that_name_it() {
        let table = [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8", Format::OpenMetrics),
            // Prometheus 2 and 3.
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                 text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                Format::OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2",
                Format::OpenMetrics,
            ),
            ("application/openmetrics-text;version=0.0.1,text/plain;q=0.1", Format::Prometheus),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;q=x", Format::Prometheus),
            ("application/openmetrics-text;q=0.2,text/plain;q=0.9", Format::Prometheus),
            (",;=,;;q", Format::Prometheus),
        ];
        for (accept, format) in table {
            assert_eq!(format_for(accept), format, "{accept}");
        }
    }
}
