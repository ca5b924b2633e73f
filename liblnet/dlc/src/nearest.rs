//! Suggestions for unknown words: the known name that is most similar.

/// The text `; did you mean '...'?` with the name most similar to `word`, or an empty text.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // A word of a file may have any length, and the comparison takes quadratic time.
    if word.len() > 64 {
        return String::new();
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], " ");
    let word = plain(word);
    let names: Vec<_> = names.into_iter().collect();
    // An abbreviated word has a large distance from the whole one.
    if let Some(name) = names.iter().find(|name| word.len() >= 3 && plain(name).starts_with(&word)) {
        return format!("; did you mean '{name}'?");
    }
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &plain(name)), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(4).min(3))
        .min()
        .map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_most_similar_name_is_suggested_and_none_that_is_not_similar() {
        let names = ["ping", "peer", "route", "routing", "discover", "peer_credits"];
        let table = [
            ("pign", "ping"),
            ("rout", "route"),
            ("disc", "discover"),
            ("Peer-Credits", "peer_credits"),
            ("xyz", ""),
            ("p", ""),
        ];
        for (word, expected) in table {
            let expected = match expected {
                "" => String::new(),
                name => format!("; did you mean '{name}'?"),
            };
            assert_eq!(nearest(word, names), expected, "{word}");
        }
        assert_eq!(nearest(&"p".repeat(65), names), "");
    }
}
