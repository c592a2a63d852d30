"""A language model that chooses skills: which is the best next one, yes or no?

The skills are carried out by another agent, such as the policy of `capscope_worlds.crafter_steve`.
"""

from capscope_worlds.skill_chooser.agent import (
    ChooserSettings,
    SkillChooserAgent,
    SkillRunner,
    yes_over_no,
)
from capscope_worlds.skill_chooser.prompt import SkillPrompt

__all__ = ["ChooserSettings", "SkillChooserAgent", "SkillPrompt", "SkillRunner", "yes_over_no"]
