//! DynamoDB, in the layouts of pylance and of Spark.

mod client;
mod layout;

pub use layout::Layout;

use crate::failure::{Failure, Why};
use async_trait::async_trait;
use client::{Answered, Client};
use lakebed_storage::{CommitIndex, Entry, Keeps, Reserve, Secrets, StoreError};
use layout::Place;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where DynamoDB is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DynamoOptions {
    /// Its endpoint; absent: `AWS_ENDPOINT_URL_DYNAMODB`, `DYNAMODB_ENDPOINT` or `AWS_ENDPOINT_URL` of the environment, and then AWS's own.
    pub endpoint: Option<String>,
    /// Its region; absent: `AWS_REGION` or `AWS_DEFAULT_REGION`, and then `us-east-1`.
    pub region: Option<String>,
    /// How Spark spells the scheme of the table's URL: `s3a` (Apache's Spark, the default) or `s3` (EMR). The row's key depends
    /// on it, so all writers of a table have to spell it alike.
    pub spark_scheme: Option<String>,
}

/// An index in a DynamoDB table that is there already. Each request is one item, read consistently.
///
/// The layout is pylance's or Spark's, so that those clients may commit to the same table at the same moment; see [`Layout`].
/// It has a place for log entries only: other objects that are created only once (tags, branches) are left to the store.
///
/// Credentials come from the environment (`AWS_…`), or from the machine's role.
#[derive(Debug)]
pub struct DynamoIndex {
    location: String,
    table: String,
    layout: Layout,
    spark_scheme: String,
    client: Client,
}

impl DynamoIndex {
    /// The index in the DynamoDB table `table`, with rows as `layout` says. Nothing is sent yet.
    ///
    /// # Errors
    /// A name or an option is wrong.
    pub fn new(table: &str, layout: Layout, options: &DynamoOptions) -> Result<Self, StoreError> {
        let location = format!("index dynamodb:{table}");
        let unusable = |problem: String| StoreError::Unusable {
            url: location.clone(),
            problem,
            advice: "write dynamodb:TABLE, with keys, region and endpoint in AWS_… variables".to_owned(),
        };
        let named = (3..=255).contains(&table.len())
            && table.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        if !named {
            return Err(unusable("this is no name of a DynamoDB table".to_owned()));
        }
        let endpoint = options.endpoint.clone().or_else(|| {
            variable("AWS_ENDPOINT_URL_DYNAMODB")
                .or_else(|| variable("DYNAMODB_ENDPOINT"))
                .or_else(|| variable("AWS_ENDPOINT_URL"))
        });
        let region =
            options.region.clone().or_else(|| variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let client = Client::from_env(endpoint, &region)
            .map_err(|error| unusable(Secrets::default().clean(&error.to_string())))?;
        let spark_scheme = options.spark_scheme.clone().unwrap_or_else(|| "s3a".to_owned());
        Ok(Self { location, table: table.to_owned(), layout, spark_scheme, client })
    }

    /// `TABLE[?layout=lance|delta][&scheme=s3a|s3]`; without a layout the one of Lance tables.
    ///
    /// # Errors
    /// As [`DynamoIndex::new`].
    pub(crate) fn from_env(text: &str) -> Result<Self, StoreError> {
        let (table, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut layout, mut options) = (Layout::Lance, DynamoOptions::default());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair {
                "layout=lance" => layout = Layout::Lance,
                "layout=delta" => layout = Layout::Delta,
                "scheme=s3" | "scheme=s3a" => {
                    options.spark_scheme = pair.split_once('=').map(|(_, scheme)| scheme.to_owned())
                }
                _ => {
                    return Err(StoreError::Unusable {
                        url: format!("index dynamodb:{table}"),
                        problem: "it has an option that is not known".to_owned(),
                        advice: "write dynamodb:TABLE?layout=lance or ?layout=delta, and &scheme=s3 or s3a".to_owned(),
                    });
                }
            }
        }
        Self::new(table, layout, &options)
    }

    /// The layout.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    fn place(&self, table: &str, name: &str) -> Result<Place, StoreError> {
        self.layout.place(table, name, &self.spark_scheme).ok_or_else(|| StoreError::Unusable {
            url: self.location.clone(),
            problem: format!("{name} has no place in it"),
            advice: "use the layout of the table's format".to_owned(),
        })
    }

    /// One item, whole.
    async fn item(&self, place: &Place) -> Result<Option<Value>, Failure> {
        let body = json!({"TableName": self.table, "Key": place.key, "ConsistentRead": true});
        let answer = self.client.ask("GetItem", &body).await.map_err(Answered::failure)?;
        Ok(answer.get("Item").cloned())
    }

    fn entry(&self, item: &Value, of: &str, folder: &str, name: Option<&str>) -> Result<Entry, Failure> {
        let strange = || Failure::new(Why::Refused, "a row is not of this layout");
        self.layout.entry(item, of, folder, name).ok_or_else(strange)
    }

    async fn found(&self, place: &Place, name: &str) -> Result<Option<Entry>, Failure> {
        let item = self.item(place).await?;
        item.map(|item| self.entry(&item, &place.of, &place.folder, Some(name))).transpose()
    }

    fn error(&self, name: &str) -> impl FnOnce(Failure) -> StoreError {
        let (location, name) = (self.location.clone(), name.to_owned());
        move |failure| failure.error(&location, &name)
    }

    /// The newest row of a folder of the table.
    async fn newest(&self, of: &str) -> Result<Option<Value>, Failure> {
        let (hash, _) = self.layout.keys();
        let body = json!({
            "TableName": self.table,
            "KeyConditionExpression": "#hash = :of",
            "ExpressionAttributeNames": {"#hash": hash},
            "ExpressionAttributeValues": {":of": {"S": of}},
            "ScanIndexForward": false,
            "Limit": 1,
            "ConsistentRead": true,
        });
        let mut answer = self.client.ask("Query", &body).await.map_err(Answered::failure)?;
        Ok(answer.get_mut("Items").and_then(|items| items.get_mut(0)).map(Value::take))
    }

    /// Changes a row if it is of the same staged object still; whether it was.
    async fn if_same(&self, operation: &str, what: Value, place: &Place, seen: &Entry) -> Result<(), Failure> {
        let (field, value) = self.layout.mark(place, seen);
        let mut body = what;
        body["TableName"] = json!(self.table);
        body["ConditionExpression"] = json!("#mark = :seen");
        body["ExpressionAttributeNames"] = json!({"#mark": field});
        body["ExpressionAttributeValues"] = json!({":seen": value});
        match self.client.ask(operation, &body).await {
            Ok(_) | Err(Answered::ConditionFailed) => Ok(()),
            Err(Answered::Failed(failure)) => Err(failure),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "Spark's rows say when they expire")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[async_trait]
impl CommitIndex for DynamoIndex {
    fn location(&self) -> &str {
        &self.location
    }

    fn keeps(&self, name: &str) -> Keeps {
        self.layout.keeps(name)
    }

    fn staged(&self, name: &str, id: &str) -> String {
        self.layout.staged(name, id)
    }

    fn staged_for(&self, staged: &str) -> Option<String> {
        self.layout.staged_for(staged)
    }

    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError> {
        let place = self.place(table, &entry.name)?;
        let (hash, range) = self.layout.keys();
        let reserved = Entry { confirmed: false, ..entry.clone() };
        let body = json!({
            "TableName": self.table,
            "Item": self.layout.item(&place, &reserved, now_s()),
            "ConditionExpression": "attribute_not_exists(#hash) AND attribute_not_exists(#range)",
            "ExpressionAttributeNames": {"#hash": hash, "#range": range},
        });
        match self.client.ask("PutItem", &body).await {
            Ok(_) => Ok(Reserve::Reserved),
            Err(Answered::Failed(failure)) => failure.reserve(&self.location, &entry.name),
            Err(Answered::ConditionFailed) => match self.found(&place, &entry.name).await {
                Ok(Some(by)) => Ok(Reserve::Taken(by)),
                Ok(None) => Ok(Reserve::Unknown("the row that was in the way is gone".to_owned())),
                // The name is taken, though by whom could not be read.
                Err(failure) => Ok(Reserve::Unknown(failure.said)),
            },
        }
    }

    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let place = self.place(table, &entry.name)?;
        let confirmed = Entry { confirmed: true, ..entry.clone() };
        let item = json!({"Item": self.layout.item(&place, &confirmed, now_s())});
        self.if_same("PutItem", item, &place, entry).await.map_err(self.error(&entry.name))
    }

    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        let place = self.place(table, name)?;
        self.found(&place, name).await.map_err(self.error(name))
    }

    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        let of = self.layout.hash_key(table, "", &self.spark_scheme);
        let newest = self.newest(&of).await.map_err(self.error("the newest row"))?;
        let Some(item) = newest else { return Ok(Vec::new()) };
        let entry = self.entry(&item, &of, "", None).map_err(self.error("the newest row"))?;
        Ok(if entry.confirmed { Vec::new() } else { vec![entry] })
    }

    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let place = self.place(table, &entry.name)?;
        self.if_same("DeleteItem", json!({"Key": place.key}), &place, entry).await.map_err(self.error(&entry.name))
    }
}
