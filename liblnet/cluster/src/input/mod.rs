//! Reading of clusters: the only part of the crate that opens files.
//!
//! A path is a directory of configurations, one file `NODE.yaml` a node; or such a file; or a topology file, which is known by its
//! key `classes` and names classes of nodes, their numbers and their addresses.

mod addresses;
mod grouping;
mod ip2nets;
mod node;
mod states;
mod topology;

pub use addresses::parse_addresses;
pub use states::{LINKS_FILE, TUNABLES_FILE};
pub use topology::SCHEMA as TOPOLOGY_SCHEMA;

use crate::model::{Class, Cluster};
use crate::text::printable;
use grouping::Grouping;
use lnet_dlc::model::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The extensions of files of a directory that are read.
const EXTENSIONS: [&str; 2] = ["yaml", "yml"];
/// The most mappings and sequences within each other in a topology file, which has five.
const MAX_TOPOLOGY_DEPTH: usize = 16;

/// A file, or a part of one, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// The file or directory.
    pub file: PathBuf,
    /// The place in the file; `None`: the file as a whole.
    pub at: Option<Place>,
    /// The error and the remedy.
    pub text: String,
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.to_string_lossy();
        let (file, text) = (printable(&file), printable(&self.text));
        match self.at {
            Some(at) => write!(f, "{file}:{at}: {text}"),
            None => write!(f, "{file}: {text}"),
        }
    }
}

/// Reads the cluster that these files and directories describe together. If anything cannot be read, all problems are returned and no
/// cluster: a check of a part would find nodes missing that are there.
pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Cluster, Vec<InputProblem>> {
    let mut reading = Reading::default();
    let mut files = Files::default();
    for path in paths {
        reading.find(path.as_ref(), &mut files);
    }
    files.topologies.iter().for_each(|file| reading.file(file, None));
    // The configuration of a class is that of no node of its own, wherever it is.
    let named: BTreeSet<PathBuf> = reading.classes.iter().map(|class| identity(&class.file)).collect();
    files.nodes.retain(|file| !named.contains(&identity(file)));
    for (file, name) in files.nodes.iter().zip(node_names(&files.nodes)) {
        reading.file(file, Some(&name));
    }
    reading.names(&files.nodes);
    let mut cluster = reading.grouping.cluster();
    let first_of_topologies = cluster.classes.len();
    cluster.classes.extend(reading.classes);
    let shifted = |(one, other)| (first_of_topologies + one, first_of_topologies + other);
    cluster.apart.extend(reading.apart.into_iter().map(shifted));
    if reading.problems.is_empty() && cluster.classes.is_empty() {
        let file = paths.first().map_or_else(PathBuf::new, |path| path.as_ref().to_owned());
        let text = "there is no configuration in it; a directory has one NODE.yaml for each node".to_owned();
        reading.problems.push(InputProblem { file, at: None, text });
    }
    if reading.problems.is_empty() { Ok(cluster) } else { Err(reading.problems) }
}

/// Reads a topology file that has this text; `text_of` has the texts of the files that it names. Problems have the path that is given for it,
/// or those of the other files.
pub fn read_topology(
    file: &Path,
    text: &str,
    text_of: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Cluster, Vec<InputProblem>> {
    let topology::Topology { classes, apart, .. } = topology::read(file, text, 0, text_of)?;
    Ok(Cluster { classes, apart })
}

/// The nodes and classes that were read so far, and the problems.
#[derive(Default)]
struct Reading {
    /// The nodes that have a file each.
    grouping: Grouping,
    /// The classes of topology files.
    classes: Vec<Class>,
    /// The file and the place of each of them.
    places: Vec<(PathBuf, Place)>,
    /// Pairs of classes of topology files.
    apart: Vec<(usize, usize)>,
    problems: Vec<InputProblem>,
}

/// The files of all paths, each once.
#[derive(Default)]
struct Files {
    topologies: Vec<PathBuf>,
    nodes: Vec<PathBuf>,
    known: BTreeSet<PathBuf>,
}

impl Reading {
    /// Finds the files of a path.
    fn find(&mut self, path: &Path, files: &mut Files) {
        if !path.is_dir() {
            return self.found(path.to_owned(), files);
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.wrong(path, None, &format!("cannot be read: {error}")),
        };
        let is_meant = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && path.is_file()
        };
        let mut all: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_meant).collect();
        // Names with numbers in the order of the numbers, so that consecutive addresses are consecutive nodes.
        all.sort_by_cached_key(|path| natural_key(&path.to_string_lossy()));
        all.into_iter().for_each(|file| self.found(file, files));
    }

    /// Adds a file, unless it was found by another path before.
    fn found(&mut self, file: PathBuf, files: &mut Files) {
        if !files.known.insert(identity(&file)) {
            return;
        }
        match text_of(&file) {
            Ok(text) if topology::is_topology(&text) => files.topologies.push(file),
            Ok(_) => files.nodes.push(file),
            Err(error) => self.wrong(&file, None, &format!("cannot be read: {error}")),
        }
    }

    /// Reads a topology file, or the configuration of the node `node`.
    fn file(&mut self, file: &Path, node: Option<&str>) {
        let text = match text_of(file) {
            Ok(text) => text,
            Err(error) => return self.wrong(file, None, &format!("cannot be read: {error}")),
        };
        let result = match node {
            None => topology::read(file, &text, self.classes.len(), &text_of).map(|topology| {
                self.classes.extend(topology.classes);
                self.places.extend(topology.places.iter().map(|at| (file.to_owned(), *at)));
                self.apart.extend(topology.apart);
            }),
            Some(name) => node::read(file, name, &text).map(|mut node| {
                states::add(&mut node, file);
                self.grouping.add(node);
            }),
        };
        // A file that several classes name has its problems once.
        for problem in result.err().into_iter().flatten() {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// Refuses classes with the name of a class of another topology file, or of a node: reports and losses would mean either.
    fn names(&mut self, nodes: &[PathBuf]) {
        let names = node_names(nodes);
        let mut known: BTreeMap<&str, String> =
            names.iter().zip(nodes).map(|(name, file)| (&**name, file.display().to_string())).collect();
        let mut problems = Vec::new();
        for (class, (file, at)) in self.classes.iter().zip(&self.places) {
            let here = format!("{}:{at}", file.display());
            if let Some(other) = known.insert(&class.name, here) {
                let text =
                    format!("'{}' is also the name of what {other} has; give one another name", class.name);
                problems.push(InputProblem { file: file.clone(), at: Some(*at), text });
            }
        }
        self.problems.extend(problems);
    }

    fn wrong(&mut self, file: &Path, at: Option<Place>, text: &str) {
        self.problems.push(InputProblem { file: file.to_owned(), at, text: text.to_owned() });
    }
}

/// The path by which a file is known whatever path names it.
fn identity(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The names of nodes: those of their files without the extensions; of files with equal names, with their directories; and of such that are
/// equal then, also with their extensions.
fn node_names(files: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = files.iter().map(|file| node::name_of(file)).collect();
    for longer in [|file: &Path| file.with_extension(""), Path::to_owned] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        names.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
        for (name, file) in names.iter_mut().zip(files) {
            if counts.get(name).is_some_and(|count| *count > 1) {
                *name = longer(file).to_string_lossy().into_owned();
            }
        }
    }
    names
}

/// The text of a file of at most [`lnet_dlc::yaml::tree::MAX_SIZE`] bytes; a longer one is refused when it is parsed. Pipes and devices are
/// refused: opening a pipe waits for another program, and a file is read twice.
fn text_of(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no regular file; write what it has to one, and name that"));
    }
    lnet_dlc::yaml::text_of(File::open(file)?)
}

/// A key by which names are sorted so that `node2` comes before `node10`.
fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut key = vec![(String::new(), 0_u64)];
    let mut in_number = false;
    for letter in name.chars() {
        match letter.to_digit(10) {
            Some(digit) => {
                in_number = true;
                if let Some((_, number)) = key.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(digit.into());
                }
            }
            None => {
                if in_number {
                    key.push((String::new(), 0));
                    in_number = false;
                }
                if let Some((text, _)) = key.last_mut() {
                    text.push(letter);
                }
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_in_the_order_of_the_numbers() {
        let mut names = ["c10", "c9", "c9b", "b", "c"];
        names.sort_by_cached_key(|name| natural_key(name));
        assert_eq!(names, ["b", "c", "c9", "c9b", "c10"]);
    }
}
