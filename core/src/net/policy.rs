//! A learned policy: a network, the observations that it reads, and the units of what it expects; read from a checkpoint.

use std::path::Path;

use super::graph::{Activation, Parameter};
use super::json::Json;
use super::network::Network;
use super::safetensors;
use super::sha256::sha256;
use super::spec::{JobLayout, Layout, NetworkKind, NetworkSpec, TowerLayer};
use crate::envs::episode::{EnvConfig, Lookahead, Mode};
use crate::envs::observe::told_of_jobs;

/// The version of checkpoints that is read.
const FORMAT: f64 = 1.0;
/// What the names of a network's weights begin with.
const NETWORK: &str = "network.";
/// What the names of the units of values begin with.
const UNITS: &str = "value_normalizer.";
/// The files of a checkpoint.
const ABOUT_FILE: &str = "policy.json";
const WEIGHTS_FILE: &str = "policy.safetensors";
/// The key of the description's own hash, and of those of the files beside it.
const ABOUT_HASH: &str = "json_sha256";
const FILE_HASHES: &str = "files";
/// Larger files are not read.
const LARGEST_FILE: u64 = 1 << 30;
/// The least deviation of values: rewards that hardly differ are not blown up.
const SMALLEST: f64 = 1e-4;

/// In which units a network learned values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// How many returns there have been.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

impl Default for Units {
    fn default() -> Self {
        Units { count: 0.0, mean: 0.0, variance: 1.0 }
    }
}

impl Units {
    /// Units of values; an error if they are none.
    pub fn new(count: f64, mean: f64, variance: f64) -> Result<Self, String> {
        if ![count, mean, variance].iter().all(|value| value.is_finite()) || count < 0.0 || variance < 0.0 {
            return Err(format!(
                "units of values have the count {count}, mean {mean}, variance {variance}: they are none"
            ));
        }
        Ok(Units { count, mean, variance })
    }

    fn deviation(&self) -> f64 {
        self.variance.sqrt().max(SMALLEST)
    }

    /// Takes in more returns, by the pairwise update of Chan, Golub and LeVeque: exact whatever the sizes of both parts.
    pub(crate) fn take_in(&mut self, fresh: &crate::learn::learner::Moments) {
        let count = self.count + fresh.count;
        let shift = fresh.mean - self.mean;
        let squares = self.variance * self.count + fresh.variance * fresh.count;
        self.variance = (squares + shift * shift * self.count * fresh.count / count) / count;
        self.mean += shift * fresh.count / count;
        self.count = count;
    }

    /// How many deviations from the mean a return is.
    pub(crate) fn normalize(&self, value: f32) -> f32 {
        ((f64::from(value) - self.mean) / self.deviation()) as f32
    }

    /// A value in the units of the reward.
    pub(crate) fn denormalize(&self, value: f32) -> f32 {
        (f64::from(value) * self.deviation() + self.mean) as f32
    }
}

/// A learned policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Who decides.
    pub network: Network,
    /// What it expects is told in these.
    pub units: Units,
    /// The environment in which it decides, where the checkpoint says.
    pub env: Option<EnvConfig>,
}

impl Policy {
    /// Reads the checkpoint in a folder.
    pub fn load(folder: &Path) -> Result<Self, String> {
        let ((about_path, about), (weights_path, weights)) = (read(folder, ABOUT_FILE)?, read(folder, WEIGHTS_FILE)?);
        let json = Json::parse(&about).map_err(|error| format!("{about_path}: {error}"))?;
        check_untouched(folder, &about, &json)?;
        let described = Description::of(&json).map_err(|error| format!("{about_path}: {error}"))?;
        if described.format != Some(FORMAT) {
            return Err(format!("{about_path}: has another format than {FORMAT}, which this version of Shunter reads"));
        }
        // A checkpoint put together from two runs would load without a word, and decide nonsense.
        if described.sha256.as_ref() != Some(&sha256(&weights)) {
            return Err(format!(
                "{weights_path}: is not the file that {ABOUT_FILE} was written with, or is cut short; take both from one checkpoint"
            ));
        }
        // A few bytes of a description could ask for gigabytes of weights.
        let size = described.size().map_err(|error| format!("{about_path}: {error}"))?;
        if weights.len() / std::mem::size_of::<f32>() < size {
            return Err(format!(
                "{weights_path}: are the weights of another network: it has {size}; take another copy"
            ));
        }
        let policy = described.policy().map_err(|error| format!("{about_path}: {error}"))?;
        policy.with_weights(&weights).map_err(|error| format!("{weights_path}: {error}; take another copy"))
    }

    /// The policy that a `policy.json` describes; its weights are all 0.
    pub fn describe(about: &[u8]) -> Result<Self, String> {
        Description::of(&Json::parse(about)?)?.policy()
    }

    /// The same with the weights of a safetensors file.
    pub fn with_weights(mut self, bytes: &[u8]) -> Result<Self, String> {
        let tensors = safetensors::read(bytes)?;
        let mut weights = vec![0.0; self.network.weights().len()];
        let of_network = |name: &str| tensors.iter().find(|one| one.name.strip_prefix(NETWORK) == Some(name));
        for parameter in self.network.parameters() {
            let found = of_network(&parameter.name).filter(|one| one.dimensions == parameter.dimensions);
            let Some(tensor) = found else {
                let shape = of_network(&parameter.name).map(|one| &one.dimensions);
                return Err(format!(
                    "are the weights of another network: {} has the shape {shape:?}, expected {:?}",
                    parameter.name, parameter.dimensions
                ));
            };
            let target = &mut weights[parameter.first..][..parameter.size()];
            target.iter_mut().zip(tensor.singles()?).for_each(|(weight, value)| *weight = value);
        }
        let known = |name: &str| self.network.parameters().iter().any(|one| one.name == name);
        let other = tensors.iter().filter_map(|one| one.name.strip_prefix(NETWORK)).find(|name| !known(name));
        if let Some(name) = other {
            return Err(format!("are the weights of another network: this one has no {name}"));
        }
        self.network.set_weights(&weights)?;
        for tensor in &tensors {
            match tensor.name.strip_prefix(UNITS) {
                Some("count") => self.units.count = tensor.double()?,
                Some("mean") => self.units.mean = tensor.double()?,
                Some("variance") => self.units.variance = tensor.double()?,
                _ => {}
            }
        }
        let Units { count, mean, variance } = self.units;
        self.units = Units::new(count, mean, variance)?;
        Ok(self)
    }
}

/// The path of a file in a folder, and what it holds.
fn read(folder: &Path, name: &str) -> Result<(String, Vec<u8>), String> {
    let path = folder.join(name);
    let shown = path.display().to_string();
    let known = std::fs::metadata(&path).and_then(|about| match about.len() {
        // To read a pipe or a device may never end.
        _ if !about.is_file() => Err(std::io::Error::other("it is no file")),
        0..=LARGEST_FILE => std::fs::read(&path),
        _ => Err(std::io::Error::other("it is larger than a gigabyte")),
    });
    known
        .map(|bytes| (shown.clone(), bytes))
        .map_err(|error| format!("{shown}: cannot be read ({error}); give the folder of a checkpoint"))
}

/// An error if a `policy.json`, or a file beside it that it names, is not as it was written: options and scores decide as
/// much as weights do. Checkpoints of earlier versions do not tell.
fn check_untouched(folder: &Path, about: &[u8], json: &Json) -> Result<(), String> {
    if let Some(told) = json.get(ABOUT_HASH).and_then(Json::text) {
        if told != sha256(&without_hash(about, told.as_bytes())) {
            let path = folder.join(ABOUT_FILE);
            return Err(format!("{}: was changed after it was written; take another copy", path.display()));
        }
    }
    for (name, told) in json.get(FILE_HASHES).map_or(&[][..], Json::fields) {
        // Whatever else a damaged or hostile file names is not looked at.
        if name.contains(['/', '\\']) {
            let path = folder.join(ABOUT_FILE);
            return Err(format!(
                "{}: names the file {name:?}, which is not beside it; take another copy",
                path.display()
            ));
        }
        let (path, bytes) = read(folder, name)?;
        if told.text() != Some(&sha256(&bytes)) {
            return Err(format!(
                "{path}: is not the file that {ABOUT_FILE} was written with; take both from one checkpoint"
            ));
        }
    }
    Ok(())
}

/// A text with zeros where it first tells its own hash: a hash cannot be taken of itself.
fn without_hash(about: &[u8], told: &[u8]) -> Vec<u8> {
    let mut bytes = about.to_vec();
    let found = (!told.is_empty()).then(|| about.windows(told.len()).position(|part| part == told)).flatten();
    if let Some(first) = found {
        bytes[first..first + told.len()].fill(b'0');
    }
    bytes
}

/// What a `policy.json` says that counts here.
struct Description {
    format: Option<f64>,
    layout: Layout,
    spec: NetworkSpec,
    env: Option<EnvConfig>,
    /// Of the weights.
    sha256: Option<String>,
}

impl Description {
    fn of(json: &Json) -> Result<Self, String> {
        let layout = layout(json.get("layout").ok_or("has no layout")?)?;
        let spec = spec(json.get("network").ok_or("has no network")?, json.get("layers"))?;
        let env = json.get("options").map(|options| environment(options, &layout)).transpose()?;
        let format = json.get("format").and_then(Json::number);
        let sha256 = json.get("sha256").and_then(Json::text).map(str::to_string);
        Ok(Description { format, layout, spec, env, sha256 })
    }

    /// How many weights the network has.
    fn size(&self) -> Result<usize, String> {
        Ok(self.spec.build(&self.layout)?.parameters.iter().map(Parameter::size).sum())
    }

    fn policy(self) -> Result<Policy, String> {
        Ok(Policy { network: Network::new(self.spec, self.layout)?, units: Units::default(), env: self.env })
    }
}

/// A field that must be a whole number; `usual` where it is missing.
fn whole(json: &Json, name: &str, usual: usize) -> Result<usize, String> {
    match json.get(name) {
        None => Ok(usual),
        Some(value) => value.whole().ok_or_else(|| format!("{name} is no whole number of 0 or more")),
    }
}

fn layout(json: &Json) -> Result<Layout, String> {
    match json.get("kind").and_then(Json::text) {
        Some("pick-host") => Ok(Layout::Host { hosts: whole(json, "num_hosts", 0)? }),
        Some(kind @ ("pick-job" | "pick-job-and-type")) => {
            let extra = json.get("extra_features").map_or(Some(&[][..]), Json::list);
            let extra = extra.ok_or("extra_features is no list")?.len();
            let stops = whole(json, "stops", 0)?;
            let types = json.get("types").map_or(Some(&[][..]), Json::list).ok_or("types is no list")?.len();
            if (types > 0) != (kind == "pick-job-and-type") {
                return Err(format!("layout kind is {kind}, with {types} types of GPUs"));
            }
            Ok(Layout::Job(JobLayout {
                window: whole(json, "window", 0)?,
                lookahead_size: whole(json, "lookahead_size", 0)?,
                job_features: told_of_jobs(stops, types) + extra,
                history: whole(json, "history", 0)?,
                stops,
                types,
            }))
        }
        kind => Err(format!("layout kind is {kind:?}; expected pick-job, pick-job-and-type or pick-host")),
    }
}

fn spec(json: &Json, layers: Option<&Json>) -> Result<NetworkSpec, String> {
    let name = json.get("kind").and_then(Json::text).unwrap_or("kernel");
    // A user's own network goes by the user's name for it, and its layers are told beside it.
    let kind = layers.map(|_| NetworkKind::Layers).or_else(|| NetworkKind::named(name)).ok_or_else(|| {
        format!("network kind is {name:?}, which the core does not know; expected kernel, mlp, hosts or attention")
    })?;
    let towers = match layers {
        Some(layers) => [tower(layers, "policy")?, tower(layers, "value")?],
        None => [Vec::new(), Vec::new()],
    };
    let activation = match json.get("activation").and_then(Json::text).unwrap_or("relu") {
        "relu" => Activation::Relu,
        "tanh" => Activation::Tanh,
        other => return Err(format!("activation is {other:?}; expected relu or tanh")),
    };
    let hidden = json.get("hidden").and_then(Json::list).ok_or("the network has no list of hidden sizes")?;
    let hidden = hidden.iter().map(Json::whole).collect::<Option<Vec<_>>>();
    let order_temperature = match json.get("order_temperature") {
        None | Some(Json::Null) => None,
        Some(Json::Text(none)) if none == "none" => None,
        Some(value) => Some(value.number().ok_or("order_temperature is neither a number nor none")? as f32),
    };
    Ok(NetworkSpec {
        kind,
        hidden: hidden.ok_or("a hidden size is no whole number")?,
        activation,
        heads: whole(json, "heads", 2)?,
        blocks: whole(json, "blocks", 1)?,
        towers,
        order_temperature,
    })
}

/// One of the towers of `layers`: a list of sizes and functions.
fn tower(layers: &Json, name: &str) -> Result<Vec<TowerLayer>, String> {
    let wrong = || format!("layers: {name} is no list of sizes, each with relu, tanh or none");
    let read = |layer: &Json| {
        let [size, function] = layer.list()? else { return None };
        let activation = match function.text()? {
            "relu" => Activation::Relu,
            "tanh" => Activation::Tanh,
            "none" => Activation::None,
            _ => return None,
        };
        Some(TowerLayer { size: size.whole()?, activation })
    };
    let list = layers.get(name).and_then(Json::list).ok_or_else(wrong)?;
    list.iter().map(read).collect::<Option<Vec<_>>>().ok_or_else(wrong)
}

/// What is shown, as an environment's options say.
fn environment(options: &Json, layout: &Layout) -> Result<EnvConfig, String> {
    let text = |name: &str, usual: &'static str| options.get(name).map_or(Some(usual), Json::text);
    let mode = match (layout, text("mode", "reserve")) {
        (Layout::Host { .. }, _) => Mode::Host,
        (Layout::Job(jobs), _) if jobs.types > 0 => Mode::Pairs,
        (_, Some("reserve")) => Mode::Reserve,
        (_, Some("feasible")) => Mode::Feasible,
        (_, Some("committed")) => Mode::Committed,
        (_, Some("committed-backfill")) => Mode::CommittedBackfill,
        (_, mode) => return Err(format!("options: mode is {mode:?}; there is none of this name")),
    };
    let lookahead = match text("lookahead", "off") {
        Some("off") => Lookahead::Off,
        Some("per_gpu") => Lookahead::PerGpu,
        Some("sorted") => Lookahead::Sorted,
        Some("cdf") => Lookahead::Cdf,
        kind => return Err(format!("options: lookahead is {kind:?}; there is none of this name")),
    };
    // Both are written for people to read; one that was edited alone would shift every feature.
    let agree = |name: &str, laid_out: usize| match whole(options, name, laid_out)? == laid_out {
        true => Ok(()),
        false => Err(format!("layout and options do not agree on {name}")),
    };
    let jobs = match layout {
        Layout::Job(jobs) => jobs,
        Layout::Host { hosts } => {
            agree("num_hosts", *hosts)?;
            return Ok(EnvConfig::shown(mode, lookahead, 0, 0, 0));
        }
    };
    for (name, laid_out) in [("window", jobs.window), ("history", jobs.history), ("stops", jobs.stops)] {
        agree(name, laid_out)?;
    }
    let interval_s = options.get("history_interval_s").map_or(Some(3600.0), Json::number);
    let interval_s = interval_s.ok_or("options: history_interval_s is no number")?;
    Ok(EnvConfig {
        history: jobs.history,
        history_interval_ms: (interval_s * 1000.0).round() as i64,
        stops: jobs.stops,
        types: jobs.types,
        ..EnvConfig::shown(mode, lookahead, jobs.lookahead_size, jobs.window, jobs.extra_features())
    })
}
