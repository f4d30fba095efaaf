//! SQL text to predicates, expressions and column types, and back.
