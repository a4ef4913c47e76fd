//! SWF across the border: the caller owns the text and the table.

use super::{borrow, guard, write, Failure};
use crate::model::swf::{tokenize, Table, FIELDS};

/// Reads a SWF log into `columns` (18 columns of `capacity` numbers, one after the other) and `lines` (the number
/// of each row's line), and writes the number of rows to `rows`. A capacity of `length` / 36 + 1 is always
/// enough, for no line is shorter. A message about a line starts with its number and a colon.
///
/// # Safety
/// `text` must be readable for `length` bytes, `columns` writable for 18 * `capacity` numbers, `lines` for
/// `capacity`, and `rows` for one.
#[no_mangle]
pub unsafe extern "C" fn shunter_swf_read(
    text: *const u8,
    length: usize,
    columns: *mut f64,
    lines: *mut i64,
    capacity: usize,
    rows: *mut usize,
) -> i32 {
    guard(|| {
        borrow!(target; rows);
        let cells = capacity
            .checked_mul(FIELDS)
            .ok_or_else(|| Failure::argument(format!("capacity is impossible, {capacity}")))?;
        borrow!(read length; text);
        let mut table = Table {
            columns: unsafe { write("columns", columns, cells) }?,
            lines: unsafe { write("lines", lines, capacity) }?,
        };
        let count = tokenize(text, &mut table)
            .map_err(|fault| Failure::argument(format!("{}: {}", fault.line, fault.message)))?;
        *rows = count;
        Ok(())
    })
}
