//! A matrix as text: a row for each client, a column for each server.

use super::Pair;
use std::fmt::Write;

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// A number, shown with one digit behind the point.
    Number(f64),
    /// The pair failed.
    Failed,
    /// There is no such pair.
    None,
}

/// Formats a matrix under a title. Nodes have the numbers of their positions, from 1 on.
pub fn text(title: &str, clients: &[usize], servers: &[usize], cell: impl Fn(Pair) -> Cell) -> String {
    let heads = servers.iter().map(|server| (server + 1).to_string());
    let mut lines: Vec<Vec<String>> = vec![std::iter::once(title.to_owned()).chain(heads).collect()];
    for &from in clients {
        let cells = servers.iter().map(|&to| match cell(Pair { from, to }) {
            Cell::Number(number) => format!("{number:.1}"),
            Cell::Failed => "failed".to_owned(),
            Cell::None => "-".to_owned(),
        });
        lines.push(std::iter::once((from + 1).to_string()).chain(cells).collect());
    }
    let width = |of: &mut dyn Iterator<Item = &String>| of.map(String::len).max().unwrap_or(0);
    let first = width(&mut lines.iter().filter_map(|line| line.first()));
    let others = width(&mut lines.iter().flat_map(|line| line.iter().skip(1)));
    let mut text = String::new();
    for line in &lines {
        for (column, word) in line.iter().enumerate() {
            let _ = match column {
                0 => write!(text, "{word:first$}"),
                _ => write!(text, "  {word:>others$}"),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let cell = |pair: Pair| match (pair.from, pair.to) {
            (from, to) if from == to => Cell::None,
            (0, 9) => Cell::Failed,
            (from, _) => Cell::Number(if from == 0 { 1234.56 } else { 7.0 }),
        };
        let expected = "MiB/s       1       2      10\n\
                        1           -  1234.6  failed\n\
                        2         7.0       -     7.0\n";
        assert_eq!(text("MiB/s", &[0, 1], &[0, 1, 9], cell), expected);
    }
}
