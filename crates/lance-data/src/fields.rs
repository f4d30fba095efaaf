//! Fields of a manifest as Lance's own crates have them.

use crate::error::{failed, wrong};
use lakebed_data::DataError;
use lakebed_lance::proto::file::Field;
use lance_core::datatypes::Schema;
use lance_file::datatypes::Fields;
use prost::Message as _;

/// The fields, parents before their children, as a schema. Both sides are the same message, so nothing is lost on the way.
pub(crate) fn schema(file: &str, fields: &[Field]) -> Result<Schema, DataError> {
    let same = |field: &Field| {
        lance_file::format::pb::Field::decode(field.encode_to_vec().as_slice())
            .map_err(|error| failed(file, &format!("field {}: {error}", field.name)))
    };
    let fields = Fields(fields.iter().map(same).collect::<Result<_, _>>()?);
    Schema::try_from(&fields).map_err(wrong(file))
}
