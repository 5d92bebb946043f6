//! Any weight file: it is refused, or all that its header names lies in the file.

use models::weights::Checkpoint;

use super::folder;

/// Opens it, looks up every tensor and reads it.
pub(crate) fn run(data: &[u8]) {
    let folder = folder::with(&[("model.safetensors", data)]);
    let Ok(checkpoint) = Checkpoint::open(folder) else {
        return;
    };
    let length = data.len() as u64;
    let infos: Vec<_> =
        checkpoint.infos().map(|(name, info)| (name.to_owned(), info.shape.clone())).collect();
    for (name, shape) in infos {
        if let Ok(tensor) = checkpoint.tensor(&name, &shape) {
            assert!(tensor.offset <= length, "{name} begins at {} of {length}", tensor.offset);
        }
        assert!(checkpoint.tensor(&name, &[usize::MAX]).is_err(), "{name} has another shape");
        assert!(matches!(checkpoint.equal(&name, &name), Ok(true)), "{name} can be read");
    }
}
