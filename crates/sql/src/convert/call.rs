//! Function calls.

use super::Converter;
use crate::error::SqlError;
use crate::tokens::unquote_identifier;
use crate::types::simple_type;
use lakebed_transaction::{Expr, Function, UnaryOp};
use sqlparser::ast::{Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};

impl Converter<'_> {
    pub(super) fn function(&mut self, call: &Call) -> Result<Expr, SqlError> {
        let part = |part: &ObjectNamePart| match part {
            ObjectNamePart::Identifier(name) if name.quote_style.is_some() => unquote_identifier(&name.value),
            ObjectNamePart::Identifier(name) => name.value.clone(),
            ObjectNamePart::Function(function) => function.to_string(),
        };
        let name = call.name.0.iter().map(part).collect::<Vec<_>>().join(".");
        let (arguments, plain) = self.arguments(&call.args)?;
        let windowed = call.over.is_some() || call.filter.is_some() || call.null_treatment.is_some();
        let ordered = !call.within_group.is_empty() || call.parameters != FunctionArguments::None;
        if plain && !windowed && !ordered {
            known_or_unknown(&name, arguments)
        } else {
            Ok(Expr::Unknown { name, arguments })
        }
    }

    /// The arguments that are expressions, and whether nothing else stood between the brackets.
    fn arguments(&mut self, arguments: &FunctionArguments) -> Result<(Vec<Expr>, bool), SqlError> {
        let FunctionArguments::List(list) = arguments else {
            return Ok((Vec::new(), *arguments == FunctionArguments::None));
        };
        let mut plain = list.duplicate_treatment.is_none() && list.clauses.is_empty();
        let mut out = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast)) = argument {
                out.push(self.expr(ast)?);
            } else {
                plain = false;
            }
        }
        Ok((out, plain))
    }
}

/// The functions of the grammar by name, type names as casts; any other name is [`Expr::Unknown`].
pub(super) fn known_or_unknown(name: &str, mut arguments: Vec<Expr>) -> Result<Expr, SqlError> {
    let lower = name.to_ascii_lowercase();
    if let Some((function, least, most)) = known(&lower) {
        if arguments.len() < least || arguments.len() > most {
            return Err(arity(name, least, most, arguments.len()));
        }
        return Ok(Expr::Call(function, arguments));
    }
    let null_test = match lower.as_str() {
        "isnull" => Some(false),
        "isnotnull" => Some(true),
        _ => None,
    };
    let cast = simple_type(&lower);
    if null_test.is_none() && cast.is_none() && lower != "not" {
        return Ok(Expr::Unknown { name: name.to_owned(), arguments });
    }
    let given = arguments.len();
    let (Some(operand), true) = (arguments.pop().map(Box::new), given == 1) else {
        return Err(arity(name, 1, 1, given));
    };
    Ok(match (null_test, cast) {
        (Some(negated), _) => Expr::IsNull { operand, negated },
        (None, Some(column_type)) => Expr::Cast(operand, column_type),
        (None, None) => Expr::Unary(UnaryOp::Not, operand),
    })
}

/// The function and the least and most arguments that it takes.
fn known(lower: &str) -> Option<(Function, usize, usize)> {
    Some(match lower {
        "coalesce" => (Function::Coalesce, 1, usize::MAX),
        "ifnull" | "nvl" => (Function::Coalesce, 2, 2),
        "upper" | "ucase" => (Function::Upper, 1, 1),
        "lower" | "lcase" => (Function::Lower, 1, 1),
        "length" | "len" | "char_length" | "character_length" => (Function::Length, 1, 1),
        "startswith" => (Function::StartsWith, 2, 2),
        "abs" => (Function::Abs, 1, 1),
        "if" | "iff" => (Function::If, 3, 3),
        "year" => (Function::Year, 1, 1),
        "month" => (Function::Month, 1, 1),
        "day" | "dayofmonth" => (Function::Day, 1, 1),
        "isnan" => (Function::IsNan, 1, 1),
        _ => return None,
    })
}

fn arity(name: &str, least: usize, most: usize, given: usize) -> SqlError {
    let wanted = if least == most { least.to_string() } else { format!("at least {least}") };
    SqlError::Arguments { function: name.to_owned(), wanted, given }
}
