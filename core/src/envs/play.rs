//! Episodes played by a network, without leaving the core.

use crate::envs::environment::Environment;
use crate::envs::vector::Vector;
use crate::envs::world::World;
use crate::net::batch::Batch;
use crate::net::choice::greedy;
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Vector {
    /// Plays each environment to the end of its episode, always by the best action, or for so many decisions. Says
    /// whether all have come to their ends.
    pub fn play(&mut self, network: &Network, most: usize) -> Result<bool, String> {
        let sizes = self.sizes();
        check_sizes(network, sizes.observation, sizes.actions)?;
        let world = self.world.clone();
        let mut work: Vec<_> = self.environments.iter_mut().map(|environment| (environment, Ok(()))).collect();
        self.pool.each(&mut work, |(environment, outcome)| *outcome = play(environment, &world, network, most));
        work.into_iter().try_for_each(|(_, outcome)| outcome)?;
        Ok(self.environments.iter().all(|environment| environment.is_over))
    }
}

/// Whether a network reads what environments show.
pub(crate) fn check_sizes(network: &Network, observation: usize, actions: usize) -> Result<(), String> {
    let own = (network.layout.observation_size(), network.layout.actions());
    if own == (observation, actions) {
        return Ok(());
    }
    let shown = format!("observations have {observation} numbers and {actions} actions");
    Err(format!("{shown}; the policy was made for {} and {}", own.0, own.1))
}

fn play(environment: &mut Environment, world: &World, network: &Network, most: usize) -> Result<(), String> {
    let sizes = world.sizes();
    let (mut observation, mut mask) = (vec![0.0; sizes.observation], vec![0; sizes.actions]);
    let (mut batch, mut workspace) = (Batch::default(), Workspace::default());
    for _ in 0..most {
        if environment.is_over {
            break;
        }
        environment.observe(&mut observation, &mut mask);
        let action = best_action(network, &mut batch, &mut workspace, &observation, &mask)?;
        environment.step(world, action);
    }
    Ok(())
}

/// The action that a network prefers; where only one is allowed, it is not asked.
pub(crate) fn best_action(
    network: &Network,
    batch: &mut Batch,
    workspace: &mut Workspace,
    observation: &[f32],
    mask: &[u8],
) -> Result<u32, String> {
    let mut allowed = mask.iter().enumerate().filter(|(_, &allowed)| allowed != 0);
    if let (Some((only, _)), None) = (allowed.next(), allowed.next()) {
        return Ok(only as u32);
    }
    batch.clear();
    network.push(batch, observation, mask)?;
    workspace.score_all(network, batch);
    Ok(batch.choices[greedy(&workspace.logits)].action)
}
