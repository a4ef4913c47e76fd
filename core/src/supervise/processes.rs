//! Which processes belong to a job, as `/proc` tells.

use std::fs;

/// What one line of `/proc/PID/stat` says.
pub struct Process {
    pub number: i32,
    pub parent: i32,
    pub session: i32,
    /// In ticks since the machine came up: a number that is used again has another start.
    pub start_ticks: u64,
    pub resident_pages: u64,
    pub is_zombie: bool,
}

/// Reads a process; None if there is none any more.
pub fn read_process(number: i32) -> Option<Process> {
    let line = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of the program stands in parentheses, and may hold blanks and parentheses itself.
    let fields: Vec<&str> = line[line.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let field = |place: usize| fields.get(place).copied();
    Some(Process {
        number,
        is_zombie: matches!(field(0)?, "Z" | "X"),
        parent: field(1)?.parse().ok()?,
        session: field(3)?.parse().ok()?,
        start_ticks: field(19)?.parse().ok()?,
        resident_pages: field(21)?.parse().ok()?,
    })
}

/// The living processes of a session and all their descendants, its leader excepted.
pub fn members(leader: i32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read_process)
        .collect();
    let mut inside = vec![leader];
    // A descendant may have a session of its own, and its number may be lower than its parent's.
    loop {
        let known = inside.len();
        for one in &all {
            let belongs = one.session == leader || inside.contains(&one.parent);
            if belongs && !inside.contains(&one.number) {
                inside.push(one.number);
            }
        }
        if inside.len() == known {
            break;
        }
    }
    all.into_iter().filter(|one| one.number != leader && !one.is_zombie && inside.contains(&one.number)).collect()
}

/// The number by which the running system is told from itself before a restart.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string()
}
