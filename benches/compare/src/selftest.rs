//! The grid of LNet selftest: sizes, concurrencies, write, read and ping, by `lst bench` between two nodes, each beside
//! iperf3 with as many streams and writes of the same size.

pub(crate) mod grid;
mod iperf3;
mod lst;
mod table;

use crate::error::Error;
use crate::options::Options;
use crate::picture;
use crate::report::{self, Section};
use crate::statistics::Summary;
use grid::{Measured, Sample, Test, cells};
use std::path::Path;

/// Maximum number of rounds; one takes about two minutes.
const MAX_ROUNDS: usize = 3;

/// The results of all rounds of a cell.
#[derive(Default)]
struct Samples {
    ours: Vec<Result<Sample, Error>>,
    iperf3: Vec<Result<f64, Error>>,
}

/// Measures all cells, prints them, and puts them into the document with a picture beside them.
pub(crate) fn run(program: &Path, options: &Options) -> Result<(), Error> {
    let measured = measure(program, options)?;
    let text = table::markdown(&measured, options);
    println!("{text}");
    if let Some(path) = &options.write {
        report::replace_section(path, Section::Selftest, &text)?;
        picture::write_selftest(&path.with_file_name("selftest.svg"), &measured)?;
    }
    Ok(())
}

fn measure(program: &Path, options: &Options) -> Result<Vec<Measured>, Error> {
    let site = lst::Site::start(program)?;
    let server = iperf3::Server::start();
    let rounds = options.rounds.clamp(1, MAX_ROUNDS);
    let mut samples: Vec<Samples> = Vec::new();
    samples.resize_with(cells().len(), Samples::default);
    for _ in 0..rounds {
        for (cell, Samples { ours, iperf3 }) in cells().into_iter().zip(&mut samples) {
            ours.push(site.bench(cell, options.duration));
            if cell.test != Test::Ping {
                iperf3.push(server.as_ref().map_err(Clone::clone).and_then(|it| it.measure(cell)));
            }
        }
    }
    let measured = cells().into_iter().zip(samples).map(|(cell, Samples { ours, iperf3 })| {
        let rpcs: Vec<f64> = ours.iter().flatten().map(|sample| sample.rpcs).collect();
        let value = |sample: Sample| if cell.test == Test::Ping { sample.rpcs } else { sample.bytes };
        Measured {
            cell,
            ours: summary(ours.into_iter().map(|sample| sample.map(value))),
            rpcs: Summary::of(&rpcs).map(|summary| summary.median),
            iperf3: (cell.test != Test::Ping).then(|| summary(iperf3.into_iter())),
        }
    });
    Ok(measured.collect())
}

/// Summarises all rounds; an error if one of them failed.
fn summary(samples: impl Iterator<Item = Result<f64, Error>>) -> Result<Summary, Error> {
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    Summary::of(&samples).ok_or_else(|| "no sample".to_owned())
}
