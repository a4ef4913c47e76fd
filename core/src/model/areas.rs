//! Areas: nodes that are close to each other, and by how much slower a gang runs that is not in one.

/// How far apart the nodes of a gang are: together and no more than it needs; more than it needs; on several switches; in
/// several racks.
pub(crate) type Level = u8;

/// The nodes of a gang are together, and no more than it needs.
pub(crate) const COMPACT: Level = 0;
/// They are together, but more than it needs.
pub(crate) const MORE_NODES: Level = 1;
/// They are on several switches.
pub(crate) const SWITCHES: Level = 2;
/// They are in several racks.
pub(crate) const RACKS: Level = 3;

/// How many levels slow a job.
pub(crate) const SLOW_LEVELS: usize = 3;

/// No slowdown, in millionths.
const NO_SLOWDOWN: i64 = 1_000_000;

/// The least and the greatest slowdown, in millionths: a gang may also be faster for being spread.
const SLOWDOWNS: std::ops::RangeInclusive<i64> = NO_SLOWDOWN / 100..=NO_SLOWDOWN * 1000;

/// By how much slower gangs run at each level above the first, in millionths.
#[derive(Debug)]
pub struct Slowdowns {
    /// For jobs without a kind.
    all: [i64; SLOW_LEVELS],
    /// Kind by kind, on each type; empty: as for all.
    of_kinds: Vec<[i64; SLOW_LEVELS]>,
    types: usize,
}

impl Default for Slowdowns {
    fn default() -> Self {
        Slowdowns { all: [NO_SLOWDOWN; SLOW_LEVELS], of_kinds: Vec::new(), types: 0 }
    }
}

impl Slowdowns {
    /// Slowdowns for jobs without a kind, and for kinds on each of so many types; an error names the value.
    pub fn new(all: &[i64], of_kinds: &[i64], types: usize) -> Result<Self, String> {
        if let Some(wrong) = all.iter().chain(of_kinds).find(|slowdown| !SLOWDOWNS.contains(slowdown)) {
            let (least, most) = (SLOWDOWNS.start(), SLOWDOWNS.end());
            return Err(format!("a slowdown is {wrong}; expected {least} to {most}"));
        }
        let three = |chunk: &[i64]| <[i64; SLOW_LEVELS]>::try_from(chunk).ok();
        let all = if all.is_empty() { Some([NO_SLOWDOWN; SLOW_LEVELS]) } else { three(all) };
        let of_kinds: Option<Vec<_>> = of_kinds.chunks(SLOW_LEVELS).map(three).collect();
        match (all, of_kinds) {
            (Some(all), Some(of_kinds)) => Ok(Slowdowns { all, of_kinds, types }),
            _ => Err(format!("slowdowns come in groups of {SLOW_LEVELS}")),
        }
    }

    /// Whether a gang may be slower, or faster, for being spread.
    pub(crate) fn any(&self) -> bool {
        self.every().any(|slowdown| slowdown != NO_SLOWDOWN)
    }

    /// The greatest of all.
    pub(crate) fn most(&self) -> i64 {
        self.every().max().unwrap_or(NO_SLOWDOWN).max(NO_SLOWDOWN)
    }

    /// All of them, in a fixed order.
    pub(crate) fn every(&self) -> impl Iterator<Item = i64> + '_ {
        self.all.iter().chain(self.of_kinds.iter().flatten()).copied()
    }

    /// By how much slower jobs are, in millionths.
    pub(crate) fn at(&self, kind: Option<u32>, gpu_type: Option<u32>, level: Level) -> i64 {
        if level == COMPACT {
            return NO_SLOWDOWN;
        }
        let own = match (kind, gpu_type) {
            (Some(kind), Some(gpu_type)) => self.of_kinds.get(kind as usize * self.types + gpu_type as usize),
            _ => None,
        };
        own.unwrap_or(&self.all)[level as usize - 1]
    }
}

/// A speed that is slowed down, both in millionths.
pub(crate) fn slowed(speed_micro: i64, slowdown_micro: i64) -> i64 {
    if slowdown_micro == NO_SLOWDOWN {
        return speed_micro;
    }
    (speed_micro * NO_SLOWDOWN / slowdown_micro).max(1)
}

/// Where a node stands: its switch and its rack.
pub(crate) type Site = (Option<u32>, Option<u32>);

/// Which names a cluster's nodes have; a name that none has says nothing of how far apart nodes are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sites {
    switches: bool,
    racks: bool,
}

impl Sites {
    pub(crate) fn of(sites: impl Iterator<Item = Site>) -> Self {
        let mut found = Sites::default();
        for (switch, rack) in sites {
            found.switches |= switch.is_some();
            found.racks |= rack.is_some();
        }
        found
    }

    /// The widest level that a gang can have.
    pub(crate) fn widest(self) -> Level {
        match self {
            Sites { racks: true, .. } => RACKS,
            Sites { switches: true, .. } => SWITCHES,
            _ => MORE_NODES,
        }
    }

    /// How far apart several nodes are; `is_few`: they are no more than the job needs.
    pub(crate) fn level(self, nodes: impl Iterator<Item = Site> + Clone, is_few: bool) -> Level {
        let together = if is_few { COMPACT } else { MORE_NODES };
        let are_one = |name_of: fn(Site) -> Option<u32>| {
            let mut names = nodes.clone().map(name_of);
            let first = names.next().flatten();
            first.is_some() && names.all(|name| name == first)
        };
        if are_one(|(switch, _)| switch) {
            return together;
        }
        if are_one(|(_, rack)| rack) {
            return if self.switches { SWITCHES } else { together };
        }
        match self.widest() {
            MORE_NODES => together,
            widest => widest,
        }
    }
}

/// The areas of a group of nodes.
#[derive(Debug, Default)]
pub struct Areas {
    /// The nodes of each switch; of each rack where no node names a switch. A node that names none is an area by itself.
    /// Empty where no node of the cluster names either: then the whole group is one area.
    near: Vec<Vec<u32>>,
    /// The nodes of each rack, where nodes name switches too.
    racks: Vec<Vec<u32>>,
}

impl Areas {
    /// The areas of some nodes.
    pub(crate) fn of(nodes: &[u32], sites: Sites, site_of: impl Fn(u32) -> Site) -> Self {
        let by = |name_of: fn(Site) -> Option<u32>| {
            let mut named: Vec<(u32, u32)> =
                nodes.iter().filter_map(|&node| Some((name_of(site_of(node))?, node))).collect();
            named.sort_unstable();
            let areas = named.chunk_by(|one, other| one.0 == other.0);
            areas.map(|area| area.iter().map(|&(_, node)| node).collect()).collect::<Vec<Vec<u32>>>()
        };
        let alone = |name_of: fn(Site) -> Option<u32>| {
            let nameless = nodes.iter().filter(|&&node| name_of(site_of(node)).is_none());
            nameless.map(|&node| vec![node]).collect::<Vec<_>>()
        };
        match sites {
            Sites { switches: true, racks } => Areas {
                near: [by(|site| site.0), alone(|site| site.0)].concat(),
                racks: if racks { by(|site| site.1) } else { Vec::new() },
            },
            Sites { racks: true, .. } => {
                Areas { near: [by(|site| site.1), alone(|site| site.1)].concat(), racks: Vec::new() }
            }
            _ => Areas::default(),
        }
    }

    /// The areas in one of which a gang is no further apart than a level; `group` are all nodes.
    pub(crate) fn within<'a>(
        &'a self,
        group: &'a [u32],
        level: Level,
        sites: Sites,
    ) -> impl Iterator<Item = &'a [u32]> {
        let is_anywhere = level >= sites.widest() || sites.widest() == MORE_NODES;
        let near: &[Vec<u32>] = if is_anywhere { &[] } else { &self.near };
        let racks: &[Vec<u32>] = if level >= SWITCHES && !is_anywhere { &self.racks } else { &[] };
        is_anywhere.then_some(group).into_iter().chain(near.iter().chain(racks).map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_as_far_apart_as_the_names_say() {
        let both = Sites { switches: true, racks: true };
        let level = |sites: Sites, nodes: &[Site], is_few| sites.level(nodes.iter().copied(), is_few);
        let (a, b, c) = ((Some(0), Some(0)), (Some(1), Some(0)), (Some(1), Some(1)));
        assert_eq!(level(both, &[a, a], true), COMPACT);
        assert_eq!(level(both, &[a, a], false), MORE_NODES);
        assert_eq!(level(both, &[a, b], true), SWITCHES);
        assert_eq!(level(both, &[a, c], true), RACKS);
        // One switch is close enough, whatever the racks.
        assert_eq!(level(both, &[b, c], true), COMPACT);
        assert_eq!(level(both, &[a, (None, None)], true), RACKS);
        let racks = Sites { switches: false, racks: true };
        assert_eq!(level(racks, &[(None, Some(2)), (None, Some(2))], false), MORE_NODES);
        assert_eq!(level(racks, &[(None, Some(2)), (None, None)], true), RACKS);
        let switches = Sites { switches: true, racks: false };
        assert_eq!(level(switches, &[(Some(1), None), (None, None)], true), SWITCHES);
        assert_eq!(level(Sites::default(), &[(None, None), (None, None)], true), COMPACT);
        assert_eq!((both.widest(), switches.widest(), Sites::default().widest()), (RACKS, SWITCHES, MORE_NODES));
    }

    #[test]
    fn slowdowns_are_those_of_the_kind_or_of_all() {
        let few = Slowdowns::new(&[1_100_000, 1_200_000, 1_300_000], &[2_000_000; 6], 2).expect("slowdowns");
        assert_eq!(few.at(None, Some(0), SWITCHES), 1_200_000);
        assert_eq!(few.at(Some(0), Some(1), MORE_NODES), 2_000_000);
        assert_eq!(few.at(Some(0), Some(1), COMPACT), NO_SLOWDOWN);
        assert_eq!(slowed(1_000_000, 3_000_000), 333_333);
        assert!(Slowdowns::new(&[0, 1, 1], &[], 0).is_err());
        assert!(Slowdowns::new(&[1_000_000], &[], 0).is_err());
    }
}
