//! What the documents of the project print from code.

use lakebed_storage::{CREATE_ANSWERS, create_answers_markdown};

#[test]
fn the_document_has_the_table_of_answers() {
    let document = include_str!("../../../../docs/stores.md");
    let table = create_answers_markdown();
    assert_eq!(table.lines().count(), CREATE_ANSWERS.len() + 2);
    assert!(document.contains(&table), "docs/stores.md needs this table:\n{table}");
}
