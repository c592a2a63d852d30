"""Training of the policy that `capscope_worlds.crafter_steve` ships: experts and gradients."""
