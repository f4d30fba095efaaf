//! Redis.

mod client;

use crate::failure::{Failure, Why};
use async_trait::async_trait;
use client::{Address, Client, Reply};
use lakebed_storage::{CommitIndex, Entry, Reserve, StoreError};

/// Answers nothing when the name was free, and the value that stands there otherwise.
const RESERVE: &str = "if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then \
     redis.call('SADD', KEYS[2], ARGV[1]) return nil end \
     return redis.call('HGET', KEYS[1], ARGV[1])";
/// Replaces the value, if it is the one that was seen.
const CONFIRM: &str = "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then \
     redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) redis.call('SREM', KEYS[2], ARGV[1]) end return nil";
/// Removes the value, if it is of the staged object that was seen, whether confirmed or not.
const RELEASE: &str = "local found = redis.call('HGET', KEYS[1], ARGV[1]) \
     if found == ARGV[2] or found == ARGV[3] then \
     redis.call('HDEL', KEYS[1], ARGV[1]) redis.call('SREM', KEYS[2], ARGV[1]) end return nil";
/// Names and values of what is not confirmed, in turn.
const LATEST: &str = "local found = {} for _, name in ipairs(redis.call('SMEMBERS', KEYS[2])) do \
     local value = redis.call('HGET', KEYS[1], name) \
     if value then found[#found + 1] = name found[#found + 1] = value end end return found";

/// An index on a Redis server, or on what speaks like it.
///
/// The rows of a table are the hash `lakebed:{key}:names`: a field for each name, its value `<state> <size> <staged name>` with
/// state `r` (reserved) or `c` (confirmed). The names that are not confirmed are in the set `lakebed:{key}:open`. Each change is
/// one script, so it happens whole or not at all.
///
/// # What the server must promise
/// An answered write stays: `appendonly yes` with `appendfsync always`, and no eviction (`maxmemory-policy noeviction`). A
/// replica that is promoted may lack the last writes, and then a version may be reserved twice: do not put commits on a Redis
/// that fails over. There is no TLS here.
#[derive(Debug)]
pub struct RedisIndex {
    location: String,
    client: Client,
}

impl RedisIndex {
    /// The index at `redis://[[user]:password@]host[:port][/database]`. Nothing is sent yet.
    ///
    /// # Errors
    /// The URL is wrong; it is not repeated, for it may hold a password.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url).ok_or_else(|| StoreError::Unusable {
            url: "redis:".to_owned(),
            problem: "this is no URL of a Redis server".to_owned(),
            advice: "write redis://[[user]:password@]host[:port][/database]".to_owned(),
        })?;
        let location = format!("index redis://{}:{}/{}", address.host, address.port, address.database);
        Ok(Self { location, client: Client::new(address) })
    }

    async fn script(&self, script: &str, table: &str, args: &[&str]) -> Result<Reply, Failure> {
        let keys = [format!("lakebed:{{{table}}}:names"), format!("lakebed:{{{table}}}:open")];
        let mut words = vec!["EVAL", script, "2", &keys[0], &keys[1]];
        words.extend_from_slice(args);
        self.client.ask(&words).await
    }

    async fn ask(&self, script: &str, table: &str, name: &str, args: &[&str]) -> Result<Reply, StoreError> {
        self.script(script, table, args).await.map_err(|failure| failure.error(&self.location, name))
    }

    fn strange(&self, name: &str) -> StoreError {
        Failure::new(Why::Refused, "the server holds something else under the key").error(&self.location, name)
    }
}

fn value(entry: &Entry, confirmed: bool) -> String {
    format!("{} {} {}", if confirmed { 'c' } else { 'r' }, entry.size_bytes, entry.staged)
}

fn entry(name: &str, value: &str) -> Option<Entry> {
    let mut parts = value.splitn(3, ' ');
    let confirmed = match parts.next()? {
        "c" => true,
        "r" => false,
        _ => return None,
    };
    let size_bytes = parts.next()?.parse().ok()?;
    Some(Entry { name: name.to_owned(), staged: parts.next()?.to_owned(), size_bytes, confirmed })
}

#[async_trait]
impl CommitIndex for RedisIndex {
    fn location(&self) -> &str {
        &self.location
    }

    async fn reserve(&self, table: &str, wanted: &Entry) -> Result<Reserve, StoreError> {
        let name = &wanted.name;
        match self.script(RESERVE, table, &[name, &value(wanted, false)]).await {
            Ok(Reply::Nothing) => Ok(Reserve::Reserved),
            Ok(Reply::Text(found)) => entry(name, &found).map(Reserve::Taken).ok_or_else(|| self.strange(name)),
            Ok(Reply::Number(_) | Reply::List(_)) => Err(self.strange(name)),
            Err(failure) => failure.reserve(&self.location, name),
        }
    }

    async fn confirm(&self, table: &str, of: &Entry) -> Result<(), StoreError> {
        let args = [of.name.as_str(), &value(of, false), &value(of, true)];
        self.ask(CONFIRM, table, &of.name, &args).await.map(|_| ())
    }

    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        let key = format!("lakebed:{{{table}}}:names");
        let found = self.client.ask(&["HGET", &key, name]).await;
        match found.map_err(|failure| failure.error(&self.location, name))? {
            Reply::Nothing => Ok(None),
            Reply::Text(found) => entry(name, &found).map(Some).ok_or_else(|| self.strange(name)),
            Reply::Number(_) | Reply::List(_) => Err(self.strange(name)),
        }
    }

    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        let Reply::List(found) = self.ask(LATEST, table, "open names", &[]).await? else {
            return Err(self.strange("open names"));
        };
        let pairs = found.chunks(2).map(|pair| match pair {
            [Reply::Text(name), Reply::Text(value)] => entry(name, value),
            _ => None,
        });
        pairs.collect::<Option<Vec<_>>>().ok_or_else(|| self.strange("open names"))
    }

    async fn release(&self, table: &str, of: &Entry) -> Result<(), StoreError> {
        let args = [of.name.as_str(), &value(of, false), &value(of, true)];
        self.ask(RELEASE, table, &of.name, &args).await.map(|_| ())
    }
}
