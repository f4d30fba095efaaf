//! Rules broken on purpose are caught.

use lakebed_proof::mutation::every_mutation;

#[test]
fn every_broken_rule_shows() {
    let mutations = every_mutation();
    assert!(mutations.len() >= 8);
    for mutation in mutations {
        assert!(mutation.wrong() > 0, "not caught: {}", mutation.broken.name);
    }
}
