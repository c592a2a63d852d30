"""A robot that does what a language model finds useful and its own perception finds feasible."""

from capscope.agents.saycan.agent import (
    DONE,
    SayCanAgent,
    SayCanAttempt,
    SayCanSettings,
    Scoring,
    SkillChooser,
    SkillObservation,
)
from capscope.agents.saycan.language import LanguageChooser, SkillExample, SkillGuide, SkillQuestion
from capscope.agents.saycan.tabletop import TABLETOP_GUIDE, TabletopScript, instruction

__all__ = [
    "DONE",
    "TABLETOP_GUIDE",
    "LanguageChooser",
    "SayCanAgent",
    "SayCanAttempt",
    "SayCanSettings",
    "Scoring",
    "SkillChooser",
    "SkillExample",
    "SkillGuide",
    "SkillObservation",
    "SkillQuestion",
    "TabletopScript",
    "instruction",
]
