//! Enough of protoc for the build scripts that ask for one: descriptor sets, by protox.
//!
//! Lance's file crates compile their schemas while they are built. [`crate::full`] points `PROTOC` at this very program, so
//! that building them needs no tool but cargo.

use std::path::PathBuf;

use crate::error::Error;

/// The one flag that says what has long been the default.
const NO_LONGER_A_FLAG: &str = "--experimental_allow_proto3_optional";

/// What a build script asks of protoc.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    /// Where the descriptor set goes.
    output: Option<PathBuf>,
    /// The folders that imports are looked up in.
    includes: Vec<PathBuf>,
    schemas: Vec<PathBuf>,
    with_imports: bool,
    with_source_info: bool,
}

/// Whether these are protoc's arguments rather than a chore's.
pub(crate) fn is_asked(args: &[&str]) -> bool {
    args.contains(&"-o")
}

/// Compiles the schemas and writes the descriptor set.
pub(crate) fn run(args: &[&str]) -> Result<(), Error> {
    let request = parse(args)?;
    let wrong = |error: protox::Error| Error::Schema(format!("{error:?}"));
    let mut compiler = protox::Compiler::new(&request.includes).map_err(wrong)?;
    compiler.include_imports(request.with_imports).include_source_info(request.with_source_info);
    compiler.open_files(&request.schemas).map_err(wrong)?;
    let output = request.output.ok_or_else(|| Error::Protoc("no output (`-o FILE`)".to_owned()))?;
    std::fs::write(&output, compiler.encode_file_descriptor_set()).map_err(Error::file("write", &output))
}

fn parse(args: &[&str]) -> Result<Request, Error> {
    let mut request = Request::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value =
            || args.next().map(PathBuf::from).ok_or_else(|| Error::Protoc(format!("nothing after `{arg}`")));
        match *arg {
            "-o" => request.output = Some(value()?),
            "-I" => request.includes.push(value()?),
            "--include_imports" => request.with_imports = true,
            "--include_source_info" => request.with_source_info = true,
            NO_LONGER_A_FLAG => {}
            flag if flag.starts_with('-') => return Err(Error::Protoc(format!("the flag `{flag}`"))),
            schema => request.schemas.push(schema.into()),
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::{NO_LONGER_A_FLAG, Request, is_asked, parse, run};

    /// The command line of prost-build, in its order.
    const ASKED: [&str; 9] = [
        "--include_imports",
        "--include_source_info",
        "-o",
        "out.bin",
        "-I",
        "protos",
        NO_LONGER_A_FLAG,
        "a.proto",
        "b.proto",
    ];

    #[test]
    fn reads_what_a_build_script_asks() {
        let expected = Request {
            output: Some("out.bin".into()),
            includes: vec!["protos".into()],
            schemas: vec!["a.proto".into(), "b.proto".into()],
            with_imports: true,
            with_source_info: true,
        };
        assert!(is_asked(&ASKED));
        assert!(!is_asked(&["codegen", "--check"]));
        assert_eq!(parse(&ASKED).unwrap(), expected);
    }

    #[test]
    fn refuses_what_it_does_not_do() {
        assert!(parse(&["--cpp_out=.", "a.proto"]).unwrap_err().to_string().contains("--cpp_out=."));
        assert!(parse(&["-o"]).unwrap_err().to_string().contains("nothing after `-o`"));
    }

    #[test]
    fn writes_a_descriptor_set_with_what_the_schema_imports() {
        let folder = std::env::temp_dir().join(format!("xtask-protoc-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, body: &str| {
            std::fs::write(folder.join(name), format!("syntax = \"proto3\";\n{body}\n")).unwrap();
        };
        write("low.proto", "message Low { optional int32 a = 1; }");
        write("high.proto", "import \"low.proto\"; message High { Low low = 1; }");
        let (include, schema) = (folder.display().to_string(), folder.join("high.proto").display().to_string());
        let output = folder.join("set.bin").display().to_string();
        run(&["--include_imports", "-o", &output, "-I", &include, NO_LONGER_A_FLAG, &schema]).unwrap();
        let set = std::fs::read(&output).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let holds = |name: &str| set.windows(name.len()).any(|part| part == name.as_bytes());
        assert!(holds("low.proto") && holds("high.proto"));
    }
}
