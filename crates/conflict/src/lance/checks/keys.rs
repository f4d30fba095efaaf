//! Keys that an Update may have inserted.

use super::{PLAN_AGAIN, check};
use crate::lance::marks;
use crate::lance::{KeyFilter, LanceFacts};
use lakebed_transaction::Evidence;

check! {
    /// An Append carries no keys, so any appended row may have one of ours.
    APPENDED_KEYS, Retryable, "appended-rows-unfiltered",
    "ours inserted rows that must be new by key, and landed appended rows whose keys are not known",
    PLAN_AGAIN,
    needs marks::OUR_KEYS,
    |ours, _| key_filter(ours).map(fields_of),
}

check! {
    /// Filters that cannot be compared count as meeting.
    KEYS_MEET, Retryable, "inserted-keys-meet",
    "both transactions may have inserted the same key",
    PLAN_AGAIN,
    needs marks::OUR_KEYS.and(marks::LANDED_KEYS),
    keys_meet,
}

check! {
    /// Asked one way only: a landed filter over ours without one is not looked at.
    KEYS_UNFILTERED, Retryable, "updated-rows-unfiltered",
    "ours inserted rows that must be new by key, and landed wrote rows whose keys are not known",
    PLAN_AGAIN,
    needs marks::OUR_KEYS,
    |ours, landed| if key_filter(landed).is_none() { key_filter(ours).map(fields_of) } else { None },
}

check! {
    /// pylance does not look at landed's filter where ours has none, so one key may end up in two rows.
    CAUTION_KEYS_ONE_WAY, Compatible, "landed-keys-not-checked",
    "landed inserted rows that must be new by key and ours does not say which keys it wrote: pylance accepts, and a key may be there twice",
    "write keyed rows through one path, so that every transaction carries its keys",
    needs marks::LANDED_KEYS,
    |ours, landed| if key_filter(ours).is_none() { key_filter(landed).map(fields_of) } else { None },
}

pub(in crate::lance) fn key_filter(facts: &LanceFacts) -> Option<&KeyFilter> {
    facts.update.as_ref()?.inserted_rows.as_ref()
}

fn keys_meet(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let (mine, other) = (key_filter(ours)?, key_filter(landed)?);
    let key = |hash| Evidence::Key { fields: mine.field_ids.clone(), hash };
    mine.may_meet(other).then(|| key(mine.common_hash(other)))
}

fn fields_of(filter: &KeyFilter) -> Evidence {
    Evidence::Key { fields: filter.field_ids.clone(), hash: None }
}
