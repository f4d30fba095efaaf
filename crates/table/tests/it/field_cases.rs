//! Cases from the field on whole tables: what went wrong elsewhere, and what is right.

mod deletions;
mod lance;
mod lost_answers;
mod rivals;
mod rules;
mod verdicts;
