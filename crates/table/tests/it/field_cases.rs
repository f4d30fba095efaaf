//! Cases from the field on whole tables: what went wrong elsewhere, and what is right.

mod by_rows;
mod columns;
mod crowds;
mod deletions;
mod lance;
mod logs;
mod lost_answers;
mod openings;
mod rivals;
mod rules;
mod upkeep;
mod values;
mod verdicts;
