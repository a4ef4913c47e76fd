//! A reader of safetensors: a header in JSON that says where each tensor is, then the tensors.

use super::json::{Json, LONGEST};

/// A tensor in a file.
#[derive(Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: String,
    pub(crate) dimensions: Vec<usize>,
    kind: String,
    bytes: &'a [u8],
}

impl Tensor<'_> {
    /// Its numbers, if they are of single precision.
    pub(crate) fn singles(&self) -> Result<impl Iterator<Item = f32> + '_, String> {
        self.check("F32")?;
        Ok(self.bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])))
    }

    /// Its one number, if it is one of double precision.
    pub(crate) fn double(&self) -> Result<f64, String> {
        self.check("F64")?;
        let bytes: Option<[u8; 8]> = self.bytes.try_into().ok();
        bytes.map(f64::from_le_bytes).ok_or_else(|| format!("{} is not one number", self.name))
    }

    fn check(&self, kind: &str) -> Result<(), String> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(format!("{} holds numbers of the kind {}; expected {kind}", self.name, self.kind)),
        }
    }
}

/// The tensors of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Tensor<'_>>, String> {
    let cut = || "is not a safetensors file, or is cut short".to_string();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    if length > LONGEST || length > rest.len() {
        return Err(cut());
    }
    let (header, data) = rest.split_at(length);
    let Json::Object(fields) = Json::parse(header)? else { return Err(cut()) };
    let mut tensors = Vec::new();
    for (name, about) in fields.into_iter().filter(|(name, _)| name != "__metadata__") {
        let tensor = tensor(name, &about, data)?;
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn tensor<'a>(name: String, about: &Json, data: &'a [u8]) -> Result<Tensor<'a>, String> {
    let wholes = |field: &str| -> Option<Vec<usize>> {
        about.get(field)?.list()?.iter().map(Json::whole).collect::<Option<Vec<usize>>>()
    };
    let found = (about.get("dtype").and_then(Json::text), wholes("shape"), wholes("data_offsets"));
    let (Some(kind), Some(dimensions), Some(offsets)) = found else {
        return Err(format!("{name} has no dtype, shape or data_offsets"));
    };
    let width = match kind {
        "F32" => 4,
        "F64" => 8,
        other => return Err(format!("{name} holds numbers of the kind {other}; expected F32")),
    };
    let size = dimensions.iter().try_fold(width, |size: usize, &dimension| size.checked_mul(dimension));
    let bytes = match offsets[..] {
        [begin, end] => data.get(begin..end),
        _ => None,
    };
    match (bytes, size) {
        (Some(bytes), Some(size)) if bytes.len() == size => {
            Ok(Tensor { name, dimensions, kind: kind.to_string(), bytes })
        }
        _ => Err(format!("{name} is not where the header says, or is cut short")),
    }
}
