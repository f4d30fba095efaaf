//! The two ways in which a program is run alone agree.

use lakebed_proof::effect::Effect;
use lakebed_proof::rebase::{Writing, put_on};
use lakebed_proof::table::every_table;
use lakebed_proof::universe::{Axis, Universe};

#[test]
fn the_reference_has_as_many_tables_and_programs() {
    let universe = Universe::new(3, &[]);
    assert_eq!((universe.tables.len(), universe.programs.len()), (105, 33));
    assert_eq!(every_table(2).len(), 25);
}

#[test]
fn files_and_bags_agree() {
    let mut compared = 0;
    for axes in [&[][..], &[Axis::Partitions], &[Axis::Schema], &[Axis::Application], &[Axis::Vectors], &[Axis::Copies]]
    {
        let universe = Universe::new(3, axes);
        for table in &universe.tables {
            for program in &universe.programs {
                let effect = Effect::of(*program, table);
                let writing = Writing::by_rows(&universe);
                let after = put_on(&universe, &effect, (table, table), &[], writing);
                assert_eq!(after.bag(), program.alone(table.bag()), "{program:?} on {table:?} in {universe}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}
