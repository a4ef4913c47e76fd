//! SWF: cuts a log into lines, fields and numbers, and says where one is not a number.
//!
//! The Standard Workload Format has one job a line: 18 numbers between blanks. A line whose first sign is `;` is
//! a comment. What the numbers mean, and which of them are repaired, is decided in Python.

/// How many fields of each line are read; further ones are ignored.
pub(crate) const FIELDS: usize = 18;

/// What the format calls its fields, in order.
const FIELD_NAMES: [&str; FIELDS] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// The largest number accepted: every whole number up to it has an exact `f64`.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// So many digits always stay below `LARGEST`.
const FAST_DIGITS: usize = 15;

/// How many characters of a bad token an error shows.
const SHOWN: usize = 40;

/// Why a line is not a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong and what to do, in one line.
    pub message: String,
}

/// Where the numbers go: field by field, each with room for `lines.len()` rows.
pub struct Table<'a> {
    /// `FIELDS` columns, one after the other.
    pub columns: &'a mut [f64],
    /// The number of each row's line, counted from 1.
    pub lines: &'a mut [i64],
}

/// Reads every job of a log into the table, and returns how many there are.
///
/// # Errors
/// A line has fewer than 18 fields, a field is not a number, or the table is full.
pub fn tokenize(text: &[u8], table: &mut Table) -> Result<usize, Fault> {
    let mut cursor = Cursor { text, at: if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 } };
    let mut rows = 0;
    let mut line = 1;
    while cursor.at < text.len() {
        cursor.skip_blanks();
        match cursor.peek() {
            None => break,
            Some(byte) if is_line_end(byte) || byte == b';' => {}
            Some(_) => {
                read_row(&mut cursor, table, rows).map_err(|message| Fault { line, message })?;
                table.lines[rows] = line as i64;
                rows += 1;
            }
        }
        cursor.skip_line();
        line += 1;
    }
    Ok(rows)
}

fn read_row(cursor: &mut Cursor, table: &mut Table, row: usize) -> Result<(), String> {
    let capacity = table.lines.len();
    if row >= capacity || table.columns.len() < FIELDS * capacity {
        return Err(format!("the table has room for {capacity} rows only"));
    }
    for field in 0..FIELDS {
        cursor.skip_blanks();
        if cursor.peek().is_none_or(is_line_end) {
            return Err(format!("the line has {field} fields; expected {FIELDS}; mend the line or remove it"));
        }
        table.columns[field * capacity + row] = cursor.number().map_err(|token| explain(field, token))?;
    }
    Ok(())
}

/// Says what is wrong with a token.
fn explain(field: usize, token: &[u8]) -> String {
    if token.iter().any(u8::is_ascii_control) {
        return "looks like a binary file; expected a SWF log, as text or gzip".to_string();
    }
    let text = String::from_utf8_lossy(token);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN {
        shown.push('…');
    }
    let expected = match parse(token) {
        Some(_) => "a number that is not absurd (up to 9e15)",
        None => "a number",
    };
    let (name, number) = (FIELD_NAMES[field], field + 1);
    format!("{name} (field {number}) is \"{shown}\"; expected {expected}; mend the line or remove it")
}

/// Parses a token the slow way; words such as `inf` and `nan` are no numbers here.
fn parse(token: &[u8]) -> Option<f64> {
    let plain = token.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
    std::str::from_utf8(token).ok().filter(|_| plain)?.parse().ok()
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Goes to the start of the next line; `\r\n` is one line end.
    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| !is_line_end(byte)) {
            self.at += 1;
        }
        self.at += if self.text[self.at.min(self.text.len())..].starts_with(b"\r\n") { 2 } else { 1 };
    }

    /// Reads the number that starts here, or returns the token that is none.
    fn number(&mut self) -> Result<f64, &'a [u8]> {
        let rest = &self.text[self.at..];
        let (sign, digits) = match rest {
            [b'-', digits @ ..] => (-1, digits),
            digits => (1, digits),
        };
        let mut value = 0_i64;
        let mut count = 0;
        for byte in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(byte - b'0'));
            count += 1;
        }
        let ended = digits.get(count).is_none_or(|&byte| is_blank(byte) || is_line_end(byte));
        if ended && (1..=FAST_DIGITS).contains(&count) {
            self.at += rest.len() - digits.len() + count;
            return Ok((sign * value) as f64);
        }
        self.slow_number()
    }

    fn slow_number(&mut self) -> Result<f64, &'a [u8]> {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| is_blank(byte) || is_line_end(byte)).unwrap_or(rest.len());
        self.at += length;
        let token = &rest[..length];
        parse(token).filter(|value| value.abs() <= LARGEST).ok_or(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "1 10 -1 30 4 5.5 -1 8 3600 2048 1 7 3 -1 2 -1 -1 -1";

    /// Returns each row's line number and its fields.
    fn read(text: &[u8]) -> Result<Vec<(i64, Vec<f64>)>, Fault> {
        let capacity = text.len() / (2 * FIELDS) + 1;
        let (mut columns, mut lines) = (vec![0.0; FIELDS * capacity], vec![0; capacity]);
        let rows = tokenize(text, &mut Table { columns: &mut columns, lines: &mut lines })?;
        let fields = |row: usize| (0..FIELDS).map(|field| columns[field * capacity + row]).collect();
        Ok((0..rows).map(|row| (lines[row], fields(row))).collect())
    }

    fn fault(text: &str) -> Fault {
        read(text.as_bytes()).expect_err("the text has a fault")
    }

    #[test]
    fn every_field_of_a_line_is_read() {
        let rows = read(JOB.as_bytes()).unwrap();
        let expected =
            [1.0, 10.0, -1.0, 30.0, 4.0, 5.5, -1.0, 8.0, 3600.0, 2048.0, 1.0, 7.0, 3.0, -1.0, 2.0, -1.0, -1.0, -1.0];
        assert_eq!(rows, vec![(1, expected.to_vec())]);
    }

    #[test]
    fn comments_blank_lines_and_all_line_ends_are_counted() {
        let text = format!("; MaxProcs: 4\n\n  ; more\r\n\t{JOB} 0.871\r\n{JOB}\r{JOB}\n   \n");
        let lines: Vec<i64> = read(text.as_bytes()).unwrap().iter().map(|row| row.0).collect();
        assert_eq!(lines, [4, 5, 6]);
    }

    #[test]
    fn numbers_may_be_written_in_several_ways() {
        let text = "+7 1.5e3 -0.25 .5 007 1E2 9007199254740992 -9007199254740992 123456789012345 0 1 2 3 4 5 6 7 8";
        let fields = &read(text.as_bytes()).unwrap()[0].1;
        let expected = [7.0, 1500.0, -0.25, 0.5, 7.0, 100.0, LARGEST, -LARGEST, 123_456_789_012_345.0];
        assert_eq!(fields[..9], expected);
    }

    #[test]
    fn a_word_is_reported_with_its_place() {
        let fault = fault(&format!("; header\n{JOB}\n2 20 -1 abc 4 -1 -1 8 9 -1 1 7 3 -1 2 -1 -1 -1\n"));
        assert_eq!(fault.line, 3);
        assert_eq!(fault.message, "run time (field 4) is \"abc\"; expected a number; mend the line or remove it");
    }

    #[test]
    fn words_that_rust_would_take_for_numbers_are_refused() {
        for word in ["inf", "NaN", "-infinity", "0x10", "1_000", "-", "1,5", "--1", "1e", "٣"] {
            let message = fault(&JOB.replacen("30", word, 1)).message;
            assert!(message.contains("run time (field 4)") && message.contains("expected a number;"), "{message}");
        }
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused() {
        for number in ["9007199254740994", "99999999999999999999999999", "1e300", "-1e999"] {
            let message = fault(&JOB.replacen("30", number, 1)).message;
            assert!(message.contains(number) && message.contains("absurd"), "{message}");
        }
    }

    #[test]
    fn a_truncated_line_is_refused() {
        let fault = fault(&format!("{JOB}\n1 2 3"));
        assert_eq!(fault.line, 2);
        assert_eq!(fault.message, "the line has 3 fields; expected 18; mend the line or remove it");
    }

    #[test]
    fn binary_content_and_long_tokens_are_told_briefly() {
        assert!(fault("1 2 \0\0").message.starts_with("looks like a binary file"));
        let long = "x".repeat(10_000);
        assert!(fault(&long).message.len() < 150);
    }

    #[test]
    fn a_full_table_is_an_error_and_not_a_panic() {
        let (mut columns, mut lines) = (vec![0.0; FIELDS], vec![0; 1]);
        let text = format!("{JOB}\n{JOB}\n");
        let outcome = tokenize(text.as_bytes(), &mut Table { columns: &mut columns, lines: &mut lines });
        assert_eq!(outcome.unwrap_err().message, "the table has room for 1 rows only");
    }

    #[test]
    fn every_prefix_of_a_log_is_read_or_refused() {
        let text = format!("\u{feff}; MaxProcs: 4\r\n{JOB}\r\n{JOB} 1.5\n");
        let bytes = text.as_bytes();
        assert_eq!(read(bytes).unwrap().len(), 2);
        assert!((0..bytes.len()).filter(|&end| read(&bytes[..end]).is_ok()).count() > 20);
    }
}
