//! `lnetctl cluster check --lose`

use super::outcome::{end, refuse};
use super::progress::ProgressBar;
use crate::cli::{ClusterCheck, DrillOptions, Format};
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::drill::chart::drill_chart_svg;
use lnet_cluster::drill::{
    DEFAULT_SAMPLE, Delivery, DrillCluster, DrillError, DrillPlan, DrillReport, DrillSurvey, Loss,
    run as run_drill, shell_word, survey, text,
};
use lnet_cluster::model::Cluster;
use std::fs;

/// The outcome of one drill, or of one for each element of a kind.
enum Drilled {
    One(Box<DrillReport>),
    Each(Box<DrillSurvey>),
}

pub(super) fn run(command: &ClusterCheck, cluster: &Cluster, cx: &mut Context<'_>) -> CommandOutcome {
    let drilled = match drill(command, cluster) {
        Ok(drilled) => drilled,
        Err(error) => return refuse(cx, error),
    };
    let (report, is_failure) = match &drilled {
        Drilled::One(report) => (&**report, !report.operations.all_succeeded()),
        Drilled::Each(survey) => {
            (&survey.worst, survey.elements.iter().any(|element| !element.operations.all_succeeded()))
        }
    };
    if let Some(file) = &command.drill.chart
        && let Err(error) = fs::write(file, drill_chart_svg(report))
    {
        return refuse(cx, format!("{} cannot be written: {error}", file.display()));
    }
    cx.text = match (&drilled, cx.format) {
        (Drilled::One(report), Format::Yaml) => text::drill(report),
        (Drilled::One(report), Format::Json) => report.to_json(),
        (Drilled::Each(survey), Format::Yaml) => text::survey(survey),
        (Drilled::Each(survey), Format::Json) => survey.to_json(),
    };
    end(is_failure)
}

fn drill(command: &ClusterCheck, cluster: &Cluster) -> Result<Drilled, DrillError> {
    let options = &command.drill;
    let sample = DrillCluster::sample(cluster, options.clients.unwrap_or(DEFAULT_SAMPLE));
    let plan = plan(options, &sample)?;
    let mut bar = ProgressBar::of_terminal();
    let mut progress = |its| bar.show(its);
    Ok(match &options.lose_any {
        Some(kind) => {
            let mut survey = survey(&sample, &plan, kind.parse()?, &mut progress)?;
            survey.worst.repeat = repeat(command, &survey.worst.repeat);
            Drilled::Each(Box::new(survey))
        }
        None => {
            let mut report = run_drill(&sample, &plan, &mut progress)?;
            report.repeat = repeat(command, &report.repeat);
            Drilled::One(Box::new(report))
        }
    })
}

fn plan(options: &DrillOptions, sample: &DrillCluster) -> Result<DrillPlan, DrillError> {
    let default = DrillPlan::default();
    let losses: Result<Vec<Loss>, DrillError> =
        options.lose.iter().map(|text| Loss::parse(sample, text)).collect();
    Ok(DrillPlan {
        losses: losses?,
        load: options.load.as_ref().map_or(Ok(default.load), |text| text.parse())?,
        seed: options.seed.unwrap_or(default.seed),
        duration: options
            .duration
            .as_ref()
            .map_or(Ok(default.duration), |text| DrillPlan::parse_duration(text))?,
        delivery: if options.kernel_nodes { Delivery::Kernel } else { Delivery::Acked },
        ..default
    })
}

/// The command that repeats a drill with these options.
fn repeat(command: &ClusterCheck, options: &str) -> String {
    let mut words = vec!["lnetctl cluster check".to_owned()];
    words.extend(command.paths.iter().map(|path| shell_word(&path.to_string_lossy()).into_owned()));
    words.extend(command.drill.clients.map(|number| format!("--clients {number}")));
    words.push(options.to_owned());
    words.join(" ")
}
