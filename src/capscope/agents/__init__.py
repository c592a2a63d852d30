"""The agents that come with capscope: each module is one agent, a black box to everyone else."""
