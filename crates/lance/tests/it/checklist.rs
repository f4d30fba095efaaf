//! What a writer of Lance tables must hold to, line by line, and the tests that hold it.

use std::path::{Path, PathBuf};

/// A line of the checklist, and its tests: the file below `crates/`, and the functions in it.
struct Line {
    number: u32,
    says: &'static str,
    tests: &'static [(&'static str, &'static [&'static str])],
}

const CHECKLIST: &[Line] = &[
    Line {
        number: 1,
        says: "V2 names for new tables, the scheme of existing ones kept; put-if-absent only, never a blind write",
        tests: &[
            ("lance/tests/it/replay.rs", &["a_new_table_starts_at_1"]),
            ("lance/tests/it/machine.rs", &["old_names_are_kept_and_listed_before_they_are_used"]),
            ("table/tests/it/lance_names.rs", &["old_names_are_read_by_their_numbers_and_kept"]),
            ("storage/tests/it/opening.rs", &["an_unknown_scheme_is_refused_with_advice"]),
        ],
    },
    Line {
        number: 2,
        says: "the layout of the file exactly; nothing between the manifest and the footer",
        tests: &[
            ("lance/tests/it/replay.rs", &["the_history_of_the_sets", "the_commands_on_many_kinds_of_tables"]),
            ("lance/tests/it/operations.rs", &["the_positions_of_sections_lead_to_them"]),
        ],
    },
    Line {
        number: 3,
        says: "the transaction file first, then the manifest with the same message inline; a fresh id for each commit",
        tests: &[
            ("lance/tests/it/machine.rs", &["an_append_that_nobody_disturbs_costs_two_requests"]),
            ("lance/tests/it/replay.rs", &["an_append_goes_on_counting"]),
        ],
    },
    Line {
        number: 4,
        says: "parent ids, sorted fragments, the greatest fragment id present and growing, counts and sizes set",
        tests: &[
            (
                "lance/tests/it/replay.rs",
                &["a_table_that_never_had_a_fragment_has_no_greatest_id", "an_append_goes_on_counting"],
            ),
            ("table/tests/it/lance_long.rs", &["no_fragment_id_is_given_twice"]),
            ("table/tests/it/lance_refs.rs", &["an_old_version_is_made_current_again_and_no_counter_goes_back"]),
        ],
    },
    Line {
        number: 5,
        says: "flags computed anew; unknown writer bits refused",
        tests: &[
            ("lance/tests/it/replay.rs", &["tables_that_need_more_of_a_writer_are_not_written"]),
            (
                "lance/tests/it/operations.rs",
                &[
                    "overlays_say_which_version_they_came_with_and_set_their_flag",
                    "what_we_could_not_keep_up_is_not_begun",
                ],
            ),
        ],
    },
    Line {
        number: 6,
        says: "unknown protobuf fields outlive a copy",
        tests: &[
            ("lance/tests/it/replay.rs", &["unknown_fields_outlive_a_commit"]),
            (
                "lance/tests/it/operations.rs",
                &[
                    "unknown_fields_of_index_entries_outlive_a_commit",
                    "a_message_that_says_more_than_we_know_is_told_from_one_that_does_not",
                ],
            ),
            ("table/tests/it/lance_refs.rs", &["a_transaction_with_fields_that_are_not_known_is_refused"]),
        ],
    },
    Line {
        number: 7,
        says: "the index section carried over on each commit, its bitmaps kept by the rules",
        tests: &[
            ("lance/tests/it/replay.rs", &["the_commands_on_many_kinds_of_tables"]),
            (
                "lance/tests/it/coverage.rs",
                &[
                    "rewritten_fragments_leave_the_coverage_of_their_column",
                    "fragments_that_were_compacted_into_a_rewritten_one_leave_too",
                ],
            ),
            ("interop/tests/it/lance_replayed.rs", &["manifests_of_pylance_are_built_again"]),
        ],
    },
    Line {
        number: 8,
        says: "every version above the one read is judged, ascending; unknown and missing transactions are incompatible",
        tests: &[
            ("lance/tests/it/conflicts.rs", &["real_transactions_get_the_verdicts_of_pylance"]),
            ("lance/tests/it/rebase.rs", &["a_transaction_in_its_own_file_is_asked_for"]),
            ("table/tests/it/field_cases/rivals.rs", &["case_22_lance_every_rival_in_the_window_is_judged"]),
            ("table/tests/it/lance_names.rs", &["gaps_are_passed_over_and_named"]),
        ],
    },
    Line {
        number: 9,
        says: "whether an entry is ours is known before anything is deleted",
        tests: &[(
            "table/tests/it/field_cases/lost_answers.rs",
            &[
                "case_1_a_compaction_that_landed_keeps_its_output",
                "case_1_a_compaction_that_cannot_be_confirmed_is_unknown_and_deletes_nothing",
                "case_2_an_append_never_follows_itself",
                "case_3_a_our_own_commit_is_recognised_whatever_became_of_its_form",
                "case_3_b_a_reused_id_claims_nobody_elses_commit",
                "case_8_a_refused_commit_with_a_reused_id_removes_nothing_of_the_landed_one",
            ],
        )],
    },
    Line {
        number: 10,
        says: "deletion files in both forms, the Arrow one with exactly its schema",
        tests: &[
            (
                "lance/tests/it/deletion.rs",
                &["the_form_of_a_fresh_list_changes_at_5000_rows", "both_forms_give_the_rows_back"],
            ),
            (
                "table/tests/it/lance_rows.rs",
                &["many_deleted_rows_are_kept_as_a_bitmap", "deletions_of_different_rows_are_merged"],
            ),
            ("interop/tests/it/lance_ours.rs", &["pylance_reads_fifty_commits_of_ours_and_goes_on"]),
        ],
    },
    Line {
        number: 11,
        says: "row ids and both version sequences for new fragments of tables whose rows keep their ids",
        tests: &[
            ("lance/tests/it/row_ids.rs", &["sequences_of_pylance_are_read_and_written"]),
            ("table/tests/it/field_cases/lance.rs", &["row_ids_are_given_anew_when_an_append_follows_another"]),
            ("interop/tests/it/lance_theirs.rs", &["we_go_on_where_pylance_gave_stable_row_ids"]),
        ],
    },
    Line {
        number: 12,
        says: "what an index cannot keep up with leaves its bitmap",
        tests: &[
            ("lance/tests/it/coverage.rs", &["rewritten_fragments_leave_the_coverage_of_their_column"]),
            ("interop/tests/it/lance_replayed.rs", &["manifests_of_pylance_are_built_again"]),
        ],
    },
];

#[test]
fn every_line_has_its_tests() {
    let crates: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (expected, line) in (1..).zip(CHECKLIST) {
        assert_eq!(line.number, expected);
        assert!(!line.tests.is_empty(), "{}: {}", line.number, line.says);
        for (file, tests) in line.tests {
            let text = std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            for test in *tests {
                assert!(
                    text.contains(&format!("fn {test}(")),
                    "line {} ({}): no {test} in {file}",
                    line.number,
                    line.says
                );
            }
        }
    }
    assert_eq!(CHECKLIST.len(), 12);
}
