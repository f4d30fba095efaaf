//! From URLs to indexes.

use lakebed_index::{TableUrl, open, table_url};

#[test]
fn pylances_form_of_a_table_is_taken_apart() {
    let parts = table_url("s3+ddb://bucket/a/b.lance?ddbTableName=commits").unwrap();
    let wanted = TableUrl { table: "s3://bucket/a/b.lance".to_owned(), index: "dynamodb:commits".to_owned() };
    assert_eq!(parts, Some(wanted));
    assert_eq!(table_url("s3://bucket/a?ddbTableName=x").unwrap(), None);
    for wrong in ["", "?", "?ddbTableName=", "?ddbTableName=a&b=c", "?table=secret", "?ddbTableName=a?b"] {
        let error = table_url(&format!("s3+ddb://bucket/a{wrong}")).unwrap_err().to_string();
        assert!(error.contains("?ddbTableName=TABLE") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn what_cannot_be_opened_is_refused_without_its_secrets() {
    for url in ["", "secret", "acme://u:secret@h/", "dynamodb:", "redis:secret", "postgres://secret:x@h:port/x"] {
        let Err(error) = open(url) else { panic!("{url} was opened") };
        let error = error.to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
