//! UpdateBases: places outside of the table where files may lie.

use super::draft::Draft;
use super::fragments::{invalid, used_up};
use crate::LanceError;
use crate::proto::table::transaction::UpdateBases;

/// New base paths follow the old ones; those without an id get the lowest that is free, from 1 on.
pub(super) fn update(draft: &mut Draft, update: &UpdateBases) -> Result<(), LanceError> {
    let bases = &mut draft.manifest.base_paths;
    for new in &update.new_bases {
        let clash = bases
            .iter()
            .any(|base| base.path == new.path || base.name == new.name || (new.id != 0 && base.id == new.id));
        if clash {
            return Err(invalid(
                &format!("base path {} has the path, the name or the id of another", new.path),
                "give every base path a path, a name and an id of its own",
            ));
        }
        let mut base = new.clone();
        if base.id == 0 {
            let free = (1..=u32::MAX).find(|id| bases.iter().all(|base| base.id != *id));
            base.id = free.ok_or_else(used_up)?;
        }
        bases.push(base);
    }
    Ok(())
}
